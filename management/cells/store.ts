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

/** The name of another cell that has one of these keys. */
export async function findKeyHolder(sql: Sql, cellId: string, publicKeys: string[]): Promise<string | undefined> {
  const { rows } = await sql.query<{ name: string }>({
    name: 'cells_key_holder',
    text: 'select name from loci.cells where id <> $1 and public_keys ?| $2 order by id limit 1',
    values: [cellId, publicKeys],
  })
  return rows[0]?.name
}

/** What keeps it from being removed; it is gone when there is neither. */
export async function deleteCellIfEmpty(sql: Sql, id: string): Promise<{ services: number; quarantined: number }> {
  const { rows } = await sql.query<{ services: number; quarantined: number }>({
    name: 'cells_remove',
    text: 'select services, quarantined from loci.remove_cell($1)',
    values: [id],
  })
  return rows[0] as { services: number; quarantined: number }
}

/** What is undefined stays. False when there is no such cell. */
export async function updateCell(
  sql: Sql,
  id: string,
  { capacity, endpoint, publicKeys }: Partial<Pick<Cell, 'capacity' | 'endpoint' | 'publicKeys'>>,
): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'cells_update',
    text: `update loci.cells set capacity = coalesce($2, capacity), endpoint = coalesce($3, endpoint),
        public_keys = coalesce($4, public_keys)
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
}

const HEALTH = `${COLUMNS}, placed, created_at as "createdAt", heard_at as "heardAt", heard_seq as "heardSeq", feed_seq as "feedSeq"`

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
