import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'

export interface CliLogin {
  id: string
  userCode: string
  deviceDigest: string
  status: 'open' | 'approved' | 'denied' | 'delivered'
  organizationId: string | null
  userId: string | null
  /** In which it was decided. */
  sessionId: string | null
}

/** False when the code is taken: try another. */
export async function insertLogin(
  pool: Pool,
  { id, userCode, deviceDigest }: Pick<CliLogin, 'id' | 'userCode' | 'deviceDigest'>,
  lifeS: number,
): Promise<boolean> {
  const { rowCount } = await execute(pool, {
    name: 'cli_logins_insert',
    text: `insert into loci.cli_logins (id, user_code, device_digest, status, created_at, expires_at)
      values ($1, $2, $3, 'open', now(), now() + make_interval(secs => $4)) on conflict (user_code) do nothing`,
    values: [id, userCode, deviceDigest, lifeS],
  })
  return rowCount === 1
}

export async function findIdByCode(sql: Sql, userCode: string): Promise<string | undefined> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'cli_logins_by_code',
    text: `select id from loci.cli_logins where user_code = $1 and status = 'open' and expires_at > now()`,
    values: [userCode],
  })
  return rows[0]?.id
}

/** Undefined when it is over. Locked: a decision and a delivery happen once. */
export async function lockLogin(sql: Sql, id: string): Promise<CliLogin | undefined> {
  const { rows } = await sql.query<CliLogin>({
    name: 'cli_logins_lock',
    text: `select id, user_code as "userCode", device_digest as "deviceDigest", status, organization_id as "organizationId",
        user_id as "userId", session_id as "sessionId"
      from loci.cli_logins where id = $1 and expires_at > now() for update`,
    values: [id],
  })
  return rows[0]
}

/** Of the organization in use. Two sign-ins of one person are delivered one after the other: both are counted. */
export async function lockMember(sql: Sql, organizationId: string, userId: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'cli_logins_lock_member',
    text: 'select from loci.members where organization_id = $1 and user_id = $2 for no key update',
    values: [organizationId, userId],
  })
  return rowCount === 1
}

export async function saveLogin(
  sql: Sql,
  { id, status, organizationId, userId, sessionId }: Omit<CliLogin, 'userCode' | 'deviceDigest'>,
): Promise<void> {
  await sql.query({
    name: 'cli_logins_save',
    text: 'update loci.cli_logins set status = $2, organization_id = $3, user_id = $4, session_id = $5 where id = $1',
    values: [id, status, organizationId, userId, sessionId],
  })
}

/** The organizations in which the session made API keys. */
export async function listOrganizationsOf(sql: Sql, sessionId: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'cli_logins_organizations_of_session',
    text: 'select organization_id as id from loci.organizations_of_session($1)',
    values: [sessionId],
  })
  return rows.map(({ id }) => id)
}

/** Those that the session approved and no command line has fetched: none will. Answers how many. */
export async function denyLoginsOf(sql: Sql, sessionId: string): Promise<number> {
  const { rowCount } = await sql.query({
    name: 'cli_logins_deny_of_session',
    text: `update loci.cli_logins set status = 'denied'
      where session_id = $1 and status = 'approved' and expires_at > now()`,
    values: [sessionId],
  })
  return rowCount ?? 0
}

export async function pruneLogins(sql: Sql): Promise<void> {
  await sql.query({ text: 'delete from loci.cli_logins where expires_at < now()' })
}
