// Where a service can go, and how long the last ones took to come up there.

import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell } from '../../acts/locks/store.ts'

export interface Candidate {
  id: string
  placed: number
  capacity: number
  isOwn: boolean
  isHeard: boolean
}

/** Cells of the region with room that the tenant may use: its own, and shared ones. */
export async function listCandidates(sql: Sql, region: string, tenantId: string): Promise<Candidate[]> {
  const { rows } = await sql.query<Candidate>({
    name: 'provisioning_candidates',
    text: `select id, placed, capacity, tenant_id is not null as "isOwn",
        coalesce(heard_at > now() - interval '1 minute', false) as "isHeard"
      from loci.cells where region = $1 and (tenant_id is null or tenant_id = $2) order by id`,
    values: [region, tenantId],
  })
  return rows
}

export interface Room {
  placed: number
  capacity: number
  isOwn: boolean
  /** Whom the whole cell is kept for. */
  tenantId: string | null
}

/** Locked to the end of the transaction: two cannot take the last place. */
export async function lockRoom(sql: Sql, cellId: string): Promise<Room | undefined> {
  return lockCell<Room>(sql, cellId, {
    name: 'provisioning_lock_cell',
    columns: 'placed, capacity, tenant_id is not null as "isOwn", tenant_id as "tenantId"',
  })
}

const READY_TIMES_MAX = 50

/** Keeps the last fifty of the placement. */
export async function addReadyTime(sql: Sql, placement: string, at: Date, ms: number): Promise<void> {
  await sql.query({
    name: 'provisioning_add_ready',
    text: 'insert into loci.ready_times (placement, at, ms) values ($1, $2, $3)',
    values: [placement, at, Math.round(ms)],
  })
}

/** Of all placements, in upkeep. */
export async function forgetReadyTimes(sql: Sql): Promise<void> {
  await sql.query({
    text: `delete from loci.ready_times t using (
        select placement, (array_agg(at order by at desc))[${READY_TIMES_MAX}] as oldest from loci.ready_times group by placement
      ) as kept where t.placement = kept.placement and t.at < kept.oldest`,
  })
}

/** The ninth in ten of the last fifty, in milliseconds; undefined before there was any. */
export async function findReadyMs(sql: Sql, placement: string): Promise<number | undefined> {
  const { rows } = await sql.query<{ ms: number | null }>({
    name: 'provisioning_ready_ms',
    text: `select percentile_disc(0.9) within group (order by ms) as ms from (
        select ms from loci.ready_times where placement = $1 order by at desc limit ${READY_TIMES_MAX}
      ) as last`,
    values: [placement],
  })
  return rows[0]?.ms ?? undefined
}
