-- Cycles. A cycle is computed outside the database on what cycle_read gave, of one moment, and committed by one call,
-- which refuses when the document of working memory has moved, another cycle came first or something was erased since.
-- Its record is linked to the one before by a hash that is made here, under the head's lock.

create or replace function loci.salted_hash(p_salt bytea, p_text text) returns bytea language sql immutable parallel safe as $$
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

-- Commits cycles of one instance, at most one of a database. The arrays of cycles, steps, records, presentations and
-- events that are taken in have one element each; the last four bear the number of their cycle. outcome: done; moved
-- (the document, the cycles, the events or what is erased is not what was read: compute again); or what
-- enter_database() answered. A row with `claim` says
-- why that claim's cycle cannot be done (claim_keys); then nothing of the call was. A record that cannot be stored as
-- it was planned fails the call with SQLSTATE LC002; detail = cycle, record, outcome. Called by commitCycles(). Locks:
-- those of claim_keys, enter_database, rows, due work, keep_answers, totals, the head of events, in this order.
create or replace function loci.cycle_commit(p_instance text, p_databases_max bigint, p_database text[], p_read bigint[], p_version bigint[],
  p_erased bigint[], p_number bigint[], p_started timestamptz[], p_id text[], p_focus text[], p_focus_mac text[], p_metadata text[],
  p_salt text[], p_body text[], p_decisions text[], p_interval_ms bigint[], p_history bigint[],
  p_step_cycle int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[],
  p_record_cycle int[], p_record_id text[], p_record_key text[], p_source_event text[], p_context text[], p_value text[], p_supersedes text[],
  p_record_body text[], p_occurred timestamptz[], p_ttl_ms float8[], p_record_seen text[],
  p_seen_cycle int[], p_seen_id text[], p_seen text[],
  p_event_cycle int[], p_event bigint[], p_event_record text[],
  p_answers_max bigint, p_route text, p_sealed_with text, p_claim_cycle int[], p_claim_database text[], p_claim_holder text[],
  p_claim_key text[], p_claim_fingerprint text[])
returns table (claim int, ord int, outcome text, made loci.cycles)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
  v_head loci.databases;
  v_doc loci.working_memory;
  v_events jsonb := '[]';
  v_own jsonb;
  v_done record;
  v_taken int[];
  v_events_in bigint[];
begin
  if cardinality(p_claim_key) > 0 then
    perform set_config('loci.instance', p_instance, true);
    for claim, outcome in select c.claim, c.outcome
      from loci.claim_keys(p_instance, p_route, p_answers_max, p_claim_database, p_claim_holder, p_claim_key) c
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
      end if;
      select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = v_entered.name;
      if coalesce(v_doc.version, 0) <> p_version[ord] or v_head.cyc_total <> p_number[ord] or v_head.mem_erased_at <> p_erased[ord]
          or (v_taken <> '{}' and not loci.prj_all_pending(p_instance, v_head.name, v_events_in)) then
        outcome := 'moved';
      else
        outcome := 'done';
        v_own := loci.cycle_store_records(v_head, ord, array_positions(p_record_cycle, ord), p_record_id, p_record_key, p_source_event, p_context,
          p_value, p_supersedes, p_record_body, p_occurred, p_ttl_ms, p_record_seen, array_positions(p_seen_cycle, ord), p_seen_id, p_seen);
        if v_taken <> '{}' then
          perform loci.prj_take_in(p_instance, v_head.name, v_events_in,
            array(select p_event_record[i] from unnest(v_taken) with ordinality as t(i, n) order by t.n));
        end if;
        v_done := loci.cycle_append(v_head, v_doc, v_own, p_read[ord], p_started[ord], p_id[ord], p_focus[ord], p_focus_mac[ord],
          p_metadata[ord], p_salt[ord], p_body[ord], p_decisions[ord], p_interval_ms[ord], p_history[ord],
          array_positions(p_step_cycle, ord), p_op, p_key, p_rest, p_meta, p_expires, p_why);
        made := v_done.made;
        v_events := v_events || v_done.events;
      end if;
    end if;
    return next;
  end loop;
  if cardinality(p_claim_key) > 0 then
    perform loci.keep_answers(p_instance, p_route, p_sealed_with, array_agg(c.database), array_agg(c.holder), array_agg(c.key),
        array_agg(c.fingerprint), array_agg(json_build_object('cycle', p_id[c.cycle])::text))
      from unnest(p_claim_cycle, p_claim_database, p_claim_holder, p_claim_key, p_claim_fingerprint) as c(cycle, database, holder, key, fingerprint)
      where exists (select from loci.cycles y where y.instance_id = p_instance and y.database = c.database and y.id = p_id[c.cycle])
      having count(*) > 0;
  end if;
  perform loci.append_events(p_instance, v_events);
end
$$;

-- The records that a cycle makes, and the presentations of those that have left; their events. Called by cycle_commit,
-- with the head that it has entered.
create or replace function loci.cycle_store_records(p_head loci.databases, p_cycle int, p_items int[], p_id text[], p_key text[],
  p_source_event text[], p_context text[], p_value text[], p_supersedes text[], p_body text[], p_occurred timestamptz[], p_ttl_ms float8[],
  p_record_seen text[], p_seen_items int[], p_seen_id text[], p_seen text[]) returns jsonb
language plpgsql as $$
declare
  v_written record;
  v_events jsonb := '[]';
begin
  if p_items <> '{}' then
    for v_written in select w.ord, w.outcome, w.events from loci.mem_write_open(p_head, p_items, p_id, p_key, p_source_event, p_context, p_value,
      array_fill(false, array[cardinality(p_id)]), p_supersedes, p_body, p_occurred, p_ttl_ms) w
    loop
      if v_written.outcome <> 'done' then
        raise exception 'a record of a cycle cannot be stored' using errcode = 'LC002', detail = format('%s %s %s', p_cycle, p_id[v_written.ord], v_written.outcome);
      end if;
      v_events := v_events || v_written.events;
    end loop;
  end if;
  perform loci.mem_present(p_head.instance_id, p_head.name,
    array(select p_id[i] from unnest(p_items) i where p_record_seen[i] is not null) || array(select p_seen_id[i] from unnest(p_seen_items) i),
    array(select p_record_seen[i] from unnest(p_items) i where p_record_seen[i] is not null) || array(select p_seen[i] from unnest(p_seen_items) i));
  return v_events;
end
$$;
comment on function loci.cycle_store_records is 'without enter_database: called with the head that cycle_commit has entered';

-- The steps of working memory, the cycle and its decisions, and the head after all of it. p_head is the head before the
-- records were stored, p_events what that appends. Called by cycle_commit. Cost: one write of the document, the cycle,
-- its decisions; three of the head.
create or replace function loci.cycle_append(p_head loci.databases, p_doc loci.working_memory, p_events jsonb, p_read bigint, p_started timestamptz, p_id text,
  p_focus text, p_focus_mac text, p_metadata text, p_salt text, p_body text, p_decisions text, p_interval_ms bigint, p_history bigint,
  p_steps int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[],
  out made loci.cycles, out events jsonb)
language plpgsql as $$
declare
  v_head loci.databases;
  v_applied record;
  v_n int;
  v_week date := date_trunc('week', p_started at time zone 'UTC');
  v_bytes bigint := octet_length(p_decisions) + 150;
  v_slots_bytes bigint := 0;
  v_is_pressed boolean;
begin
  select * into v_head from loci.databases h where h.instance_id = p_head.instance_id and h.name = p_head.name;
  -- The number of the cycle itself: what it touched without writing it has moved too.
  v_head.seq := v_head.seq + 1;
  made.instance_id := p_head.instance_id; made.database := p_head.name; made.seq := v_head.cyc_total + 1; made.id := p_id;
  made.after_digest := coalesce(p_doc.digest, ''); events := p_events;
  if p_steps <> '{}' then
    v_applied := loci.wm_apply(v_head, p_doc, p_doc.version is null or p_doc.digest = loci.wm_digest(p_doc), p_started, p_steps, p_op, p_key, p_rest,
      p_meta, p_expires, p_why);
    made.after_digest := v_applied.digest; events := events || to_jsonb(v_applied.events); v_slots_bytes := v_applied.bytes;
    insert into loci.slot_versions (instance_id, database, key, version, at, text, meta, expires, digest)
      select p_head.instance_id, p_head.name, p_key[s.n], s.version, p_started, s.text, p_meta[s.n], p_expires[s.n], s.digest
      from unnest(p_steps, v_applied.versions, v_applied.texts, v_applied.digests) as s(n, version, text, digest) where s.text is not null;
    v_head.seq := greatest(v_head.seq, (select max(v) from unnest(v_applied.versions) v));
  end if;
  made.started_at := p_started; made.completed_at := greatest(date_trunc('milliseconds', clock_timestamp()), p_started, p_head.cyc_last_at);
  made.duration_ms := least(floor(extract(epoch from made.completed_at - p_started) * 1000), 2147483647);
  made.focus := p_focus; made.metadata := p_metadata; made.body := p_body; made.focus_mac := decode(p_focus_mac, 'hex');
  if p_focus is not null then
    made.focus_salt := substr(decode(p_salt, 'hex'), 1, 16); made.focus_hash := loci.salted_hash(made.focus_salt || made.focus_mac, p_focus);
  end if;
  if p_metadata is not null then
    made.metadata_salt := substr(decode(p_salt, 'hex'), 17, 16); made.metadata_hash := loci.salted_hash(made.metadata_salt, p_metadata);
  end if;
  made.decisions_hash := sha256(textsend(p_decisions)); made.prev_hash := p_head.cyc_hash; made.hash := loci.cycle_hash(made);
  insert into loci.cycles select (made).*;
  insert into loci.cycle_decisions (instance_id, database, seq, at, body) values (p_head.instance_id, p_head.name, made.seq, p_started, p_decisions);
  v_n := array_position(v_head.cyc_weeks, v_week);
  if v_n is null then
    v_head.cyc_weeks := v_head.cyc_weeks || v_week; v_head.cyc_week_bytes := v_head.cyc_week_bytes || v_bytes;
    perform loci.put_due(p_head.instance_id, p_head.name, 'history', loci.week_dropped(v_week));
  else
    v_head.cyc_week_bytes[v_n] := v_head.cyc_week_bytes[v_n] + v_bytes;
  end if;
  -- What came in between reading and here is for the next one.
  update loci.databases h set seq = v_head.seq, cyc_total = made.seq, cyc_ms = h.cyc_ms + made.duration_ms, cyc_last_at = made.completed_at,
      cyc_hash = made.hash, cyc_bytes = h.cyc_bytes + loci.cycle_bytes(made), cyc_set_a = h.cyc_set_a # loci.digest_part(made.hash, 1),
      cyc_set_b = h.cyc_set_b # loci.digest_part(made.hash, 9), cyc_weeks = v_head.cyc_weeks, cyc_week_bytes = v_head.cyc_week_bytes,
      cyc_focus_seq = case when p_focus is null then h.cyc_focus_seq else made.seq end, cyc_interval_ms = p_interval_ms, cyc_history = p_history,
      cyc_seen = case when p_head.seq = p_read then v_head.seq else p_read end
    where h.instance_id = p_head.instance_id and h.name = p_head.name;
  -- The next one in the same transaction, so that a cycle that is done is never due again. Where all was seen nothing
  -- is due: what comes in next puts it on the list.
  v_is_pressed := v_head.prj_pending > 0 and loci.cycle_pressed(v_head);
  if v_is_pressed or (p_interval_ms is not null and (p_head.seq <> p_read or v_head.prj_pending > 0)) then
    insert into loci.due as d (instance_id, database, kind, at) values (p_head.instance_id, p_head.name, 'cycle',
        made.completed_at + case when v_is_pressed then 0 else p_interval_ms end * interval '1 millisecond')
      on conflict (instance_id, database, kind) do update set at = excluded.at;
  elsif p_interval_ms is not null or p_head.cyc_interval_ms is not null or p_head.prj_pending > 0 then
    delete from loci.due d where d.instance_id = p_head.instance_id and d.database = p_head.name and d.kind = 'cycle';
  end if;
  if made.seq - p_head.cyc_pruned_through > p_history + 100 then
    perform loci.put_due(p_head.instance_id, p_head.name, 'history', clock_timestamp());
  end if;
  perform loci.add_totals(p_head.instance_id, 0, v_slots_bytes + loci.cycle_bytes(made) + v_bytes);
  events := events || jsonb_build_object('type', 'cycle.completed', 'database', p_head.name, 'domain', 'cognitive',
    'data', jsonb_build_object('id', p_id, 'seq', made.seq));
end
$$;
comment on function loci.cycle_append is 'without enter_database: called with the head that cycle_commit has entered';

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
