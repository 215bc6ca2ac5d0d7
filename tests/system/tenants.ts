// Nobody reads, writes or senses what is not theirs, and no credential shows anywhere. Two organizations, and two
// instances of one tenant, send everything they can think of as each other; whatever they write, are called or hold is
// a canary, and every answer, log line and metric is searched for canaries that do not belong there.

import { type Canaries, type Canary, openCanaries } from '../robustness/canaries.ts'
import { forgetful } from '../robustness/forgetful.ts'
import { plainClient } from '../robustness/plain-client.ts'
import { type AuditedDatabase, auditRls, planProblem } from '../robustness/rls-audit.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { type RequestMaker, type Routes, requestMaker, type TwinRequest } from '../robustness/twin-requests.ts'
import { addTwins, type Twin } from '../robustness/twins.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const REQUESTS = isShort ? 3_000 : 20_500
const MUTANT_REQUESTS = isShort ? 400 : 1_500
const CLIENTS = 16
const LISTS = /^GET \/v1\/kv\/entries\?/
const MEMORY_LISTS = /^GET \/v1\/memory\/records\?/
const OPEN_PATHS = ['/metrics', '/v1/health/all', '/openapi.json', '/docs', '/health/startup', '/v1/lifecycle/status']

interface Fuzz {
  requests: number
  statuses: Map<number, number>
  /** Canaries that were seen by whom they are for: without them the test would prove nothing. */
  ownSeen: number
  /** Of these by the routes of memory. */
  ownRemembered: number
  leaks: string[]
  failures: string[]
}

interface Scene {
  world: World
  twins: Twin[]
  canaries: Canaries
  routes: Routes
}

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- tenants --seed=${SEED}`)
  const settings = { LOCI_LOG_LEVEL: 'debug', LOCI_UNAUTHENTICATED_PER_MINUTE: '1000000' }
  const world = await startWorld({ replicas: 2, settings })
  const logs = [...world.daemons, world.management as LociProcess].map(listen)
  try {
    const canaries = openCanaries()
    const twins = await addTwins(world, canaries, seeded(SEED))
    const scene: Scene = { world, twins, canaries, routes: await routesOf(world) }
    await twinFuzz(report, scene)
    await openRoutesAndLogs(report, scene, logs)
    await whatIsStored(report, scene)
    await rowLevelSecurity(report, scene)
    await plans(report, scene)
    await databaseMutants(report, scene)
    await memoryMutants(report, scene)
    await sourceMutants(report, scene)
  } finally {
    await world.stop()
  }
})

async function twinFuzz(report: Report, scene: Scene): Promise<void> {
  const startedAt = performance.now()
  const fuzz = await attack(scene, REQUESTS, SEED)
  for (const line of [...fuzz.leaks, ...fuzz.failures].slice(0, 10)) report.note(line)
  const counts = [...fuzz.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  report.note(`${counts.join(', ')}; ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  report.promise(
    'no answer shows what is another’s, and no error a credential',
    fuzz.leaks.length === 0 && fuzz.requests >= REQUESTS && fuzz.ownSeen > REQUESTS / 20 && fuzz.ownRemembered > 0,
    `${fuzz.leaks.length} leaks of ${fuzz.requests} requests (at least ${REQUESTS}) over ${scene.routes.daemon.length + scene.routes.management.length} routes; ${scene.canaries.size} canaries, ${fuzz.ownSeen} answers with the caller’s own, ${fuzz.ownRemembered} of memory`,
  )
  report.promise(
    'none of it was an internal error',
    fuzz.failures.length === 0,
    `${fuzz.failures.length} answers of 500 or none at all`,
  )
}

async function attack(
  scene: Scene,
  requests: number,
  seed: number,
  { urls = scene.world.daemons.map(({ url }) => url), only }: { urls?: string[]; only?: RegExp } = {},
): Promise<Fuzz> {
  const { twins, routes, world } = scene
  const random = seeded(seed)
  const maker = requestMaker(twins, routes, world.adminToken, random)
  const fuzz: Fuzz = { requests: 0, statuses: new Map(), ownSeen: 0, ownRemembered: 0, leaks: [], failures: [] }
  const lane = async () => {
    const client = plainClient()
    while (fuzz.requests < requests) {
      const { request, twin } = nextOf(maker, only)
      fuzz.requests += 1
      const url = request.program === 'daemon' ? random.pick(urls) : (world.management as LociProcess).url
      const outcome = await client.send(url, request)
      if (outcome.kind !== 'answer') {
        fuzz.failures.push(`${request.method} ${request.path.slice(0, 80)}: ${JSON.stringify(outcome)}`)
        continue
      }
      const { status, headers, body } = outcome
      fuzz.statuses.set(status, (fuzz.statuses.get(status) ?? 0) + 1)
      if (status === 500) fuzz.failures.push(`${request.method} ${request.path.slice(0, 80)}: ${body}`)
      maker.learn(twin, body)
      judge(scene, request, status, `${JSON.stringify(headers)}\n${body}`, fuzz)
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, lane))
  return fuzz
}

function nextOf(maker: RequestMaker, only: RegExp | undefined): { request: TwinRequest; twin: Twin } {
  for (;;) {
    const request = maker.next()
    if (!only || only.test(`${request.method} ${request.path}`)) return { request, twin: maker.turn }
  }
}

/** An echo of what the caller has sent tells nobody anything, but a credential has no place in an error even so. */
function judge({ canaries }: Scene, request: TwinRequest, status: number, text: string, fuzz: Fuzz): void {
  const found = canaries.find(text)
  if (found.size === 0) return
  const sent = canaries.find(`${request.path}\n${JSON.stringify(request.headers)}\n${request.body ?? ''}`)
  let isOwn = false
  for (const canary of found) {
    if (canary.kind === 'credential' ? status < 400 && sent.has(canary) : sent.has(canary)) continue
    if (request.credential?.maySee(canary.area)) isOwn = true
    else
      fuzz.leaks.push(
        `${request.credential?.what ?? 'no credential'}: ${request.method} ${request.path.slice(0, 120)} → ${status} with ${described(canary)}`,
      )
  }
  if (isOwn) fuzz.ownSeen += 1
  if (isOwn && request.path.startsWith('/v1/memory/')) fuzz.ownRemembered += 1
}

function described({ kind, area, text }: Canary): string {
  return `${kind} of ${area} (${text.slice(0, 20)})`
}

async function openRoutesAndLogs(report: Report, { world, canaries }: Scene, logs: (() => string)[]): Promise<void> {
  const texts: string[] = []
  for (const { url } of [...world.daemons, world.management as LociProcess])
    for (const path of OPEN_PATHS) texts.push(await fetch(url + path).then((answer) => answer.text()))
  const shown = [...canaries.find(texts.join('\n'))]
  report.promise(
    'no canary in metrics, health, documents',
    shown.length === 0,
    `${shown.length} canaries in ${texts.length} answers${shown[0] ? `, e.g. ${described(shown[0])}` : ''}`,
  )
  // The log is written once a second.
  await sleep(1_500)
  const logged = logs.map((text) => text())
  const lines = logged.reduce((sum, text) => sum + text.split('\n').length, 0)
  const found = [...canaries.find(logged.join('\n'))]
  report.promise(
    'no canary in any log line of daemons and management (level debug)',
    found.length === 0 && lines > REQUESTS / 2,
    `${found.length} canaries in ${lines} lines${found[0] ? `, e.g. ${described(found[0])}` : ''}`,
  )
}

/**
 * With the eyes of the superuser: each instance's rows bear its own canaries only, and no credential is stored in
 * clear.
 */
async function whatIsStored(report: Report, { world, twins, canaries }: Scene): Promise<void> {
  const foreign: string[] = []
  let rows = 0
  const secrets = new Set<string>()
  for (const database of ['loci_cell', 'loci_control']) {
    const url = world.postgres.adminUrl(database)
    const tables = await runSql<{ name: string; isOwned: boolean }>(
      url,
      `select c.relname as name, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'instance_id') as "isOwned"
       from pg_class c where c.relnamespace = 'loci'::regnamespace and c.relkind = 'r' order by 1`,
    )
    for (const { name, isOwned } of tables) {
      const stored = await runSql<{ owner: string; text: string }>(
        url,
        `select ${isOwned ? 'instance_id' : `''`} as owner, t::text as text from loci.${name} t`,
      )
      rows += stored.length
      for (const { owner, text } of stored) {
        const twin = twins.find(({ tenant }) => tenant.serviceId === owner)
        for (const canary of canaries.find(text)) {
          if (canary.kind === 'credential') secrets.add(`${name}: ${described(canary)}`)
          const isOwn = twin && (canary.area === twin.name || canary.area.startsWith(`${twin.name}/`))
          if (twin && canary.kind === 'content' && !isOwn) foreign.push(`${name} of ${twin.name}: ${described(canary)}`)
        }
      }
    }
  }
  for (const line of [...foreign, ...secrets].slice(0, 10)) report.note(line)
  report.promise(
    'nothing of one is stored with another, and no credential in clear',
    foreign.length === 0 && secrets.size === 0,
    `${foreign.length} foreign, ${secrets.size} credentials in ${rows} rows of both databases`,
  )
}

async function rowLevelSecurity(report: Report, { world, twins }: Scene): Promise<void> {
  const { postgres } = world
  const [a, , b] = twins.map(({ tenant }) => tenant) as [Twin['tenant'], Twin['tenant'], Twin['tenant']]
  const databases: AuditedDatabase[] = [
    { postgres, database: 'loci_cell', setting: 'loci.instance', owners: [a.serviceId, b.serviceId] },
    { postgres, database: 'loci_control', setting: 'loci.organization', owners: [a.organizationId, b.organizationId] },
  ]
  for (const one of databases) {
    const { closed, open, checks, problems } = await auditRls(one)
    for (const problem of problems.slice(0, 10)) report.note(problem)
    report.promise(
      `row-level security of ${one.database}`,
      problems.length === 0 && closed.length > 3,
      `${problems.length} problems in ${checks} checks: ${closed.length} tables closed and forced (partitions included), ${open.length} open with a reason (${open.join(', ')})`,
    )
  }
}

async function plans(report: Report, { world, twins }: Scene): Promise<void> {
  const id = `'${twins[0]?.tenant.serviceId}'`
  const inOneDatabase = /Index Cond: \(\(instance_id = .*database = /
  const calls = [
    { call: `loci.kv_get(${id}, 'default', 'shared:1')`, needs: [/Index Cond: \(\(instance_id = .*key = /] },
    {
      call: `loci.kv_list(${id}, 'default', 'shared:', 'shared;', null, 10, 1000000)`,
      needs: [/using entries_pkey/, /Index Cond: \(\(instance_id = .*database = .*key >= .*key < .*key > /],
    },
    {
      call: `loci.kv_get_each(${id}, array['default'], array['shared:1'])`,
      needs: [/Index Cond: \(\(instance_id = .*key = /],
    },
    {
      call: `loci.kv_write(${id}, 100, array['default'], array['put'], array['plan'], array['1'], array[null::float8], array[null::bigint])`,
      needs: [/Index Cond: \(\(instance_id = .*name = /, /Index Cond: \(\(instance_id = .*key = /],
    },
    {
      call: `loci.claim_keys(${id}, 'POST /x', array['default'], array['holder'], array['key'])`,
      settings: `set loci.instance = ${id};`,
      needs: [/using idempotency_pkey/, /Index Cond: \(\(instance_id = .*database = .*route = .*holder = .*key = /],
    },
    { call: `loci.kv_databases(${id}, 10)`, needs: [/using due_pkey/, /Index Cond: \(instance_id = /] },
    {
      call: `loci.kv_expired(${id}, 'default', now(), null, null)`,
      settings: `set loci.instance = ${id};`,
      needs: [/entries_expiring/, inOneDatabase],
    },
    { call: `loci.kv_expire(${id}, 'default', 10)`, needs: [/entries_expiring/] },
    {
      call: `loci.new_events(array[${id}], array[0::bigint], 2000)`,
      needs: [/using event_heads_pkey/, /Index Cond: \(\(instance_id = .*seq > .*seq <= /],
    },
    // The statement of kv_walk, which itself keeps quiet; as there, without table scans.
    {
      call: `loci.kv_walk_piece(${id}, 'default', '', loci.keys_end(), null, 10)`,
      settings: 'set enable_seqscan = off; set enable_bitmapscan = off;',
      needs: [/using entries_pkey/, inOneDatabase],
    },
  ]
  const problems: string[] = []
  for (const call of calls) {
    const problem = await planProblem(world.postgres, call)
    if (problem) problems.push(problem)
  }
  for (const problem of problems) report.note(problem.slice(0, 1_500))
  report.promise(
    'the functions use their indexes under row-level security',
    problems.length === 0,
    `${calls.length - problems.length} of ${calls.length} functions, as loci_app, no table scanned`,
  )
}

/** Of memory a third wall stands behind the two: the digest of a record covers whose it is. */
async function memoryMutants(report: Report, scene: Scene): Promise<void> {
  const url = scene.world.postgres.adminUrl('loci_cell')
  const owner = 'r.instance_id = p_instance and '
  const list = await forgetful(url, 'mem_list', owner, '')
  const digest = await forgetful(url, 'record_is_intact', `r.digest = loci.record_digest(r) and ${owner}`, '')
  const lists = () => attack(scene, MUTANT_REQUESTS, SEED + 3, { only: MEMORY_LISTS })
  try {
    await list.forget()
    await runSql(url, 'alter table loci.records disable row level security')
    const { leaks, ownSeen } = await lists()
    report.promise(
      'memory: predicate forgotten and row-level security off: the digest stops it',
      leaks.length === 0 && ownSeen > 0,
      `${leaks.length} leaks of ${MUTANT_REQUESTS} lists, ${ownSeen} with the caller’s own`,
    )
    await digest.forget()
    const { leaks: shown } = await lists()
    report.mutant(
      'memory: predicate, row-level security and digest forgotten',
      shown.length > 0 ? `${shown.length} leaks, e.g. ${shown[0]}` : undefined,
    )
  } finally {
    await list.remember()
    await digest.remember()
    await runSql(url, 'alter table loci.records enable row level security')
  }
}

async function databaseMutants(report: Report, scene: Scene): Promise<void> {
  const url = scene.world.postgres.adminUrl('loci_cell')
  const { forget, remember } = await forgetful(url, 'kv_list', 'e.instance_id = p_instance and ', '')
  const rls = (word: 'enable' | 'disable') => runSql(url, `alter table loci.entries ${word} row level security`)
  const lists = () => attack(scene, MUTANT_REQUESTS, SEED + 1, { only: LISTS })
  const lines = async (fuzz: Promise<Fuzz>) => {
    const { leaks, ownSeen } = await fuzz
    return { leaks, figure: `${leaks.length} leaks of ${MUTANT_REQUESTS} lists, ${ownSeen} with the caller’s own` }
  }
  try {
    await forget()
    const forgotten = await lines(lists())
    report.promise(
      'predicate forgotten in one query: row-level security stops it',
      forgotten.leaks.length === 0,
      forgotten.figure,
    )
    await rls('disable')
    const both = await lines(lists())
    report.mutant(
      'predicate forgotten and row-level security off',
      both.leaks.length > 0 ? `${both.leaks.length} leaks, e.g. ${both.leaks[0]}` : undefined,
    )
    await remember()
    const off = await lines(lists())
    report.promise('row-level security off: the predicate stops it', off.leaks.length === 0, off.figure)
    const audit = await auditRls({
      postgres: scene.world.postgres,
      database: 'loci_cell',
      setting: 'loci.instance',
      owners: [scene.twins[0]?.tenant.serviceId as string, scene.twins[2]?.tenant.serviceId as string],
    })
    report.mutant('row-level security off on one table', audit.problems[0])
  } finally {
    await remember()
    await rls('enable')
  }
}

async function sourceMutants(report: Report, scene: Scene): Promise<void> {
  const mutants = [
    {
      name: 'the path instead of its template in metrics and log',
      file: 'libs/chassis/server.ts',
      from: `('route' in found ? found.route.spec.path : found.template) ?? UNMATCHED`,
      to: 'pathOf(request.url as string)',
    },
    {
      name: 'headers in the log',
      file: 'libs/chassis/server.ts',
      from: '    requireArrival(exchange.request, options)\n',
      to: `    options.log.info({ reason: JSON.stringify(exchange.request.headers) }, 'arrived')\n    requireArrival(exchange.request, options)\n`,
    },
  ].slice(0, isShort ? 1 : 2)
  for (const { name, file, from, to } of mutants) {
    await using mutant = await plantMutant([{ file, from, to }])
    const daemon = await mutant.startProgram('daemon', scene.world.daemonSettings())
    await untilReady(daemon.url)
    const log = listen(daemon)
    await attack(scene, 200, SEED + 2, { urls: [daemon.url] })
    const metrics = await fetch(`${daemon.url}/metrics`).then((answer) => answer.text())
    await daemon.stop()
    const found = [...scene.canaries.find(`${log()}\n${metrics}`)]
    report.mutant(name, found[0] ? `${found.length} canaries, e.g. ${described(found[0])}` : undefined)
  }
}

/** From the documents that the programs serve of themselves. */
async function routesOf({ daemons, management }: World): Promise<Routes> {
  const read = async ({ url }: LociProcess) => {
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
  }
  return { daemon: await read(daemons[0] as LociProcess), management: await read(management as LociProcess) }
}

/** Everything that it writes from now on and has written, without the bound of LociProcess.lines. */
function listen({ child, lines }: LociProcess): () => string {
  const chunks = [lines.join('\n')]
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => chunks.push(text))
  return () => chunks.join('')
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
