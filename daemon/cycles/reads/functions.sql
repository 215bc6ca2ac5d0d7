-- What a cycle is computed on, of one moment, and what is shown of cycles. No locks.

-- A record for a cycle, as the text of JSON. Put together: what was verified needs no second parse, and objects cost
-- three times as much.
create or replace function loci.cycle_record_text(r loci.records) returns text language sql stable parallel safe as $$
  select '{"id":"' || r.id || '","seq":' || r.seq || ',"key":' || coalesce(to_json(r.key)::text, 'null')
    || ',"storedAt":' || (date_part('epoch', r.created_at) * 1000)::bigint
    || ',"expiresAt":' || coalesce(((date_part('epoch', r.expires_at) * 1000)::bigint)::text, 'null')
    || ',"presented":' || coalesce(r.presented, 'null') || ',"body":' || r.body || '}'
$$;

-- Of the records that hold, are intact and fit one of the observations: the newest whose body begins with p_same, of 64
-- with its value, in its context where that has a name; those of its key; the one that it supersedes; and the number
-- of its context with the next position. JSON. What is not asked for is no statement: to begin one costs as much as
-- the rows that it would not find.
create or replace function loci.cycle_known(p_instance text, p_database text, p_now timestamptz, p_source_event text, p_value bytea, p_key text,
  p_supersedes text, p_context bytea, p_same text) returns text language plpgsql stable as $$
declare
  v_context loci.contexts;
  v_is_duplicate boolean := false;
  v_is_forgotten boolean;
  v_equal text;
  v_current text;
  v_superseded text;
begin
  if p_context is not null then
    select * into v_context from loci.contexts c where c.instance_id = p_instance and c.database = p_database and c.name_mac = p_context;
  end if;
  if p_source_event is not null then
    v_is_duplicate := exists (select from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.source_event_id = p_source_event and (r.expires_at is null or r.expires_at > p_now));
  end if;
  v_is_forgotten := exists (select from loci.tombstones t where t.instance_id = p_instance and t.database = p_database and t.value_mac = p_value);
  if exists (select from loci.records r where r.instance_id = p_instance and r.database = p_database and r.value_mac = p_value and r.valid_to is null) then
    -- A value may stand in as many records as there are, each with a large body: a few are looked at.
    v_equal := (select loci.cycle_record_text(e.r) from (select r from loci.records r where r.instance_id = p_instance and r.database = p_database
        and r.value_mac = p_value and r.valid_to is null and (p_context is null or r.context = v_context.number) limit 64) e
      where starts_with((e.r).body, p_same) and loci.record_holds(e.r, p_now) and loci.record_is_intact(e.r, p_instance, p_database)
      order by (e.r).seq desc limit 1);
  end if;
  if p_key is not null then
    v_current := (select '[' || string_agg(loci.cycle_record_text(r), ',' order by r.seq desc) || ']' from loci.records r where r.instance_id = p_instance
      and r.database = p_database and r.key = p_key and r.valid_to is null and loci.record_holds(r, p_now)
      and loci.record_is_intact(r, p_instance, p_database));
  end if;
  if p_supersedes is not null then
    v_superseded := (select loci.cycle_record_text(r) from loci.records r where r.instance_id = p_instance
      and r.database = p_database and r.id = p_supersedes and loci.record_holds(r, p_now) and loci.record_is_intact(r, p_instance, p_database));
  end if;
  return '{"isDuplicate":' || v_is_duplicate || ',"isForgotten":' || v_is_forgotten || ',"equal":' || coalesce(v_equal, 'null')
    || ',"current":' || coalesce(v_current, 'null') || ',"superseded":' || coalesce(v_superseded, 'null')
    || ',"context":' || coalesce('[' || v_context.number || ',' || v_context.position || ']', 'null') || '}';
end
$$;

-- What a cycle is computed on beside the index. `stable`: it sees the snapshot of the statement that calls it together
-- with mem_index. number: of the last cycle. slots: as in wm_snapshot, with every text; record_seqs: the numbers of the
-- records that slots stand for, 0 where one no longer holds. known: one of cycle_known for each observation. due:
-- records that are due within the window, at most p_due_max and until they have p_bytes_max. settings: which
-- configurations these are (cycle_settings). pending: how many events wait. What is not there is null. Called by
-- readStates(): every cycle. Cost: the document, one index read for each slot with a record, and some for each
-- observation. What is read goes straight to where it is answered: an expression that is evaluated once in a
-- transaction costs what it takes to set it up.
create or replace function loci.cycle_read(p_instance text, p_database text, p_source_event text[], p_value text[], p_key text[],
  p_supersedes text[], p_context text[], p_same text[], p_lead_ms float8, p_grace_ms float8, p_due_max int, p_bytes_max bigint,
  out at timestamptz, out number bigint, out version bigint, out document_digest bytea, out keys text[], out versions bigint[],
  out expires timestamptz[], out metas text[], out slot_texts text[], out intact boolean[], out record_seqs bigint[],
  out wm_service text, out wm_sent text, out wm_intact boolean, out config_version bigint, out config_intact boolean, out settings text,
  out focus text, out focus_at timestamptz, out contexts bigint, out open_context bigint, out open_position int, out open_at timestamptz,
  out known text, out due text, out pending bigint)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_focus_seq bigint;
  v_focus loci.cycles;
  v_config bigint;
  v_wm_config bigint;
  v_is_whole boolean;
  v_known text[] := '{}';
  v_due_from timestamptz;
  v_due_to timestamptz;
begin
  perform loci.look_into(p_instance, p_database);
  at := date_trunc('milliseconds', clock_timestamp());
  select h.cyc_total, h.prj_pending, h.mem_contexts, h.mem_open_context, h.mem_open_position, h.mem_open_at, h.cyc_focus_seq, h.wm_config, h.cyc_config
    into number, pending, contexts, open_context, open_position, open_at, v_focus_seq, v_wm_config, v_config
    from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  select w.version, w.digest, w.keys, w.versions, w.expires, w.metas, w.texts, w.digest = loci.wm_digest(w) and w.database = p_database
    into version, document_digest, keys, versions, expires, metas, slot_texts, v_is_whole
    from loci.working_memory w where w.instance_id = p_instance and w.database = p_database;
  if not v_is_whole then
    select array_agg(s.intact order by s.n), array_agg(case when s.intact then s.version else 0 end order by s.n),
        array_agg(case when s.intact then s.expires end order by s.n), array_agg(case when s.intact then s.meta end order by s.n),
        array_agg(case when s.intact then s.text end order by s.n)
      into intact, versions, expires, metas, slot_texts
      from loci.working_memory w, lateral loci.wm_slots(w) s where w.instance_id = p_instance and w.database = p_database;
  end if;
  -- Fenced (offset 0): a plan that is made while the table is empty else takes the primary key for a lookup by id, and
  -- reads the whole database for each slot. The id is cut out of the text: to parse it costs more than the lookup. In a
  -- string of JSON each quote has a backslash before it, so what is looked for stands in none.
  record_seqs := array(select coalesce((select f.seq from (select * from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.id = m.id offset 0) f where loci.record_holds(f, cycle_read.at)), 0)
    from (select split_part(split_part(s.meta, '"record":{"id":"', 2), '"', 1) as id, s.n from unnest(metas) with ordinality as s(meta, n) offset 0) m
    order by m.n);
  -- The head knows whether a configuration was put: mostly none was.
  wm_service := (select (i.config -> 'working_memory')::text from loci.instances i where i.id = p_instance);
  wm_intact := true; config_intact := true;
  if v_wm_config is not null then
    select c.sent, c.intact into wm_sent, wm_intact from loci.config_layers(p_instance, p_database, 'working-memory') c;
  end if;
  settings := loci.cycle_settings(p_instance, v_config, v_wm_config);
  if v_config is not null then
    select c.version, c.intact into config_version, config_intact from loci.config_layers(p_instance, p_database, 'cognitive') c;
  end if;
  if v_focus_seq is not null then
    select * into v_focus from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.seq = v_focus_seq;
    if loci.cycle_is_intact(v_focus, p_instance, p_database) then
      focus := v_focus.focus; focus_at := v_focus.started_at;
    end if;
  end if;
  for i in 1 .. cardinality(p_value) loop
    v_known := array_append(v_known, loci.cycle_known(p_instance, p_database, at, p_source_event[i], decode(p_value[i], 'hex'), p_key[i],
      p_supersedes[i], decode(p_context[i], 'hex'), p_same[i]));
  end loop;
  known := '[' || array_to_string(v_known, ',') || ']'; due := '[]';
  v_due_from := at - p_grace_ms * interval '1 millisecond'; v_due_to := at + p_lead_ms * interval '1 millisecond';
  if exists (select from loci.records d where d.instance_id = p_instance and d.database = p_database and d.valid_to is null
      and d.due_at between v_due_from and v_due_to) then
    select '[' || coalesce(string_agg(loci.cycle_record_text(r), ',' order by r.due_at, r.seq), '') || ']' into due
      from (select w.seq, sum(w.size) over (order by w.due_at, w.seq) - w.size as before from (
        select d.seq, d.due_at, octet_length(d.body) as size from loci.records d where d.instance_id = p_instance and d.database = p_database
          and d.valid_to is null and d.due_at between v_due_from and v_due_to order by d.due_at limit p_due_max) w) f
      join loci.records r on r.instance_id = p_instance and r.database = p_database and r.seq = f.seq
      where f.before < p_bytes_max and loci.record_holds(r, cycle_read.at) and loci.record_is_intact(r, p_instance, p_database);
  end if;
end
$$;

-- Records by their numbers, as JSON, as they were at the database's number p_read: what was closed since still holds.
-- In the order of the numbers, until they have p_bytes_max. Called by readRecords(): what a cycle's recall has found.
-- Cost: one read by the primary key and one hash for each.
create or replace function loci.cycle_records(p_instance text, p_database text, p_read bigint, p_now timestamptz, p_seqs bigint[], p_bytes_max bigint)
returns text language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  -- Column by column: a row that is handed on whole has its body with it, and a body is read for its size alone until
  -- it is known to be within the bound. Fenced (offset 0) as in cycle_read: joined, a plan that is made while the table
  -- is empty reads the whole database.
  return '[' || array_to_string(array(select loci.cycle_record_text(c.r)
    from (select q.n, s.*, sum(octet_length(s.body)) over (order by q.n rows unbounded preceding) - octet_length(s.body) as before
        from unnest(p_seqs) with ordinality as q(asked, n), lateral (select * from loci.records i
          where i.instance_id = p_instance and i.database = p_database and i.seq = q.asked offset 0) s) f,
      lateral (select row(f.instance_id, f.database, f.seq, f.id, f.changed_seq, f.key, f.source_event_id, f.context, f.position, f.value_mac,
        f.body, f.created_at, f.valid_from, f.valid_to, f.archived_at, f.expires_at, f.digest, f.presented, f.due_at)::loci.records as r) c
    where f.before < p_bytes_max and (f.changed_seq > p_read or loci.record_holds(c.r, p_now))
      and loci.record_is_intact(c.r, p_instance, p_database)
    order by f.n), ',') || ']';
end
$$;

-- What the head knows of the cycles of a database. due_at: when the next one is tried; due_since: when it was due,
-- which claims do not move. Called by readHead(): statistics, health, the list. One row, of nulls where there is no
-- such database. Cost: one read by the primary key.
create or replace function loci.cycle_head(p_instance text, p_database text, out total bigint, out total_ms bigint, out last_at timestamptz, out hash bytea,
  out pruned_through bigint, out pruned_hash bytea, out failed bigint, out failed_row bigint, out failed_at timestamptz, out failed_code text,
  out checked_seq bigint, out checked_at timestamptz, out damaged json, out interval_ms bigint, out due_at timestamptz,
  out due_since timestamptz, out pending bigint, out pending_since timestamptz, out at timestamptz)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  select h.cyc_total, h.cyc_ms, h.cyc_last_at, h.cyc_hash, h.cyc_pruned_through, h.cyc_pruned_hash, h.cyc_failed,
      case when h.cyc_failed_after = h.cyc_total then h.cyc_failed_row else 0 end, h.cyc_failed_at, h.cyc_failed_code,
      h.cyc_checked_seq, h.cyc_checked_at, h.cyc_damaged, h.cyc_interval_ms, h.prj_pending
    into total, total_ms, last_at, hash, pruned_through, pruned_hash, failed, failed_row, failed_at, failed_code, checked_seq, checked_at,
      damaged, interval_ms, pending
    from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  select d.at, coalesce(d.first_at, d.at) into due_at, due_since from loci.due d
    where d.instance_id = p_instance and d.database = p_database and d.kind = 'cycle';
  if pending > 0 then
    pending_since := (select p.created_at from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.is_pending
      order by p.seq limit 1);
  end if;
  at := clock_timestamp();
end
$$;

-- The lowest number of a page of cycles that ends at p_through: as many as have p_bytes_max, and at least one. Sizes
-- alone, for which no content is read. Where a row cannot be read nobody knows what the others have: a few then.
-- Called by listCycles(). Cost: one index range.
create or replace function loci.cycle_page(p_instance text, p_database text, p_from bigint, p_through bigint, p_bytes_max bigint) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
begin
  perform loci.look_into(p_instance, p_database);
  return greatest(p_from, (select max(s.seq) + 1 from (select z.seq, sum(z.size) over (order by z.seq desc) - z.size as before
      from (select c.seq, octet_length(c.body) + coalesce(octet_length(c.focus), 0) + coalesce(octet_length(c.metadata), 0) as size
        from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.seq between p_from and p_through) z) s
    where s.before >= p_bytes_max));
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
  return greatest(p_from, p_through - 15);
end
$$;

-- Cycles numbered p_from to p_through, newest first, each with its state: intact, digest_mismatch, page_unreadable or
-- undecodable; a number without a row is missing. Of a damaged one nothing is handed out but its number and hash. A
-- range that cannot be read is halved until the rows that are at fault stand alone. Called by listCycles() and
-- cycle_verify. Cost: one index range, one hash for each row.
create or replace function loci.cycle_walk(p_instance text, p_database text, p_from bigint, p_through bigint)
returns table (seq bigint, state text, made loci.cycles)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_made loci.cycles[];
  v_middle bigint := p_from + (p_through - p_from) / 2;
begin
  perform loci.look_into(p_instance, p_database);
  begin
    v_made := array(select c from loci.cycles c where c.instance_id = p_instance and c.database = p_database
      and c.seq between p_from and p_through and loci.cycle_is_intact(c, p_instance, p_database) is not null order by c.seq desc);
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_from >= p_through then
      return query select p_from, 'page_unreadable', null::loci.cycles;
      return;
    end if;
    return query select * from loci.cycle_walk(p_instance, p_database, v_middle + 1, p_through);
    return query select * from loci.cycle_walk(p_instance, p_database, p_from, v_middle);
    return;
  end;
  return query select n, case when c.seq is null then 'missing' when i.intact then 'intact' else 'digest_mismatch' end,
      case when i.intact then c else jsonb_populate_record(null::loci.cycles, jsonb_build_object('seq', n,
        'id', case when octet_length(c.id) between 1 and 100 then c.id end)) end
    from generate_series(p_from, p_through) n left join unnest(v_made) c on c.seq = n,
      lateral (select c.seq is not null and loci.cycle_is_intact(c, p_instance, p_database) as intact) i
    order by n desc;
end
$$;

-- The last number of a cycle that was completed before p_at, or 0. Times never fall from one cycle to the next, so it
-- is found by halving, among those that are intact. Called by listCycles(). Cost: some twenty reads by the primary key.
create or replace function loci.cycle_before(p_instance text, p_database text, p_from bigint, p_through bigint, p_at timestamptz) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_low bigint := p_from - 1;
  v_high bigint := p_through;
  v_middle bigint;
  v_made loci.cycles;
begin
  perform loci.look_into(p_instance, p_database);
  while v_low < v_high loop
    v_middle := v_low + (v_high - v_low + 1) / 2;
    -- The next one below that can be believed; those above it, up to the middle, are where it is.
    select * into v_made from loci.cycles c where c.instance_id = p_instance and c.database = p_database
      and c.seq > v_low and c.seq <= v_middle and loci.cycle_is_intact(c, p_instance, p_database) order by c.seq desc limit 1;
    if not found or v_made.completed_at < p_at then
      v_low := v_middle;
    else
      v_high := v_made.seq - 1;
    end if;
  end loop;
  return v_low;
end
$$;

-- One cycle by its id, and whether it is intact: null when there is none. Called by findCycle().
create or replace function loci.cycle_get(p_instance text, p_database text, p_id text, out made loci.cycles, out intact boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform loci.look_into(p_instance, p_database);
  select * into made from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.id = p_id;
  -- One that was rewritten with a hash of its own is told by the next one, or the head.
  intact := case when made.seq is not null then loci.cycle_is_intact(made, p_instance, p_database)
    and not exists (select from loci.cycles n where n.instance_id = p_instance and n.database = p_database and n.seq = made.seq + 1
      and loci.cycle_is_intact(n, p_instance, p_database) and n.prev_hash is distinct from made.hash)
    and not exists (select from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.cyc_total = made.seq
      and h.cyc_hash is distinct from made.hash) end;
  if not intact then
    made := null;
  end if;
end
$$;

-- Decisions from before this time have left: with their week, or by the days of a plan, up to p_trimmed_to of the head.
-- Not by the plan of today: after a change to a larger one its days reach back to what the former plan removed. Called
-- by cycle_decisions_of and cycle_verify.
create or replace function loci.cycle_decisions_from(p_trimmed_to timestamptz) returns timestamptz language sql stable as $$
  select greatest(date_trunc('week', now() at time zone 'UTC' - interval '30 days') at time zone 'UTC', p_trimmed_to)
$$;

-- The decisions of a cycle, null when they are not there, whether they are what the cycle's hash says, and whether they
-- have left by their age. Called by findDecisions() and cycle_verify.
create or replace function loci.cycle_decisions_of(p_instance text, p_database text, p_seq bigint, p_at timestamptz, p_hash bytea,
  out body text, out intact boolean, out is_over boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform loci.look_into(p_instance, p_database);
  select d.body into body from loci.cycle_decisions d where d.instance_id = p_instance and d.database = p_database and d.seq = p_seq and d.at = p_at;
  intact := found and sha256(textsend(body)) = p_hash;
  is_over := false;
  if not intact then
    body := null;
    is_over := p_at < loci.cycle_decisions_from((select h.cyc_trimmed_to from loci.databases h where h.instance_id = p_instance and h.name = p_database));
  end if;
end
$$;
