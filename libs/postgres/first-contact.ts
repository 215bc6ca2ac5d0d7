// What an operator meets first: a URL that leads to the wrong database or logs in as the wrong role, a server that is
// not there, a certificate that does not verify. Each is said with the setting to change.

import type { Sql } from './pool.ts'
import { type DatabaseProgram, loginsOf, MARKS } from './roles.ts'

export type UrlSetting = 'LOCI_DATABASE_URL' | 'LOCI_DATABASE_OWNER_URL'

const WHOSE: Record<DatabaseProgram, { is: string; such: string }> = {
  daemon: { is: 'the database of a daemon (a cell)', such: 'loci_cell' },
  management: { is: 'the database of management', such: 'loci_control' },
}

/** Undefined when the database is that of the program, or nobody's yet. */
export async function wrongDatabase(
  sql: Sql,
  program: DatabaseProgram,
  setting: UrlSetting,
): Promise<string | undefined> {
  const { rows } = await sql.query<{ name: string; mark: string | null }>({
    text: `select datname as name, shobj_description(oid, 'pg_database') as mark from pg_database
           where datname = current_database()`,
  })
  const [database] = rows
  const owner = (Object.keys(MARKS) as DatabaseProgram[]).find((one) => MARKS[one] === database?.mark)
  if (owner === undefined || owner === program) return undefined
  return (
    `${setting} leads to '${database?.name}', which is ${WHOSE[owner].is}: ` +
    `${program} has a database of its own, such as ${WHOSE[program].such}. Nothing was changed`
  )
}

/** Undefined when who logged in may change the schema. */
export async function wrongOwner(sql: Sql, program: DatabaseProgram): Promise<string | undefined> {
  const { rows } = await sql.query<{ login: string; isOwner: boolean }>({
    text: `select session_user as login, pg_has_role(session_user, oid, 'member') as "isOwner"
           from pg_roles where rolname = 'loci_owner'`,
  })
  const [role] = rows
  if (!role || role.isOwner) return undefined
  const { owner } = loginsOf(program, role.login)
  return `LOCI_DATABASE_OWNER_URL connects as ${role.login}, which may not change the schema: use ${owner}. Nothing was changed`
}

const CERTIFICATE = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/
const AWAY = /^(ECONN(REFUSED|RESET)|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/

/** The message of a failed connection or statement, with what to look at. */
export function explainDatabaseError(error: unknown, program: DatabaseProgram, setting: UrlSetting): string {
  const { message } = error as Error
  const code = codeOf(error)
  if (code === undefined) return message
  if (CERTIFICATE.test(code))
    return `the certificate of PostgreSQL does not verify (${code}): LOCI_DATABASE_CA names the file with the certificate of your authority, or with the server's own if it signed itself`
  if (AWAY.test(code)) return `${message} (${code}): is PostgreSQL running there? ${setting} says where to look`
  if (code === '28P01' || code === '28000')
    return `${message} (${code}): look at the role and the password in ${setting}`
  if (code === '3D000') return `${message} (${code}): look at the name of the database in ${setting}, or make it`
  if (code === '42501' && /for database/.test(message)) {
    const { app, owner } = loginsOf(program)
    const login = setting === 'LOCI_DATABASE_URL' ? app : owner
    return `${message} (${code}): ${setting} leads to a database that this role may not enter, perhaps that of another program. ${program} connects as ${login} to a database that its roles-sql has prepared`
  }
  return `${message} (${code})`
}

/** Of the error or of what it wraps. */
function codeOf(error: unknown): string | undefined {
  for (let next = error, depth = 0; next instanceof Error && depth < 5; next = next.cause, depth += 1) {
    const { code } = next as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}
