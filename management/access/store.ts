// Row-level security in a transaction: for which organization it works. Everything of an organization is invisible until one is
// chosen, and nothing of another one is visible after.

import type { Sql } from '@loci/postgres/pool.ts'

/**
 * To the end of the transaction. A statement of its own: inside the statement that reads, the planner may well read first and
 * set afterwards.
 */
export async function useOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.query({
    name: 'access_use_organization',
    text: `select set_config('loci.organization', $1, true)`,
    values: [organizationId],
  })
}

export interface Owner {
  organizationId: string
  tenantId: string
  /** Null when the id is a tenant's. */
  serviceId: string | null
  cellId: string | null
}

/** Whose an id of a tenant, service, token or partner credential is; asked before an organization can be chosen. */
export async function findOwner(sql: Sql, id: string): Promise<Owner | undefined> {
  const { rows } = await sql.query<Owner>({
    name: 'access_find_owner',
    text: `select organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", cell_id as "cellId"
      from loci.owner_of($1)`,
    values: [id],
  })
  return rows[0]
}
