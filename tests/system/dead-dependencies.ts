// P19: with each thing that the programs need dead in turn, stopped and silent, every route of both answers as the
// reviewed table says (robustness/dead-dependencies.ts), in time, and as before when it is back.

import type { Fault, IdentityProvider } from '@loci/management/testing/identity-provider.ts'
import { startTcpProxy, type TcpProxy } from '@loci/postgres/testing/tcp-proxy.ts'
import { DEAD, DEPENDENCIES, type Dependency } from '../robustness/dead-dependencies.ts'
import {
  type Asking,
  type DeadRequest,
  keyOf,
  makeRequests,
  type Outcome,
  outcomeOf,
  outcomeWhileWell,
} from '../robustness/dead-requests.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, type ProgramName, startProgram, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant, ownerEmail } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE, pay } from '../world/world-file.ts'

type Mode = 'stopped' | 'silent'
const MODES: Mode[] = ['stopped', 'silent']
/** Most of them wait for something that is silent: more at once would queue for slots, and be told so. */
const LET_IN_TRIES_MAX = 20
const WIDTH = 20
/** After which both programs have noticed. */
const NOTICED_MS = 4_000
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

interface Scene extends Asking {
  control: TcpProxy
  cell: TcpProxy
  /** What each request is answered while everything is alive. */
  alive: Map<string, string>
}

await reportOn(async (report) => {
  const world = await startWorld({
    asShipped: true,
    replicas: 1,
    isBilled: true,
    people: PEOPLE,
    settings: { LOCI_STAFF_EMAILS: ownerEmail('acme') },
  })
  const control = await startTcpProxy(world.postgres)
  const cell = await startTcpProxy(world.postgres)
  try {
    const organization = await addOrganization(world, 'acme')
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise', of: organization })
    await pay((world.management as LociProcess).url, tenant.tenantId, 'enterprise')
    await moveBehind(world, control, cell)
    const scene: Scene = { world, tenant, apiKey: organization.apiKey, control, cell, alive: new Map() }
    await everyRouteIsKnown(report, world)
    await whileAlive(report, scene)
    for (const dependency of DEPENDENCIES) await whileDead(report, scene, dependency)
    await mutants(report, scene)
  } finally {
    for (const proxy of [control, cell]) proxy.heal()
    await world.stop()
    for (const proxy of [control, cell]) await proxy[Symbol.asyncDispose]()
  }
})

function databaseBehind({ port }: TcpProxy, login: string, database: string): { LOCI_DATABASE_URL: string } {
  return { LOCI_DATABASE_URL: `postgres://${login}@127.0.0.1:${port}/${database}` }
}

/** Both programs again at their addresses, each with its database behind something that can fail. */
async function moveBehind(world: World, control: TcpProxy, cell: TcpProxy): Promise<void> {
  const [daemon] = world.daemons.splice(0) as [LociProcess]
  await daemon.stop()
  await (world.management as LociProcess).stop()
  await startManagement(world, control)
  await world.startDaemon({
    LOCI_LISTEN: daemon.url.slice('http://'.length),
    ...databaseBehind(cell, 'loci_daemon', 'loci_cell'),
  })
}

async function startManagement(world: World, control: TcpProxy): Promise<void> {
  const settings = world.managementSettings(databaseBehind(control, 'loci_management', 'loci_control'))
  world.management = await startProgram('management', settings)
  await untilReady(world.management.url)
}

function urlOf({ management, daemons }: World, program: ProgramName): string {
  return ((program === 'management' ? management : daemons[0]) as LociProcess).url
}

async function everyRouteIsKnown(report: Report, world: World): Promise<void> {
  const unknown: string[] = []
  for (const program of ['management', 'daemon'] as const) {
    const known = new Set(Object.keys(DEAD[program]).map((line) => line.replace(/\?.*/, '').replace('...}', '}')))
    const { paths } = (await (await fetch(`${urlOf(world, program)}/openapi.json`)).json()) as {
      paths: Record<string, object>
    }
    for (const [path, operations] of Object.entries(paths))
      for (const method of Object.keys(operations).filter((name) => METHODS.includes(name)))
        if (!known.has(`${method.toUpperCase()} ${path.replace('...}', '}')}`)) unknown.push(`${method} ${path}`)
  }
  report.promise(
    'every route that the programs serve is in the table',
    unknown.length === 0,
    unknown.join(', ') || 'all',
  )
}

async function whileAlive(report: Report, scene: Scene): Promise<void> {
  const requests = await makeRequests(scene)
  const wrong: string[] = []
  await mapWidth(requests, WIDTH, async (request) => {
    const { came } = await outcomeWhileWell(urlOf(scene.world, request.program), request)
    scene.alive.set(keyOf(request), came)
    if (!/^[234]/.test(came) || came.startsWith('401')) wrong.push(`${keyOf(request)}: ${came}`)
  })
  for (const line of wrong) report.note(line)
  report.promise(
    'with everything alive each is answered',
    wrong.length === 0,
    `${requests.length}, ${wrong.length} not`,
  )
}

async function whileDead(report: Report, scene: Scene, dependency: Dependency): Promise<void> {
  const wrong: string[] = []
  let asked = 0
  let slowest = { ms: 0, key: '' }
  for (const mode of MODES) {
    const requests = (await makeRequests(scene)).filter(
      ({ program, row }) => DEAD[program][row]?.[dependency] !== 'itself',
    )
    await using _ = await kill(scene, dependency, mode)
    await sleep(NOTICED_MS)
    await mapWidth(requests, WIDTH, async (request) => {
      const { came, hasRetryAfter, ms } = await whenLetIn(() => outcomeOf(urlOf(scene.world, request.program), request))
      asked += 1
      if (ms > slowest.ms) slowest = { ms, key: `${mode}, ${keyOf(request)}` }
      const problem = problemOf(scene, request, dependency, { came, hasRetryAfter })
      if (problem) wrong.push(`${dependency} ${mode}: ${problem}`)
    })
  }
  for (const line of wrong) report.note(line)
  const bound = await report.within(3_500)
  report.promise(
    `P19: with the ${dependency} dead every route answers as reviewed, in time, with Retry-After where it is 503`,
    wrong.length === 0 && asked > 50 && slowest.ms <= bound.ms,
    `${asked} requests, ${wrong.length} wrong, the slowest ${Math.round(slowest.ms)} ms (${bound.text}; ${slowest.key})`,
  )
}

/** An address has four slots on open routes; a silent store holds each for two seconds. Who is told so asks again. */
async function whenLetIn(ask: () => Promise<Outcome>): Promise<Outcome> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await ask()
    if (outcome.came !== '503 OVERLOADED' || tries === LET_IN_TRIES_MAX) return outcome
    await sleep(1_000)
  }
}

function problemOf(
  { alive }: Scene,
  request: DeadRequest,
  dependency: Dependency,
  { came, hasRetryAfter }: Pick<Outcome, 'came' | 'hasRetryAfter'>,
): string | undefined {
  const reviewed = DEAD[request.program][request.row]?.[dependency]
  const expected = reviewed === 'same' ? alive.get(keyOf(request)) : reviewed
  // All are sent at once: what one deletes another may have put there just before, or not.
  const isGone = (said: string | undefined) =>
    request.line.startsWith('DELETE ') && /^(200|404 NOT_FOUND)/.test(said ?? '')
  const isExpected = expected?.split(', after some seconds ').includes(came) ?? false
  if (!isExpected && !(isGone(came) && isGone(expected))) return `${keyOf(request)}: expected ${expected}, came ${came}`
  return came.startsWith('5') && !hasRetryAfter ? `${keyOf(request)}: ${came} without Retry-After` : undefined
}

/** Dead until it is disposed; then everything is alive and ready again. */
async function kill({ world, control, cell }: Scene, dependency: Dependency, mode: Mode): Promise<AsyncDisposable> {
  const provider = world.identityProvider as IdentityProvider
  const management = world.management as LociProcess
  const proxy = dependency === 'control database' ? control : cell
  if (dependency === 'provider') provider.fault = mode satisfies Fault
  else if (dependency !== 'management') mode === 'stopped' ? proxy.refuse() : proxy.blackHole()
  else if (mode === 'silent') management.child.kill('SIGSTOP')
  else await management.kill()
  return {
    async [Symbol.asyncDispose]() {
      provider.fault = 'none'
      proxy.heal()
      // What was swallowed by a black hole is missing for ever: such a connection is of no use.
      proxy.refuse()
      proxy.heal()
      if (dependency === 'management' && mode === 'silent') management.child.kill('SIGCONT')
      if (dependency === 'management' && mode === 'stopped') await startManagement(world, control)
      for (const program of ['management', 'daemon'] as const) await untilWell(urlOf(world, program))
    },
  }
}

/** Ready, and nothing that it needs is down. */
async function untilWell(url: string): Promise<void> {
  const until = Date.now() + 120_000
  for (;;) {
    const status = await fetch(`${url}/health/ready`).then(
      async (answer) => ((await answer.json()) as { status: string }).status,
      () => 'gone',
    )
    if (status === 'ok') return
    if (Date.now() > until) throw new Error(`${url} is still ${status}`)
    await sleep(100)
  }
}

async function mutants(report: Report, scene: Scene): Promise<void> {
  const planted: [string, Dependency, Edit][] = [
    [
      'a provider that does not answer is an internal error',
      'provider',
      {
        file: 'management/sessions/provider.ts',
        from: `new Kind('IDENTITY_PROVIDER_UNAVAILABLE', message`,
        to: `new Kind('INTERNAL_ERROR', message`,
      },
    ],
    [
      'a session that cannot be looked up is none',
      'control database',
      {
        file: 'management/access/session.ts',
        from: 'const session = await findSession(digest)',
        to: 'const session = await findSession(digest).catch(() => undefined)',
      },
    ],
  ]
  const { world, control } = scene
  for (const [name, dependency, edit] of planted) {
    await using mutant = await plantMutant([edit])
    const behind = databaseBehind(control, 'loci_management', 'loci_control')
    const process = await mutant.startProgram(
      'management',
      world.managementSettings({ ...behind, LOCI_LISTEN: '127.0.0.1:0' }),
    )
    try {
      await untilReady(process.url)
      const requests = (await makeRequests(scene)).filter(({ row }) => /^(GET|POST) \/api\/auth/.test(row))
      await using _ = await kill(scene, dependency, 'stopped')
      const found: string[] = []
      for (const request of requests) {
        const problem = problemOf(scene, request, dependency, await outcomeOf(process.url, request))
        if (problem) found.push(problem)
      }
      report.mutant(name, found[0])
    } finally {
      await process.kill()
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
