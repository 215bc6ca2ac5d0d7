-- Appends events, [{type, database, domain, data}, …], in their order. Called by functions that write, as their LAST
-- statement: the number is in the order of commits because the head of the instance stays locked until then. Locks: the
-- event head of the instance, after every other lock. Cost: one update and one insert, whatever the number of events.
create or replace function loci.append_events(p_instance text, p_events jsonb) returns void language plpgsql as $$
declare
  v_count int := jsonb_array_length(p_events);
  v_head loci.event_heads;
begin
  if v_count = 0 then
    return;
  end if;
  -- The clock is read before the lock is had, and may have been set back: the later of both times.
  insert into loci.event_heads as h (instance_id, seq, at)
    values (p_instance, v_count, date_trunc('milliseconds', clock_timestamp()))
    on conflict (instance_id) do update set seq = h.seq + v_count, at = greatest(h.at, excluded.at)
    returning * into v_head;
  insert into loci.events (instance_id, seq, at, type, database, domain, data)
    select p_instance, v_head.seq - v_count + n, v_head.at, e->>'type', e->>'database', e->>'domain', coalesce(e->'data', '{}')
    from jsonb_array_elements(p_events) with ordinality as t (e, n);
end
$$;
comment on function loci.append_events is 'without enter_database: called by functions that have entered';

-- The same for events of one type and domain, of which the databases and the data are handed over; data is JSON.
create or replace function loci.append_events_of(p_instance text, p_type text, p_domain text, p_database text[], p_data text[])
returns void language plpgsql as $$
declare
  v_count int := cardinality(p_data);
  v_head loci.event_heads;
begin
  if v_count = 0 then
    return;
  end if;
  insert into loci.event_heads as h (instance_id, seq, at)
    values (p_instance, v_count, date_trunc('milliseconds', clock_timestamp()))
    on conflict (instance_id) do update set seq = h.seq + v_count, at = greatest(h.at, excluded.at)
    returning * into v_head;
  insert into loci.events (instance_id, seq, at, type, database, domain, data)
    select p_instance, v_head.seq - v_count + e.n, v_head.at, p_type, e.database, p_domain, e.data::json
    from unnest(p_database, p_data) with ordinality as e(database, data, n);
end
$$;
comment on function loci.append_events_of is 'without enter_database: called by functions that have entered';

-- What is new in many instances: for each whose last number is not p_after, its last number and the events between, in
-- their order; of one that is more than p_limit ahead, or whose p_after is null, the number alone. Called by
-- readNews(), every 150 ms in each process with streams. Cost: one index read for each instance, and one in each
-- partition where there is news.
create or replace function loci.new_events(p_instances text[], p_after bigint[], p_limit int)
returns table (instance_id text, head bigint, seq bigint, at timestamptz, type text, database text, domain text, data text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_one record;
begin
  for v_one in
    select i.id, i.after, coalesce(h.seq, 0) as head from unnest(p_instances, p_after) as i (id, after)
      left join loci.event_heads h on h.instance_id = i.id where coalesce(h.seq, 0) is distinct from i.after
  loop
    perform set_config('loci.instance', v_one.id, true);
    return query select v_one.id, v_one.head, e.seq, e.at, e.type, e.database, e.domain, e.data::text
      from (select) always left join loci.events e on e.instance_id = v_one.id and e.seq > v_one.after
        and e.seq <= v_one.head and v_one.head - v_one.after <= p_limit
      order by e.seq;
  end loop;
end
$$;

-- Makes the partitions of the next 24 hours and drops those that ended 24 hours ago. Called at each start and by
-- upkeep. Locks: an advisory lock of its own. A partition is attached, not made as one, because that waits for nobody
-- who writes or reads; one that cannot be dropped within 200 ms, under a backup, is left for the next time.
create or replace function loci.keep_event_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  v_from timestamptz;
  v_now timestamptz := date_bin('6 hours', now(), 'epoch');
  v_name text;
begin
  perform pg_advisory_xact_lock(7026300007);
  for v_from in select generate_series(v_now - interval '6 hours', v_now + interval '24 hours', interval '6 hours') loop
    v_name := format('events_%s', to_char(v_from, 'YYYYMMDDHH24'));
    continue when to_regclass('loci.' || v_name) is not null;
    execute format('create table loci.%I (like loci.events including all)', v_name);
    execute format('alter table loci.%I enable row level security', v_name);
    execute format('alter table loci.%I force row level security', v_name);
    execute format('create policy one_instance on loci.%I using (instance_id = nullif(current_setting(''loci.instance'', true), ''''))', v_name);
    execute format('alter table loci.events attach partition loci.%I for values from (%L) to (%L)', v_name, v_from, v_from + interval '6 hours');
  end loop;
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.events'::regclass and c.relname ~ '^events_\d{10}$'
      and to_timestamp(substr(c.relname, 8), 'YYYYMMDDHH24') < now() - interval '30 hours'
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

-- The hours of now must exist before anything is appended.
select loci.keep_event_partitions();
