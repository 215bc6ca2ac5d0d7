// The rows that several features lock, each locked here alone, and the order in which a transaction may lock them.
// Whoever writes to one of them without a lock of its own notes it.

import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import { createLockOrder } from '@loci/postgres/lock-order.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** After the idempotency key, before the heads of audit and events. */
export const LOCKS = createLockOrder(['cell', 'tenant', 'service', 'organization', 'due row'])

/**
 * Locks every cell, in one order, so that two transactions that publish to all cannot deadlock; and keeps new ones from
 * being added, because neither transaction would publish to a cell that is added at the same moment.
 */
export async function lockCells(sql: Sql): Promise<string[]> {
  await sql.query({ name: 'locks_feeds', text: `select pg_advisory_xact_lock(${ADVISORY_LOCKS.allCells})` })
  const { rows } = await sql.query<{ id: string }>({
    name: 'locks_cells',
    text: 'select id from loci.cells order by id for no key update',
  })
  for (const { id } of rows) LOCKS.note(sql, 'cell', id)
  return rows.map(({ id }) => id)
}

/** What is read of a row with its lock, and the name of that statement. */
interface Reading {
  name: string
  columns: string
}

// `no key`, here and below: rows that name the cell or the tenant only ask that its id stays, and must not wait for us.
export async function lockCell<Row extends object>(
  sql: Sql,
  id: string,
  { name, columns }: Reading = { name: 'locks_cell', columns: '' },
): Promise<Row | undefined> {
  LOCKS.note(sql, 'cell', id)
  const { rows } = await sql.query<Row>({
    name,
    text: `select ${columns} from loci.cells where id = $1 for no key update`,
    values: [id],
  })
  return rows[0]
}

interface TenantLock extends Reading {
  organizationId: string
  /** Undefined = the default one. */
  id: string | undefined
  isClosedToo?: boolean
  /** A row that another transaction has locked is not waited for, and counts as not there. */
  skipLocked?: boolean
}

/** Of the organization in use. To the end of the transaction its billing cannot change; `columns` has its id. */
export async function lockTenant<Row extends { id: string }>(
  sql: Sql,
  { organizationId, id, name, columns, isClosedToo = false, skipLocked = false }: TenantLock,
): Promise<Row | undefined> {
  const { rows } = await sql.query<Row>({
    name,
    text: `select ${columns} from loci.tenants where organization_id = $1 and ${id === undefined ? 'is_default' : 'id = $2'}
      ${isClosedToo ? '' : 'and deleted_at is null'} for no key update${skipLocked ? ' skip locked' : ''}`,
    values: id === undefined ? [organizationId] : [organizationId, id],
  })
  for (const row of rows) LOCKS.note(sql, 'tenant', row.id)
  return rows[0]
}

/** Of the organization in use. Others may hold it too; it cannot change meanwhile. */
export async function holdTenant(sql: Sql, organizationId: string, id: string): Promise<void> {
  LOCKS.note(sql, 'tenant', id)
  await sql.query({
    name: 'locks_hold_tenant',
    text: 'select from loci.tenants where organization_id = $1 and id = $2 for share',
    values: [organizationId, id],
  })
}

/** Of the organization in use. */
export async function lockService(sql: Sql, organizationId: string, id: string): Promise<void> {
  LOCKS.note(sql, 'service', id)
  await sql.query({
    name: 'locks_service',
    text: 'select from loci.services where organization_id = $1 and id = $2 for no key update',
    values: [organizationId, id],
  })
}

/** Its plan cannot change, and no other transaction can use up its quotas meanwhile. */
export async function lockOrganization<Plan extends string>(sql: Sql, id: string): Promise<{ plan: Plan }> {
  LOCKS.note(sql, 'organization', id)
  const { rows } = await sql.query<{ plan: Plan }>({
    name: 'locks_organization',
    text: 'select plan from loci.organizations where id = $1 for no key update',
    values: [id],
  })
  return rows[0] as { plan: Plan }
}

/** Others may hold it too; its plan cannot change meanwhile. */
export async function holdOrganization(sql: Sql, id: string): Promise<void> {
  LOCKS.note(sql, 'organization', id)
  await sql.query({
    name: 'locks_hold_organization',
    text: 'select from loci.organizations where id = $1 for share',
    values: [id],
  })
}
