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
