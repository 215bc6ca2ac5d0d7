// Cells join here. What is known to every cell (the key set, the epochs of organizations and tenants) is given to a new one in the
// transaction that adds it.

import { publicKeyOf } from '@loci/capability/jws.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { appendAudit, PLATFORM_CHAIN } from '../audit/store.ts'
import { lockCells } from '../feed/store.ts'
import { publishKeys } from '../keys/keys.ts'
import { publishEpochs } from '../revocations/revocations.ts'
import { type Cell, findCell, insertCell } from './store.ts'

export async function addCell(sql: Sql, given: Omit<Cell, 'id'>, actor: string): Promise<Cell> {
  if (given.publicKeys.length < 1 || given.publicKeys.length > 2 || !given.publicKeys.every(isPublicKey))
    throw new ApiError(
      'VALIDATION_ERROR',
      'A cell has one or two Ed25519 public keys: 43 characters of base64url each.',
    )
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(given.name))
    throw new ApiError('VALIDATION_ERROR', 'The name of a cell is 1 to 63 of a-z, 0-9 and -.')
  if (!Number.isInteger(given.capacity) || given.capacity < 1 || given.capacity > 1_000_000)
    throw new ApiError(
      'VALIDATION_ERROR',
      'The capacity of a cell is the number of instances it may hold, 1 to 1000000.',
    )
  if (!URL.canParse(given.endpoint) || !/^https?:\/\//.test(given.endpoint))
    throw new ApiError('VALIDATION_ERROR', 'The endpoint of a cell is the URL under which clients reach its daemons.')
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
    detail: { name: cell.name, region: cell.region, capacity: cell.capacity, endpoint: cell.endpoint },
  })
  return cell
}

export async function requireCell(sql: Sql, nameOrId: string): Promise<Cell> {
  const cell = await findCell(sql, nameOrId)
  if (!cell) throw new ApiError('NOT_FOUND', `There is no cell '${nameOrId}'. Add it with: management cells add`)
  return cell
}

function isPublicKey(x: string): boolean {
  return publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x }) !== undefined
}
