// A stolen cell key reads what its cell is sent, and erases, creates, suspends and stops nothing; whatever it sends
// raises an alarm and leaves an entry in the audit of each customer concerned (SECURITY.md). The old rules are the
// mutants.

import { newId } from '@loci/contract/ids.ts'
import { createThief, type Thief } from '../robustness/cell-thief.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { startProgram, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { addSecondCell, type SecondCell } from '../world/second-cell.ts'
import { runSql } from '../world/sql.ts'
import { addOrganization, manage, ownerEmail } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const VICTIMS = isShort ? 4 : 20
const PATIENCE_MS = 60_000
const AHEAD = 2 ** 40
const STAFF_EMAIL = ownerEmail('staff')
/** Longer than a token may live. */
const FUTURE = new Date(Date.now() + 3_000 * 86_400_000).toISOString()

const MUTANTS: Record<string, { edits: Edit[]; isCaught(after: Aftermath): string | undefined }> = {
  // First, while there is something to name: the other one erases it.
  'unknown instances are adopted without a restore': {
    edits: [
      {
        file: 'management/provisioning/adoption.ts',
        from: `  const isExplained = isBeforeRestore(instance.svc, await noteEpoch(sql), now)\n`,
        to: `  const isExplained = isBeforeRestore(instance.svc, await noteEpoch(sql), now) || true\n`,
      },
    ],
    isCaught: ({ invented }) => (invented > 0 ? `${invented} invented` : undefined),
  },
  'a cell revokes the future': {
    edits: [
      {
        file: 'management/cells/reports/revocations.ts',
        from: `  if (not_before !== null && Date.parse(not_before) > now.getTime() + AHEAD_MS_MAX)`,
        to: `  if (not_before !== null && Date.parse(not_before) > now.getTime() + 9_000 * 86_400_000)`,
      },
    ],
    isCaught: ({ unserved }) => (unserved > 0 ? `${unserved} not served` : undefined),
  },
  'what a cell has erased is what its owner wants': {
    edits: [
      {
        file: 'management/provisioning/observe.ts',
        from: `  return failed(known, LOST,`,
        to: `  if (known.status !== 'provisioning') return { ...known, wantedState: 'deleted', status: 'deleting', deadlineAt: new Date(now.getTime() + 60_000) }\n  return failed(known, LOST,`,
      },
    ],
    isCaught: ({ erased }) => (erased > 0 ? `${erased} erased` : undefined),
  },
}

interface Victim {
  serviceId: string
  organizationId: string
  tenantId: string
  token: string
}

interface Scene {
  world: World
  second: SecondCell
  /** Of the cell whose key is stolen, each with something in it. */
  victims: Victim[]
  /** Of the other cell. */
  neighbour: Victim
  /** Made by the test itself after the theft. */
  newcomers: string[]
}

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 1, settings: { LOCI_STAFF_EMAILS: STAFF_EMAIL } })
  let second: SecondCell | undefined
  try {
    second = await addSecondCell(world, { replicas: 1 })
    const callers = await addCallers(world, { organizations: VICTIMS + 1, each: 1, name: 'victim' })
    const cellId = world.cellId as string
    const scene: Scene = {
      world,
      second,
      victims: await mapWidth(callers.slice(1), 4, (caller) => settle(world, caller, cellId, world.daemons[0]?.url)),
      neighbour: await settle(world, callers[0] as WorldCaller, second.id, second.daemons[0]?.url),
      newcomers: [],
    }
    const thief = createThief({ url: urlOf(world), cellId, key: world.cellKey })
    await theft(report, scene, thief)
    await mutants(report, scene, thief)
  } finally {
    await world.stop()
    await second?.postgres.remove()
  }
})

function urlOf({ managementSettings }: World): string {
  return managementSettings().LOCI_PUBLIC_URL as string
}

/** A service with one entry in it, in that cell. */
async function settle(
  world: World,
  { organizationId, tenantId }: WorldCaller,
  cellId: string,
  url: string | undefined,
): Promise<Victim> {
  const place = ['--org', organizationId, '--tenant', tenantId, '--plan', 'free', '--cell', cellId]
  const { service_id: serviceId } = await manage<{ service_id: string }>(world, ['instances', 'add', ...place])
  const rights = ['--ops', 'kv:read,kv:write', '--databases', '*', '--ttl', '7200']
  const mint = ['tokens', 'mint', '--service', serviceId, ...rights]
  const { token } = await manage<{ token: string }>(world, mint)
  const victim = { serviceId, organizationId, tenantId, token }
  await until(async () => (await keep(url as string, victim)) === 200, `${serviceId} is served`)
  return victim
}

async function keep(url: string, { token, serviceId }: Victim): Promise<number> {
  const headers = { 'x-loci-capability': token, 'content-type': 'application/json' }
  const body = JSON.stringify({ value: `of ${serviceId}` })
  return (await fetch(`${url}/v1/kv/entries/kept`, { method: 'PUT', headers, body })).status
}

// ── what is said, and what comes of it
// ─────────────────────────────────────────────────────────────────────────────────────

/** Everything that the key is good for, at once. Answers the statuses of what must be refused. */
async function plunder({ victims, neighbour }: Scene, thief: Thief): Promise<{ statuses: number[]; replay: number }> {
  const items = await thief.feed()
  const told = items.flatMap((item) => (item.kind === 'instance' && item.body.state !== 'deleted' ? [item.body] : []))
  const known = told.filter(({ svc }) => victims.some(({ serviceId }) => serviceId === svc))
  const rows = (state: string, ahead: number) =>
    known.map(({ svc, generation }) => ({ svc, generation: generation + ahead, state }))
  const at = new Date().toISOString()
  const invented = known.map(({ org, ten }) => ({
    ...{ svc: newId('svc'), org, ten, service_type: 'memory', plan: 'enterprise', generation: 1, state: 'active' },
  }))
  const foreign = { svc: neighbour.serviceId, generation: 1 }
  const bodies = [
    { observed: rows('deleted', 0) },
    { observed: rows('failed', 0) },
    { observed: rows('deleted', 1) },
    { observed: rows('active', AHEAD) },
    { observed: rows('suspended', 1) },
    { unknown: invented },
    { unknown: invented.map((one) => ({ ...one, svc: `svc_${'0'.repeat(25)}1` })) },
    { observed: [{ ...foreign, state: 'deleted' }] },
    { observed: [{ ...foreign, state: 'active' }] },
    { deletions: known.map(({ svc, generation }) => ({ svc, generation, at })) },
    { revocations: known.flatMap(({ svc, ten, org }) => revocationsOf({ svc, ten, org }, FUTURE)) },
    { revocations: revocationsOf(namesOf(neighbour), at) },
    { observed: rows('deleted', 2) },
  ]
  const statuses: number[] = []
  for (const body of bodies) statuses.push((await thief.report(body)).status)
  const token = thief.token()
  await thief.report({}, token)
  return { statuses, replay: (await thief.report({}, token)).status }
}

function namesOf({ serviceId, tenantId, organizationId }: Victim): Record<string, string> {
  return { svc: serviceId, ten: tenantId, org: organizationId }
}

function revocationsOf(names: Record<string, string>, not_before: string) {
  return Object.entries(names).map(([kind, value]) => ({ kind, value, not_before, expires_at: FUTURE, audit_id: null }))
}

interface Aftermath {
  erased: number
  unserved: number
  invented: number
  suspended: number
  wanted: number
  ledger: number
}

async function aftermath({ world, second, victims, neighbour, newcomers }: Scene): Promise<Aftermath> {
  const everybody = [...victims, neighbour]
  const ids = everybody.map(({ serviceId }) => serviceId)
  const entries = async (postgres: World['postgres']) =>
    (
      await runSql<{ count: number }>(
        postgres.adminUrl('loci_cell'),
        `select count(*)::int as count from loci.entries where instance_id = any($1) and key = 'kept'`,
        [ids],
      )
    )[0]?.count ?? 0
  const kept = (await entries(world.postgres)) + (await entries(second.postgres))
  const statuses = await Promise.all(
    everybody.map((victim) =>
      keep((victim === neighbour ? second.daemons[0]?.url : world.daemons[0]?.url) as string, victim),
    ),
  )
  const control = world.postgres.adminUrl('loci_control')
  const [services] = await runSql<Omit<Aftermath, 'erased' | 'unserved' | 'ledger'>>(
    control,
    `select (select count(*)::int from loci.services where not id = any($1) and not id = any($2)) as invented,
      (select count(*)::int from loci.feed_items where kind = 'instance' and key = any($1) and body->>'state' <> 'active') as suspended,
      (select count(*)::int from loci.services where id = any($1) and wanted_state <> 'active') as wanted`,
    [ids, newcomers],
  )
  const [ledger] = await runSql<{ count: number }>(
    control,
    'select count(*)::int as count from loci.deletions where received_at is not null',
  )
  const unserved = statuses.filter((status) => status !== 200).length
  return {
    ...(services as Omit<Aftermath, 'erased' | 'unserved' | 'ledger'>),
    erased: everybody.length - kept,
    unserved,
    ledger: ledger?.count ?? 0,
  }
}

/** Nothing is due any more, and the honest cell has read everything: whatever comes of it has come. */
async function settled(world: World): Promise<void> {
  const control = world.postgres.adminUrl('loci_control')
  await until(async () => {
    const [row] = await runSql<{ open: number }>(
      control,
      `select (select count(*)::int from loci.due_services where due_at <= now() + interval '1 minute')
        + (select count(*)::int from loci.cells where heard_seq < feed_seq) as open`,
    )
    return row?.open === 0
  }, 'nothing is due')
  const purges = `select count(*)::int as open from loci.instances where state = 'deleted' and purged_at is null`
  await until(
    async () => (await runSql<{ open: number }>(world.postgres.adminUrl('loci_cell'), purges))[0]?.open === 0,
    'nothing is being erased',
  )
}

async function theft(report: Report, scene: Scene, thief: Thief): Promise<void> {
  const { world, victims } = scene
  const { statuses, replay } = await plunder(scene, thief)
  await settled(world)
  const { erased, unserved, invented, suspended, wanted, ledger } = await aftermath(scene)
  report.promise(
    'a stolen cell key erases nothing: every entry is there and is served',
    erased === 0 && unserved === 0 && wanted === 0 && ledger === 0,
    `${erased} of ${victims.length + 1} erased, ${unserved} not served, ${wanted} to be deleted, ${ledger} in the ledger`,
  )
  report.promise(
    'it brings no service into being and suspends none',
    invented === 0 && suspended === 0,
    `${invented} invented, ${suspended} told to be anything but active`,
  )
  report.promise(
    'its reports are taken or refused by the row, and a token is good for one',
    statuses.every((status) => status === 200) && replay === 401,
    `${statuses.join(' ')}, a repeated token ${replay}`,
  )
  await honest(report, scene)
  await seen(report, scene)
  await withdrawn(report, scene, thief)
}

async function addStaff(world: World): Promise<string> {
  const { organizationId } = await addOrganization(world, 'staff')
  const who = ['--org', organizationId, '--email', STAFF_EMAIL, '--name', 'staff', '--staff', 'true']
  return (await manage<{ api_key: string }>(world, ['api-keys', 'mint', ...who])).api_key
}

/** What is left to the thief: tokens that were issued until now. Their customer is told, and staff take it back. */
async function withdrawn(report: Report, { world, victims }: Scene, thief: Thief): Promise<void> {
  const victim = victims[0] as Victim
  const url = world.daemons[0]?.url as string
  const control = world.postgres.adminUrl('loci_control')
  await thief.report({ revocations: revocationsOf({ svc: victim.serviceId }, new Date().toISOString()) })
  await until(async () => (await keep(url, victim)) === 401, 'the token is revoked')
  const told = await runSql(
    control,
    `select from loci.audit where chain = $1 and actor = $2 and action = 'service.revoke' and subject = $3`,
    [victim.organizationId, world.cellId, victim.serviceId],
  )
  const staff = await addStaff(world)
  const ask = (method: string, path: string) =>
    fetch(`${urlOf(world)}/api/v1/revocations${path}`, { method, headers: { 'x-api-key': staff } })
  const { revocations } = (await (await ask('GET', '')).json()) as { revocations: { id: string; value: string }[] }
  const startedAt = performance.now()
  for (const { id } of revocations) await ask('DELETE', `/${id}`)
  await until(async () => (await keep(url, victim)) === 200, 'the token is good again')
  report.promise(
    'what it revoked is in the audit of its customer, and staff take it back',
    told.length === 1 && revocations.length === 1,
    `${told.length} entry, ${revocations.length} in the list, served again after ${Math.round(performance.now() - startedAt)} ms`,
  )
}

/**
 * The cell itself goes on: a service that is made now is active, one that was lied about comes back by its owner's
 * retry.
 */
async function honest(report: Report, scene: Scene): Promise<void> {
  const { world, victims } = scene
  const startedAt = performance.now()
  const [caller] = (await addCallers(world, { organizations: 1, each: 1, name: 'newcomer' })) as [WorldCaller]
  const newcomer = await settle(world, caller, world.cellId as string, world.daemons[0]?.url)
  const control = world.postgres.adminUrl('loci_control')
  const status = async ({ serviceId }: Victim) =>
    (await runSql<{ status: string }>(control, 'select status from loci.services where id = $1', [serviceId]))[0]
      ?.status
  await until(async () => (await status(newcomer)) === 'active', 'the new service is active')
  const tookMs = Math.round(performance.now() - startedAt)
  const lost = await runSql<{ reason: string; count: number }>(
    control,
    `select status || ' ' || coalesce(status_reason, '') as reason, count(*)::int as count from loci.services where id = any($1) group by 1`,
    [victims.map(({ serviceId }) => serviceId)],
  )
  scene.newcomers.push(newcomer.serviceId)
  report.promise(
    'the reports of the honest cell go on: a new service becomes active',
    true,
    `${tookMs} ms; the others are shown as ${lost.map(({ reason, count }) => `${count} ${reason}`).join(', ')}`,
  )
}

async function seen(report: Report, { world, victims, neighbour }: Scene): Promise<void> {
  const control = world.postgres.adminUrl('loci_control')
  const alarms = await (await fetch(`${urlOf(world)}/metrics`)).text()
  const kinds = [...alarms.matchAll(/^loci_cell_alarms_total\{.*kind="(\w+)".*\} [1-9]/gm)]
    .map(([, kind]) => kind)
    .sort()
  await until(
    async () => (await fetch(`${urlOf(world)}/metrics`)).text().then((text) => /kind="two_addresses"/.test(text)),
    'two addresses are noticed',
  )
  const lines = world.management?.lines.filter((line) => line.includes('ALARM')).length ?? 0
  const [cell] = await runSql<{ alarm: object | null }>(control, 'select alarm from loci.cells where id = $1', [
    world.cellId,
  ])
  report.promise(
    'the alarm shows: metric, log line, and the list of cells',
    ['erased', 'foreign', 'generation', 'revocations', 'unknown'].every((kind) => kinds.includes(kind)) &&
      lines > 0 &&
      !!cell?.alarm,
    `${kinds.join(', ')} and two_addresses; ${lines} log lines`,
  )
  const audited = await runSql<{ chain: string; actions: string[] }>(
    control,
    `select chain, array_agg(distinct action order by action) as actions from loci.audit where actor = $1 group by chain`,
    [world.cellId],
  )
  const actions = new Map(audited.map((row) => [row.chain, row.actions]))
  const untold = victims.filter(({ organizationId }) => {
    const own = actions.get(organizationId) ?? []
    return !own.includes('service.lose') || !own.includes('service.quarantine')
  })
  report.promise(
    'each customer’s audit has what was said of its service',
    untold.length === 0 && actions.get(neighbour.organizationId)?.includes('service.quarantine') === true,
    `${untold.length} of ${victims.length} untold; the neighbour: ${actions.get(neighbour.organizationId)?.join(', ')}`,
  )
}

// ── mutants
// ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function mutants(report: Report, scene: Scene, thief: Thief): Promise<void> {
  for (const [name, { edits, isCaught }] of Object.entries(MUTANTS)) {
    await using mutant = await plantMutant(edits)
    await scene.world.management?.stop()
    const management = await mutant.startProgram('management', scene.world.managementSettings())
    try {
      await untilReady(management.url)
      // As before the theft: the services live, and nothing is known of the lies.
      await runSql(
        scene.world.postgres.adminUrl('loci_control'),
        `update loci.services s set status = 'active', status_reason = null, wanted_state = 'active', desired_state = 'active',
            published_digest = 'x', observed_state = 'active', generation = (f.body->>'generation')::bigint,
            observed_generation = (f.body->>'generation')::bigint
          from loci.feed_items f where f.kind = 'instance' and f.key = s.id and f.cell_id = s.cell_id and s.id = any($1)`,
        [scene.victims.map(({ serviceId }) => serviceId)],
      )
      await plunder(scene, thief)
      await settled(scene.world)
      report.mutant(name, isCaught(await aftermath(scene)))
    } finally {
      await management.stop()
    }
  }
  scene.world.management = await startProgram('management', scene.world.managementSettings())
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endsAt) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
