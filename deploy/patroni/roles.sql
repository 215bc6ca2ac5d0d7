-- Once for each cluster with PgBouncer, as the superuser in the database postgres, after both programs' roles-sql.

-- PgBouncer asks for the secret of who logs in, and passes on what the login proves; it never has a password.
do $$ begin
  if not exists (select from pg_roles where rolname = 'pgbouncer_auth') then create role pgbouncer_auth login; end if;
end $$;
create schema if not exists pgbouncer;
revoke all on schema pgbouncer from public;
grant usage on schema pgbouncer to pgbouncer_auth;
create or replace function pgbouncer.secret_of(p_name text, out name text, out secret text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.rolname::text, a.rolpassword from pg_authid a
  where a.rolname = p_name and a.rolcanlogin and not a.rolsuper and not a.rolreplication
$$;
revoke all on function pgbouncer.secret_of from public;
grant execute on function pgbouncer.secret_of to pgbouncer_auth;

-- What the programs ask for at each connection, which PgBouncer keeps from PostgreSQL.
do $$ declare v_login text; begin
  for v_login in select rolname from pg_roles where rolname in ('loci_daemon', 'loci_management') loop
    execute format('alter role %I set jit = off', v_login);
    execute format('alter role %I set statement_timeout = ''1750ms''', v_login);
    execute format('alter role %I set lock_timeout = ''1250ms''', v_login);
    execute format('alter role %I set idle_in_transaction_session_timeout = ''5s''', v_login);
  end loop;
end $$;
