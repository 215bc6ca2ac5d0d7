// The feed's content in the cell's PostgreSQL: applied by the replica with the lease, read by all (access/store.ts).

import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { FeedItem } from '@loci/contract/feed.ts'
import { DATABASE_LIFE } from '@loci/postgres/life.ts'
import type { Lock } from '@loci/postgres/lock-order.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { IS_RESTORED } from '../access/store.ts'
import { cellRow, instanceRow, serviceDue } from '../databases/locks.ts'

/** Instead of the life of a database whose rows management's ledger does not fit: it counts as restored. */
export const BEHIND_LIFE = 'behind the ledger'

export interface Lease {
  fence: number
  /** Null: everything must be read again, because the cell is new or its database was restored. */
  epoch: string | null
  after: number
  /** The last epoch that it knew, also in a restored database, and how far its ledger was acknowledged then. */
  lastEpoch: string | null
  ledgerAcked: number
}

/** Takes or renews the lease; undefined while another replica holds it. */
export async function takeLease(sql: Sql, replica: string, leaseMs: number): Promise<Lease | undefined> {
  const { rows } = await sql.query<Lease>({
    name: 'lease_take',
    text: `update loci.cell set lease_holder = $1, lease_until = clock_timestamp() + $2::float8 * interval '1 millisecond',
        lease_fence = lease_fence + case when lease_holder = $1 then 0 else 1 end
      where lease_holder is null or lease_holder = $1 or lease_until < clock_timestamp()
      returning lease_fence as fence, case when ${IS_RESTORED} then null else feed_epoch end as epoch, feed_after as after,
        feed_epoch as "lastEpoch", ledger_acked as "ledgerAcked"`,
    values: [replica, leaseMs],
    locks: () => [cellRow()],
  })
  return rows[0]
}

/** So that another replica need not wait until the lease expires. */
export async function leaveLease(sql: Sql, replica: string): Promise<void> {
  await sql.query({
    name: 'lease_leave',
    text: 'update loci.cell set lease_holder = null, lease_until = null where lease_holder = $1',
    values: [replica],
    locks: () => [cellRow()],
  })
}

export interface FeedPage {
  fence: number
  /** Null until a new or restored cell has read everything: if it stops before, it starts again from the beginning. */
  epoch: string | null
  next: number
  items: FeedItem[]
  /** The cell is new or restored from a backup, so erased instances may be back. */
  isAfresh?: boolean
  /** With this page the cell has read everything: this database is accepted from now on. */
  isLastOfAll?: boolean
  /** The last number of management's deletion ledger. */
  ledger?: number | undefined
}

export interface Applied {
  /** How many instances changed. */
  changed: number
  /** A deleted instance was created again: its partner credentials were erased and must be read again from the feed. */
  isAnyRevived: boolean
  /** Management's ledger has more rows than this database ever sent: it was put back, and is not served any more. */
  isBehind?: boolean
}

/**
 * Applies a page of the feed and saves its position, in one transaction under the fence. What the feed does not mention
 * stays as it is, also in a full resync: a restored control database must not remove a revocation or a key. False if
 * the lease was lost.
 */
export async function applyPage(pool: Pool, page: FeedPage): Promise<Applied | false> {
  return transaction(pool, async (sql) => {
    // Under another epoch the ledger has other numbers, and may have lost rows: all are sent again.
    const { rows } = await sql.query<{ changeSeq: number; isBehind: boolean }>({
      name: 'feed_fence',
      text: `update loci.cell c set feed_epoch = $2, feed_after = $3, feed_heard_at = clock_timestamp(), change_seq = change_seq + $4,
          life = case when is_behind then '${BEHIND_LIFE}' when $5 then ${DATABASE_LIFE} else life end,
          ledger_acked = case when is_other then 0 else ledger_acked end, ledger_sent = case when is_other then $6 else ledger_sent end,
          ledger_again = case when is_other then clock_timestamp() else ledger_again end
        from (select feed_epoch is not null and feed_epoch <> $2 as is_other, feed_epoch = $2 and $6 > ledger_sent and not $7 as is_behind
          from loci.cell) as before
        where lease_fence = $1 returning change_seq as "changeSeq", is_behind as "isBehind"`,
      values: [
        ...[page.fence, page.epoch, page.next, page.items.length > 0 ? 1 : 0, page.isLastOfAll ?? false],
        ...[page.ledger ?? 0, page.isAfresh ?? false],
      ],
      locks: () => [cellRow()],
    })
    const [{ changeSeq: seq, isBehind } = {}] = rows
    if (seq === undefined) return false
    const bodies = <Kind extends FeedItem['kind']>(kind: Kind) =>
      page.items.flatMap((item) => (item.kind === kind ? [item.body as BodyOf<Kind>] : []))
    const instances = bodies('instance')
    const again = page.isAfresh ? await eraseAgain(sql, instances, seq) : 0
    const { changed, isAnyRevived } = await applyInstances(sql, instances, seq)
    const withdrawn = bodies('revocation').filter((body) => body.withdrawn)
    if (withdrawn.length > 0) await withdrawRevocations(sql, withdrawn, seq)
    for (const kind of ['key', 'revocation', 'partner_credential'] as const) {
      const items = bodies(kind).filter((body) => !isGone(body))
      if (items.length === 0) continue
      const { name, text } = APPLY[kind]
      const { rows } = await sql.query<AppliedRevocation>({ name, text, values: [JSON.stringify(items), seq] })
      if (kind === 'revocation') {
        await auditRevocations(sql, rows)
        await dropCovered(sql, rows)
      }
    }
    if (page.isLastOfAll) await letGoOfRestored(sql)
    return { changed: changed + again, isAnyRevived, ...(isBehind ? { isBehind } : {}) }
  })
}

/** Instances that were put back (restore-instance): the ledger was replayed, so they answer again. */
async function letGoOfRestored(sql: Sql): Promise<void> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'feed_held',
    text: `select id from loci.instances where held_until = 'infinity' order by id`,
  })
  if (rows.length === 0) return
  await sql.query({
    name: 'feed_let_go',
    text: `with cell as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
      update loci.instances i set held_until = null, change_seq = cell.change_seq from cell where i.id = any($1)`,
    values: [rows.map(({ id }) => id)],
    locks: () => [cellRow(), ...instanceRows(rows.map(({ id }) => ({ svc: id })))],
  })
}

type BodyOf<Kind extends FeedItem['kind']> = Extract<FeedItem, { kind: Kind }>['body']

/**
 * Generations decide: an older one than the cell has (from a restored control database) changes nothing, and a deleted
 * instance is created again only under a higher one, when all its rows are erased.
 */
export async function applyInstances(sql: Sql, instances: BodyOf<'instance'>[], seq: number): Promise<Applied> {
  if (instances.length === 0) return { changed: 0, isAnyRevived: false }
  const items = JSON.stringify(instances)
  await sql.query({
    name: 'feed_await',
    text: `update loci.instances old set awaiting = i.body from jsonb_array_elements($1::jsonb) as i(body)
      where old.id = i.body->>'svc' and old.state = 'deleted' and old.purged_at is null and i.body->>'state' <> 'deleted'
        and (i.body->>'generation')::bigint > greatest(old.generation, (old.awaiting->>'generation')::bigint)`,
    values: [items],
    locks: () => instanceRows(instances),
  })
  const { rows: dead } = await sql.query<{ id: string }>({
    name: 'feed_dead',
    text: `select id from loci.instances where id = any($1) and state = 'deleted' and purged_at is not null`,
    values: [instances.filter(({ state }) => state !== 'deleted').map(({ svc }) => svc)],
  })
  // Heads keep what is in force of it: the worker of due work brings them up to date (daemon/cycles/upkeep).
  await sql.query({
    name: 'feed_config_due',
    text: `insert into loci.due (instance_id, database, kind, at)
      select distinct old.id, '', 'config', now() from jsonb_array_elements($1::jsonb) as i(body) join loci.instances old on old.id = i.body->>'svc'
      where old.state <> 'deleted' and i.body->>'state' <> 'deleted' and (i.body->>'generation')::bigint >= old.generation
        and old.config->'cognitive' is distinct from i.body->'config'->'cognitive'
      on conflict (instance_id, database, kind) do update set at = excluded.at, after = excluded.after`,
    values: [items],
    locks: () => instances.map(({ svc }) => serviceDue(svc)),
  })
  const { rows: changed } = await sql.query<{ id: string }>({
    ...APPLY.instance,
    values: [items, seq],
    locks: () => instanceRows(instances),
  })
  const revived = new Set(changed.map(({ id }) => id))
  return { changed: changed.length, isAnyRevived: dead.some(({ id }) => revived.has(id)) }
}

function instanceRows(instances: { svc: string }[]): Lock[] {
  return instances
    .map(({ svc }) => svc)
    .sort()
    .map(instanceRow)
}

/** After a restore from a backup: what the feed names as deleted is erased again, whatever purged_at says. */
async function eraseAgain(sql: Sql, instances: BodyOf<'instance'>[], seq: number): Promise<number> {
  const { rowCount } = await sql.query({
    name: 'feed_erase_again',
    text: `update loci.instances set purged_at = null, change_seq = $2 where id = any($1) and state = 'deleted' and purged_at is not null`,
    values: [instances.filter(({ state }) => state === 'deleted').map(({ svc }) => svc), seq],
    locks: () => instanceRows(instances),
  })
  return rowCount
}

/**
 * Deletes revocations by jti that an epoch of the service covers: their root was issued before the epoch, by more than
 * clocks differ. So management can replace many revocations by one epoch.
 */
async function dropCovered(sql: Sql, changed: AppliedRevocation[]): Promise<void> {
  const services = changed.flatMap(({ kind, value }) => (kind === 'svc' ? [value] : []))
  if (services.length === 0) return
  await sql.query({
    name: 'feed_drop_covered',
    text: `delete from loci.revocations r using loci.revocations e
      where e.kind = 'svc' and e.svc = '' and e.value = any($1) and r.kind = 'jti' and r.svc = e.value
        and r.revoked_at <= e.not_before - interval '1 minute'`,
    values: [services],
  })
}

/**
 * Marks as deleted what the ledger names as erased and a backup has brought back; the purger erases it. An instance
 * created again since has a higher generation and stays. Returns how many there were.
 */
export async function eraseByLedger(
  pool: Pool,
  fence: number,
  deletions: { svc: string; database?: string | undefined; generation: number | null }[],
): Promise<number> {
  const whole = deletions.filter(({ database, generation }) => database === undefined && generation !== null)
  if (whole.length === 0) return 0
  return transaction(pool, async (sql) => {
    const { rows } = await sql.query<{ seq: number }>({
      name: 'ledger_fence',
      text: 'update loci.cell set change_seq = change_seq + 1 where lease_fence = $1 returning change_seq as seq',
      values: [fence],
      locks: () => [cellRow()],
    })
    if (!rows[0]) return 0
    const { rowCount } = await sql.query({
      name: 'ledger_erase',
      text: `update loci.instances i set state = 'deleted', state_reason = null, generation = l.generation, config = '{}', change_seq = $3,
          updated_at = now(), purged_at = null, awaiting = null
        from unnest($1::text[], $2::bigint[]) as l (id, generation)
        where i.id = l.id and i.state <> 'deleted' and i.generation <= l.generation`,
      values: [whole.map(({ svc }) => svc), whole.map(({ generation }) => generation), rows[0].seq],
      locks: () => instanceRows(whole),
    })
    return rowCount
  })
}

/** Of a replay that goes on: the restored database has what management's ledger has up to this number. */
export async function saveReplayed(sql: Sql, fence: number, acked: number): Promise<void> {
  await sql.query({
    name: 'ledger_replaying',
    text: 'update loci.cell set ledger_acked = $2 where lease_fence = $1',
    values: [fence, acked],
    locks: () => [cellRow()],
  })
}

/** The restored database has what management's ledger has up to this number. */
export async function finishReplay(
  sql: Sql,
  { fence, acked, isOtherEpoch }: { fence: number; acked: number; isOtherEpoch: boolean },
): Promise<void> {
  await sql.query({
    name: 'ledger_replayed',
    text: `update loci.cell set ledger_acked = $2, ledger_sent = $2, ledger_again = case when $3 then clock_timestamp() else ledger_again end
      where lease_fence = $1`,
    values: [fence, acked, isOtherEpoch],
    locks: () => [cellRow()],
  })
}

/**
 * Takes back what the administration of this cell has revoked, also as management has sent it again, but nothing that
 * was revoked here since and is not reported yet. A `not_before` after 1970 is management's own and stays.
 */
async function withdrawRevocations(sql: Sql, items: BodyOf<'revocation'>[], seq: number): Promise<void> {
  const { rows } = await sql.query<AppliedRevocation>({
    name: 'feed_withdrawn',
    text: `with items as (select coalesce(kind, 'jti') as kind, coalesce(jti, id) as value, coalesce(not_before, 'epoch') as not_before
        from jsonb_to_recordset($1::jsonb) as i(kind text, jti text, id text, not_before timestamptz))
      update loci.revocations r set withdrawn = r.svc = '*' or i.not_before = 'epoch', restated = r.svc = '' and i.not_before > 'epoch',
        not_before = case when r.svc = '' and i.not_before > 'epoch' then i.not_before else r.not_before end, change_seq = $2
      from items i where r.kind = i.kind and r.value = i.value and r.svc in ('', '*') and not r.withdrawn
        and not (r.origin = 'cell' and r.reported_at is null) and not (r.svc = '' and r.not_before = i.not_before)
      returning r.kind, r.svc, r.value`,
    values: [JSON.stringify(items), seq],
  })
  for (const value of new Set(rows.map((row) => row.value)))
    await appendAudit(sql, {
      chain: CELL_CHAIN,
      actor: 'management',
      action: 'revocation.withdraw',
      subject: value,
      detail: {},
    })
}

/** Whether a revocation is withdrawn and nothing of management's own is left of it. */
function isGone(body: FeedItem['body']): boolean {
  return 'withdrawn' in body && body.withdrawn === true && !('not_before' in body && Date.parse(body.not_before) > 0)
}

interface AppliedRevocation {
  kind: string
  svc: string
  value: string
}

/** One audit entry in the instance's chain per revocation by management. A resync changes no row and adds none. */
async function auditRevocations(sql: Sql, changed: AppliedRevocation[]): Promise<void> {
  const chained = changed.map(({ kind, svc, value }) => ({ kind, value, chain: kind === 'svc' ? value : svc }))
  // By chain: their heads are locked in one order.
  for (const { kind, value, chain } of chained.sort((a, b) => (a.chain < b.chain ? -1 : 1))) {
    if (!chain.startsWith('svc_')) continue
    await appendAudit(sql, {
      chain,
      actor: 'management',
      action: 'revocation.apply',
      subject: value,
      detail: { kind },
    })
  }
}

/** Only a row that differs takes the new change_seq: a full resync must not make replicas read everything again. */
const APPLY: Record<FeedItem['kind'], { name: string; text: string }> = {
  instance: {
    name: 'feed_instances',
    text: `insert into loci.instances as old (id, organization_id, tenant_id, service_type, plan, state, state_reason, generation, limits, config, change_seq)
      select svc, org, ten, service_type, plan, state, state_reason, generation, limits, case when state = 'deleted' then '{}' else coalesce(config, '{}') end, $2
      from jsonb_to_recordset($1::jsonb) as i(svc text, org text, ten text, service_type text, plan text, state text, state_reason text, generation bigint, limits jsonb, config jsonb)
      on conflict (id) do update set plan = excluded.plan, state = excluded.state, state_reason = excluded.state_reason, generation = excluded.generation,
        limits = excluded.limits, config = excluded.config, change_seq = excluded.change_seq, updated_at = now(), purged_at = null, awaiting = null
      where case when old.state <> 'deleted' then excluded.generation >= old.generation
            and (old.plan, old.state, old.state_reason, old.generation, old.limits, old.config)
              is distinct from (excluded.plan, excluded.state, excluded.state_reason, excluded.generation, excluded.limits, excluded.config)
          when old.purged_at is not null then excluded.generation > old.generation
          else excluded.state = 'deleted' and excluded.generation > greatest(old.generation, (old.awaiting->>'generation')::bigint) end
      returning id`,
  },
  key: {
    name: 'feed_keys',
    text: `insert into loci.signing_keys as old (kid, x, state, retire_at, change_seq)
      select kid, x, state, retire_at, $2 from jsonb_to_recordset($1::jsonb) as i(kid text, x text, state text, retire_at timestamptz)
      on conflict (kid) do update set state = excluded.state, retire_at = excluded.retire_at, change_seq = excluded.change_seq
      where (old.state, old.retire_at) is distinct from (excluded.state, excluded.retire_at) and old.state <> 'removed'`,
  },
  revocation: {
    name: 'feed_revocations',
    text: `insert into loci.revocations as old (kind, svc, value, not_before, expires_at, revoked_at, origin, change_seq)
      select coalesce(kind, 'jti'), coalesce(svc, ''), coalesce(jti, id), not_before, expires_at, revoked_at, 'management', $2
      from jsonb_to_recordset($1::jsonb)
        as i(kind text, svc text, jti text, id text, not_before timestamptz, expires_at timestamptz, revoked_at timestamptz)
      on conflict (kind, svc, value) do update set expires_at = greatest(old.expires_at, excluded.expires_at),
        not_before = case when old.withdrawn then excluded.not_before else greatest(old.not_before, excluded.not_before) end,
        revoked_at = excluded.revoked_at, withdrawn = false, restated = false, change_seq = excluded.change_seq
      where old.withdrawn or excluded.not_before > old.not_before or excluded.expires_at > old.expires_at
      returning kind, svc, value`,
  },
  partner_credential: {
    name: 'feed_partners',
    text: `insert into loci.partner_credentials as old (id, instance_id, organization_id, tenant_id, partner, database, projection_classes, routes, digest, state, expires_at, change_seq)
      select id, svc, org, ten, partner, database, projection_classes, routes, decode(digest, 'hex'), state, expires_at, $2
      from jsonb_to_recordset($1::jsonb) as i(id text, svc text, org text, ten text, partner text, database text, projection_classes text[], routes text[], digest text, state text, expires_at timestamptz)
      where not exists (select from loci.instances n where n.id = i.svc and n.state = 'deleted')
      on conflict (id) do update set projection_classes = excluded.projection_classes, routes = excluded.routes, digest = excluded.digest,
        state = excluded.state, expires_at = excluded.expires_at, change_seq = excluded.change_seq
      where (old.projection_classes, old.routes, old.digest, old.state, old.expires_at)
        is distinct from (excluded.projection_classes, excluded.routes, excluded.digest, excluded.state, excluded.expires_at)`,
  },
}
