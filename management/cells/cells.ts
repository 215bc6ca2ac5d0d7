// Cells join here. What is known to every cell (the key set, the epochs of organizations and tenants) is given to a new one in the
// transaction that adds it.

import { publicKeyOf } from '@loci/capability/jws.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { appendAudit, PLATFORM_CHAIN } from '../audit/store.ts'
import { lockCell, lockCells } from '../feed/store.ts'
import { publishKeys } from '../keys/keys.ts'
import { publishEpochs } from '../revocations/revocations.ts'
import { type Cell, findCell, insertCell, updateCell } from './store.ts'

export async function addCell(sql: Sql, given: Omit<Cell, 'id'>, actor: string, requestId?: string): Promise<Cell> {
  requireFitting(given)
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(given.name))
    throw new ApiError('VALIDATION_ERROR', 'The name of a cell is 1 to 63 of a-z, 0-9 and -.')
  const cell = { ...given, id: newId('cell') }
  await lockCells(sql)
  if (!(await insertCell(sql, cell)))
    throw new ApiError('INVALID_STATE', `There is a cell '${given.name}' already: choose another name.`)
  await publishKeys(sql, cell.id)
  await publishEpochs(sql, cell.id)
  await appendAudit(sql, {
    chain: PLATFORM_CHAIN,
    actor,
    action: 'cell.add',
    subject: cell.id,
    requestId,
    detail: { name: cell.name, region: cell.region, capacity: cell.capacity, endpoint: cell.endpoint },
  })
  return cell
}

export type CellChange = Partial<Pick<Cell, 'capacity' | 'endpoint' | 'publicKeys'>>

/** Keys that are not named any more open nothing from the commit on. */
export async function changeCell(
  sql: Sql,
  id: string,
  change: CellChange,
  actor: string,
  requestId: string,
): Promise<void> {
  requireFitting(change)
  await lockCell(sql, id)
  if (!(await updateCell(sql, id, change))) throw noSuchCell()
  const { publicKeys, ...rest } = change
  await appendAudit(sql, {
    chain: PLATFORM_CHAIN,
    actor,
    action: 'cell.change',
    subject: id,
    requestId,
    detail: { ...rest, ...(publicKeys ? { public_keys: publicKeys.join(' ') } : {}) },
  })
}

export function noSuchCell(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such cell. GET /api/v1/cells lists them.')
}

function requireFitting({ capacity, endpoint, publicKeys }: CellChange): void {
  if (publicKeys && (publicKeys.length < 1 || publicKeys.length > 2 || !publicKeys.every(isPublicKey)))
    throw new ApiError(
      'VALIDATION_ERROR',
      'A cell has one or two Ed25519 public keys: 43 characters of base64url each.',
    )
  if (capacity !== undefined && (!Number.isInteger(capacity) || capacity < 1 || capacity > 1_000_000))
    throw new ApiError(
      'VALIDATION_ERROR',
      'The capacity of a cell is the number of instances it may hold, 1 to 1000000.',
    )
  if (endpoint !== undefined && (!URL.canParse(endpoint) || !/^https?:\/\//.test(endpoint)))
    throw new ApiError('VALIDATION_ERROR', 'The endpoint of a cell is the URL under which clients reach its daemons.')
}

export async function requireCell(sql: Sql, nameOrId: string): Promise<Cell> {
  const cell = await findCell(sql, nameOrId)
  if (!cell) throw new ApiError('NOT_FOUND', `There is no cell '${nameOrId}'. Add it with: management cells add`)
  return cell
}

function isPublicKey(x: string): boolean {
  return publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x }) !== undefined
}
