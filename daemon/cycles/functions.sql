-- Cycles. A cycle is computed outside the database on what cycle_read gave, of one moment, and committed by one call,
-- which refuses when the document of working memory or a configuration has moved, another cycle came first or
-- something was erased since. Its record is linked to the one before by a hash that is made here, under the head's
-- lock.

-- Stable, as what it is made of: an immutable one is not taken into its caller's expression (see slot_prefix).
create or replace function loci.salted_hash(p_salt bytea, p_text text) returns bytea language sql stable parallel safe as $$
  select sha256(p_salt || textsend(p_text))
$$;

-- Over every column of a cycle, with its owner and the hash of the one before; content enters as its salted hash.
-- Stored bytes as they are: see entry_digest. Whatever can have any length has it in front, or is last.
create or replace function loci.cycle_hash(c loci.cycles) returns bytea language sql stable parallel safe as $$
  select sha256(textsend(c.instance_id || E'\x1f' || c.database || E'\x1f' || c.id || E'\x1f') || int8send(c.seq)
    || timestamptz_send(c.started_at) || timestamptz_send(c.completed_at) || int4send(c.duration_ms)
    || coalesce('\x01'::bytea || c.focus_hash, '\x00'::bytea) || coalesce('\x01'::bytea || c.metadata_hash, '\x00'::bytea)
    || int4send(octet_length(c.after_digest)) || c.after_digest || c.decisions_hash
    || coalesce('\x01'::bytea || c.prev_hash, '\x00'::bytea) || textsend(c.body))
$$;

-- Does a cycle fit its hash, its content the salted hashes, and is it of this database? Content that was erased fits:
-- salt and HMAC went with it. Sizes first: see is_intact.
create or replace function loci.cycle_is_intact(c loci.cycles, p_instance text, p_database text) returns boolean
language sql stable parallel safe as $$
  select case when octet_length(c.instance_id) not between 1 and 100 or octet_length(c.database) not between 1 and 100
      or octet_length(c.id) not between 1 and 100 or octet_length(c.body) not between 1 and 1048576 or octet_length(c.hash) <> 32
      or octet_length(c.decisions_hash) <> 32 or octet_length(c.after_digest) > 32 or octet_length(c.focus) > 65536
      or octet_length(c.metadata) > 1048576 then false
    else coalesce(c.hash = loci.cycle_hash(c) and c.instance_id = p_instance and c.database = p_database
      and (c.focus is null) = (c.focus_salt is null) and (c.focus is null) = (c.focus_mac is null)
      and (c.focus is null or c.focus_hash = loci.salted_hash(c.focus_salt || c.focus_mac, c.focus))
      and (c.metadata is null) = (c.metadata_salt is null)
      and (c.metadata is null or c.metadata_hash = loci.salted_hash(c.metadata_salt, c.metadata)), false) end
$$;

-- What a cycle counts for, beside its decisions, which are counted by week.
create or replace function loci.cycle_bytes(c loci.cycles) returns bigint language sql immutable parallel safe as $$
  select octet_length(c.body)::bigint + coalesce(octet_length(c.focus), 0) + coalesce(octet_length(c.metadata), 0) + 300
$$;

-- What says which configurations a cycle was computed on: those of the database, by their versions in its head, and the
-- service's, by its content. Called by cycle_read and cycle_commit. Cost: one read by the primary key.
create or replace function loci.cycle_settings(p_instance text, p_cycles bigint, p_slots bigint) returns text language plpgsql stable as $$
begin
  return coalesce(p_cycles, 0) || ' ' || coalesce(p_slots, 0) || ' '
    || coalesce((select md5(i.config::text) from loci.instances i where i.id = p_instance), '');
end
$$;

-- Commits cycles of one instance, at most one of a database. The arrays of cycles, steps, records, presentations and
-- events that are taken in have one element each; the last four bear the number of their cycle. outcome: done; moved
-- (the document, the cycles, the events, the configuration or what is erased is not what was read: compute again); or
-- what enter_database() answered. A row with `claim` says why that claim's cycle cannot be done (claim_keys); then
-- nothing of the call was. A record that cannot be stored as it was planned fails the call with SQLSTATE LC002;
-- detail = cycle, record, outcome. Called by commitCycles(). Locks: those of claim_keys, enter_database, rows, due
-- work, keep_answers, totals, the head of events, in this order.
create or replace function loci.cycle_commit(p_instance text, p_databases_max bigint, p_database text[], p_read bigint[], p_version bigint[],
  p_erased bigint[], p_number bigint[], p_settings text[], p_started timestamptz[], p_id text[], p_focus text[], p_focus_mac text[], p_metadata text[],
  p_salt text[], p_body text[], p_decisions text[], p_interval_ms bigint[], p_history bigint[],
  p_step_cycle int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[],
  p_value_mac text[], p_record_cycle int[], p_record_id text[], p_record_key text[], p_source_event text[], p_context text[], p_value text[], p_supersedes text[],
  p_record_body text[], p_occurred timestamptz[], p_ttl_ms float8[], p_record_seen text[],
  p_seen_cycle int[], p_seen_id text[], p_seen text[],
  p_event_cycle int[], p_event bigint[], p_event_record text[],
  p_route text, p_sealed_with text, p_claim_cycle int[], p_claim_database text[], p_claim_holder text[],
  p_claim_key text[], p_claim_fingerprint text[])
returns table (claim int, ord int, outcome text, made loci.cycles)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
  v_head loci.databases;
  v_doc loci.working_memory;
  v_events jsonb := '[]';
  v_stored record;
  v_done record;
  v_taken int[];
  v_events_in bigint[];
  v_records_in text[];
  -- Of these those that were there before.
  v_heard text[];
  v_records bigint := 0;
  v_bytes bigint := 0;
  v_written bigint := 0;
  -- One for each cycle that was done.
  v_cycles int[] := '{}';
  v_made loci.cycles[] := '{}';
  -- One for each of their steps.
  v_steps int[] := '{}';
  v_versions bigint[] := '{}';
  v_texts text[] := '{}';
  v_digests bytea[] := '{}';
begin
  if cardinality(p_claim_key) > 0 then
    perform set_config('loci.instance', p_instance, true);
    for claim, outcome in select c.claim, c.outcome
      from loci.claim_keys(p_instance, p_route, p_claim_database, p_claim_holder, p_claim_key) c
    loop
      return next;
    end loop;
    if claim is not null then
      return;
    end if;
  end if;
  for v_entered in select e.name, e.outcome, e.head from loci.enter_database(p_instance, p_database, p_database, p_databases_max) e loop
    ord := array_position(p_database, v_entered.name); outcome := v_entered.outcome; made := null;
    if outcome = 'open' then
      v_head := v_entered.head; v_doc := null;
      v_taken := array_positions(p_event_cycle, ord);
      if v_taken <> '{}' then
        v_events_in := array(select p_event[i] from unnest(v_taken) with ordinality as t(i, n) order by t.n);
        v_records_in := array(select p_event_record[i] from unnest(v_taken) with ordinality as t(i, n) order by t.n);
        v_heard := array(select r from unnest(v_records_in) r where r is not null except select unnest(p_record_id));
      end if;
      select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = v_entered.name;
      if coalesce(v_doc.version, 0) <> p_version[ord] or v_head.cyc_total <> p_number[ord] or v_head.mem_erased_at <> p_erased[ord]
          or loci.cycle_settings(p_instance, v_head.cyc_config, v_head.wm_config) <> p_settings[ord]
          or (v_taken <> '{}' and not (loci.prj_all_pending(p_instance, v_head.name, v_events_in)
            and loci.mem_all_hold(p_instance, v_head.name, v_heard))) then
        outcome := 'moved';
      else
        outcome := 'done';
        v_stored := loci.cycle_write_records(v_head, ord, array_positions(p_record_cycle, ord), p_record_id, p_record_key, p_source_event, p_context,
          p_value, p_supersedes, p_record_body, p_occurred, p_ttl_ms, p_record_seen, array_positions(p_seen_cycle, ord), p_seen_id, p_seen);
        if v_taken <> '{}' then
          v_stored.head := loci.prj_prolong(v_stored.head, v_events_in, v_records_in, v_heard);
          perform loci.prj_take_in(p_instance, v_head.name, v_events_in, v_records_in);
        end if;
        v_done := loci.cycle_append(v_head, v_stored.head, v_stored.soonest, v_doc, p_read[ord], p_started[ord], p_id[ord], p_focus[ord],
          p_focus_mac[ord], p_metadata[ord], p_salt[ord], p_body[ord], p_decisions[ord], p_interval_ms[ord], p_history[ord], v_taken <> '{}',
          array_positions(p_step_cycle, ord), p_op, p_key, p_rest, p_meta, p_expires, p_why);
        made := v_done.made;
        v_events := v_events || v_stored.events || v_done.events;
        v_records := v_records + v_done.records; v_bytes := v_bytes + v_done.bytes; v_written := v_written + v_done.written;
        v_cycles := v_cycles || ord; v_made := v_made || made;
        v_steps := v_steps || v_done.steps; v_versions := v_versions || v_done.versions;
        v_texts := v_texts || v_done.texts; v_digests := v_digests || v_done.digests;
      end if;
    end if;
    return next;
  end loop;
  -- For all at once: to find the partition costs as much as the row.
  if v_cycles <> '{}' then
    insert into loci.cycles select c.* from unnest(v_made) c;
    insert into loci.cycle_decisions (instance_id, database, seq, at, body)
      select p_instance, c.database, c.seq, c.started_at, p_decisions[v_cycles[c.ordinality]] from unnest(v_made) with ordinality c;
  end if;
  if v_steps <> '{}' then
    insert into loci.slot_versions (instance_id, database, key, version, at, text, meta, expires, digest, value_mac)
      select p_instance, p_database[p_step_cycle[s.n]], p_key[s.n], s.version, p_started[p_step_cycle[s.n]], s.text, p_meta[s.n], p_expires[s.n], s.digest,
        decode(p_value_mac[s.n], 'hex')
      from unnest(v_steps, v_versions, v_texts, v_digests) as s(n, version, text, digest) where s.text is not null;
  end if;
  if cardinality(p_claim_key) > 0 then
    perform loci.keep_answers(p_instance, p_route, p_sealed_with, array_agg(c.database), array_agg(c.holder), array_agg(c.key),
        array_agg(c.fingerprint), array_agg(json_build_object('cycle', p_id[c.cycle])::text))
      from unnest(p_claim_cycle, p_claim_database, p_claim_holder, p_claim_key, p_claim_fingerprint) as c(cycle, database, holder, key, fingerprint)
      where c.cycle = any (v_cycles)
      having count(*) > 0;
  end if;
  perform loci.add_totals(p_instance, v_records, v_bytes, v_written);
  perform loci.append_events(p_instance, v_events);
end
$$;

-- The records that a cycle makes, and the presentations of those that have left. head: as it is then, which
-- cycle_append writes; soonest: when the first of them expires. Called by cycle_commit, with the head that it has
-- entered.
create or replace function loci.cycle_write_records(p_head loci.databases, p_cycle int, p_items int[], p_id text[], p_key text[],
  p_source_event text[], p_context text[], p_value text[], p_supersedes text[], p_body text[], p_occurred timestamptz[], p_ttl_ms float8[],
  p_record_seen text[], p_seen_items int[], p_seen_id text[], p_seen text[], out head loci.databases, out soonest timestamptz, out events jsonb)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_stored record;
  v_i int;
  v_ids text[] := '{}';
  v_seen text[] := '{}';
begin
  head := p_head; events := '[]';
  foreach v_i in array p_items loop
    v_stored := loci.mem_store(head, v_now, p_id[v_i], p_key[v_i], p_source_event[v_i], p_context[v_i], p_value[v_i], false, p_supersedes[v_i],
      p_body[v_i], p_occurred[v_i], p_ttl_ms[v_i]);
    if v_stored.outcome <> 'done' then
      raise exception 'a record of a cycle cannot be stored' using errcode = 'LC002', detail = format('%s %s %s', p_cycle, p_id[v_i], v_stored.outcome);
    end if;
    head := v_stored.head; events := events || v_stored.events;
    if p_ttl_ms[v_i] is not null then
      soonest := least(soonest, (v_stored.record).expires_at);
    end if;
    if p_record_seen[v_i] is not null then
      v_ids := v_ids || p_id[v_i]; v_seen := v_seen || p_record_seen[v_i];
    end if;
  end loop;
  foreach v_i in array p_seen_items loop
    v_ids := v_ids || p_seen_id[v_i]; v_seen := v_seen || p_seen[v_i];
  end loop;
  if v_ids <> '{}' then
    head := loci.mem_present(head, v_ids, v_seen);
  end if;
end
$$;
comment on function loci.cycle_write_records is 'without enter_database: called with the head that cycle_commit has entered';

-- The steps of working memory, the cycle, and the head after all of it. p_before: the head as it was entered, p_head as
-- it is with the records; p_has_taken: events were taken in, and counted in the row. records, bytes: what the instance
-- holds more; written: as of wm_apply. made, and the versions of slots, are inserted by cycle_commit, which calls this.
-- Cost: one write of the document, one of the head.
create or replace function loci.cycle_append(p_before loci.databases, p_head loci.databases, p_soonest timestamptz, p_doc loci.working_memory, p_read bigint,
  p_started timestamptz, p_id text, p_focus text, p_focus_mac text, p_metadata text, p_salt text, p_body text, p_decisions text, p_interval_ms bigint,
  p_history bigint, p_has_taken boolean, p_steps int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[],
  out made loci.cycles, out events jsonb, out records bigint, out bytes bigint, out written bigint, out steps int[], out versions bigint[], out texts text[],
  out digests bytea[])
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_applied record;
  v_n int;
  v_week date := date_trunc('week', p_started at time zone 'UTC');
  v_bytes bigint := octet_length(p_decisions) + 150;
begin
  -- The number of the cycle itself: what it touched without writing it has moved too.
  v_head.seq := v_head.seq + 1;
  made.instance_id := p_head.instance_id; made.database := p_head.name; made.seq := v_head.cyc_total + 1; made.id := p_id;
  made.after_digest := coalesce(p_doc.digest, ''); events := '[]'; bytes := 0; written := 0;
  if p_steps <> '{}' then
    v_applied := loci.wm_apply(v_head, p_doc, p_doc.version is null or p_doc.digest = loci.wm_digest(p_doc), p_started, p_steps, p_op, p_key, p_rest,
      p_meta, p_expires, p_why, false);
    v_head := v_applied.head; made.after_digest := v_applied.digest; events := to_jsonb(v_applied.events); bytes := v_applied.bytes;
    written := v_applied.written;
    steps := p_steps; versions := v_applied.versions; texts := v_applied.texts; digests := v_applied.digests;
  end if;
  made.started_at := p_started; made.completed_at := greatest(date_trunc('milliseconds', clock_timestamp()), p_started, p_before.cyc_last_at);
  made.duration_ms := least(floor(extract(epoch from made.completed_at - p_started) * 1000), 2147483647);
  made.focus := p_focus; made.metadata := p_metadata; made.body := p_body; made.focus_mac := decode(p_focus_mac, 'hex');
  if p_focus is not null then
    made.focus_salt := substr(decode(p_salt, 'hex'), 1, 16); made.focus_hash := loci.salted_hash(made.focus_salt || made.focus_mac, p_focus);
  end if;
  if p_metadata is not null then
    made.metadata_salt := substr(decode(p_salt, 'hex'), 17, 16); made.metadata_hash := loci.salted_hash(made.metadata_salt, p_metadata);
  end if;
  made.decisions_hash := sha256(textsend(p_decisions)); made.prev_hash := p_before.cyc_hash; made.hash := loci.cycle_hash(made);
  v_n := array_position(v_head.cyc_weeks, v_week);
  if v_n is null then
    v_head.cyc_weeks := v_head.cyc_weeks || v_week; v_head.cyc_week_bytes := v_head.cyc_week_bytes || v_bytes;
    perform loci.put_due(p_head.instance_id, p_head.name, 'history', loci.history_next(p_head.instance_id, array[v_week]));
  else
    v_head.cyc_week_bytes[v_n] := v_head.cyc_week_bytes[v_n] + v_bytes;
  end if;
  -- What came in between reading and here is for the next one.
  update loci.databases h set seq = v_head.seq, mem_records = v_head.mem_records, mem_bytes = v_head.mem_bytes, mem_set_a = v_head.mem_set_a,
      mem_set_b = v_head.mem_set_b, mem_contexts = v_head.mem_contexts, mem_open_context = v_head.mem_open_context,
      mem_open_position = v_head.mem_open_position, mem_open_at = v_head.mem_open_at, mem_index_bytes = v_head.mem_index_bytes,
      mem_tail = v_head.mem_tail, wm_slots = v_head.wm_slots, wm_bytes = v_head.wm_bytes, wm_set_a = v_head.wm_set_a,
      wm_set_b = v_head.wm_set_b, wm_unsettled = v_head.wm_unsettled,
      cyc_total = made.seq, cyc_ms = h.cyc_ms + made.duration_ms, cyc_last_at = made.completed_at,
      cyc_hash = made.hash, cyc_bytes = h.cyc_bytes + loci.cycle_bytes(made), cyc_set_a = h.cyc_set_a # loci.digest_part(made.hash, 1),
      cyc_set_b = h.cyc_set_b # loci.digest_part(made.hash, 9), cyc_weeks = v_head.cyc_weeks, cyc_week_bytes = v_head.cyc_week_bytes,
      cyc_focus_seq = case when p_focus is null then h.cyc_focus_seq else made.seq end, cyc_interval_ms = p_interval_ms, cyc_history = p_history,
      cyc_seen = case when p_before.seq = p_read then v_head.seq else p_read end
    where h.instance_id = p_head.instance_id and h.name = p_head.name;
  perform loci.cycle_put_due(p_before, v_head, made, p_soonest, p_interval_ms, p_history, p_before.seq = p_read, p_has_taken);
  records := v_head.mem_records - p_before.mem_records;
  v_bytes := v_bytes + loci.cycle_bytes(made) + v_head.mem_bytes - p_before.mem_bytes + v_head.mem_index_bytes - p_before.mem_index_bytes;
  bytes := bytes + v_bytes; written := written + greatest(v_bytes, 0);
  events := events || jsonb_build_object('type', 'cycle.completed', 'database', p_head.name, 'domain', 'cognitive',
    'data', jsonb_build_object('id', p_id, 'seq', made.seq));
end
$$;
comment on function loci.cycle_append is 'without enter_database: called with the head that cycle_commit has entered';

-- What is due after a cycle, in its transaction, so that a cycle that is done is never due again: the next one, the
-- index of its records and their end, and the pruning of what is too old. p_has_seen_all: nothing came in since it
-- read. Called by cycle_append, with the head before and after. Cost: one write, and none where nothing is due.
create or replace function loci.cycle_put_due(p_before loci.databases, p_head loci.databases, p_made loci.cycles, p_soonest timestamptz,
  p_interval_ms bigint, p_history bigint, p_has_seen_all boolean, p_has_taken boolean) returns void
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_is_pressed boolean;
begin
  if p_has_taken then
    v_head.prj_pending := (select h.prj_pending from loci.databases h where h.instance_id = p_head.instance_id and h.name = p_head.name);
  end if;
  -- Where all was seen nothing is due: what comes in next puts it on the list.
  v_is_pressed := v_head.prj_pending > 0 and loci.cycle_pressed(v_head);
  if v_is_pressed or (p_interval_ms is not null and (not p_has_seen_all or v_head.prj_pending > 0)) then
    insert into loci.due as d (instance_id, database, kind, at) values (p_head.instance_id, p_head.name, 'cycle',
        p_made.completed_at + case when v_is_pressed then 0 else p_interval_ms end * interval '1 millisecond')
      on conflict (instance_id, database, kind) do update set at = excluded.at, first_at = null;
  elsif p_interval_ms is not null or p_before.cyc_interval_ms is not null or p_before.prj_pending > 0 then
    delete from loci.due d where d.instance_id = p_head.instance_id and d.database = p_head.name and d.kind = 'cycle';
  end if;
  if p_soonest is not null then
    perform loci.put_due(p_head.instance_id, p_head.name, 'records', p_soonest);
  end if;
  perform loci.mem_put_index(p_head.instance_id, p_head.name, p_before.mem_tail, p_head.mem_tail);
  if p_made.seq - p_before.cyc_pruned_through > p_history + 100 then
    perform loci.put_due(p_head.instance_id, p_head.name, 'history', clock_timestamp());
  end if;
end
$$;
comment on function loci.cycle_put_due is 'without enter_database: called with the head that cycle_commit has entered';

-- Counts an attempt that failed. Called by countFailure(), after the rollback. Locks: the head.
create or replace function loci.cycle_failed(p_instance text, p_database text, p_code text) returns void language plpgsql as $$
begin
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) = 'open' then
    update loci.databases h set cyc_failed = h.cyc_failed + 1,
        cyc_failed_row = case when h.cyc_failed_after = h.cyc_total then h.cyc_failed_row + 1 else 1 end, cyc_failed_after = h.cyc_total,
        cyc_failed_at = date_trunc('milliseconds', clock_timestamp()), cyc_failed_code = p_code
      where h.instance_id = p_instance and h.name = p_database;
  end if;
end
$$;
