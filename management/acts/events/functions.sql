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

-- Days are made ahead and dropped when they are old, by the serving processes; both need the owner's rights.
create or replace function loci.keep_event_partitions()
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  day date;
  old name;
  name text;
begin
  perform pg_advisory_xact_lock(7026300007);
  for day in select generate_series(current_date - 1, current_date + 3, interval '1 day')::date loop
    name := format('events_%s', to_char(day, 'YYYYMMDD'));
    if to_regclass('loci.' || name) is null then
      execute format('create table loci.%I partition of loci.events for values from (%L) to (%L)', name, day, day + 1);
      execute format('alter table loci.%I enable row level security', name);
      execute format('alter table loci.%I force row level security', name);
      execute format('create policy one_organization on loci.%I using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', name);
    end if;
  end loop;
  for old in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.events'::regclass and c.relname ~ '^events_\d{8}$'
      and to_date(substr(c.relname, 8), 'YYYYMMDD') < current_date - 7
  loop
    execute format('drop table loci.%I', old);
  end loop;
end
$$;
revoke all on function loci.keep_event_partitions() from public;
grant execute on function loci.keep_event_partitions() to loci_app;

select loci.keep_event_partitions();
