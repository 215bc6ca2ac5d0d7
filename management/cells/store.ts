import type { CellAlarm } from '@loci/contract/cells.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export interface Cell {
  id: string
  name: string
  region: string
  capacity: number
  endpoint: string
  publicKeys: string[]
  tenantId: string | null
}

const COLUMNS = `id, name, region, capacity, endpoint, public_keys as "publicKeys", tenant_id as "tenantId"`

export async function insertCell(sql: Sql, cell: Cell): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'cells_insert',
    text: `insert into loci.cells (id, name, region, capacity, endpoint, public_keys, tenant_id)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict (name) do nothing`,
    values: [
      cell.id,
      cell.name,
      cell.region,
      cell.capacity,
      cell.endpoint,
      JSON.stringify(cell.publicKeys),
      cell.tenantId,
    ],
  })
  return rowCount === 1
}

export async function findCell(sql: Sql, nameOrId: string): Promise<Cell | undefined> {
  const { rows } = await sql.query<Cell>({
    name: 'cells_find',
    text: `select ${COLUMNS} from loci.cells where id = $1 or name = $1`,
    values: [nameOrId],
  })
  return rows[0]
}

export async function findCellKeys(sql: Sql, cellId: string): Promise<string[]> {
  const { rows } = await sql.query<{ keys: string[] }>({
    name: 'cells_keys',
    text: 'select public_keys as keys from loci.cells where id = $1',
    values: [cellId],
  })
  return rows[0]?.keys ?? []
}

export async function listCellKeys(sql: Sql): Promise<Map<string, string[]>> {
  const { rows } = await sql.query<{ id: string; keys: string[] }>({
    name: 'cells_keys_all',
    text: 'select id, public_keys as keys from loci.cells',
  })
  return new Map(rows.map(({ id, keys }) => [id, keys]))
}

/** The name of another cell that has one of these keys. */
export async function findKeyHolder(sql: Sql, cellId: string, publicKeys: string[]): Promise<string | undefined> {
  const { rows } = await sql.query<{ name: string }>({
    name: 'cells_key_holder',
    text: 'select name from loci.cells where id <> $1 and public_keys ?| $2 order by id limit 1',
    values: [cellId, publicKeys],
  })
  return rows[0]?.name
}

/** What keeps it from being removed; with neither it was removed. */
export async function deleteCellIfEmpty(sql: Sql, id: string): Promise<{ services: number; quarantined: number }> {
  const { rows } = await sql.query<{ services: number; quarantined: number }>({
    name: 'cells_remove',
    text: 'select services, quarantined from loci.remove_cell($1)',
    values: [id],
  })
  return rows[0] as { services: number; quarantined: number }
}

/** Undefined fields stay as they are. False when there is no such cell. */
export async function updateCell(
  sql: Sql,
  id: string,
  { capacity, endpoint, publicKeys }: Partial<Pick<Cell, 'capacity' | 'endpoint' | 'publicKeys'>>,
): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'cells_update',
    text: `update loci.cells set capacity = coalesce($2, capacity), endpoint = coalesce($3, endpoint),
        public_keys = coalesce($4, public_keys), alarm = case when $4::jsonb is null then alarm end
      where id = $1`,
    values: [id, capacity ?? null, endpoint ?? null, publicKeys ? JSON.stringify(publicKeys) : null],
  })
  return rowCount === 1
}

export interface CellHealth extends Cell {
  placed: number
  createdAt: Date
  heardAt: Date | null
  heardSeq: number
  feedSeq: number
  alarm: { kind: CellAlarm; at: string; detail: string } | null
}

const HEALTH = `${COLUMNS}, placed, created_at as "createdAt", heard_at as "heardAt", heard_seq as "heardSeq", feed_seq as "feedSeq",
  alarm`

/** Newest first. */
export async function listCells(
  sql: Sql,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<CellHealth[]> {
  const { rows } = await sql.query<CellHealth>({
    name: 'cells_list',
    text: `select ${HEALTH} from loci.cells where $1::text is null or id < $1 order by id desc limit $2`,
    values: [before ?? null, limit],
  })
  return rows
}

export async function findCellHealth(sql: Sql, id: string): Promise<CellHealth | undefined> {
  const { rows } = await sql.query<CellHealth>({
    name: 'cells_health',
    text: `select ${HEALTH} from loci.cells where id = $1`,
    values: [id],
  })
  return rows[0]
}

export async function saveAlarm(sql: Sql, id: string, kind: CellAlarm, detail: string): Promise<void> {
  await sql.query({
    name: 'cells_alarm',
    text: `update loci.cells set alarm = jsonb_build_object('kind', $2::text, 'detail', $3::text, 'at',
        to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) where id = $1`,
    values: [id, kind, detail],
  })
}

/**
 * Notes which replica calls as the cell. Answers the address of another one that called since this one's last call:
 * then both go on, and one of them is not the cell. A replica that takes over the lease is new, and does not come back
 * to one that goes on.
 */
export async function noteReplica(
  sql: Sql,
  cellId: string,
  { replica, address }: { replica: string; address: string },
): Promise<string | undefined> {
  const { rows } = await sql.query<{ other: string | null }>({
    name: 'cells_replica',
    text: `with before as (select last_at from loci.cell_replicas where cell_id = $1 and replica = $2),
      noted as (
        insert into loci.cell_replicas (cell_id, replica, address, last_at) values ($1, $2, $3, clock_timestamp())
        on conflict (cell_id, replica) do update set address = excluded.address, last_at = excluded.last_at
      )
      select (
        select o.address from loci.cell_replicas o, before where o.cell_id = $1 and o.replica <> $2 and o.address <> $3
          and o.last_at > before.last_at and before.last_at > clock_timestamp() - interval '10 minutes' order by o.last_at desc limit 1
      ) as other`,
    values: [cellId, replica, address],
  })
  return rows[0]?.other ?? undefined
}

/** Replicas that have not called for a day. */
export async function forgetReplicas(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.cell_replicas where last_at < now() - interval '1 day'` })
}
