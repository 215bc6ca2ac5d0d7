// No sequence of bytes gives a 5xx (but 503 with Retry-After), a crash, a hang or a growing process.
//
//   npm run test:system -- fuzz [--short] [--seed=N] [--stream=BASE64]
//
// The last option sends one stream and shows what came back.

import { randomInt } from 'node:crypto'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import {
  type Credentials,
  corpusOf,
  type Operation,
  operationsOf,
  SMUGGLING,
  streamOf,
  type Things,
} from '../robustness/byte-streams.ts'
import { keepSwitchesOn } from '../robustness/kept-switches.ts'
import { type Poison, poisonList, poisonSample } from '../robustness/poison.ts'
import { faultOf, parseAnswers, type StreamResult, sendStream } from '../robustness/raw-stream.ts'
import { installSchemathesis, runSchemathesis } from '../robustness/schemathesis.ts'
import { watchProcesses } from '../robustness/watched-processes.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addOrganization, addTenant } from '../world/tenants.ts'
import { BILLING_SECRET, startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const option = (name: string) => process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3)
const SEED = Number(option('seed') ?? randomInt(1, 2 ** 31))
const STREAMS = isShort ? 5_000 : 100_000
const EXAMPLES_MAX = isShort ? 20 : 200
/** Of the poison one in so many, another one at each route and by each seed: routes share the code that meets it. */
const POISON_SHARE = isShort ? 3 : 1
const SOCKETS = 64
/** Told from an answer; how soon one comes is measured by slow and partition. */
const HANG_MS = 120_000
/** One in so many streams does not say that it has ended: the server must find out by its deadline. */
const OPEN_ENDED = 300

const MUTANTS: { name: string; edit: Edit }[] = [
  {
    name: 'what JSON.parse throws is left to fly',
    edit: {
      file: 'libs/chassis/json.ts',
      from: "    throw refusal('The body is not valid JSON.')",
      to: "    throw new SyntaxError('The body is not valid JSON.')",
    },
  },
  {
    name: 'the depth of a body is not looked at',
    edit: { file: 'libs/chassis/json.ts', from: 'if (depth > DEPTH_MAX)', to: 'if (depth > DEPTH_MAX && text === "")' },
  },
  {
    name: 'a method that a path does not have is refused without those it has',
    edit: { file: 'libs/chassis/arrival.ts', from: '{ headers: { allow: methods } }', to: '{}' },
  },
  {
    name: 'a body of any type is taken for JSON',
    edit: { file: 'libs/chassis/input.ts', from: 'if (!isJson(', to: 'if (false && !isJson(' },
  },
  {
    name: 'what the HTTP parser refuses gets no answer of ours',
    edit: { file: 'libs/chassis/listener.ts', from: "server.on('clientError'", to: "server.on('nothing'" },
  },
]

interface Target {
  name: string
  process: LociProcess
  port: number
  operations: Operation[]
  credentials: Credentials
}

await reportOn(async (report) => {
  // With a webhook: without one it answers 503 to everything.
  const world = await startWorld({ replicas: 1, isBilled: true })
  const unlimited = openPool({
    ...PATIENT,
    url: world.postgres.adminUrl('loci_control'),
    applicationName: 'loci-test',
    connectionsMax: 1,
    onError: () => {},
  })
  // The rate limit would turn nearly everything into 429, so the buckets are filled up again all the time, as a
  // superuser.
  const filling = setInterval(() => void unlimited.query({ text: 'delete from loci.rate_limits' }).catch(() => {}), 100)
  const switches = keepSwitchesOn(world)
  try {
    const targets = await targetsOf(world)
    const alone = option('stream')
    if (alone !== undefined) {
      for (const { name, port } of targets) {
        const result = await sendStream(Buffer.from(alone, 'base64'), { port })
        report.note(`${name}: ${result.end} after ${Math.round(result.ms)} ms\n${result.received.toString('latin1')}`)
      }
      return
    }
    report.note(`seed ${SEED}`)
    const watch = watchProcesses(targets)
    await switches.switchOff('mcp')
    await switches.untilOn()
    await schemaDriven(report, targets)
    await poison(report, targets)
    await smuggling(report, targets)
    await Promise.all([rawStreams(report, targets), drips(report, world, targets)])
    await switches.untilOn()
    await stillGood(report, targets)
    watch.report(report)
    await mutants(report, world, (targets[0] as Target).credentials)
  } finally {
    clearInterval(filling)
    await switches.stop()
    await unlimited.close()
    await world.stop()
  }
})

/**
 * Each with credentials that open everything, of organizations that nobody else is in: the fuzz makes and deletes
 * things.
 */
async function targetsOf(world: World): Promise<Target[]> {
  const { operator } = await addTenant(world, { name: 'acme', plan: 'enterprise' })
  const organization = await addOrganization(world, 'fuzz')
  const { organizationId, tenantId, apiKey } = organization
  for (const table of ['organizations', 'tenants']) {
    const column = table === 'tenants' ? 'organization_id' : 'id'
    const text = `update loci.${table} set plan = 'enterprise' where ${column} = $1`
    await runSql(world.postgres.adminUrl('loci_control'), text, [organizationId])
  }
  const { serviceId } = await addTenant(world, { name: 'fuzz', plan: 'enterprise', of: organization })
  const daemon = world.daemons[0] as LociProcess
  const management = world.management as LociProcess
  return [
    await targetOf('daemon', daemon, {
      'x-loci-admin-token': world.adminToken,
      'x-loci-capability': operator.token,
    }),
    await targetOf(
      'management',
      management,
      { 'x-api-key': apiKey, authorization: `Bearer ${BILLING_SECRET}` },
      {
        '/api/v1/organizations/{id}': organizationId,
        '/api/v1/tenants/{id}': tenantId,
        // What is below it, and not the service itself, which would be deleted.
        '/api/v1/services/{id}/': serviceId,
      },
    ),
  ]
}

async function targetOf(
  name: string,
  process: LociProcess,
  credentials: Credentials,
  things: Things = {},
): Promise<Target> {
  const answer = await fetch(`${process.url}/openapi.json`)
  const document = (await answer.json()) as Parameters<typeof operationsOf>[0]
  return {
    name,
    process,
    port: Number(new URL(process.url).port),
    operations: operationsOf(document, things),
    credentials,
  }
}

/** Both at once: each is one Python thread that waits for a program of its own. */
async function schemaDriven(report: Report, targets: Target[]): Promise<void> {
  const command = await installSchemathesis()
  const results = await Promise.all(
    targets.map(({ process, credentials }) =>
      runSchemathesis(command, process.url, { seed: SEED, examplesMax: EXAMPLES_MAX, headers: credentials }),
    ),
  )
  for (const [i, { isGood, figure, output }] of results.entries()) {
    const { name, operations } = targets[i] as Target
    if (!isGood) report.note(output.replaceAll('\n', '\n       '))
    report.promise(`schemathesis on the document of ${name}`, isGood, `${operations.length} operations, ${figure}`)
  }
}

async function poison(report: Report, targets: Target[]): Promise<void> {
  for (const { name, port, operations, credentials } of targets) {
    // And a path that nothing is registered at.
    const all = poisonList([...operations, { method: 'NONE', path: '/nothing/here' }], credentials)
    const list = all.filter((_, i) => (i + SEED) % POISON_SHARE === 0)
    const faults = await swallow(list, port)
    for (const fault of faults.slice(0, 10)) report.note(fault)
    report.promise(
      `poison for every route and method of ${name}`,
      faults.length === 0,
      `${faults.length} wrong answers to ${list.length} requests${list.length < all.length ? ` of ${all.length}` : ''}`,
    )
  }
}

/** The faults of the answers to these, each with what was sent. */
async function swallow(list: Poison[], port: number): Promise<string[]> {
  const results = await mapWidth(list, SOCKETS, ({ bytes }, i) =>
    sendStream(bytes, { port, from: addressOf(i), halfClose: false }),
  )
  return list.flatMap((one, i) => {
    const result = results[i] as StreamResult
    const fault = faultOfResult(result) ?? unexpected(one, result)
    return fault === undefined ? [] : [`${one.name}: ${fault}`]
  })
}

function unexpected({ expected, allow }: Poison, result: StreamResult): string | undefined {
  if (!expected) return undefined
  const [answer] = parseAnswers(result.received)
  if (!answer) return `no answer instead of ${expected} (${howItEnded(result)})`
  if (!expected.includes(answer.status)) return `${answer.status} instead of ${expected}: ${answer.body.slice(0, 120)}`
  if (answer.status !== 405) return undefined
  if (!answer.headers.allow) return '405 without Allow'
  const told = answer.headers.allow.split(', ').toSorted().join()
  return allow && told !== allow.toSorted().join() ? `405 that allows ${told} instead of ${allow}` : undefined
}

function howItEnded({ end, error, received, ms }: StreamResult): string {
  return `${end} after ${Math.round(ms)} ms, ${received.length} bytes, ${error ?? 'no error of the socket'}`
}

function faultOfResult({ end, received }: StreamResult): string | undefined {
  if (end === 'hung') return 'the connection hung'
  if (end === 'refused') return 'nobody listens any more'
  return parseAnswers(received)
    .map(faultOf)
    .find((fault) => fault !== undefined)
}

async function smuggling(report: Report, targets: Target[]): Promise<void> {
  const faults: string[] = []
  for (const { name, port } of targets) {
    for (const [kind, text] of Object.entries(SMUGGLING)) {
      const result = await sendStream(Buffer.from(text, 'latin1'), { port, halfClose: false })
      const answers = parseAnswers(result.received)
      const fault =
        faultOfResult(result) ??
        (answers.some(({ status }) => status < 400) || answers.length > 1
          ? `answered ${answers.map(({ status }) => status)}`
          : undefined)
      if (fault !== undefined) faults.push(`${name}, ${kind}: ${fault}`)
    }
  }
  for (const fault of faults) report.note(fault)
  report.promise(
    'what two readers could read differently is refused, and nothing after it is answered',
    faults.length === 0,
    `${Object.keys(SMUGGLING).length} kinds, ${faults.length} let through`,
  )
}

async function rawStreams(report: Report, targets: Target[]): Promise<void> {
  const corpora = targets.map(({ operations, credentials }) => corpusOf(operations, credentials))
  const statuses = new Map<number, number>()
  const faults: string[] = []
  let longestMs = 0
  let cut = 0
  const startedAt = performance.now()
  await mapWidth(Array.from({ length: STREAMS }), SOCKETS, async (_, i) => {
    // Four of five to the daemon, which has more to break.
    const which = i % 5 === 4 ? 1 : 0
    const bytes = streamOf(corpora[which] as Buffer[], SEED, i)
    const result = await sendStream(bytes, {
      port: (targets[which] as Target).port,
      from: addressOf(i),
      halfClose: i % OPEN_ENDED !== 0,
      deadlineMs: HANG_MS,
    })
    longestMs = Math.max(longestMs, result.ms)
    for (const answer of parseAnswers(result.received)) {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.isCut) cut += 1
    }
    const fault = faultOfResult(result)
    if (fault !== undefined)
      faults.push(`${targets[which]?.name}: ${fault}; reproduce: fuzz --stream=${bytes.toString('base64')}`)
  })
  const seconds = (performance.now() - startedAt) / 1000
  for (const fault of faults.slice(0, 10)) report.note(fault)
  const said = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
  report.note(`answers: ${said.join(', ')}; ${cut} cut short; ${Math.round(STREAMS / seconds)} streams/s`)
  report.promise(
    'raw byte streams',
    faults.length === 0,
    `${faults.length} wrong answers or hangs of ${STREAMS}, longest connection ${(longestMs / 1000).toFixed(1)} s`,
  )
}

/** A credential that no longer works would have made most of the above a test of 401. */
async function stillGood(report: Report, targets: Target[]): Promise<void> {
  const paths: Record<string, string[]> = {
    daemon: ['/v1/kv/entries', '/v1/memory/records', '/v1/kv/health', '/v1/audit', '/admin/services/status'],
    management: ['/api/v1/tenants', '/api/v1/services', '/api/v1/api-keys', '/api/v1/audit-events'],
  }
  for (const { name, process, operations, credentials: headers } of targets) {
    const statuses = await Promise.all(
      (paths[name] as string[]).map(async (path) => (await fetch(`${process.url}${path}`, { headers })).status),
    )
    const needing = operations.filter(({ path }) =>
      /^\/(v1\/(kv|audit|working-memory|memory)|admin|api\/v1)/.test(path),
    ).length
    const served = await servedBy(process)
    report.promise(
      `the credentials of the fuzz of ${name} are as good as before, and brought it to the handlers`,
      statuses.every((status) => status === 200) && needing >= 8 && served >= needing / 3,
      `${statuses.join(', ')}; ${served} operations answered 2xx of ${needing} that need a credential`,
    )
  }
}

async function servedBy({ url }: LociProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const served =
    /_seconds_count\{route="\/(v1\/(kv|audit|working-memory|memory)|admin|api\/v1)[^"]*",method="(?!HEAD)\w+",code="2xx"\}/g
  return text.match(served)?.length ?? 0
}

async function drips(report: Report, world: World, targets: Target[]): Promise<void> {
  const { port } = targets[0] as Target
  const head = (token: string) =>
    `POST /admin/services/enable HTTP/1.1\r\nhost: x\r\nx-loci-admin-token: ${token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`
  const kinds = {
    headers: { first: '', rest: `GET /health/live HTTP/1.1\r\nhost: ${'x'.repeat(100)}` },
    body: { first: head(world.adminToken), rest: ' '.repeat(100) },
    'body nobody reads': { first: head('wrong'), rest: ' '.repeat(100) },
  }
  const results = await Promise.all(
    Object.entries(kinds).flatMap(([kind, { first, rest }]) =>
      [1, 2, 3].map(async () => ({
        kind,
        ...(await sendStream(Buffer.from(rest), {
          port,
          dripMs: 1_000,
          first: Buffer.from(first),
          deadlineMs: 2 * HANG_MS,
        })),
      })),
    ),
  )
  const faults = results.filter((result) => faultOfResult(result) !== undefined || result.ms > HANG_MS)
  const figures = Object.keys(kinds).map((kind) => {
    const worst = Math.max(...results.filter((one) => one.kind === kind).map(({ ms }) => ms))
    const said = new Set(
      results.filter((one) => one.kind === kind).map(({ received }) => parseAnswers(received)[0]?.status),
    )
    return `${kind} ${(worst / 1000).toFixed(1)} s (${[...said].join()})`
  })
  report.promise('one byte a second is closed within 12 s', faults.length === 0, figures.join(', '))
}

async function mutants(report: Report, world: World, credentials: Credentials): Promise<void> {
  for (const { name, edit } of MUTANTS) {
    await using mutant = await plantMutant([edit])
    const daemon = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(daemon.url)
    const port = Number(new URL(daemon.url).port)
    const { operations } = await targetOf('mutant', daemon, credentials)
    const corpus = corpusOf(operations, credentials)
    const faults = await swallow(poisonSample(credentials), port)
    const streams = await mapWidth(Array.from({ length: 500 }), SOCKETS, async (_, i) =>
      faultOfResult(await sendStream(streamOf(corpus, SEED, i), { port })),
    )
    const found = [...faults, ...streams.filter((fault) => fault !== undefined)]
    report.mutant(name, found.length > 0 ? `${found.length} wrong answers, e.g. ${found[0]?.slice(0, 120)}` : undefined)
    await daemon.stop()
  }
}

/** 32 addresses of loopback in turn: each has its own 28,000 ports, which a closed connection keeps for a minute. */
function addressOf(index: number): string {
  return `127.0.0.${2 + (index % 32)}`
}
