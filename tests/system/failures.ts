// Four accidents of the store, and what every route of both programs answers after each, by the reviewed table
// (robustness/dead-dependencies.ts): PostgreSQL away from the very start, a full disk, a machine that was paused for a
// day, partitions that are missing. Nothing is a 500, each is told as what it is, and heals by itself.

import { randomBytes } from 'node:crypto'
import { ask } from '@loci/chassis/testing/request.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { fullConsistency } from '@loci/daemon/testing/consistency.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { type Accident, DEAD } from '../robustness/dead-dependencies.ts'
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
import { runSql } from '../world/sql.ts'
import { addOrganization, addTenant, manage, ownerEmail } from '../world/tenants.ts'
import { type MovableClock, mountVolume, movableClock, type Volume } from '../world/volume.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE, pay } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
const WIDTH = 8
const PATIENCE_MS = 120_000
const NOWHERE = { LOCI_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
/** Partitions of events reach up to 30 hours ahead. */
const A_DAY = '+31h'
/** A database of ours, the WAL of a checkpoint, and some room for both. */
const VOLUME_MB = 420

/** As an old backup leaves them: none for now, none ahead. */
const DROP_PARTITIONS = `do $$ declare v record; begin
  for v in select c.oid::regclass as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relpartbound is not null and c.relkind = 'r'
      and substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([^'']+)''\\)')::timestamptz > now()
  loop
    execute format('drop table %s', v.name);
  end loop;
end $$`

interface Scene extends Asking {
  /** What each request is answered while everything is well. */
  alive: Map<string, string>
}

await reportOn(async (report) => {
  await inWorld(report, {}, async (scene) => {
    await awayFromTheStart(report, scene)
    await partitionsDropped(report, scene)
  })
  const volume = mountVolume(VOLUME_MB)
  if (volume) await diskFull(report, volume)
  else report.skip('disk full', 'this process may not mount a small volume')
  const clock = movableClock()
  if (clock) await aDayPassed(report, clock)
  else report.skip('a day passed', 'no libfaketime: install the package faketime')
})

async function inWorld(
  report: Report,
  options: { postgres?: Throwaway; settings?: Record<string, string> },
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const settings = { LOCI_STAFF_EMAILS: ownerEmail('acme'), ...options.settings }
  const world = await startWorld({ asShipped: true, replicas: 1, isBilled: true, people: PEOPLE, ...options, settings })
  try {
    const organization = await addOrganization(world, 'acme')
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise', of: organization })
    await pay((world.management as LociProcess).url, tenant.tenantId, 'enterprise')
    const scene: Scene = { world, tenant, apiKey: organization.apiKey, alive: new Map() }
    const requests = await makeRequests(scene)
    await mapWidth(requests, WIDTH, async (request) => {
      scene.alive.set(keyOf(request), (await outcomeWhileWell(urlOf(world, request.program), request)).came)
    })
    const wrong = [...scene.alive].filter(([, came]) => !/^[234]/.test(came) || came.startsWith('401'))
    for (const [key, came] of wrong) report.note(`while all is well, ${key}: ${came}`)
    if (wrong.length > 0) throw new Error(`${wrong.length} requests fail while all is well`)
    await work(scene)
  } finally {
    await world.stop()
  }
}

function urlOf({ management, daemons }: World, program: ProgramName): string {
  return ((program === 'management' ? management : daemons[0]) as LociProcess).url
}

/** By the clock of who answered. */
function isLater(date: unknown): boolean {
  return Date.parse(String(date)) - Date.now() > 24 * 3_600_000
}

/** Whether management was heard since the clock moved. Until then a replica may write by an age that it read before. */
async function isHeardLater({ postgres }: World): Promise<boolean> {
  const [cell] = await runSql(postgres.adminUrl('loci_cell'), 'select feed_heard_at from loci.cell')
  return isLater(cell?.feed_heard_at)
}

/** Undefined when it was answered as the table says. */
function problemOf({ alive }: Scene, request: DeadRequest, accident: Accident, outcome: Outcome): string | undefined {
  const reviewed = DEAD[request.program][request.row]?.[accident]
  const before = alive.get(keyOf(request))
  const { came, said } = outcome
  const [, or] = reviewed?.split(' or ') ?? []
  const expected = reviewed?.startsWith('same') ? before : reviewed
  // What one request deletes another may have put there just before, or not.
  const isGone = (text = '') => request.line.startsWith('DELETE ') && /^(200|404 NOT_FOUND)/.test(text)
  if (came === expected || came === or || (isGone(came) && isGone(expected))) return undefined
  const isFull = came === '503 STORE_UNAVAILABLE' && /no space left/.test(said) && outcome.hasRetryAfter
  if (or === 'full, though a GET' && isFull) return undefined
  if (or === 'full' && isFull && !request.line.startsWith('GET ')) return undefined
  return `${keyOf(request)}: expected ${reviewed === 'same' ? before : reviewed}, came ${came} ${said}`
}

async function askAll(
  scene: Scene,
  accident: Accident,
  requests: DeadRequest[],
  {
    width = WIDTH,
    urls = {},
    before = async () => {},
  }: {
    width?: number
    urls?: Partial<Record<ProgramName, string>>
    before?(): Promise<void>
  } = {},
): Promise<string[]> {
  const found = await mapWidth(requests, width, async (request) => {
    await before()
    const url = urls[request.program] ?? urlOf(scene.world, request.program)
    return problemOf(scene, request, accident, await outcomeOf(url, request))
  })
  return found.filter((one) => one !== undefined)
}

function tell(report: Report, name: string, asked: number, wrong: string[], more = ''): void {
  for (const line of wrong.slice(0, 20)) report.note(line)
  report.promise(name, wrong.length === 0 && asked > 50, `${asked} requests, ${wrong.length} wrong${more}`)
}

async function awayFromTheStart(report: Report, scene: Scene): Promise<void> {
  const { world } = scene
  const requests = await makeRequests(scene)
  const start = async (run: typeof startProgram) => ({
    daemon: await run('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0', ...NOWHERE })),
    management: await run('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0', ...NOWHERE })),
  })
  const judge = async (processes: Record<ProgramName, LociProcess>) => {
    const urls = { daemon: processes.daemon.url, management: processes.management.url }
    const wrong = await askAll(scene, 'away from the start', requests, { urls })
    // A delivery of the webhook that could not be stored is an error of its own.
    const isError = (line: string) => /"level":"error"/.test(line) && !line.includes('"route":"/api/webhooks/billing"')
    const stacks = Object.values(processes).flatMap(({ lines }) => lines.filter(isError))
    return [...wrong, ...stacks.map((line) => `error line: ${line.slice(0, 200)}`)]
  }
  const processes = await start(startProgram)
  tell(
    report,
    'PostgreSQL away from the start: every route answers as reviewed, without an error line',
    requests.length,
    await judge(processes),
  )
  await Promise.all(Object.values(processes).map((one) => one.kill()))

  await using mutant = await plantMutant([
    {
      file: 'daemon/operator/subservices/states.ts',
      from: "    if (!switches.isRead(name)) return 'unknown'\n",
      to: '',
    },
  ])
  const sabotaged = await start(mutant.startProgram)
  report.mutant('a switch that was not read throws', (await judge(sabotaged))[0])
  await Promise.all(Object.values(sabotaged).map((one) => one.kill()))
}

async function dropPartitions({ postgres }: World): Promise<void> {
  for (const database of ['loci_cell', 'loci_control'])
    for (let tries = 1; ; tries += 1) {
      const failure = await runSql(postgres.adminUrl(database), DROP_PARTITIONS).then(
        () => undefined,
        (error: Error) => error,
      )
      if (!failure) break
      // Whoever makes them at the same moment may win.
      if (tries > 20) throw failure
    }
}

async function partitionsDropped(report: Report, scene: Scene): Promise<void> {
  const { world } = scene
  const requests = await makeRequests(scene)
  const writing = requests.filter(({ line }) => !line.startsWith('GET '))
  // Before each one in the long run; in the short one they share a gap, and the first to meet it closes it for all.
  await dropPartitions(world)
  const wrong = isShort
    ? await askAll(scene, 'partitions dropped', requests)
    : await askAll(scene, 'partitions dropped', writing, { width: 1, before: () => dropPartitions(world) })
  tell(
    report,
    'partitions of now dropped: every route answers as before, and makes them',
    isShort ? requests.length : writing.length,
    wrong,
  )
  await untilWell(scene)

  await using mutant = await plantMutant([
    {
      file: 'libs/postgres/pool.ts',
      from: 'if (!options.keepPartitions || !isPartitionMissing(error))',
      to: 'if (error)',
    },
  ])
  const daemon = await mutant.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  try {
    await untilReady(daemon.url)
    await dropPartitions(world)
    const own = (await makeRequests(scene)).filter(
      ({ program, line }) => program === 'daemon' && /^(PUT|POST)/.test(line),
    )
    report.mutant(
      'a missing partition is not made by who meets it',
      (await askAll(scene, 'partitions dropped', own, { urls: { daemon: daemon.url } }))[0],
    )
  } finally {
    await daemon.kill()
  }
  await untilWell(scene)
}

interface Health {
  status: string
  checks: Record<string, { status: string; detail?: string }>
}

async function healthOf({ world }: Scene): Promise<Health> {
  return (await ask(urlOf(world, 'daemon'), 'GET /v1/health/all')).json<Health>()
}

async function reasonsOf(scene: Scene): Promise<string[]> {
  return (await ask(urlOf(scene.world, 'management'), 'GET /health/lifecycle')).json<{ reasons: string[] }>().reasons
}

/** Both programs, with nothing to say against them. */
async function untilWell(scene: Scene): Promise<number> {
  const startedAt = performance.now()
  await until(async () => {
    const ready = await Promise.all(
      (['daemon', 'management'] as const).map((program) => ask(urlOf(scene.world, program), 'GET /health/ready')),
    )
    return ready.every(({ text }) => text === '{"status":"ok"}')
  }, 'both programs are well')
  return performance.now() - startedAt
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Writes what no page has room for, until it is refused. */
async function writeUntilRefused(url: string, { tenant }: Scene): Promise<Outcome> {
  for (let n = 0; n < 500; n += 1) {
    const line = `PUT /v1/kv/entries/big-${randomBytes(6).toString('hex')}`
    const body = { value: randomBytes(120_000).toString('base64') }
    const headers = { 'x-loci-capability': tenant.operator.token }
    const request = { row: line, program: 'daemon' as const, credential: 'operator', line, headers, body }
    const outcome = await outcomeOf(url, request)
    if (!outcome.came.startsWith('2')) return outcome
  }
  throw new Error('500 entries of 160 kB were taken: the volume is not full')
}

async function diskFull(report: Report, volume: Volume): Promise<void> {
  await using _ = volume
  const postgres = await startThrowaway({
    directory: `${volume.directory}/postgres`,
    // WAL that is made ahead is used again: where even that finds no room the server stops, which is another accident.
    settings: { min_wal_size: '96MB', max_wal_size: '96MB', shared_buffers: '64MB' },
  })
  await inWorld(report, { postgres }, async (scene) => {
    const { world } = scene
    const requests = await makeRequests(scene)
    for (let n = 0; n < 4; n += 1) await runSql(postgres.adminUrl(), 'select pg_switch_wal()')
    await runSql(postgres.adminUrl(), 'checkpoint')
    volume.fill()
    const refused = await writeUntilRefused(urlOf(world, 'daemon'), scene)
    await until(async () => (await healthOf(scene)).checks.postgres?.status === 'full', 'the daemon says full')
    await until(
      async () => (await reasonsOf(scene)).some((one) => /^postgres disk: /.test(one)),
      'management says full',
    )
    const health = await healthOf(scene)
    const { text } = await ask(urlOf(world, 'daemon'), 'GET /metrics')
    report.promise(
      'disk full: the write that met it, health, lifecycle and metrics say so',
      /^503 STORE_UNAVAILABLE/.test(refused.came) &&
        /no space left/.test(refused.said) &&
        health.status === 'degraded' &&
        /^loci_postgres_disk_full 1$/m.test(text),
      `${refused.came} "${refused.said}", health ${health.status}, ${health.checks.postgres?.detail}`,
    )
    const wrong = await askAll(scene, 'disk full', requests)
    tell(report, 'disk full: every route answers as reviewed, reads as before', requests.length, wrong)
    await mutantOfTheDisk(report, scene)

    volume.free()
    const ms = await untilWell(scene)
    const again = await askAll(scene, 'partitions dropped', await makeRequests(scene))
    const headers = { 'x-loci-capability': scene.tenant.operator.token }
    const status = await fullConsistency((line) => ask(urlOf(world, 'daemon'), line, { headers }))
    tell(
      report,
      'with room again both programs are well by themselves, nothing is lost and every route answers as before',
      requests.length,
      [...again, ...(status === 'consistent' ? [] : [`consistency is ${status}`])],
      `, well after ${Math.round(ms)} ms, ${status}`,
    )
  })
}

async function mutantOfTheDisk(report: Report, scene: Scene): Promise<void> {
  const edit: Edit = {
    file: 'libs/contract/store-trouble.ts',
    from: "  if (code === '53100') return 'full'\n",
    to: '',
  }
  await using mutant = await plantMutant([edit])
  const daemon = await mutant.startProgram('daemon', scene.world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  try {
    await untilReady(daemon.url)
    const { came, said } = await writeUntilRefused(daemon.url, scene)
    report.mutant(
      'a full disk is a store that does not answer',
      /no space left/.test(said) ? undefined : `${came} ${said}`,
    )
  } finally {
    await daemon.kill()
  }
}

async function aDayPassed(report: Report, clock: MovableClock): Promise<void> {
  using _ = clock
  // PostgreSQL takes its environment from this process.
  Object.assign(process.env, clock.environment)
  const postgres = await startThrowaway().finally(() => {
    for (const name of Object.keys(clock.environment)) delete process.env[name]
  })
  await inWorld(report, { postgres, settings: clock.environment }, async (scene) => {
    const { token } = await manage<{ token: string }>(scene.world, [
      ...['tokens', 'mint', '--service', scene.tenant.serviceId, '--ops', OPERATION_NAMES.join(',')],
      ...['--databases', '*', '--ttl', String(3 * 86_400)],
    ])
    const later = { ...scene, tenant: { ...scene.tenant, operator: { token } } }
    // Sessions have ended after a day, and tokens of cells within a minute: those who hold one ask for another.
    const requests = (await makeRequests(later)).filter(
      ({ credential }) => !/^(session|browser|cell)$/.test(credential),
    )
    clock.moveTo(A_DAY)
    const first = new Set<string>()
    const startedAt = performance.now()
    const headers = { 'x-loci-capability': token }
    await until(async () => {
      const isHeard = await isHeardLater(scene.world)
      const answers = await Promise.all([
        ask(urlOf(scene.world, 'daemon'), 'PUT /v1/working-memory/slots/a', { headers, body: { value: 1 } }),
        ask(urlOf(scene.world, 'daemon'), 'POST /v1/memory/records', { headers, body: { content: 'a day' } }),
        ask(urlOf(scene.world, 'daemon'), 'GET /v1/audit', { headers }),
      ])
      for (const { status, error } of answers) first.add(status < 300 ? 'done' : `${status} ${error.code}`)
      return isHeard && answers.every(({ status, headers }) => status === 200 && isLater(headers.date))
    }, 'a slot and a memory are written')
    const ms = performance.now() - startedAt
    report.promise(
      'a day passed: a write is done, or refused with 503 until management was heard, and never fails',
      [...first].every((came) => /^(done|503 (AUTHORITY_STALE|STORE_UNAVAILABLE|STARTING))$/.test(came)),
      `${[...first].join(', ')}; done after ${Math.round(ms)} ms`,
    )
    await untilWell(scene)
    const rights = new Set(['GET /v1/events'])
    const asked = requests.filter(({ row }) => !rights.has(row))
    tell(
      report,
      'a day passed: every route answers as before',
      asked.length,
      await askAll(scene, 'a day passed', asked),
    )
  })
}
