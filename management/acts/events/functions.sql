create or replace function loci.event_append(p_organization text, p_id text, p_at timestamptz, p_type text, p_subject text, p_data jsonb)
returns bigint language plpgsql as $$
declare
  v_seq bigint;
begin
  insert into loci.event_heads as h (organization_id, seq) values (p_organization, 1)
    on conflict (organization_id) do update set seq = h.seq + 1 returning seq into v_seq;
  insert into loci.events (organization_id, seq, id, type, at, subject, data)
    values (p_organization, v_seq, p_id, p_type, p_at, p_subject, p_data);
  return v_seq;
end
$$;

-- Makes the partitions of the days ahead and drops those that ended a week ago. Called at each start, by upkeep and
-- when one is missing. Locks: an advisory lock of its own. A partition is attached, not made as one, because that waits
-- for nobody who writes or reads; one that cannot be dropped within 200 ms, under a backup, is left for the next time.
create or replace function loci.keep_event_partitions()
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  v_day date;
  v_name text;
begin
  perform pg_advisory_xact_lock(7026300007);
  for v_day in select generate_series(current_date - 1, current_date + 3, interval '1 day')::date loop
    v_name := format('events_%s', to_char(v_day, 'YYYYMMDD'));
    continue when to_regclass('loci.' || v_name) is not null;
    execute format('create table loci.%I (like loci.events including all)', v_name);
    execute format('alter table loci.%I enable row level security', v_name);
    execute format('alter table loci.%I force row level security', v_name);
    execute format('create policy one_organization on loci.%I using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', v_name);
    execute format('alter table loci.events attach partition loci.%I for values from (%L) to (%L)', v_name, v_day, v_day + 1);
  end loop;
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.events'::regclass and c.relname ~ '^events_\d{8}$'
      and to_date(substr(c.relname, 8), 'YYYYMMDD') < current_date - 7
    order by 1
  loop
    begin
      execute format('drop table loci.%I', v_name);
    exception when lock_not_available then
      raise warning 'loci.% is in use and is dropped later', v_name;
    end;
  end loop;
end
$$;
revoke all on function loci.keep_event_partitions() from public;
grant execute on function loci.keep_event_partitions() to loci_app;

select loci.keep_event_partitions();
