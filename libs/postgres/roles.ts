import pg from 'pg'

/** The programs that have a database. Each connects with logins of its own. */
export type DatabaseProgram = 'daemon' | 'management'

export interface Logins {
  /** Serves requests: LOCI_DATABASE_URL. */
  app: string
  /** Runs migrate: LOCI_DATABASE_OWNER_URL. */
  owner: string
}

export function loginsOf(program: DatabaseProgram, app = `loci_${program}`): Logins {
  return { app, owner: `${app}_owner` }
}

export interface RolesOptions {
  database: string
  program: DatabaseProgram
  /** Name of the login that serves requests; its owner's ends in `_owner`. For several cells on one server. */
  login?: string
  appPassword?: string
  ownerPassword?: string
}

/**
 * What a database administrator runs once per database, as a superuser connected TO that database (`psql -d loci -f
 * roles.sql`); running it again changes nothing. The database must exist.
 *
 * Rights belong to two roles that cannot log in: loci_owner owns the tables; loci_app serves requests, owns nothing and
 * is held by row-level security. Roles belong to the whole server, so nobody logs in as one of them: a password of
 * theirs would open the control database and the cells alike. Who logs in is a member, by program, and may connect to
 * the databases of that program alone (docs/decisions/2026-11-15-logins-by-program.md).
 */
export function rolesSql(options: RolesOptions): string {
  const attributes = 'nosuperuser nocreatedb nocreaterole noreplication nobypassrls'
  const { app, owner } = escaped(loginsOf(options.program, options.login))
  return `-- Roles of loci. Run as a superuser, connected to the database ${options.database.replaceAll('\n', ' ')}.
do $roles$
begin
  if current_database() <> ${pg.escapeLiteral(options.database)} then
    raise exception 'connect to the database that these roles are for (you are in %)', current_database();
  end if;
  if shobj_description((select oid from pg_database where datname = current_database()), 'pg_database')
     in (${marksOfOthers(options.program)}) then
    raise exception 'this database belongs to another program of loci: use the roles-sql of that program, or another database';
  end if;
end
$roles$;
${['loci_owner', 'loci_app', ...Object.values(loginsOf(options.program, options.login))].map(createRole).join('\n')}
alter role loci_owner with nologin ${attributes};
alter role loci_app with nologin ${attributes};
alter role ${app} with login inherit ${attributes}${password(options.appPassword)};
alter role ${owner} with login inherit ${attributes}${password(options.ownerPassword)};
grant loci_app to ${app};
grant loci_owner to ${owner};
-- What migrate makes belongs to loci_owner, not to who logged in.
alter role ${owner} set role = loci_owner;
do $roles$
begin
  if pg_has_role('loci_app', 'loci_owner', 'member') then revoke loci_owner from loci_app; end if;
end
$roles$;
revoke loci_owner from ${app};
${grantsSql(options)}
revoke create on schema public from public;
`
}

/** The part of rolesSql() that a clone of a database does not inherit from its template. */
export function grantsSql({ database, program, login }: RolesOptions): string {
  const name = pg.escapeIdentifier(database)
  const { app, owner } = escaped(loginsOf(program, login))
  return `revoke all on database ${name} from public, loci_app, loci_owner;
grant create, temporary on database ${name} to loci_owner;
grant connect on database ${name} to ${app}, ${owner};
comment on database ${name} is ${pg.escapeLiteral(MARKS[program])};`
}

/**
 * Stands in a catalog that every database of the server shares, so a program sees whose a database is without entering
 * it: see auditDatabase().
 */
export const MARKS: Record<DatabaseProgram, string> = {
  daemon: 'loci: database of a cell',
  management: 'loci: control database',
}

function marksOfOthers(program: DatabaseProgram): string {
  return Object.entries(MARKS)
    .filter(([name]) => name !== program)
    .map(([, mark]) => pg.escapeLiteral(mark))
    .join(', ')
}

function escaped({ app, owner }: Logins): Logins {
  return { app: pg.escapeIdentifier(app), owner: pg.escapeIdentifier(owner) }
}

// Two databases of one server may be prepared at once, so "it exists by now" is not an error.
function createRole(role: string): string {
  return `do $roles$
begin
  if not exists (select from pg_roles where rolname = ${pg.escapeLiteral(role)}) then create role ${pg.escapeIdentifier(role)}; end if;
exception when duplicate_object or unique_violation then null;
end
$roles$;`
}

function password(text: string | undefined): string {
  return text === undefined ? '' : ` password ${pg.escapeLiteral(text)}`
}
