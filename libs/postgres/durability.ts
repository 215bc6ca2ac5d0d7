import assert from 'node:assert/strict'
import type { Sql } from './pool.ts'
import { type DatabaseProgram, loginsOf, MARKS } from './roles.ts'

export interface DatabaseAudit {
  /** Reasons not to start: data could be lost, or one tenant could reach another's. */
  problems: string[]
  warnings: string[]
  facts: {
    serverVersion: string
    fsync: string
    synchronousCommit: string
    fullPageWrites: string
    dataChecksums: string
  }
}

const VERSION_MIN = 15
const CONNECTIONS_MIN = 100

/** Looks, with the eyes of the application's own role, for what would break our promises on this server. */
export async function auditDatabase(sql: Sql, program: DatabaseProgram): Promise<DatabaseAudit> {
  const server = await readServer(sql)
  const { serverVersion, fsync, synchronousCommit, fullPageWrites, dataChecksums } = server
  const warnings: string[] = []
  if (dataChecksums !== 'on') {
    warnings.push(
      `data_checksums is ${dataChecksums}: stop the server and run pg_checksums --enable, or damage goes unseen`,
    )
  }
  if (server.connectionsMax < CONNECTIONS_MIN) {
    warnings.push(`max_connections is ${server.connectionsMax}: set it to ${CONNECTIONS_MIN} or more, and restart`)
  }
  return {
    problems: [
      ...serverProblems(server),
      ...(await roleProblems(sql, program)),
      ...(await reachProblems(sql, program)),
      ...(await ownershipProblems(sql, program)),
      ...(await tableProblems(sql)),
    ],
    warnings,
    facts: { serverVersion, fsync, synchronousCommit, fullPageWrites, dataChecksums },
  }
}

interface Server {
  serverVersion: string
  major: number
  fsync: string
  synchronousCommit: string
  fullPageWrites: string
  dataChecksums: string
  connectionsMax: number
}

async function readServer(sql: Sql): Promise<Server> {
  const { rows } = await sql.query<Server>({
    text: `select current_setting('server_version') as "serverVersion",
             current_setting('server_version_num')::int / 10000 as major,
             current_setting('fsync') as fsync,
             current_setting('synchronous_commit') as "synchronousCommit",
             current_setting('full_page_writes') as "fullPageWrites",
             current_setting('data_checksums') as "dataChecksums",
             current_setting('max_connections')::int as "connectionsMax"`,
  })
  const [server] = rows
  assert(server, 'a select without from has one row')
  return server
}

function serverProblems(server: Server): string[] {
  const problems: string[] = []
  if (server.major < VERSION_MIN) {
    problems.push(`the server is Postgres ${server.serverVersion}: upgrade it to ${VERSION_MIN} or newer`)
  }
  if (server.fsync !== 'on') problems.push(`fsync is ${server.fsync}: set it to on, or a power cut destroys the data`)
  if (server.fullPageWrites !== 'on') {
    problems.push(`full_page_writes is ${server.fullPageWrites}: set it to on, or a crash can leave torn pages`)
  }
  // remote_write and local acknowledge before the standby has the write on disk; off before anyone has.
  if (!['on', 'remote_apply'].includes(server.synchronousCommit)) {
    problems.push(
      `synchronous_commit is ${server.synchronousCommit}: set it to on or remote_apply for this role and database, ` +
        'or acknowledged writes can be lost',
    )
  }
  return problems
}

async function roleProblems(sql: Sql, program: DatabaseProgram): Promise<string[]> {
  const { rows } = await sql.query<{ role: string; powers: string[] }>({
    text: `select rolname as role, array_remove(array[
               case when rolsuper then 'superuser' end,
               case when rolbypassrls then 'bypassrls' end,
               case when rolcreaterole then 'createrole' end,
               case when rolcreatedb then 'createdb' end,
               case when rolreplication then 'replication' end], null) as powers
           from pg_roles where rolname in (current_user, session_user) order by rolname`,
  })
  return rows.flatMap(({ role, powers }) =>
    powers.map(
      (power) => `the role ${role} is ${power}: connect as ${loginsOf(program).app}, or alter role ${role} no${power}`,
    ),
  )
}

/**
 * Roles belong to the whole server. With a login that opens the control database and a cell alike, whoever reads the
 * settings of a daemon reads the organizations and the sealed signing keys too.
 */
async function reachProblems(sql: Sql, program: DatabaseProgram): Promise<string[]> {
  const foreign = Object.entries(MARKS).filter(([name]) => name !== program)
  const { rows } = await sql.query<{ role: string; database: string }>({
    text: `select session_user as role, datname as database from pg_database
           where shobj_description(oid, 'pg_database') = any($1) and datname <> current_database()
             and has_database_privilege(session_user, oid, 'connect')
             and not (select rolsuper from pg_roles where rolname = session_user) -- refused for more than that
           order by datname`,
    values: [foreign.map(([, mark]) => mark)],
  })
  return rows.map(
    ({ role, database }) =>
      `the role ${role} may also connect to ${database}, which belongs to another program of loci: ` +
      `connect as ${loginsOf(program).app}, or revoke connect on database ${database} from ${role}`,
  )
}

async function ownershipProblems(sql: Sql, program: DatabaseProgram): Promise<string[]> {
  const { rows } = await sql.query<{ object: string; owner: string; me: string; login: string; isSuper: boolean }>({
    text: `with owned (object, owner) as (
             select 'schema ' || nspname, nspowner from pg_namespace where nspname = 'loci'
             union all
             select 'table ' || relname, relowner from pg_class
             where relnamespace = (select oid from pg_namespace where nspname = 'loci')
               and relkind in ('r', 'p', 'v', 'm', 'f')
             union all
             select 'function ' || proname, proowner from pg_proc
             where pronamespace = (select oid from pg_namespace where nspname = 'loci'))
           select object, pg_get_userbyid(owner) as owner, current_user as me, session_user as login,
             (select rolsuper from pg_roles where rolname = session_user) as "isSuper" from owned
           where pg_has_role(current_user, owner, 'member') order by object`,
  })
  const [first] = rows
  // The login of migrate, which takes the role of the owner (roles.ts).
  if (first && !first.isSuper && first.me === 'loci_owner')
    return [
      `LOCI_DATABASE_URL connects as ${first.login}, which owns the tables and could lift row security: ` +
        `use ${first.login === loginsOf(program).owner ? loginsOf(program).app : first.login.replace(/_owner$/, '')}`,
    ]
  const owners = Map.groupBy(rows, (row) => row.owner)
  return [...owners].map(([owner, objects]) => {
    const me = objects[0]?.me ?? ''
    const what = some(objects.map((row) => row.object))
    return owner === me
      ? `the role ${me} owns ${what}: give them to loci_owner, for an owner can lift row security`
      : `the role ${me} is a member of ${owner}, which owns ${what}: revoke ${owner} from ${me}`
  })
}

interface Table {
  name: string
  enabled: boolean
  forced: boolean
  policies: number
  /** Its own comment, or that of the partitioned table that it is a part of. */
  excused: boolean
  dangerous: boolean
}

/**
 * A table without row-level security says why in its comment (`without row-level security: …`), put there by the
 * migration that makes it and reviewed with it. A list in the code would not do: yesterday's code must still start on
 * today's schema, and it cannot know today's tables.
 */
async function tableProblems(sql: Sql): Promise<string[]> {
  const { rows: tables } = await sql.query<Table>({
    text: `select c.relname as name,
             c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
             (select count(*)::int from pg_policy where polrelid = c.oid) as policies,
             c.relname = 'migrations'
               or coalesce(obj_description(coalesce(top.oid, c.oid), 'pg_class'), '') like 'without row-level security: %' as excused,
             has_table_privilege(c.oid, 'truncate') or has_table_privilege(c.oid, 'references')
               or has_table_privilege(c.oid, 'trigger') as dangerous
           from pg_class c left join pg_class top on top.oid = pg_partition_root(c.oid)
           where c.relnamespace = (select oid from pg_namespace where nspname = 'loci')
             and c.relkind in ('r', 'p', 'm', 'f') -- a materialized view or foreign table cannot have row security
           order by c.relname`,
  })
  const dangerous = tables.filter((table) => table.dangerous).map((table) => table.name)
  return [
    ...tables.filter((table) => !table.excused).flatMap((table) => missingSecurity(table)),
    ...(dangerous.length === 0
      ? []
      : [
          `this role may truncate, reference or put triggers on ${some(dangerous)}: revoke it, no policy applies there`,
        ]),
  ]
}

function missingSecurity({ name, enabled, forced, policies }: Table): string[] {
  const table = `loci.${name}`
  const steps: string[] = []
  if (!enabled) steps.push(`alter table ${table} enable row level security`)
  if (!forced) steps.push(`alter table ${table} force row level security`)
  if (policies === 0) steps.push(`create policy … on ${table}`)
  if (steps.length === 0) return []
  return [`the table ${table} is not closed by row security: add a migration with ${steps.join('; ')}`]
}

function some(names: string[]): string {
  return names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`
}
