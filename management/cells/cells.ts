// Cells join here. What is known to every cell (the key set, the epochs of organizations and tenants) is given to a new
// one in the transaction that adds it.

import { type Act, PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { publicKeyOf } from '@loci/capability/jws.ts'
import { isLoopback } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell, lockCells } from '../acts/locks/store.ts'
import { publishKeys } from '../tokens/keys/keys.ts'
import { publishEpochs } from '../tokens/revocations/revocations.ts'
import {
  type Cell,
  type CellHealth,
  deleteCellIfEmpty,
  findCell,
  findKeyHolder,
  insertCell,
  updateCell,
} from './store.ts'

export async function addCell(
  sql: Sql,
  given: Omit<Cell, 'id'>,
  { actor, requestId, regions = [] }: Act & { regions?: readonly string[] },
): Promise<Cell> {
  requireFitting(given)
  if (regions.length > 0 && !regions.includes(given.region))
    throw new ApiError(
      'VALIDATION_ERROR',
      `The region '${given.region}' is not in LOCI_REGIONS (${regions.join(', ')}), so no service would be placed here. Name one of these, or add it to LOCI_REGIONS first.`,
    )
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(given.name))
    throw new ApiError('VALIDATION_ERROR', 'The name of a cell is 1 to 63 of a-z, 0-9 and -.')
  const cell = { ...given, id: newId('cell') }
  await lockCells(sql)
  if (!(await insertCell(sql, cell)))
    throw new ApiError('INVALID_STATE', `The name '${given.name}' is taken by another cell: choose another name.`)
  await requireOwnKeys(sql, cell.id, given.publicKeys)
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

/** Keys that are left out stop working with the commit. */
export async function changeCell(
  sql: Sql,
  id: string,
  change: CellChange,
  actor: string,
  requestId?: string,
): Promise<void> {
  requireFitting(change)
  // All cells where keys change: two changes at once must not give one key to two cells.
  if (change.publicKeys) {
    await lockCells(sql)
    await requireOwnKeys(sql, id, change.publicKeys)
  } else await lockCell(sql, id)
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

/** Only an empty cell: no service that is not deleted, nothing in quarantine. Its feed is deleted with it. */
export async function removeCell(sql: Sql, { id, name }: Cell, actor: string): Promise<void> {
  await lockCells(sql)
  const { services, quarantined } = await deleteCellIfEmpty(sql, id)
  if (services > 0)
    throw new ApiError(
      'INVALID_STATE',
      `${services} services are in the cell '${name}': delete them first (services with data cannot be moved yet). Nothing was removed.`,
    )
  if (quarantined > 0)
    throw new ApiError(
      'INVALID_STATE',
      `${quarantined} instances of the cell '${name}' are in quarantine (GET /api/v1/quarantine): decide about them first. Nothing was removed.`,
    )
  await appendAudit(sql, { chain: PLATFORM_CHAIN, actor, action: 'cell.remove', subject: id, detail: { name } })
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
  if (endpoint !== undefined) requireEndpoint(endpoint)
}

/** Customers send their capabilities there. */
function requireEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) && /^https?:\/\//.test(endpoint) ? new URL(endpoint) : undefined
  if (!url)
    throw new ApiError('VALIDATION_ERROR', 'The endpoint of a cell is the URL under which clients reach its daemons.')
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new ApiError(
      'VALIDATION_ERROR',
      `The endpoint of a cell must be https: '${url.origin}' would send credentials in clear. Plain http is for loopback only.`,
    )
}

/** A key identifies the cell: with one key for two, either could read and report as the other. */
async function requireOwnKeys(sql: Sql, cellId: string, publicKeys: string[]): Promise<void> {
  const other = await findKeyHolder(sql, cellId, publicKeys)
  if (other)
    throw new ApiError(
      'INVALID_STATE',
      `This public key is that of the cell '${other}': every cell has a key of its own. Make one with: daemon cell-key`,
    )
}

export async function requireCell(sql: Sql, nameOrId: string): Promise<Cell> {
  const cell = await findCell(sql, nameOrId)
  if (!cell) throw new ApiError('NOT_FOUND', `There is no cell '${nameOrId}'. Add it with: management cells add`)
  return cell
}

function isPublicKey(x: string): boolean {
  return publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x }) !== undefined
}

/** As the API and `cells list` show it. */
export function cellJson(cell: CellHealth) {
  return {
    id: cell.id,
    name: cell.name,
    region: cell.region,
    capacity: cell.capacity,
    placed: cell.placed,
    endpoint: cell.endpoint,
    public_keys: cell.publicKeys,
    tenant_id: cell.tenantId,
    created_at: cell.createdAt,
    heard_at: cell.heardAt,
    heard_seq: cell.heardSeq,
    feed_seq: cell.feedSeq,
    // After a restore of the control database the cell may have applied more than we know of.
    lag: Math.max(0, cell.feedSeq - cell.heardSeq),
    alarm: cell.alarm,
  }
}
