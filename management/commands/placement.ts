// Cells, instances in them, and what makes cells read everything again.

import { readFileSync } from 'node:fs'
import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { looksLikeId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { raiseEpoch, readEpoch } from '../acts/feed/store.ts'
import { lockCell } from '../acts/locks/store.ts'
import { addCell, cellJson, changeCell, removeCell, requireCell } from '../cells/cells.ts'
import { listCells } from '../cells/store.ts'
import { findOneOrganization, makeOrganization } from '../organizations/organizations.ts'
import { PLAN_NAMES, type PlanName } from '../plans.ts'
import { createService, requireService, requireServiceRequest } from '../services/services.ts'
import { findOneTenant, makeTenant, type NewTenant, requireTenantRoom } from '../tenants/tenants.ts'
import { type Context, type Given, type Group, integerOf, jsonOf, listOf } from './verb.ts'

export const CELLS: Group = {
  summary:
    'cells: cells add --name a --region us-east-1 --capacity 100 --endpoint https://… --public-key <x or file>, cells list, cells keys --cell a --public-key x[,y], cells remove --cell a',
  without: ['sealingKeys'],
  verbs: {
    add: { required: ['name', 'region', 'capacity', 'endpoint', 'public-key'], optional: ['tenant'], run: cellsAdd },
    list: { run: cellsList },
    keys: { required: ['cell', 'public-key'], run: cellsKeys },
    remove: { required: ['cell'], run: cellsRemove },
  },
}

export const INSTANCES: Group = {
  summary:
    'place a service in a cell: instances add --org <name or id> --tenant <name or id> --plan pro --cell <name or id> [--create true --owner-email ada@example.com]',
  without: ['sealingKeys'],
  verbs: {
    add: {
      required: ['org', 'tenant', 'plan', 'cell'],
      optional: ['name', 'service-type', 'create', 'owner-email'],
      run: instancesAdd,
    },
  },
}

export const FEED: Group = {
  summary:
    'after putting a disk snapshot of the control database back: feed new-epoch makes every cell read everything again',
  without: ['sealingKeys'],
  verbs: { 'new-epoch': { run: feedNewEpoch } },
}

async function cellsAdd({ pool, actor, regions }: Context, given: Given): Promise<object> {
  const cell = await transaction(pool, (sql) =>
    addCell(
      sql,
      {
        name: given.name as string,
        region: given.region as string,
        capacity: integerOf('capacity', given.capacity as string),
        endpoint: given.endpoint as string,
        publicKeys: listOf(given['public-key'] as string).map(publicKeyFrom),
        tenantId: given.tenant ?? null,
      },
      { actor, regions },
    ),
  )
  const { id, name, region, capacity, endpoint, publicKeys } = cell
  return { cell_id: id, name, region, capacity, endpoint, public_keys: publicKeys }
}

const LIST_MAX = 1_000

async function cellsList({ pool }: Context): Promise<object> {
  const cells = await listCells(pool, { before: undefined, limit: LIST_MAX })
  return { cells: cells.map(cellJson).map(({ id, ...cell }) => ({ cell_id: id, ...cell })) }
}

/** `--public-key` names all keys that are valid from now on: two while a cell changes its key. */
async function cellsKeys({ pool, actor }: Context, given: Given): Promise<object> {
  const publicKeys = listOf(given['public-key'] as string).map(publicKeyFrom)
  return transaction(pool, async (sql) => {
    const { id, name } = await requireCell(sql, given.cell as string)
    await changeCell(sql, id, { publicKeys }, actor)
    return { cell_id: id, name, public_keys: publicKeys }
  })
}

async function cellsRemove({ pool, actor }: Context, given: Given): Promise<object> {
  return transaction(pool, async (sql) => {
    const cell = await requireCell(sql, given.cell as string)
    await removeCell(sql, cell, actor)
    return { removed: true, cell_id: cell.id, name: cell.name }
  })
}

function createOf({ create = 'false' }: Given): boolean {
  if (create === 'true' || create === 'false') return create === 'true'
  throw new ApiError(
    'VALIDATION_ERROR',
    '--create is true or false: whether an organization or tenant of that name may be made.',
  )
}

async function instancesAdd({ pool, actor }: Context, given: Given): Promise<object> {
  const plan = PLAN_NAMES.find((name) => name === given.plan) as PlanName | undefined
  if (!plan) throw new ApiError('VALIDATION_ERROR', `--plan is one of ${PLAN_NAMES.join(', ')}.`)
  const mayMake = createOf(given)
  return transaction(pool, async (sql) => {
    const cell = await requireCell(sql, given.cell as string)
    await lockCell(sql, cell.id)
    const organizationId = await organizationFor(sql, given, mayMake, actor)
    await useOrganization(sql, organizationId)
    const tenantId = await tenantFor(sql, { organizationId, name: given.tenant as string, plan }, mayMake, actor)
    const type = given['service-type'] ?? 'memory'
    const wanted = { name: given.name ?? type, service_type: type, plan, region: cell.region, tenant_id: tenantId }
    const rules = { isBilled: false, regions: [], cell }
    const request = requireServiceRequest(rules, wanted)
    const made = await createService(sql, rules, { caller: { id: actor, organizationId, tenantIds: null } }, request)
    const service = await requireService(sql, organizationId, made.service.id)
    return {
      organization_id: organizationId,
      tenant_id: tenantId,
      service_id: service.id,
      service_type: service.serviceType,
      name: service.name,
      slug: service.slug,
      plan: service.plan,
      region: service.region,
      cell_id: cell.id,
      endpoint: cell.endpoint,
      status: service.status,
    }
  })
}

async function organizationFor(sql: Sql, given: Given, mayMake: boolean, actor: string): Promise<string> {
  const name = given.org as string
  const found = await findOneOrganization(sql, name)
  // Customers choose the names of their organizations: a new name must not turn out to be a customer's.
  if (found && mayMake && found.id !== name)
    throw new ApiError(
      'INVALID_STATE',
      `There is an organization called '${name}' already, ${found.id}: give its id if you mean it, or another name.`,
    )
  if (found) return found.id
  if (!mayMake || looksLikeId(name))
    throw new ApiError('NOT_FOUND', `There is no organization ${name}. Nothing was made.`)
  if (given['owner-email'] === undefined)
    throw new ApiError('VALIDATION_ERROR', '--create true needs --owner-email: an organization always has an owner.')
  return (await makeOrganization(sql, { name, ownerEmail: given['owner-email'] }, { actor })).id
}

async function tenantFor(
  sql: Sql,
  { organizationId, name, plan }: NewTenant,
  mayMake: boolean,
  actor: string,
): Promise<string> {
  const found = await findOneTenant(sql, organizationId, name)
  if (found) return found.id
  if (!mayMake || looksLikeId(name)) throw new ApiError('NOT_FOUND', `There is no tenant ${name}. Nothing was made.`)
  await requireTenantRoom(sql, organizationId, false)
  // Billing events of a tenant that is not there yet are applied by the clock of billing.
  return (await makeTenant(sql, { organizationId, name, plan }, { actor }, async () => {})).id
}

async function feedNewEpoch({ pool, actor }: Context): Promise<object> {
  return transaction(pool, async (sql) => {
    await raiseEpoch(sql)
    const epoch = await readEpoch(sql)
    const entry = { actor, action: 'feed.new_epoch', subject: epoch, detail: {} }
    return { epoch, audit_id: await appendAudit(sql, { ...entry, chain: PLATFORM_CHAIN }) }
  })
}

/** The x of the key itself, or a file with it or with its JWK. */
function publicKeyFrom(text: string): string {
  if (/^[A-Za-z0-9_-]{43}$/.test(text)) return text
  let content: string
  try {
    content = readFileSync(text, 'utf8').trim()
  } catch {
    throw new ApiError(
      'VALIDATION_ERROR',
      `--public-key is the x of an Ed25519 key or a file with it; '${text}' is neither.`,
    )
  }
  if (!content.startsWith('{')) return content
  const { x } = jsonOf('public-key', content) as { x?: unknown }
  return String(x)
}
