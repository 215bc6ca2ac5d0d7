import type { Role } from '@loci/contract/roles.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export interface HeldCapability {
  sessionId: string
  serviceId: string
  organizationId: string
  role: Role
  jti: string
  sealed: string
  sealedWith: string
  expiresAt: Date
}

const COLUMNS = `session_id as "sessionId", service_id as "serviceId", organization_id as "organizationId", role, jti, sealed,
  sealed_with as "sealedWith", expires_at as "expiresAt"`

/** False when the session is over. Until the end of the transaction it is not ended, and nobody else mints for it. */
export async function lockSession(sql: Sql, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'proxy_lock_session',
    text: 'select from loci.sessions where id = $1 and ended_at is null for no key update',
    values: [id],
  })
  return rowCount === 1
}

/** Not one that somebody has revoked in the list of tokens. */
export async function findCapability(
  sql: Sql,
  sessionId: string,
  serviceId: string,
): Promise<HeldCapability | undefined> {
  const { rows } = await sql.query<HeldCapability>({
    name: 'proxy_find',
    text: `select ${COLUMNS} from loci.session_capabilities c where session_id = $1 and service_id = $2
      and not exists (select from loci.tokens t where t.organization_id = c.organization_id and t.jti = c.jti and t.revoked_at is not null)`,
    values: [sessionId, serviceId],
  })
  return rows[0]
}

export async function putCapability(sql: Sql, held: HeldCapability): Promise<void> {
  await sql.query({
    name: 'proxy_put',
    text: `insert into loci.session_capabilities (session_id, service_id, organization_id, role, jti, sealed, sealed_with, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8)
      on conflict (session_id, service_id) do update set organization_id = excluded.organization_id, role = excluded.role,
        jti = excluded.jti, sealed = excluded.sealed, sealed_with = excluded.sealed_with, expires_at = excluded.expires_at`,
    values: [
      held.sessionId,
      held.serviceId,
      held.organizationId,
      held.role,
      held.jti,
      held.sealed,
      held.sealedWith,
      held.expiresAt,
    ],
  })
}

/** Of sessions that are over, those that a daemon would still take; `sessionId`: of this one alone. */
export async function listLeft(sql: Sql, sessionId: string | null, max: number): Promise<HeldCapability[]> {
  const { rows } = await sql.query<HeldCapability>({
    name: 'proxy_list_left',
    text: `select ${COLUMNS} from loci.session_capabilities c
      where ($1::text is null or session_id = $1) and exists (select from loci.sessions s where s.id = c.session_id and s.ended_at is not null)
      order by expires_at limit $2`,
    values: [sessionId, max],
  })
  return rows
}

export async function deleteCapability(sql: Sql, { sessionId, serviceId, jti }: HeldCapability): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'proxy_delete',
    text: 'delete from loci.session_capabilities where session_id = $1 and service_id = $2 and jti = $3',
    values: [sessionId, serviceId, jti],
  })
  return rowCount === 1
}

/** What has expired opens nothing. */
export async function pruneCapabilities(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.session_capabilities where expires_at < clock_timestamp()` })
}
