import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import {
  cellChange,
  cellList,
  cellListQuery,
  cellParams,
  cellRequest,
  cellResponse,
  cellSelf,
} from '@loci/contract/cells.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import type { CellCaller } from '../access/cell.ts'
import { findOwner } from '../access/store.ts'
import { readEpoch } from '../acts/feed/store.ts'
import { addCell, type CellChange, cellJson, changeCell, noSuchCell } from './cells.ts'
import { type CellHealth, findCellHealth, listCells } from './store.ts'

interface CellOptions {
  caller: CallerAccess
  cell: Access<CellCaller>
  pool: Pool
  act: RunAct<Caller>
  /** Those that can be asked for; none = any. */
  regions: readonly string[]
}

/** For staff, except a cell's own. Acts on cells are in the platform's audit chain and emit no events. */
export function cellRoutes({ caller: access, cell, pool, act, regions }: CellOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/cells',
        access: access.staff('read'),
        tag: 'cells',
        summary: 'List the cells, newest first, with their load and the lag of their feeds.',
        query: cellListQuery,
        answers: { 200: cellList },
        failureMessage: 'Failed to list the cells',
      },
      async ({ query }) => {
        const read = await listCells(pool, { before: query.cursor, limit: query.limit + 1 })
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { cells: rows.map(cellJson), next_cursor: next }
      },
    ),

    route(
      {
        method: 'POST',
        path: '/api/v1/cells',
        access: access.staff('write'),
        tag: 'cells',
        summary: 'Register a cell with the key that its daemons sign with.',
        body: cellRequest,
        answers: { 201: cellResponse },
        errors: ['INVALID_STATE'],
        failureMessage: 'Failed to register the cell',
      },
      (call) =>
        act(call, async (sql, by) => {
          const { name, region, capacity, endpoint, public_key, tenant_id } = call.body
          if (tenant_id !== undefined) await requireTenant(sql, tenant_id)
          const given = { name, region, capacity, endpoint, publicKeys: [public_key], tenantId: tenant_id ?? null }
          const { id } = await addCell(sql, given, { ...by, regions })
          return { status: 201, body: await show(sql, id) }
        }),
    ),

    route(
      {
        method: 'PATCH',
        path: '/api/v1/cells/{id}',
        access: access.staff('write'),
        tag: 'cells',
        summary: 'Change the capacity, the endpoint or the keys of a cell.',
        details: 'A key that is left out ends at once.',
        params: cellParams,
        body: cellChange,
        answers: { 200: cellResponse },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
        failureMessage: 'Failed to change the cell',
      },
      (call) =>
        act(call, async (sql, by) => {
          const { body } = call
          const { id } = call.params
          if (!isId('cell', id)) throw noSuchCell()
          const change: CellChange = {
            ...(body.capacity === undefined ? {} : { capacity: body.capacity }),
            ...(body.endpoint === undefined ? {} : { endpoint: body.endpoint }),
            ...(body.public_keys === undefined ? {} : { publicKeys: body.public_keys }),
          }
          await changeCell(sql, id, change, by.actor, by.requestId)
          return { status: 200, body: await show(sql, id) }
        }),
    ),

    route(
      {
        method: 'GET',
        path: '/cell/v1/self',
        access: cell,
        tag: 'cells',
        summary: 'Read how the cell is registered with management.',
        details: 'Each replica asks once at its start, to learn whether it is known here.',
        answers: { 200: cellSelf },
        failureMessage: 'The cell could not be read.',
      },
      async ({ caller }) => {
        const { id, name, region, placed } = (await findCellHealth(pool, caller.cellId)) as CellHealth
        return { id, name, region, epoch: await readEpoch(pool), instances: placed }
      },
    ),
  ]
}

/** Staff may learn which tenants exist. */
async function requireTenant(sql: Sql, id: string): Promise<void> {
  const owner = isId('ten', id) ? await findOwner(sql, id) : undefined
  if (!owner || owner.serviceId !== null)
    throw new ApiError('VALIDATION_ERROR', 'There is no tenant with this tenant_id.')
}

async function show(sql: Sql, id: string): Promise<object> {
  return cellJson((await findCellHealth(sql, id)) as CellHealth)
}
