import type { Sql } from '@loci/postgres/pool.ts'
import type { Operation, OperationKind, OperationStatus, Step } from './operation.ts'

export interface StoredOperation extends Operation {
  serviceId: string
  tenantId: string
}

/** A new one, or what became of a known one. Of the organization in use. */
export async function saveOperation(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  operation: Operation,
): Promise<void> {
  await sql.query({
    name: 'operations_save',
    text: `insert into loci.operations (id, organization_id, service_id, kind, status, steps, error, created_at, updated_at, finished_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      on conflict (organization_id, id) do update set status = excluded.status, steps = excluded.steps, error = excluded.error,
        updated_at = excluded.updated_at, finished_at = excluded.finished_at
        where operations.finished_at is null`,
    values: [
      operation.id,
      organizationId,
      serviceId,
      operation.kind,
      operation.status,
      JSON.stringify(operation.steps),
      operation.error && JSON.stringify(operation.error),
      operation.createdAt,
      operation.updatedAt,
      operation.finishedAt,
    ],
  })
}

/** Of the organization in use. */
export async function findOperation(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<StoredOperation | undefined> {
  const { rows } = await sql.query<{
    id: string
    serviceId: string
    tenantId: string
    kind: OperationKind
    status: OperationStatus
    steps: Step[]
    error: Operation['error']
    createdAt: Date
    updatedAt: Date
    finishedAt: Date | null
  }>({
    name: 'operations_find',
    text: `select o.id, o.service_id as "serviceId", s.tenant_id as "tenantId", o.kind, o.status, o.steps, o.error,
        o.created_at as "createdAt", o.updated_at as "updatedAt", o.finished_at as "finishedAt"
      from loci.operations o join loci.services s on s.organization_id = o.organization_id and s.id = o.service_id
      where o.organization_id = $1 and o.id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

export async function findEventEnd(sql: Sql, organizationId: string): Promise<number> {
  const { rows } = await sql.query<{ seq: number }>({
    name: 'operations_event_end',
    text: 'select seq from loci.event_heads where organization_id = $1',
    values: [organizationId],
  })
  return rows[0]?.seq ?? 0
}

/** Of the organization in use: those of these that are over, or are not there. */
export async function listEnded(sql: Sql, organizationId: string, ids: string[]): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'operations_ended',
    text: `select asked.id from unnest($2::text[]) as asked (id) where not exists (
        select from loci.operations o where o.organization_id = $1 and o.id = asked.id and o.finished_at is null)`,
    values: [organizationId, ids],
  })
  return rows.map(({ id }) => id)
}
