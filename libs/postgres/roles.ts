import pg from 'pg'

/**
 * What a database administrator runs once per database, as a superuser connected TO that database
 * (`psql -d loci -f roles.sql`); running it again changes nothing. Create the database first, see databaseSql().
 *
 * loci_owner owns the tables and runs migrate; loci_app serves requests, owns nothing and is held by row-level
 * security; loci_search can not log in and owns the one function that searches text.
 *
 * loci_owner is a member of loci_search, because `alter function … owner to loci_search` needs that: membership up to
 * Postgres 15, the SET option from 16 on, which a plain grant includes. It also needs loci_search to have `create` on
 * the function's schema at that moment; the migration grants and revokes that itself.
 */
export function rolesSql(options: { database: string; appPassword?: string; ownerPassword?: string }): string {
  const attributes = 'nosuperuser nocreatedb nocreaterole noreplication nobypassrls'
  return `-- Roles of loci. Run as a superuser, connected to the database ${options.database.replaceAll('\n', ' ')}.
do $roles$
begin
  if current_database() <> ${pg.escapeLiteral(options.database)} then
    raise exception 'connect to the database that these roles are for (you are in %)', current_database();
  end if;
end
$roles$;
${['loci_owner', 'loci_app', 'loci_search'].map(createRole).join('\n')}
alter role loci_owner with login ${attributes}${password(options.ownerPassword)};
alter role loci_app with login ${attributes}${password(options.appPassword)};
alter role loci_search with nologin ${attributes};
grant loci_search to loci_owner;
do $roles$
begin
  if pg_has_role('loci_app', 'loci_owner', 'member') then revoke loci_owner from loci_app; end if;
  if pg_has_role('loci_app', 'loci_search', 'member') then revoke loci_search from loci_app; end if;
end
$roles$;
${grantsSql(options.database)}
revoke create on schema public from public;
`
}

/** Not idempotent, and alone in its call: Postgres creates a database outside of any transaction. */
export function databaseSql(database: string): string {
  return `create database ${pg.escapeIdentifier(database)} encoding 'UTF8' template template0`
}

/** The part of rolesSql() that a clone of a database does not inherit from its template. */
export function grantsSql(database: string): string {
  const name = pg.escapeIdentifier(database)
  return `revoke all on database ${name} from public;
grant connect, create, temporary on database ${name} to loci_owner;
grant connect on database ${name} to loci_app, loci_search;`
}

// Two databases of one server may be prepared at once, so "it exists by now" is not an error.
function createRole(role: string): string {
  return `do $roles$
begin
  if not exists (select from pg_roles where rolname = '${role}') then create role ${role}; end if;
exception when duplicate_object or unique_violation then null;
end
$roles$;`
}

function password(text: string | undefined): string {
  return text === undefined ? '' : ` password ${pg.escapeLiteral(text)}`
}
