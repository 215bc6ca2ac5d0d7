// Erasing a deleted instance. Every statement checks the fence of the lease.

import { appendAudit } from '@loci/acts/audit/store.ts'
import type { FeedItem } from '@loci/contract/feed.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute, transaction } from '@loci/postgres/transaction.ts'
import { cellRow, instanceLock, instanceRow } from '../../databases/locks.ts'
import { applyInstances } from '../store.ts'

export interface Purge {
  instanceId: string
  generation: number
}

/** Deleted instances that are not erased yet, oldest first. */
export async function listPurges(sql: Sql, limit: number): Promise<Purge[]> {
  const { rows } = await sql.query<Purge>({
    name: 'purges_list',
    text: `select id as "instanceId", generation from loci.instances where state = 'deleted' and purged_at is null
      order by updated_at limit $1`,
    values: [limit],
  })
  return rows
}

/** How many rows were erased; fewer than the limit: nothing is left. Undefined: lease or generation changed. */
export async function purgeSome(
  pool: Pool,
  fence: number,
  { instanceId, generation }: Purge,
  limit: number,
): Promise<number | undefined> {
  const { rows } = await execute<{ removed: number | null }>(pool, {
    name: 'purge_some',
    text: 'select loci.purge_some($1, $2, $3, $4) as removed',
    values: [fence, instanceId, generation, limit],
    locks: () => [instanceLock(instanceId), instanceRow(instanceId)],
  })
  return rows[0]?.removed ?? undefined
}

/**
 * Call only when purgeSome() has left nothing. Marks the instance as erased, adds it to the ledger, and creates it
 * again, empty, if management named it again meanwhile. Undefined if the lease or the generation has changed.
 */
export async function finishPurge(
  pool: Pool,
  fence: number,
  { instanceId, generation }: Purge,
): Promise<'gone' | 'made again' | undefined> {
  return transaction(pool, async (sql) => {
    const { rows: raised } = await sql.query<{ seq: number }>({
      name: 'purge_fence',
      text: 'update loci.cell set change_seq = change_seq + 1 where lease_fence = $1 returning change_seq as seq',
      values: [fence],
      locks: () => [cellRow()],
    })
    const seq = raised[0]?.seq
    if (seq === undefined) return undefined
    const { rows: found } = await sql.query<{ awaiting: InstanceBody | null }>({
      name: 'purge_find',
      text: `select awaiting from loci.instances
        where id = $1 and generation = $2 and state = 'deleted' and purged_at is null for update`,
      values: [instanceId, generation],
      locks: () => [instanceRow(instanceId)],
    })
    if (!found[0]) return undefined
    await sql.query({
      name: 'purge_finish',
      text: `update loci.instances set purged_at = clock_timestamp(), awaiting = null, change_seq = $2, updated_at = now(),
        databases = 0, keyed_answers = 0, keyed_bytes = 0, keyed_since = null where id = $1`,
      values: [instanceId, seq],
      locks: () => [instanceRow(instanceId)],
    })
    // Milliseconds, because it is compared with the time that management returns.
    await sql.query({
      name: 'purge_ledger',
      text: `insert into loci.deletions (instance_id, database, generation, at)
        values ($1, '', $2, date_trunc('milliseconds', clock_timestamp()))
        on conflict (instance_id, database, value_mac, is_override) do update set generation = excluded.generation, at = excluded.at, reported_at = null`,
      values: [instanceId, generation],
    })
    await appendAudit(sql, {
      chain: instanceId,
      actor: 'management',
      action: 'instance.erase',
      subject: instanceId,
      detail: { generation },
    })
    if (found[0].awaiting === null) return 'gone'
    await applyInstances(sql, [found[0].awaiting], seq)
    return 'made again'
  })
}

type InstanceBody = Extract<FeedItem, { kind: 'instance' }>['body']
