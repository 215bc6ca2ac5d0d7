// Cells, instances in them, and what makes cells read everything again.

import { readFileSync } from 'node:fs'
import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { raiseEpoch, readEpoch } from '../acts/feed/store.ts'
import { addCell, changeCell, removeCell, requireCell } from '../cells/cells.ts'
import { listCells } from '../cells/store.ts'
import { PLAN_NAMES, type PlanName } from '../plans.ts'
import { addInstance } from '../services/services.ts'
import { listOrganizations } from '../tenants/store.ts'
import { ensureOrganization, ensureTenant } from '../tenants/tenants.ts'
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
    'place a service in a cell: instances add --org <name or id> --tenant <name or id> --plan pro --cell <name or id> [--create true]',
  without: ['sealingKeys'],
  verbs: {
    add: {
      required: ['org', 'tenant', 'plan', 'cell'],
      optional: ['name', 'service-type', 'create'],
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
  return {
    cells: cells.map((cell) => ({
      cell_id: cell.id,
      name: cell.name,
      region: cell.region,
      capacity: cell.capacity,
      placed: cell.placed,
      endpoint: cell.endpoint,
      public_keys: cell.publicKeys,
      tenant_id: cell.tenantId,
      heard_at: cell.heardAt?.toISOString() ?? null,
      lag: Math.max(0, cell.feedSeq - cell.heardSeq),
    })),
  }
}

/** All that are to count from now on: two while a cell changes its key. */
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

/** Customers choose the names of their organizations: a new one must not turn out to be somebody's. */
async function requireNobodyCalled(sql: Sql, nameOrId: string): Promise<void> {
  const [found] = await listOrganizations(sql, nameOrId)
  if (found && found.id !== nameOrId)
    throw new ApiError(
      'INVALID_STATE',
      `There is an organization called '${nameOrId}' already, ${found.id}: give its id if you mean it, or another name.`,
    )
}

async function instancesAdd({ pool, actor }: Context, given: Given): Promise<object> {
  const plan = PLAN_NAMES.find((name) => name === given.plan) as PlanName | undefined
  if (!plan) throw new ApiError('VALIDATION_ERROR', `--plan is one of ${PLAN_NAMES.join(', ')}.`)
  return transaction(pool, async (sql) => {
    const cell = await requireCell(sql, given.cell as string)
    const mayMake = createOf(given)
    if (mayMake) await requireNobodyCalled(sql, given.org as string)
    const organization = await ensureOrganization(sql, given.org as string, actor, mayMake)
    const wanted = { organizationId: organization.id, nameOrId: given.tenant as string, plan }
    const tenant = await ensureTenant(sql, wanted, actor, mayMake)
    const serviceType = given['service-type'] ?? 'memory'
    const service = await addInstance(sql, { tenant, cell, plan, name: given.name ?? serviceType, serviceType }, actor)
    return {
      organization_id: organization.id,
      tenant_id: tenant.id,
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
