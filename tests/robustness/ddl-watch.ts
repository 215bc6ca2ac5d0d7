// Notes, inside of PostgreSQL, what each DDL command of a database does to tables that were there before it: the locks
// that its transaction has afterwards and others would wait for, and the rows that it read. An index that is built, a
// constraint that is checked and a table that is written anew read every row; what changes the catalog alone reads
// none. Of functions the first is noted alone: looking at each of hundreds would take longer than making it.

import { runSql } from '../world/sql.ts'

export interface Command {
  tag: string
  ms: number
  /** Of tables that were there: who would wait for each. */
  blocked: Record<string, 'writers' | 'readers and writers'>
  /** How long each was locked, from the beginning of this command to the end of the transaction. */
  heldMs: number
  rowsRead: number
}

const WATCH = `
  create table public.watched (relation oid primary key);
  create table public.commands (n serial, tag text, began timestamptz, ended timestamptz, rows_read bigint, blocked jsonb);
  create function public.rows_read() returns bigint language sql volatile as
    'select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint from pg_stat_xact_all_tables join public.watched on relid = relation';
  create function public.command_begins() returns event_trigger language plpgsql security definer as $$
  begin
    if tg_tag like '%FUNCTION' and current_setting('watch.functions', true) = txid_current()::text then
      return;
    end if;
    perform set_config('watch.began', clock_timestamp()::text, false), set_config('watch.rows', public.rows_read()::text, false);
  end $$;
  create function public.command_ends() returns event_trigger language plpgsql security definer as $$
  begin
    if tg_tag like '%FUNCTION' then
      if current_setting('watch.functions', true) = txid_current()::text then
        return;
      end if;
      perform set_config('watch.functions', txid_current()::text, false);
    end if;
    insert into public.commands (tag, began, ended, rows_read, blocked) select tg_tag, current_setting('watch.began')::timestamptz,
      clock_timestamp(), public.rows_read() - current_setting('watch.rows')::bigint,
      (select coalesce(jsonb_object_agg(name, waiting), '{}') from (
        select relation::regclass::text as name,
          case when bool_or(mode = 'AccessExclusiveLock') then 'readers and writers' else 'writers' end as waiting
        from pg_locks join public.watched using (relation) join pg_class on pg_class.oid = relation
        where pid = pg_backend_pid() and locktype = 'relation' and granted
          and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        group by relation) l);
  end $$;
  create event trigger command_begins on ddl_command_start execute function public.command_begins();
  create event trigger command_ends on ddl_command_end execute function public.command_ends();`

export async function watchDdl(adminUrl: string): Promise<void> {
  await runSql(adminUrl, WATCH)
}

/** What `work` does to the tables that are there now, all of it in one transaction. */
export async function commandsOf(adminUrl: string, work: () => Promise<unknown>): Promise<Command[]> {
  await runSql(adminUrl, 'truncate public.commands, public.watched')
  await runSql(
    adminUrl,
    `insert into public.watched select oid from pg_class
     where relnamespace = to_regnamespace('loci') and relkind in ('r', 'p') and relname <> 'migrations'`,
  )
  await work()
  const endedAt = new Date()
  return runSql<Command>(
    adminUrl,
    `select tag, extract(milliseconds from ended - began)::float8 as ms, rows_read::int as "rowsRead", blocked,
       extract(epoch from $1::timestamptz - began)::float8 * 1000 as "heldMs"
     from public.commands order by n`,
    [endedAt],
  )
}
