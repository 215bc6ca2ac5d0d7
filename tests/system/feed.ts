// No feed loses or reorders a change. Thousands of overlapping transactions on management's feed and on the cell's own
// numbers, each with a reader that remembers only how far it has read; then revocations and instances through the
// running programs to both replicas.

import { createSealer } from '@loci/chassis/sealing.ts'
import { newId } from '@loci/contract/ids.ts'
import { useOrganization } from '@loci/management/access/store.ts'
import { appendEvents } from '@loci/management/acts/events/store.ts'
import { holdTenant, lockCell } from '@loci/management/acts/locks/store.ts'
import { requireCell } from '@loci/management/cells/cells.ts'
import { reconcileWithoutEvents, saveTransition } from '@loci/management/provisioning/provisioning.ts'
import { command } from '@loci/management/provisioning/service-state.ts'
import { findPlaced } from '@loci/management/provisioning/store.ts'
import { createService, requireService, requireServiceRequest } from '@loci/management/services/services.ts'
import type { Service } from '@loci/management/services/store.ts'
import { mintToken, revokeToken } from '@loci/management/tokens/tokens.ts'
import { isUnavailable, sqlState } from '@loci/postgres/errors.ts'
import { openPool, type Pool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { cellFeed, managementFeed, type OpenFeed, sequenceFeed } from '../robustness/feeds.ts'
import { type Findings, interleave } from '../robustness/interleavings.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { addTenant, manage, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const TURNS = isShort ? 1_200 : 11_400
const COMMITS_MIN = isShort ? 1_000 : 10_000
const WIDTH = 8
const CHANGES = isShort ? 45 : 200
const REACH_MS_MAX = 5_000
/** What has not arrived by then is lost. */
const ARRIVE_MS_MAX = 120_000
/** What a write is answered once the change has arrived. */
const EXPECTED: Record<Kind, number> = { revoke: 401, add: 200, suspend: 403 }
const random = seeded(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- feed --seed=${SEED}`)
  const world = await startWorld({ asShipped: true, replicas: 0 })
  try {
    await keepsOrder(report, 'management → cell', await managementFeed(world, random), COMMITS_MIN)
    await keepsOrder(report, 'cell → replicas', await cellFeed(world, random), COMMITS_MIN)
    const sequence = await run(await sequenceFeed(world, random), 1_000)
    report.mutant('numbering by bigserial', sequence.missed.length > 0 ? shown(sequence) : undefined)
    const late = await run(await cellFeed(world, random, { readNumberLast: true }), 1_000)
    report.mutant('the number is read after the rows', late.missed.length > 0 ? shown(late) : undefined)
  } finally {
    await world.stop()
  }
  await reachesBothReplicas(report)
})

async function keepsOrder(report: Report, name: string, feed: OpenFeed, commitsMin: number): Promise<void> {
  const startedAt = performance.now()
  const findings = await run(feed, TURNS)
  for (const line of [...findings.missed, ...findings.reordered].slice(0, 5)) report.note(line)
  report.promise(
    `${name}: a reader that remembers a number misses nothing`,
    findings.missed.length === 0 && findings.reordered.length === 0 && findings.commits >= commitsMin,
    `${shown(findings)} in ${findings.commits} commits (at least ${commitsMin}), ${findings.reads} reads between them, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  )
}

async function run(feed: OpenFeed, turns: number): Promise<Findings> {
  try {
    return await interleave(feed, { turns, width: WIDTH })
  } finally {
    await feed.close()
  }
}

function shown({ changes, missed, reordered }: Findings): string {
  return `${missed.length} missed, ${reordered.length} reordered of ${changes} changes`
}

async function reachesBothReplicas(report: Report): Promise<void> {
  const world = await startWorld({ asShipped: true, replicas: 2 })
  const { databaseUrl, issuer } = managementOf(world)
  const pool = openPool({
    url: databaseUrl,
    applicationName: 'loci-test',
    connectionsMax: 8,
    ...PATIENT,
    onError: () => {},
  })
  try {
    const tenants = await Promise.all(['acme', 'globex'].map((name) => addTenant(world, { name, plan: 'enterprise' })))
    const made = await mapWidth(Array.from({ length: CHANGES }), 8, (_, at) =>
      prepare(
        pool,
        issuer,
        world,
        tenants[at % 2] as WorldTenant,
        (['revoke', 'add', 'suspend'] as const)[at % 3] as Kind,
      ),
    )
    const before = await Promise.all(made.filter(({ kind }) => kind === 'revoke').map((one) => isOpen(world, one)))
    const reachMs = await mapWidth(made, 8, async (one, at) => {
      await one.change(at < 6)
      const startedAt = performance.now()
      while (!(await isThere(world, one))) {
        if (performance.now() - startedAt > ARRIVE_MS_MAX) return Number.POSITIVE_INFINITY
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return performance.now() - startedAt
    })
    const sorted = reachMs.toSorted((a, b) => a - b)
    const lost = reachMs.filter((ms) => ms === Number.POSITIVE_INFINITY).length
    const p99 = Math.round(sorted[Math.floor(sorted.length * 0.99) - 1] ?? 0)
    const bound = await report.within(REACH_MS_MAX)
    report.promise(
      'revocations, new and suspended instances of concurrent transactions reach both replicas',
      lost === 0 && before.every(Boolean) && p99 <= bound.ms,
      `${made.length - lost} of ${made.length} arrived, p99 ${p99} ms (${bound.text}), median ${Math.round(sorted[sorted.length >> 1] ?? 0)} ms`,
    )
  } finally {
    await pool.close()
    await world.stop()
  }
}

type Kind = 'revoke' | 'add' | 'suspend'
type Issuer = ReturnType<typeof managementOf>['issuer']

interface Planned {
  kind: Kind
  /** Known once the change is made. */
  token(): string
  change(byCommand: boolean): Promise<void>
}

/** Everything that must be there before the change: its token, and for a suspension an instance of its own. */
async function prepare(pool: Pool, issuer: Issuer, world: World, tenant: WorldTenant, kind: Kind): Promise<Planned> {
  const add = () =>
    inOrganization(pool, tenant, async (sql) => {
      const cell = await requireCell(sql, world.cellId as string)
      const { organizationId, tenantId } = tenant
      const rules = { isBilled: false, regions: [], cell }
      const kind = { service_type: 'memory', plan: 'enterprise', region: cell.region }
      const request = requireServiceRequest(rules, { name: `s${random.text(12)}`, ...kind, tenant_id: tenantId })
      const caller = { id: 'test', organizationId, tenantIds: null }
      const made = await createService(sql, rules, { caller }, request)
      const service = await requireService(sql, organizationId, made.service.id)
      return { service, ...(await mintToken(sql, issuer, service, { ops: ['kv:write'], databases: ['*'] }, 'test')) }
    })
  if (kind === 'add') {
    let token = ''
    const change = async () => {
      token = (await add()).token
    }
    return { kind, token: () => token, change }
  }
  if (kind === 'suspend') {
    const { service, token } = await add()
    return { kind, token: () => token, change: () => inOrganization(pool, tenant, (sql) => suspend(sql, service)) }
  }
  const minted = await inOrganization(pool, tenant, async (sql) => {
    const service = await requireService(sql, tenant.organizationId, tenant.serviceId)
    return mintToken(sql, issuer, service, { ops: ['kv:write'], databases: ['*'] }, 'test')
  })
  return {
    kind,
    token: () => minted.token,
    async change(byCommand) {
      if (byCommand)
        await untilTaken(() =>
          manage(world, ['tokens', 'revoke', '--jti', minted.token_id, '--service', tenant.serviceId]),
        )
      else
        await inOrganization(pool, tenant, async (sql) => {
          const service = await requireService(sql, tenant.organizationId, tenant.serviceId)
          await revokeToken(sql, service, minted.token_id, 'test')
        })
    },
  }
}

function inOrganization<T>(
  pool: Pool,
  { organizationId }: WorldTenant,
  work: Parameters<typeof transaction<T>>[1],
): Promise<T> {
  return untilTaken(() =>
    transaction(pool, async (sql) => {
      await useOrganization(sql, organizationId)
      return work(sql)
    }),
  )
}

/**
 * Who waits too long for the row of the cell is refused without effect and tries again, as a client of the routes
 * would.
 */
async function untilTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const isRefusal =
        isUnavailable(error) ||
        ['55P03', '57014'].includes(sqlState(error) ?? '') ||
        /ended with 69/.test((error as Error).message)
      if (!isRefusal || tries > 20) throw error
    }
  }
}

/** As its owner does it, told to its cell in the same transaction. */
async function suspend(sql: Sql, { organizationId, tenantId, id, cellId }: Service): Promise<void> {
  await lockCell(sql, cellId as string)
  await holdTenant(sql, organizationId, tenantId)
  const placed = await findPlaced(sql, organizationId, id, { lock: true })
  if (!placed) throw new Error(`${id} is not there any more`)
  const now = new Date()
  const saved = await saveTransition(
    sql,
    organizationId,
    placed,
    command(placed.state, 'suspend', newId('op'), now),
    now,
  )
  const events = await reconcileWithoutEvents(sql, { isBilled: false }, { organizationId, serviceId: id, now })
  await appendEvents(sql, [...saved, ...events], now)
}

async function isThere(world: World, { kind, token }: Planned): Promise<boolean> {
  return (await statuses(world, token())).every((status) => status === EXPECTED[kind])
}

async function isOpen(world: World, { token }: Planned): Promise<boolean> {
  return (await statuses(world, token())).every((status) => status === 200)
}

function statuses({ daemons }: World, token: string): Promise<number[]> {
  return Promise.all(
    daemons.map(async ({ url }) => {
      const answer = await fetch(`${url}/v1/kv/entries/a`, {
        method: 'PUT',
        headers: { 'x-loci-capability': token, 'content-type': 'application/json' },
        body: '{"value":1}',
      })
      await answer.arrayBuffer()
      return answer.status
    }),
  )
}

/** The same database and keys as the running management. */
function managementOf(world: World) {
  const {
    LOCI_DATABASE_URL: databaseUrl,
    LOCI_SEALING_KEYS: keys,
    LOCI_PUBLIC_URL: publicUrl,
  } = world.managementSettings() as {
    LOCI_DATABASE_URL: string
    LOCI_SEALING_KEYS: string
    LOCI_PUBLIC_URL: string
  }
  const [id, key] = keys.split(':') as [string, string]
  return { databaseUrl, issuer: { sealer: createSealer([{ id, key: Buffer.from(key, 'base64') }]), publicUrl } }
}
