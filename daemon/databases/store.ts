// All SQL of what every domain stands on: entering an instance, its totals, its boundary, and due work.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute, transaction } from '@loci/postgres/transaction.ts'
import { dueOf, instanceLock, LOCKS } from './locks.ts'

/** Until the transaction ends it sees the instance's rows, and erasure waits. False: the instance is gone. */
export async function enterInstance(sql: Sql, instanceId: string): Promise<boolean> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: 'instance_enter',
    text: 'select loci.enter_instance($1) as "isThere"',
    values: [instanceId],
    locks: () => [instanceLock(instanceId)],
  })
  return rows[0]?.isThere ?? false
}

/** Runs `work` in a transaction that has entered the instance; undefined when the instance is gone. */
export function withInstance<T>(
  pool: Pool,
  instanceId: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T | undefined> {
  return transaction(pool, async (sql) => ((await enterInstance(sql, instanceId)) ? work(sql) : undefined))
}

/** As withInstance(), for reading one database: while that is being erased nothing is seen. */
export function withDatabase<T>(
  pool: Pool,
  { instanceId, database }: Due,
  work: (sql: Sql) => Promise<T>,
): Promise<T | undefined> {
  return withInstance(pool, instanceId, async (sql) => {
    await sql.query({ name: 'look_into', text: 'select loci.look_into($1, $2)', values: [instanceId, database] })
    return work(sql)
  })
}

/** Of an act that wrote and was refused: it was taken back, and stands in the write-ahead log all the same. */
export async function countWritten(pool: Pool, instanceId: string, contents: (string | null)[]): Promise<void> {
  const written = contents.reduce((bytes, content) => bytes + Buffer.byteLength(content ?? ''), 0)
  if (written === 0) return
  await execute(pool, {
    name: 'count_written',
    text: 'select loci.count_written($1, $2)',
    values: [instanceId, written],
    locks: () => [instanceLock(instanceId)],
  })
}

export interface Totals {
  records: number
  bytes: number
}

/** What each of the instances holds over all domains, by its id. */
export async function listTotals(sql: Sql, instanceIds: string[]): Promise<Map<string, Totals>> {
  if (instanceIds.length === 0) return new Map()
  const { rows } = await sql.query<Totals & { instanceId: string }>({
    name: 'totals_list',
    text: `select i.id as "instanceId", least(greatest(coalesce(sum(t.records), 0), 0), 9007199254740991)::bigint as records,
        least(greatest(coalesce(sum(t.bytes), 0) + i.keyed_bytes, 0), 9007199254740991)::bigint as bytes
      from loci.instances i left join loci.instance_totals t on t.instance_id = i.id
      where i.id = any($1) group by i.id`,
    values: [instanceIds],
  })
  return new Map(rows.map(({ instanceId, records, bytes }) => [instanceId, { records, bytes }]))
}

/** `failed`: tables in which another instance would see rows of this one. */
export async function checkBoundary(sql: Sql, instanceId: string): Promise<{ checked: number; failed: number }> {
  const { rows } = await sql.query<{ checked: number; failed: number }>({
    name: 'open_tables',
    text: 'select checked, failed from loci.open_tables($1)',
    values: [instanceId],
  })
  return rows[0] as { checked: number; failed: number }
}

export interface Due {
  instanceId: string
  database: string
}

/** Those of the kinds that have something due, in their order. */
export async function listDueKinds(sql: Sql, kinds: string[]): Promise<string[]> {
  const { rows } = await sql.query<{ kind: string }>({
    name: 'due_kinds',
    text: `select k.kind from unnest($1::text[]) with ordinality k(kind, ord)
      where exists (select from loci.due d where d.kind = k.kind and d.at <= now()) order by k.ord`,
    values: [kinds],
  })
  return rows.map(({ kind }) => kind)
}

/** Of how many due rows the next are chosen: beyond it the oldest alone counts, whoever has them. */
const DUE_LOOKED_AT = 2_000

/**
 * Claims what is due, one of each organization in turn, each one's oldest first: 81 scheduled databases of one customer
 * make nobody else's cycle late. Concurrent workers skip each other's rows. Outside of any transaction.
 */
export async function claimDue(sql: Sql, kind: string, limit: number): Promise<Due[]> {
  const { rows } = await sql.query<Due & { turn: number }>({
    name: 'due_claim',
    // now(), not clock_timestamp(), which is never a condition on an index. Materialized: a subquery in `from` may be
    // run more than once by the planner's choice, and would then claim more than its limit. What is locked is asked
    // again whether it is due: another worker may have claimed it since it was looked at.
    text: `with claimed as materialized (
        select d.ctid as place, ranked.turn from (
          select found.ctid, found.at, row_number() over (partition by i.organization_id order by found.at) as turn
          from (select ctid, instance_id, at from loci.due where kind = $1 and at <= now() order by at limit ${DUE_LOOKED_AT}) found
          left join loci.instances i on i.id = found.instance_id
        ) ranked join loci.due d on d.ctid = ranked.ctid and d.kind = $1 and d.at <= now()
        order by ranked.turn, ranked.at limit $2 for update of d skip locked)
      update loci.due d set at = now() + interval '5 seconds', first_at = case $1 when 'cycle' then coalesce(d.first_at, d.at) end
      from claimed where d.ctid = claimed.place
      returning d.instance_id as "instanceId", d.database, claimed.turn`,
    values: [kind, limit],
    // Nobody knows which: in a transaction, which may hold other locks, it fails.
    locks: () => [LOCKS.lock('due row', 'of any database')],
  })
  return rows
    .toSorted((one, other) => one.turn - other.turn)
    .map(({ instanceId, database }) => ({ instanceId, database }))
}

/** From now on, so many milliseconds; a row that is gone stays gone. */
export async function postponeDue(sql: Sql, kind: string, { instanceId, database }: Due, ms: number): Promise<void> {
  await sql.query({
    name: 'due_postpone',
    text: `update loci.due set at = now() + $4 * interval '1 millisecond'
      where instance_id = $1 and database = $2 and kind = $3`,
    values: [instanceId, database, kind, ms],
    locks: () => [dueOf(instanceId, database)],
  })
}

/** Whether management has acknowledged the ledger row of the value, or (no bytes) database, that was erased last. */
export async function isLedgered(sql: Sql, { instanceId, database }: Due, mac: Buffer): Promise<boolean> {
  try {
    const { rows } = await sql.query<{ isThere: boolean }>({
      name: 'ledger_is_reported',
      text: `select reported_at is not null as "isThere" from loci.deletions
        where instance_id = $1 and database = $2 and value_mac = $3 and not is_override`,
      values: [instanceId, database, mac],
    })
    return rows[0]?.isThere ?? false
  } catch {
    // It is asked behind the commit of an erasure: to fail here would say that nothing was done.
    return false
  }
}

export interface SealedKey {
  instanceId: string
  sealed: string
  sealedWith: string
}

export async function findKey(sql: Sql, instanceId: string): Promise<SealedKey | undefined> {
  const { rows } = await sql.query<SealedKey>({
    name: 'instance_key_find',
    text: `select instance_id as "instanceId", sealed, sealed_with as "sealedWith" from loci.instance_keys where instance_id = $1`,
    values: [instanceId],
  })
  return rows[0]
}

/** The key that the instance has from now on: this one, or the one that another replica made first. */
export function insertKey(pool: Pool, { instanceId, sealed, sealedWith }: SealedKey): Promise<SealedKey | undefined> {
  return withInstance(pool, instanceId, async (sql) => {
    await sql.query({
      name: 'instance_key_insert',
      text: 'insert into loci.instance_keys (instance_id, sealed, sealed_with) values ($1, $2, $3) on conflict do nothing',
      values: [instanceId, sealed, sealedWith],
    })
    return findKey(sql, instanceId)
  })
}

/** Sealing keys that are in use and not among these, and how many keys each seals. */
export async function listForeignSeals(
  sql: Sql,
  sealingIds: string[],
): Promise<{ sealedWith: string; keys: number }[]> {
  const { rows } = await sql.query<{ sealedWith: string; keys: number }>({
    name: 'instance_keys_foreign',
    text: `select sealed_with as "sealedWith", count(*)::int as keys from loci.instance_keys
      where sealed_with <> all($1) group by 1 order by 1`,
    values: [sealingIds],
  })
  return rows
}

/** Sealed with one of these sealing keys that is not the first, which must have been in use for ten minutes. */
export async function listOldKeys(sql: Sql, sealingIds: string[], limit: number): Promise<SealedKey[]> {
  const { rows } = await sql.query<SealedKey>({
    name: 'instance_keys_old',
    text: `select instance_id as "instanceId", sealed, sealed_with as "sealedWith" from loci.instance_keys
      where sealed_with = any($2) and exists (select from loci.sealing_checks where id = $1 and first_seen_at < now() - interval '10 minutes')
      limit $3`,
    values: [sealingIds[0], sealingIds.slice(1), limit],
  })
  return rows
}

export async function replaceSeals(sql: Sql, keys: (SealedKey & { before: string })[]): Promise<void> {
  if (keys.length === 0) return
  await sql.query({
    name: 'instance_keys_reseal',
    text: `update loci.instance_keys k set sealed = n.sealed, sealed_with = n.sealed_with
      from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as n(instance_id, before, sealed, sealed_with)
      where k.instance_id = n.instance_id and k.sealed = n.before`,
    values: [
      keys.map(({ instanceId }) => instanceId),
      keys.map(({ before }) => before),
      keys.map(({ sealed }) => sealed),
      keys.map(({ sealedWith }) => sealedWith),
    ],
  })
}
