-- What is kept of cycles, what leaves, and what is due.

-- Writes down what was found damaged, so that every list and the statistics say so; at most 100, the newest. Called by
-- quarantine(), after a read found it. Locks: the head.
create or replace function loci.cycle_quarantine(p_instance text, p_database text, p_seq bigint[], p_ref text[], p_reason text[]) returns void
language plpgsql as $$
declare
  v_head loci.databases;
  v_entered record;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome <> 'open' then
    return;
  end if;
  v_head := v_entered.head;
  -- A number that was pruned meanwhile is not damaged.
  select jsonb_agg(d.entry order by (d.entry ->> 'seq')::bigint desc) into v_head.cyc_damaged from (
    select e.entry from (
      select o as entry from jsonb_array_elements(coalesce(v_head.cyc_damaged, '[]')) o
      union all select jsonb_build_object('seq', n.seq, 'ref', n.ref, 'reason', n.reason,
          'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        from unnest(p_seq, p_ref, p_reason) as n(seq, ref, reason)
        where not exists (select from jsonb_array_elements(coalesce(v_head.cyc_damaged, '[]')) o where (o ->> 'seq')::bigint = n.seq)) e
    where (e.entry ->> 'seq')::bigint between v_head.cyc_pruned_through + 1 and v_head.cyc_total
    order by (e.entry ->> 'seq')::bigint desc limit 100) d;
  update loci.databases h set cyc_damaged = v_head.cyc_damaged,
      cyc_checked_seq = least(h.cyc_checked_seq, (select min(s) - 1 from unnest(p_seq) s))
    where h.instance_id = p_instance and h.name = p_database;
end
$$;

-- Applies the configuration of cycles that is in force to the head of a database, which keeps of it what everything but
-- a cycle must know, and puts on the list what follows: a cycle, the pruning of cycles beyond the history, the index
-- where its segments are in another language. p_languages: all that there are, by their numbers in a segment's format.
-- Called by setSchedule(), in the transaction that has written the configuration, and by cycle_follow_service; both
-- hold the head. Locks: the due rows. Cost: six reads of the configuration, and one row for each segment.
create or replace function loci.cycle_schedule(p_instance text, p_database text, p_languages text[]) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_before loci.databases;
  v_head loci.databases;
begin
  select * into v_before from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  v_head := v_before;
  v_head.cyc_interval_ms := loci.cycle_interval(p_instance, p_database);
  v_head.cyc_history := loci.cycle_history(p_instance, p_database);
  if v_head is distinct from v_before then
    update loci.databases h set cyc_interval_ms = v_head.cyc_interval_ms, cyc_history = v_head.cyc_history
      where h.instance_id = p_instance and h.name = p_database;
  end if;
  if loci.cycle_pressed(v_head) then
    perform loci.put_due(p_instance, p_database, 'cycle', clock_timestamp());
  elsif v_head.cyc_interval_ms is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'cycle';
  elsif v_head.cyc_interval_ms is distinct from v_before.cyc_interval_ms then
    -- Where nothing has come in, the worker looks once and deletes the row.
    perform loci.put_due(p_instance, p_database, 'cycle', clock_timestamp() + v_head.cyc_interval_ms * interval '1 millisecond');
  end if;
  if v_head.cyc_total - v_head.cyc_pruned_through > v_head.cyc_history then
    perform loci.put_due(p_instance, p_database, 'history', clock_timestamp());
  end if;
  if v_head.mem_indexed_through > 0 and exists (select from loci.segments s where s.instance_id = p_instance and s.database = p_database
      and s.format % 256 <> loci.cycle_language(p_instance, p_database, p_languages)) then
    perform loci.put_due(p_instance, p_database, 'index', clock_timestamp());
  end if;
end
$$;
comment on function loci.cycle_schedule is 'without enter_database: called by functions that have entered';

-- Applies the configuration of cycles to the databases of an instance after the service's own has changed: to at most
-- p_limit of them behind those that are done, by name. The due row keeps how far it came, unless it was put anew or
-- claimed by another worker meanwhile: then that begins again. Called by the worker of due rows, kind `config`. Locks:
-- the heads, their due rows, the due row of the instance.
create or replace function loci.cycle_follow_service(p_instance text, p_limit int, p_languages text[]) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_due loci.due;
  v_names text[];
  v_name text;
begin
  perform set_config('loci.instance', p_instance, true);
  select * into v_due from loci.due d where d.instance_id = p_instance and d.database = '' and d.kind = 'config';
  v_names := array(select h.name from loci.databases h where h.instance_id = p_instance and h.name > v_due.after order by h.name limit p_limit);
  for v_name in select e.name from loci.enter_database(p_instance, v_names, '{}', 0) e where e.outcome = 'open' loop
    perform loci.cycle_schedule(p_instance, v_name, p_languages);
  end loop;
  if cardinality(v_names) = p_limit then
    update loci.due d set at = clock_timestamp(), after = v_names[p_limit]
      where d.instance_id = p_instance and d.database = '' and d.kind = 'config' and d.at = v_due.at;
  else
    delete from loci.due d where d.instance_id = p_instance and d.database = '' and d.kind = 'config' and d.at = v_due.at;
  end if;
end
$$;

-- Removes the oldest cycles beyond the number that is kept, at most p_limit, behind a checkpoint: the hash of the last
-- one that went, and the durations of all; and decisions beyond the days of the plan, up to a time that the head keeps.
-- Takes decisions whose week was dropped off the totals. Puts the next time on the list. Called by the worker of due
-- rows, kind `history`. Locks: the head, rows, the due row, totals.
create or replace function loci.cycle_prune(p_instance text, p_database text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entered record;
  v_head loci.databases;
  v_through bigint;
  v_gone record;
  v_rows int := 0;
  v_now timestamptz := clock_timestamp();
  v_dropped bigint;
  v_from timestamptz := loci.history_from(p_instance, v_now);
  v_trimmed record;
  v_next timestamptz;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome <> 'open' then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'history';
    return 0;
  end if;
  v_head := v_entered.head;
  v_through := least(v_head.cyc_total - v_head.cyc_history, v_head.cyc_pruned_through + p_limit);
  if v_through > v_head.cyc_pruned_through then
    -- The checkpoint is what the first one that stays says; where that is damaged, what the last one that goes is.
    v_head.cyc_pruned_hash := coalesce((select c.prev_hash from loci.cycles c where c.instance_id = p_instance and c.database = p_database
        and c.seq = v_through + 1 and loci.cycle_is_intact(c, p_instance, p_database)),
      (select c.hash from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.seq = v_through));
    with gone as (delete from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.seq <= v_through
      returning loci.cycle_bytes(c) as bytes, c.duration_ms as ms, loci.digest_part(c.hash, 1) as a, loci.digest_part(c.hash, 9) as b)
    select count(*) as rows, coalesce(sum(g.bytes), 0) as bytes, coalesce(sum(g.ms), 0) as ms, coalesce(bit_xor(g.a), 0) as a,
      coalesce(bit_xor(g.b), 0) as b into v_gone from gone g;
    update loci.databases h set cyc_pruned_through = v_through, cyc_pruned_hash = v_head.cyc_pruned_hash, cyc_pruned_ms = h.cyc_pruned_ms + v_gone.ms,
        cyc_bytes = h.cyc_bytes - v_gone.bytes, cyc_set_a = h.cyc_set_a # v_gone.a, cyc_set_b = h.cyc_set_b # v_gone.b,
        cyc_unsettled = h.cyc_unsettled or v_gone.rows <> v_through - (v_entered.head).cyc_pruned_through,
        cyc_damaged = (select jsonb_agg(o) from jsonb_array_elements(h.cyc_damaged) o where (o ->> 'seq')::bigint > v_through)
      where h.instance_id = p_instance and h.name = p_database;
    perform loci.add_totals(p_instance, 0, -v_gone.bytes::bigint);
    v_rows := v_gone.rows;
  end if;
  v_trimmed := loci.cycle_trim(v_head, v_from, p_limit);
  v_head := v_trimmed.head;
  select coalesce(sum(w.b), 0) into v_dropped from unnest(v_head.cyc_weeks, v_head.cyc_week_bytes) as w(d, b) where loci.week_dropped(w.d) <= v_now;
  if v_dropped > 0 or v_trimmed.rows > 0 then
    select coalesce(array_agg(w.d), '{}'), coalesce(array_agg(w.b), '{}') into v_head.cyc_weeks, v_head.cyc_week_bytes
      from unnest(v_head.cyc_weeks, v_head.cyc_week_bytes) as w(d, b) where loci.week_dropped(w.d) > v_now and w.b > 0;
    update loci.databases h set cyc_weeks = v_head.cyc_weeks, cyc_week_bytes = v_head.cyc_week_bytes,
        cyc_trimmed_to = case when v_trimmed.rows > 0 then greatest(h.cyc_trimmed_to, v_from) else h.cyc_trimmed_to end
      where h.instance_id = p_instance and h.name = p_database;
    perform loci.add_totals(p_instance, 0, -v_dropped - v_trimmed.bytes);
  end if;
  v_next := case when v_head.cyc_total - v_head.cyc_history > v_through or not v_trimmed.is_all then v_now
    else loci.history_next(p_instance, v_head.cyc_weeks, v_now) end;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'history';
  else
    update loci.due d set at = v_next where d.instance_id = p_instance and d.database = p_database and d.kind = 'history';
  end if;
  return v_rows;
end
$$;

-- Removes at most p_limit rows of decisions from before p_from. bytes: what the instance holds less. Called by
-- cycle_prune. Locks: rows. Cost: a range of the primary key in each partition, and a delete for each.
create or replace function loci.cycle_trim(p_head loci.databases, p_from timestamptz, p_limit int,
  out head loci.databases, out bytes bigint, out rows int, out is_all boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_gone record;
  v_n int;
begin
  head := p_head; bytes := 0; rows := 0; is_all := true;
  if p_from is null then
    return;
  end if;
  for v_gone in select d.seq, d.at, octet_length(d.body) + 150 as bytes from loci.cycle_decisions d
    where d.instance_id = p_head.instance_id and d.database = p_head.name and d.at < p_from limit p_limit
  loop
    delete from loci.cycle_decisions d where d.instance_id = p_head.instance_id and d.database = p_head.name and d.seq = v_gone.seq and d.at = v_gone.at;
    rows := rows + 1;
    v_n := array_position(head.cyc_weeks, date_trunc('week', v_gone.at at time zone 'UTC')::date);
    if v_n is not null then
      head.cyc_week_bytes[v_n] := head.cyc_week_bytes[v_n] - v_gone.bytes;
      bytes := bytes + v_gone.bytes;
    end if;
  end loop;
  is_all := rows < p_limit;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  -- What cannot be read is for the consistency report, and goes with its week.
  head := p_head; bytes := 0; rows := 0; is_all := true;
end
$$;
comment on function loci.cycle_trim is 'without enter_database: called with the head that cycle_prune has entered';

-- The number of the language in force, from 0; the first where none is configured. Called by cycle_schedule.
create or replace function loci.cycle_language(p_instance text, p_database text, p_languages text[]) returns int language plpgsql stable as $$
begin
  return coalesce((select array_position(p_languages, l.layer ->> 'language') - 1 from loci.config_layers(p_instance, p_database, 'cognitive') c,
    lateral (values (1, c.service::jsonb), (2, c.sent::jsonb)) as l(n, layer) where l.layer ->> 'language' = any (p_languages)
    order by l.n desc limit 1), 0);
end
$$;

-- Do as many events wait as make a cycle due? Those that are damaged count, but not alone. Called by cycle_due,
-- cycle_schedule and cycle_append. Cost: nothing where none wait.
create or replace function loci.cycle_pressed(p_head loci.databases) returns boolean language plpgsql stable as $$
begin
  return coalesce(p_head.prj_pending, 0) > 0 and coalesce(p_head.prj_pending >= loci.cycle_pressure(p_head.instance_id, p_head.name), false)
    and exists (select from loci.prj_pending(p_head.instance_id, p_head.name, 1, 1));
end
$$;

-- Whether a record, a slot or an event came in that no cycle has seen. Called by cycle_due. Cost: two index reads, and
-- one more where events wait.
create or replace function loci.cycle_fresh(p_head loci.databases) returns boolean
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return exists (select from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name and r.seq > p_head.cyc_seen)
    or exists (select from loci.working_memory w where w.instance_id = p_head.instance_id and w.database = p_head.name and w.version > p_head.cyc_seen)
    or (p_head.prj_pending > 0 and loci.cycle_pressure(p_head.instance_id, p_head.name) is not null
      and exists (select from loci.prj_pending(p_head.instance_id, p_head.name, 1, 1)));
end
$$;

-- Whether a cycle that is due has anything to take in, by its schedule or because as many events wait as make one due,
-- and the number of the last one. If not, the due row is deleted: what comes in next makes another (put_cycle). Called
-- by checkDue(). Locks: none where something came in, so that nothing is written; else the head, which whoever brings
-- something holds, and the due row.
create or replace function loci.cycle_due(p_instance text, p_database text, out is_fresh boolean, out is_pressed boolean, out number bigint)
language plpgsql as $$
declare
  v_entered record;
  v_head loci.databases;
begin
  perform set_config('loci.instance', p_instance, true);
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  is_pressed := loci.cycle_pressed(v_head);
  is_fresh := is_pressed or (v_head.cyc_interval_ms is not null and loci.cycle_fresh(v_head));
  if not is_fresh then
    select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
    v_head := v_entered.head;
    is_pressed := v_entered.outcome = 'open' and loci.cycle_pressed(v_head);
    is_fresh := is_pressed or (v_entered.outcome = 'open' and v_head.cyc_interval_ms is not null and loci.cycle_fresh(v_head));
    if not is_fresh then
      delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'cycle';
    end if;
  end if;
  number := v_head.cyc_total;
end
$$;

-- The cycles that may hold a value that is erased, beside those with this focus: the ones that have taken in what was
-- stored at these moments. Called by listCyclesOf(). No locks. Cost: some twenty reads by the primary key for each.
create or replace function loci.cycle_storing(p_instance text, p_database text, p_stored timestamptz[]) returns bigint[]
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select array_agg(distinct loci.cycle_before(p_instance, p_database, h.cyc_pruned_through + 1, h.cyc_total, s) + 1)
    from unnest(p_stored) s, loci.databases h where h.instance_id = p_instance and h.name = p_database and s <= h.cyc_last_at);
end
$$;

-- Erases content of cycles: text and salt, and the HMAC of a focus. Their hashes stay, so the chain still verifies.
-- Called by eraseContent(), when a memory is erased, with the head locked. Locks: rows, totals. Cost: a write for each.
create or replace function loci.cycle_erase(p_instance text, p_database text, p_focus bigint[], p_metadata bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_before bigint;
  v_after bigint;
begin
  select coalesce(sum(loci.cycle_bytes(c)), 0) into v_before from loci.cycles c
    where c.instance_id = p_instance and c.database = p_database and c.seq = any (p_focus || p_metadata);
  update loci.cycles c set focus = null, focus_salt = null, focus_mac = null
    where c.instance_id = p_instance and c.database = p_database and c.seq = any (p_focus);
  update loci.cycles c set metadata = null, metadata_salt = null
    where c.instance_id = p_instance and c.database = p_database and c.seq = any (p_metadata);
  select coalesce(sum(loci.cycle_bytes(c)), 0) into v_after from loci.cycles c
    where c.instance_id = p_instance and c.database = p_database and c.seq = any (p_focus || p_metadata);
  update loci.databases h set cyc_bytes = h.cyc_bytes + v_after - v_before where h.instance_id = p_instance and h.name = p_database;
  perform loci.add_totals(p_instance, 0, v_after - v_before);
end
$$;
comment on function loci.cycle_erase is 'without enter_database: called in the transaction of mem_erase, which has entered';
