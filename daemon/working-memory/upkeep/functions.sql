-- What leaves: by itself slots whose time is over, and history after 30 days, or those of the plan; and what is erased.

-- When the partitions of a week are dropped: 30 days after its last moment.
create or replace function loci.week_dropped(p_week date) returns timestamptz language sql immutable parallel safe as $$
  select (p_week + 37)::timestamp at time zone 'UTC'
$$;

-- How many days an instance keeps what was; 30 where its plan says nothing. Called by history_from and history_next.
create or replace function loci.history_days(p_instance text) returns int language sql stable as $$
  select least(greatest(coalesce((select (i.limits ->> 'history_days')::int from loci.instances i where i.id = p_instance), 30), 1), 30)
$$;

-- What was before goes by itself, before its week does; null: nothing does. Called by wm_expire and cycle_prune, which
-- ask history_next with the same p_at: where midnight passed between the two, what is to go stayed a day longer.
create or replace function loci.history_from(p_instance text, p_at timestamptz default clock_timestamp()) returns timestamptz language sql stable as $$
  select case when d < 30 then (date_trunc('day', p_at at time zone 'UTC') - d * interval '1 day') at time zone 'UTC' end
  from loci.history_days(p_instance) d
$$;

-- When something of the history of these weeks goes next; null: there is none. Called by functions that append or
-- remove history. Cost: one read by the primary key.
create or replace function loci.history_next(p_instance text, p_weeks date[], p_at timestamptz default clock_timestamp()) returns timestamptz
language sql stable as $$
  select case when d < 30 then greatest(min(w) + d + 1, (p_at at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'
    else min(loci.week_dropped(w)) end
  from loci.history_days(p_instance) d, unnest(p_weeks) w group by d
$$;

-- Removes at most p_limit versions and p_limit evictions from before p_from. Versions that are slots now, or were
-- evicted since, stay: a clear of them can be undone, and what left can be written again. bytes: what the instance
-- holds less. Called by wm_expire. Locks: rows. Cost: a range of the primary key in each partition, and a delete for
-- each.
create or replace function loci.wm_trim(p_doc loci.working_memory, p_from timestamptz, p_limit int,
  out doc loci.working_memory, out bytes bigint, out rows int, out is_all boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_gone record;
  v_n int;
  v_needed bigint[];
begin
  doc := p_doc; bytes := 0; rows := 0; is_all := true;
  if p_from is null then
    return;
  end if;
  v_needed := p_doc.versions || array(select e.version from loci.evictions e
    where e.instance_id = p_doc.instance_id and e.database = p_doc.database and e.at >= p_from);
  for v_gone in
    (select true as is_version, v.key, v.version as seq, v.at, 150 + 2 * octet_length(v.key) + octet_length(v.text) + octet_length(v.meta) as bytes
      from loci.slot_versions v where v.instance_id = p_doc.instance_id and v.database = p_doc.database and v.at < p_from
        and v.version <> all (v_needed) limit p_limit)
    union all
    (select false, e.key, e.seq, e.at, 150 + 2 * octet_length(e.key) + octet_length(e.why)
      from loci.evictions e where e.instance_id = p_doc.instance_id and e.database = p_doc.database and e.at < p_from limit p_limit)
  loop
    if v_gone.is_version then
      delete from loci.slot_versions v where v.instance_id = p_doc.instance_id and v.database = p_doc.database and v.key = v_gone.key
        and v.version = v_gone.seq and v.at = v_gone.at;
    else
      delete from loci.evictions e where e.instance_id = p_doc.instance_id and e.database = p_doc.database and e.seq = v_gone.seq and e.at = v_gone.at;
    end if;
    rows := rows + 1;
    v_n := array_position(doc.weeks, date_trunc('week', v_gone.at at time zone 'UTC')::date);
    -- Of a week that was counted as dropped nothing is left to take off.
    if v_n is not null then
      doc.week_bytes[v_n] := doc.week_bytes[v_n] - v_gone.bytes;
      bytes := bytes + v_gone.bytes;
    end if;
  end loop;
  is_all := rows < p_limit;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  -- What cannot be read is for the consistency report, and goes with its week.
  doc := p_doc; bytes := 0; rows := 0; is_all := true;
end
$$;
comment on function loci.wm_trim is 'without enter_database: called by functions that have entered';

-- The head without the slot that is overwritten or removed. What a damaged one added to the sums is unknown. Called by
-- wm_expire.
create or replace function loci.wm_count_out(p_head loci.databases, p_doc loci.working_memory, p_n int, p_is_whole boolean)
returns loci.databases language plpgsql stable as $$
declare
  v_head loci.databases := p_head;
begin
  v_head.wm_slots := v_head.wm_slots - 1;
  if p_is_whole or loci.slot_is_intact(p_doc.instance_id, p_doc.database, p_doc.keys[p_n], p_doc.texts[p_n], p_doc.versions[p_n],
      p_doc.expires[p_n], p_doc.metas[p_n], p_doc.digests[p_n]) then
    v_head.wm_bytes := v_head.wm_bytes - octet_length(p_doc.keys[p_n]) - octet_length(p_doc.texts[p_n]) - octet_length(p_doc.metas[p_n]);
    v_head.wm_set_a := v_head.wm_set_a # loci.digest_part(p_doc.digests[p_n], 1);
    v_head.wm_set_b := v_head.wm_set_b # loci.digest_part(p_doc.digests[p_n], 9);
  else
    v_head.wm_unsettled := true;
  end if;
  return v_head;
end
$$;

-- The document without its slot p_n.
create or replace function loci.wm_without(p_doc loci.working_memory, p_n int) returns loci.working_memory language plpgsql immutable as $$
declare
  v_doc loci.working_memory := p_doc;
begin
  v_doc.keys := p_doc.keys[:p_n - 1] || p_doc.keys[p_n + 1:];
  v_doc.texts := p_doc.texts[:p_n - 1] || p_doc.texts[p_n + 1:];
  v_doc.versions := p_doc.versions[:p_n - 1] || p_doc.versions[p_n + 1:];
  v_doc.expires := p_doc.expires[:p_n - 1] || p_doc.expires[p_n + 1:];
  v_doc.metas := p_doc.metas[:p_n - 1] || p_doc.metas[p_n + 1:];
  v_doc.digests := p_doc.digests[:p_n - 1] || p_doc.digests[p_n + 1:];
  return v_doc;
end
$$;

-- Writes down why a slot left; the bytes that takes. Called by wm_expire.
create or replace function loci.wm_evict(p_doc loci.working_memory, p_n int, p_seq bigint, p_at timestamptz, p_why text) returns bigint
language plpgsql as $$
begin
  insert into loci.evictions (instance_id, database, seq, at, key, version, why, digest)
    values (p_doc.instance_id, p_doc.database, p_seq, p_at, p_doc.keys[p_n], p_doc.versions[p_n], p_why,
      loci.eviction_digest(p_doc.instance_id, p_doc.database, p_seq, p_at, p_doc.keys[p_n], p_doc.versions[p_n], p_why));
  return 150 + 2 * octet_length(p_doc.keys[p_n]) + octet_length(p_why);
end
$$;
comment on function loci.wm_evict is 'without enter_database: called by functions that have entered';

-- Removes the slots whose time is over and history beyond the days of the plan, takes history that was dropped off the
-- totals, and puts the next time on the list. A slot that does not fit its digest stays: its expiry may be what rotted.
-- Called by the worker of due rows, kind `slots`. Locks: the head, rows, the due row, totals, the head of events. Cost:
-- one write of the document.
create or replace function loci.wm_expire(p_instance text, p_database text) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entered record;
  v_head loci.databases;
  v_doc loci.working_memory;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_is_whole boolean;
  v_history bigint := 0;
  v_dropped bigint := 0;
  v_removed int := 0;
  v_why text;
  v_events jsonb := '[]';
  v_next timestamptz;
  v_trimmed record;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database;
  if v_entered.outcome <> 'open' or not found then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'slots';
    return 0;
  end if;
  v_head := v_entered.head;
  v_is_whole := v_doc.digest = loci.wm_digest(v_doc);
  for v_n in reverse coalesce(cardinality(v_doc.keys), 0) .. 1 loop
    if v_doc.expires[v_n] <= v_now and (v_is_whole or loci.slot_is_intact(p_instance, p_database, v_doc.keys[v_n], v_doc.texts[v_n],
        v_doc.versions[v_n], v_doc.expires[v_n], v_doc.metas[v_n], v_doc.digests[v_n])) then
      v_head := loci.wm_count_out(v_head, v_doc, v_n, v_is_whole);
      v_head.seq := v_head.seq + 1;
      v_why := json_build_object('reasonCode', 'expired', 'reason', 'Its time was over at ' || (v_doc.texts[v_n]::json ->> 'expiresAt') || '.',
        'displacedBy', null, 'policy', null, 'explain', v_doc.texts[v_n]::json -> 'explain');
      v_history := v_history + loci.wm_evict(v_doc, v_n, v_head.seq, v_now, v_why);
      v_doc.evictions := v_doc.evictions + 1;
      v_events := v_events || loci.slot_event(p_database, 'remove', v_doc.keys[v_n], v_head.seq, v_why::jsonb);
      v_doc := loci.wm_without(v_doc, v_n);
      v_removed := v_removed + 1;
    end if;
  end loop;
  v_trimmed := loci.wm_trim(v_doc, loci.history_from(p_instance, v_now), 1000);
  v_doc := v_trimmed.doc; v_head.seq := v_head.seq + (v_trimmed.rows > 0)::int;
  select coalesce(sum(b), 0) into v_dropped from unnest(v_doc.weeks, v_doc.week_bytes) as w(d, b) where loci.week_dropped(w.d) <= v_now;
  if v_removed > 0 or v_dropped > 0 or v_trimmed.rows > 0 then
    select coalesce(array_agg(w.d), '{}'), coalesce(array_agg(w.b), '{}') into v_doc.weeks, v_doc.week_bytes
      from unnest(v_doc.weeks, v_doc.week_bytes) as w(d, b) where loci.week_dropped(w.d) > v_now and w.b > 0;
    perform loci.wm_store(v_head, v_doc, v_now, v_history, v_is_whole, true);
    perform loci.add_totals(p_instance, 0, v_head.wm_bytes - (v_entered.head).wm_bytes + v_history - v_dropped - v_trimmed.bytes,
      v_head.wm_bytes + v_history);
  end if;
  v_next := case when v_trimmed.is_all then least((select min(e) from unnest(v_doc.expires) e where e > v_now), loci.history_next(p_instance, v_doc.weeks, v_now))
    else v_now end;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'slots';
  else
    update loci.due d set at = v_next where d.instance_id = p_instance and d.database = p_database and d.kind = 'slots';
  end if;
  if v_events <> '[]' then
    perform loci.append_events(p_instance, v_events);
  end if;
  return v_removed;
end
$$;

-- Erases slots, as if they had been deleted, and at most p_limit versions that say the value p_mac and have a number up
-- to p_to. erased: how many versions; p_limit of them: there may be more. Called by eraseSlots(), when a memory is
-- erased, with the head locked; who calls appends the events. Locks: rows, the due row, totals. Cost: one write of the
-- document, one index read in each partition, one delete for each version, however many others there are.
create or replace function loci.wm_erase(p_instance text, p_database text, p_keys text[], p_mac bytea, p_limit int,
  p_to bigint default 9223372036854775807, out erased int, out events jsonb)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_head loci.databases;
  v_doc loci.working_memory;
  v_is_whole boolean;
  v_gone record;
  v_n int;
  v_bytes bigint := 0;
  v_applied record;
begin
  erased := 0; events := '[]';
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database;
  if not found then
    return;
  end if;
  v_is_whole := v_doc.digest = loci.wm_digest(v_doc);
  -- Without a sort only the index by value gives this order: a plan that was made while the history was empty takes no
  -- other.
  for v_gone in select v.key, v.version, v.at, date_trunc('week', v.at at time zone 'UTC')::date as week,
      150 + 2 * octet_length(v.key) + octet_length(v.text) + octet_length(v.meta) as bytes
    from loci.slot_versions v where v.value_mac >= p_mac and v.value_mac <= p_mac and v.instance_id = p_instance and v.database = p_database
      and v.version <= p_to order by v.value_mac limit p_limit
  loop
    delete from loci.slot_versions v where v.instance_id = p_instance and v.database = p_database and v.key = v_gone.key
      and v.version = v_gone.version and v.at = v_gone.at;
    erased := erased + 1;
    v_n := array_position(v_doc.weeks, v_gone.week);
    -- Of a week that was counted as dropped nothing is left to take off.
    if v_n is not null then
      v_doc.week_bytes[v_n] := v_doc.week_bytes[v_n] - v_gone.bytes;
      v_bytes := v_bytes + v_gone.bytes;
    end if;
  end loop;
  if erased = 0 and p_keys = '{}' then
    return;
  end if;
  v_applied := loci.wm_apply(v_head, v_doc, v_is_whole, date_trunc('milliseconds', clock_timestamp()),
    array(select n from generate_subscripts(p_keys, 1) n), array_fill('remove'::text, array[cardinality(p_keys)]), p_keys, '{}', '{}', '{}',
    array_fill('{"reasonCode":"deleted","reason":"Its content was erased.","displacedBy":null,"policy":null,"explain":{"score":0,"parts":[]}}'::text,
      array[cardinality(p_keys)]), true);
  events := to_jsonb(v_applied.events);
  perform loci.add_totals(p_instance, 0, v_applied.bytes - v_bytes);
end
$$;
comment on function loci.wm_erase is 'without enter_database: called in the transaction of mem_erase, which has entered';

-- Erases p_limit versions that say the value p_mac where there are more of them; how many it erased. Called by
-- thinVersions(), before the transaction that erases the rest. Locks: none where there are few; else the head, rows,
-- the due row, totals.
create or replace function loci.wm_thin(p_instance text, p_database text, p_mac bytea, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  if (select count(*) from (select from loci.slot_versions v where v.value_mac >= p_mac and v.value_mac <= p_mac and v.instance_id = p_instance
      and v.database = p_database order by v.value_mac limit p_limit + 1) v) <= p_limit then
    return 0;
  end if;
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) <> 'open' then
    return 0;
  end if;
  return (select e.erased from loci.wm_erase(p_instance, p_database, '{}', p_mac, p_limit) e);
end
$$;

-- Makes the partitions of the weeks ahead and drops those whose last moment is older than 30 days. Called at a start,
-- by a job and when one is missing. Locks: an advisory lock of its own. A partition is attached, not made as one,
-- because that waits for nobody who writes or reads; one that cannot be dropped within 200 ms, under a backup, is left
-- for the next time. Cost: twenty tables where all are missing, so this week's come first, and after a second the rest
-- is left for the next call: the statement must end in its time on a busy server too.
create or replace function loci.keep_slot_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  v_tables text[] := array['slot_versions', 'evictions', 'clears', 'cycle_decisions'];
  v_table text;
  v_week date;
  v_name text;
begin
  perform pg_advisory_xact_lock(7026300012);
  for v_week in
    select w::date from generate_series(date_trunc('week', now()) - interval '1 week', date_trunc('week', now()) + interval '3 weeks', interval '1 week') as w
    order by w < date_trunc('week', now()), w
  loop
    exit when v_week > now() and clock_timestamp() > statement_timestamp() + interval '1 second';
    foreach v_table in array v_tables loop
      v_name := format('%s_%s', v_table, to_char(v_week, 'YYYYMMDD'));
      continue when to_regclass('loci.' || v_name) is not null;
      execute format('create table loci.%I (like loci.%I including all)', v_name, v_table);
      execute format('alter table loci.%I enable row level security', v_name);
      execute format('alter table loci.%I force row level security', v_name);
      execute format('create policy one_instance on loci.%I using (instance_id = nullif(current_setting(''loci.instance'', true), ''''))', v_name);
      execute format('alter table loci.%I attach partition loci.%I for values from (%L) to (%L)', v_table, v_name, v_week, v_week + 7);
    end loop;
  end loop;
  foreach v_table in array v_tables loop
    for v_name in
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ('loci.' || v_table)::regclass and c.relname ~ '_\d{8}$'
        and loci.week_dropped(to_date(right(c.relname, 8), 'YYYYMMDD')) < now()
    loop
      begin
        execute format('drop table loci.%I', v_name);
      exception when lock_not_available then
        raise warning 'loci.% is in use and is dropped later', v_name;
      end;
    end loop;
  end loop;
end
$$;
revoke all on function loci.keep_slot_partitions() from public;
grant execute on function loci.keep_slot_partitions() to loci_app;
comment on function loci.keep_slot_partitions is 'without enter_database: it writes no rows';

select loci.keep_slot_partitions();
