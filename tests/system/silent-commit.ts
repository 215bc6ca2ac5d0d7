// When PostgreSQL is silent after a commit was sent, every writing route of both programs answers within its deadline
// that the outcome is unknown: never 4xx or 503, which promise that nothing was done; and no connection is cut by us.
// Which routes write is read from the documents that the running programs serve: a new one fails this test until it is
// asked here.
//
// A request may commit more than once (what its caller's rate is, what it does), so each is asked with 0, 1 and 2
// commits let through. When the silent one belongs to access nothing was begun, and 503 says so rightly; at least once
// it is the route's own.

import { DEADLINES_MS } from '@loci/chassis/route.ts'
import { type CommitProxy, startCommitProxy } from '../robustness/commit-proxy.ts'
import { type Outcome, plainClient } from '../robustness/plain-client.ts'
import { type MakeRequest, NOT_ASKED, WRITING, type Writers } from '../robustness/writing-routes.ts'
import { peopleOf } from '../robustness/writing-sign-in.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, type ProgramName, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { addTenant, mintStaffKey } from '../world/tenants.ts'
import { startWorld } from '../world/world.ts'

const SKIPS = [0, 1, 2, 0, 1, 2]
const METHODS = ['post', 'put', 'patch', 'delete']
/** Of the owner of the first organization of addCallers(). */
const STAFF_EMAIL = 'writers-0@loci.example'
const PUT = 'PUT /v1/kv/entries/{key}'
/** What a report leaves behind nobody asked for: that it failed is no lie. */
const NOTHING_ASKED_FOR = /^503 .*"code":"STORE_UNAVAILABLE"/
/**
 * Everything else is 500 OUTCOME_UNKNOWN. Services have the specification's texts; the webhook has all that its sender
 * understands.
 */
const TOLD: Record<string, RegExp> = {
  // That the store does not answer is what a report of health says.
  'GET /v1/kv/health': /^200 .*"status":"failed","detail":"PostgreSQL: does not answer/,
  'GET /v1/kv/consistency': NOTHING_ASKED_FOR,
  'GET /api/v1/services': /^500 .*"code":"INTERNAL_ERROR".*Failed to list services/,
  'POST /api/v1/services': /^500 .*"code":"INTERNAL_ERROR".*Failed to create service/,
  'POST /api/webhooks/billing': /^500 \{"error":"[^"]+"\}$/,
}

await reportOn(async (report) => {
  const world = await startWorld({ asShipped: true, replicas: 1, isBilled: true, people: peopleOf(STAFF_EMAIL) })
  const proxy = await startCommitProxy(() => world.postgres.port)
  try {
    const [caller] = (await addCallers(world, { organizations: 1, each: 1, name: 'writers' })) as [WorldCaller]
    const writers: Writers = {
      world,
      caller,
      staffKey: await mintStaffKey(world, caller.organizationId, STAFF_EMAIL),
      tenant: await addTenant(world, { name: 'writers', plan: 'free', of: caller }),
    }
    const programs: Record<ProgramName, LociProcess> = {
      daemon: await world.startDaemon(behind(proxy, 'loci_daemon', 'loci_cell')),
      management: await world.startManagement({
        ...behind(proxy, 'loci_management', 'loci_control'),
        LOCI_STAFF_EMAILS: STAFF_EMAIL,
      }),
    }
    await untilKnown(programs.daemon, writers)
    for (const program of ['daemon', 'management'] as const)
      await everyRoute(report, program, programs[program], proxy, writers)
    await mutants(report, proxy, writers)
  } finally {
    proxy.disarm()
    await world.stop()
    proxy.close()
  }
})

async function everyRoute(
  report: Report,
  program: ProgramName,
  target: LociProcess,
  proxy: CommitProxy,
  writers: Writers,
): Promise<void> {
  const served = await listWriting(target)
  const unlisted = served.filter((line) => !WRITING[program][line] && !NOT_ASKED[line])
  report.promise(`${program}: every writing route is known`, unlisted.length === 0, unlisted.join(', ') || 'all are')
  const asked = Object.keys(WRITING[program])
  const results: Result[] = []
  for (const line of asked) results.push(await ask(target, proxy, writers, line, WRITING[program][line] as MakeRequest))
  const faults = results.flatMap(({ faults }) => faults)
  for (const { faults: own } of results) if (own.length > 0) report.note(own.at(-1) as string)
  const slowestMs = Math.max(...results.map(({ slowestMs }) => slowestMs))
  const cut = results.reduce((sum, one) => sum + one.cut, 0)
  report.promise(
    `P2, ${program}: the store silent after a commit, each route says what can be known`,
    faults.length === 0 && cut === 0 && asked.length > 0,
    `${asked.length} routes, ${served.filter((line) => NOT_ASKED[line]).length} not asked, ${faults.length} wrong, ${cut} connections cut by us, slowest ${Math.round(slowestMs)} ms (deadline ${DEADLINES_MS.normal})`,
  )
}

interface Result {
  faults: string[]
  cut: number
  slowestMs: number
}

async function ask(
  { url }: LociProcess,
  proxy: CommitProxy,
  writers: Writers,
  line: string,
  make: MakeRequest,
): Promise<Result> {
  const wanted = TOLD[line] ?? /^500 .*"code":"OUTCOME_UNKNOWN"/
  const result: Result = { faults: [], cut: 0, slowestMs: 0 }
  const answers: string[] = []
  for (const skip of SKIPS) {
    const request = await make(writers)
    const client = plainClient()
    proxy.arm(skip)
    const startedAt = performance.now()
    const outcome = await client.send(url, request)
    const ms = performance.now() - startedAt
    proxy.disarm()
    client.close()
    result.slowestMs = Math.max(result.slowestMs, ms)
    if (outcome.kind !== 'answer') result.cut += 1
    const told = textOf(outcome)
    answers.push(told.slice(0, 60))
    if (ms > DEADLINES_MS.normal) result.faults.push(`${line}: took ${Math.round(ms)} ms`)
    if (wanted.test(told)) {
      if (line === 'POST /api/webhooks/billing' && outcome.kind === 'answer' && !outcome.headers['retry-after'])
        result.faults.push(`${line}: no Retry-After`)
      return result
    }
    // Done before the silence, or refused before anything was done.
    if (!/^(20\d|303|503 .*"code":"(STORE_UNAVAILABLE|OVERLOADED)")/.test(told)) result.faults.push(`${line}: ${told}`)
  }
  result.faults.push(`${line}: never told that the outcome is unknown, but ${answers.join(' | ')}`)
  return result
}

function textOf(outcome: Outcome): string {
  if (outcome.kind !== 'answer') return `no answer (${outcome.kind === 'silence' ? outcome.reason : outcome.kind})`
  return `${outcome.status} ${outcome.body}`.slice(0, 400)
}

/** From the document that the program serves, which is made from its routes. */
async function listWriting({ url }: LociProcess): Promise<string[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`),
  )
}

async function mutants(report: Report, proxy: CommitProxy, writers: Writers): Promise<void> {
  const sabotages: [string, Edit][] = [
    [
      'the connection is closed instead of an answer',
      {
        file: 'libs/chassis/server.ts',
        from: '  if (!response.headersSent) {\n    conclude(options, exchange, refuse(options, exchange, error))\n',
        to: '  if (!response.headersSent) {\n    response.destroy()\n    conclude(options, exchange, undefined)\n',
      },
    ],
    [
      '503 after the commit',
      { file: 'libs/chassis/api-error.ts', from: '    ? hasBegun\n', to: '    ? hasBegun && false\n' },
    ],
  ]
  await mapWidth(sabotages, 1, async ([name, edit]) => {
    await using mutant = await plantMutant([edit])
    const settings = writers.world.daemonSettings(behind(proxy, 'loci_daemon', 'loci_cell'))
    const daemon = await mutant.startProgram('daemon', settings)
    await untilReady(daemon.url)
    await untilKnown(daemon, writers)
    const { faults, cut } = await ask(daemon, proxy, writers, PUT, WRITING.daemon[PUT] as MakeRequest)
    await daemon.kill()
    report.mutant(name, cut + faults.length > 0 ? `${cut} cut, ${faults.at(-1)}` : undefined)
  })
}

function behind({ port }: CommitProxy, role: string, database: string): Record<string, string> {
  return { LOCI_DATABASE_URL: `postgres://${role}@127.0.0.1:${port}/${database}` }
}

async function untilKnown({ url }: LociProcess, { tenant }: Writers): Promise<void> {
  for (;;) {
    const { status } = await fetch(`${url}/v1/kv/entries`, {
      headers: { 'x-loci-capability': tenant.capability.token },
    })
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
