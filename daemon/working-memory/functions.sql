-- Working memory. A database's slots are one row, its document; every write of it is one call (wm_commit), planned
-- outside the database on the document as wm_snapshot gave it, and refused when that has moved. Reads and writes set
-- the context of row-level security in the same call as the work and run with the caller's rights.

-- The beginning of a slot's text, which only the commit knows. slots.ts makes the same.
create or replace function loci.slot_prefix(p_version bigint, p_digest bytea) returns text language sql immutable parallel safe as $$
  select '{"version":' || p_version || ',"etag":"\"' || p_version || '\"","digest":"' || encode(p_digest, 'base64') || '",'
$$;

-- Over everything that is kept of a slot but its prefix, which follows from it. Times as stored bytes: see
-- entry_digest.
create or replace function loci.slot_digest(p_instance text, p_database text, p_key text, p_version bigint, p_expires timestamptz,
  p_meta text, p_rest text) returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_version)
    || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea) || int4send(octet_length(p_meta)) || textsend(p_meta)
    || textsend(p_rest))
$$;

-- Does a slot fit its digest? False, not null, where a part of it rotted into null.
create or replace function loci.slot_is_intact(p_instance text, p_database text, p_key text, p_text text, p_version bigint,
  p_expires timestamptz, p_meta text, p_digest bytea) returns boolean language sql stable parallel safe as $$
  select coalesce(octet_length(p_digest) = 32 and starts_with(p_text, loci.slot_prefix(p_version, p_digest))
    and p_digest = loci.slot_digest(p_instance, p_database, p_key, p_version, p_expires, p_meta,
      substr(p_text, length(loci.slot_prefix(p_version, p_digest)) + 1)), false)
$$;

-- Over the whole document: one hash on a read instead of one for each slot. plpgsql, because a function in SQL that
-- does not become a part of its caller's statement is planned at every call.
create or replace function loci.document_digest(p_instance text, p_database text, p_version bigint, p_evictions bigint, p_keys text[],
  p_texts text[], p_versions bigint[], p_expires timestamptz[], p_metas text[], p_digests bytea[], p_soonest timestamptz, p_weeks date[],
  p_week_bytes bigint[]) returns bytea language plpgsql stable parallel safe as $$
begin
  return sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f') || int8send(p_version) || int8send(p_evictions)
    || array_send(p_keys) || array_send(p_texts) || array_send(p_versions) || array_send(p_expires) || array_send(p_metas)
    || array_send(p_digests) || coalesce(timestamptz_send(p_soonest), ''::bytea) || array_send(p_weeks) || array_send(p_week_bytes));
end
$$;

create or replace function loci.wm_digest(w loci.working_memory) returns bytea language sql stable parallel safe as $$
  select loci.document_digest(w.instance_id, w.database, w.version, w.evictions, w.keys, w.texts, w.versions, w.expires, w.metas, w.digests,
    w.soonest, w.weeks, w.week_bytes)
$$;

-- The slots of a document one by one. Arrays whose lengths rotted apart give nulls, which fit no digest.
create or replace function loci.wm_slots(w loci.working_memory)
returns table (n bigint, key text, text text, version bigint, expires timestamptz, meta text, digest bytea, intact boolean)
language sql stable parallel safe as $$
  select s.n, s.key, s.text, s.version, s.expires, s.meta, s.digest,
    loci.slot_is_intact(w.instance_id, w.database, s.key, s.text, s.version, s.expires, s.meta, s.digest)
  from unnest(w.keys, w.texts, w.versions, w.expires, w.metas, w.digests) with ordinality as s(key, text, version, expires, meta, digest, n)
$$;

-- Lists of one instance that arrived together, one row for each in their order. slots: their texts with commas between.
-- What has expired is left out, and so is what does not fit its digest; that is named. Called by listSlots(): every
-- list. No locks. Cost: three reads by primary keys and one hash over the document for each.
create or replace function loci.wm_list_each(p_instance text, p_database text[])
returns table (version bigint, count int, slots text, damaged text[], service text, sent text, config_intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_is_whole boolean;
  v_now timestamptz := clock_timestamp();
  v_service text;
begin
  perform set_config('loci.instance', p_instance, true);
  select (i.config -> 'working_memory')::text into v_service from loci.instances i where i.id = p_instance;
  for i in 1 .. cardinality(p_database) loop
    damaged := null;
    -- In the statement itself: a whole document in a variable is copied for each function that it is handed to.
    select w.version, cardinality(w.keys), array_to_string(w.texts, ','),
        w.digest = loci.document_digest(w.instance_id, w.database, w.version, w.evictions, w.keys, w.texts, w.versions, w.expires,
      w.metas, w.digests, w.soonest, w.weeks, w.week_bytes)
          and w.database = p_database[i] and (w.soonest is null or w.soonest > v_now)
      into version, count, slots, v_is_whole
      from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    if not found then
      version := 0; count := 0; slots := '';
    elsif not v_is_whole then
      select count(*) filter (where s.intact and (s.expires is null or s.expires > v_now)),
          coalesce(string_agg(s.text, ',' order by s.n) filter (where s.intact and (s.expires is null or s.expires > v_now)), ''),
          array_agg(s.key) filter (where not s.intact)
        into count, slots, damaged
        from loci.working_memory w, lateral loci.wm_slots(w) s where w.instance_id = p_instance and w.database = p_database[i];
    end if;
    service := v_service; sent := null; config_intact := true;
    if exists (select from loci.configs c where c.instance_id = p_instance and c.database = p_database[i] and c.kind = 'working-memory') then
      select c.sent, c.intact into sent, config_intact from loci.config_layers(p_instance, p_database[i], 'working-memory') c;
    end if;
    return next;
  end loop;
end
$$;

-- Single slots of one instance, one row for each in their order. intact is null when there is none. Called by
-- findSlots(): every read of a slot. No locks. Cost: one read by the primary key and one hash for each.
create or replace function loci.wm_get_each(p_instance text, p_database text[], p_key text[])
returns table (text text, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_doc loci.working_memory;
  v_n int;
begin
  perform set_config('loci.instance', p_instance, true);
  for i in 1 .. cardinality(p_database) loop
    text := null; intact := null;
    select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    v_n := array_position(v_doc.keys, p_key[i]);
    if v_n is not null then
      intact := loci.slot_is_intact(p_instance, p_database[i], p_key[i], v_doc.texts[v_n], v_doc.versions[v_n], v_doc.expires[v_n],
        v_doc.metas[v_n], v_doc.digests[v_n]);
      if intact and v_doc.expires[v_n] <= clock_timestamp() then
        intact := null;
      elsif intact then
        text := v_doc.texts[v_n];
      end if;
    end if;
    return next;
  end loop;
end
$$;

-- What writes of one instance are planned on, one row for each database in their order. texts: only of the keys in
-- p_wanted, whose database has the same number in p_wanted_database. intact: null when all slots are. Called by
-- readDocuments(). No locks: wm_commit refuses when the version has moved. Cost: as wm_list_each.
create or replace function loci.wm_snapshot(p_instance text, p_database text[], p_wanted_database int[], p_wanted text[])
returns table (version bigint, now timestamptz, evictions bigint, keys text[], versions bigint[], expires timestamptz[], metas text[],
  texts text[], intact boolean[], service text, sent text, config_intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_doc loci.working_memory;
  v_wanted text[];
begin
  perform set_config('loci.instance', p_instance, true);
  now := date_trunc('milliseconds', clock_timestamp());
  for i in 1 .. cardinality(p_database) loop
    select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    version := coalesce(v_doc.version, 0); evictions := coalesce(v_doc.evictions, 0);
    keys := coalesce(v_doc.keys, '{}'); versions := coalesce(v_doc.versions, '{}'); expires := coalesce(v_doc.expires, '{}');
    metas := coalesce(v_doc.metas, '{}');
    v_wanted := array(select w.key from unnest(p_wanted_database, p_wanted) as w(n, key) where w.n = i);
    texts := array(select case when s.key = any (v_wanted) then s.text end
      from unnest(v_doc.keys, v_doc.texts) with ordinality as s(key, text, n) order by s.n);
    intact := null;
    if v_doc.digest <> loci.document_digest(v_doc.instance_id, v_doc.database, v_doc.version, v_doc.evictions, v_doc.keys, v_doc.texts, v_doc.versions, v_doc.expires,
      v_doc.metas, v_doc.digests, v_doc.soonest, v_doc.weeks, v_doc.week_bytes)
      or v_doc.database <> p_database[i] then
      -- Nothing of a damaged slot is handed out, also not to an output function that fails on garbage.
      select array_agg(s.intact order by s.n), array_agg(case when s.intact then s.version else 0 end order by s.n),
          array_agg(case when s.intact then s.expires end order by s.n), array_agg(case when s.intact then s.meta end order by s.n)
        into intact, versions, expires, metas from loci.wm_slots(v_doc) s;
    end if;
    select c.service, c.sent, c.intact into service, sent, config_intact from loci.config_layers(p_instance, p_database[i], 'working-memory') c;
    return next;
  end loop;
end
$$;

-- wm_write, and the events of it. Called by commitSteps(): every write that needs no more than itself.
create or replace function loci.wm_commit(p_instance text, p_databases_max bigint, p_database text[], p_version bigint[], p_now timestamptz,
  p_step_database int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[])
returns table (database text, outcome text, versions bigint[], digests bytea[])
language plpgsql as $$
#variable_conflict use_column
declare
  v_written record;
  v_events jsonb := '[]';
begin
  for v_written in select * from loci.wm_write(p_instance, p_databases_max, p_database, p_version, p_now, p_step_database, p_op, p_key, p_rest,
      p_meta, p_expires, p_why)
  loop
    database := v_written.database; outcome := v_written.outcome; versions := v_written.versions; digests := v_written.digests;
    v_events := v_events || v_written.events;
    return next;
  end loop;
  if v_events <> '[]' then
    perform loci.append_events(p_instance, v_events);
  end if;
end
$$;
comment on function loci.wm_commit is 'without enter_database: wm_write enters';

-- Does the steps of a plan, database by database. A database whose document is not of the version that was planned on
-- is left alone: outcome moved. Else: done (versions and digests, one for each step of it), or what enter_database()
-- answered. Steps: put (p_rest, p_meta, p_expires) and remove (p_why: an eviction; null: deleted), each with the number
-- of its database in p_database. Called by wm_commit and writeSteps(). Locks: enter_database(), then rows, due work,
-- totals; whoever calls appends the events, last.
create or replace function loci.wm_write(p_instance text, p_databases_max bigint, p_database text[], p_version bigint[], p_now timestamptz,
  p_step_database int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[])
returns table (database text, outcome text, versions bigint[], digests bytea[], events jsonb)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
  v_doc loci.working_memory;
  v_n int;
begin
  for v_entered in
    select e.name, e.outcome, e.head from loci.enter_database(p_instance, p_database,
      array(select p_database[s.d] from unnest(p_step_database, p_op) as s(d, op) where s.op = 'put'), p_databases_max) e
  loop
    database := v_entered.name; versions := null; digests := null; events := '[]';
    outcome := case v_entered.outcome when 'none' then 'moved' else v_entered.outcome end;
    if outcome = 'open' then
      v_n := array_position(p_database, database);
      select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = v_entered.name;
      if coalesce(v_doc.version, 0) <> p_version[v_n] then
        outcome := 'moved';
      else
        outcome := 'done';
        select a.versions, a.digests, a.events into versions, digests, events
          from loci.wm_apply(v_entered.head, v_doc, p_now, array(select s.n::int from unnest(p_step_database) with ordinality as s(d, n)
            where s.d = v_n order by s.n), p_op, p_key, p_rest, p_meta, p_expires, p_why) a;
      end if;
    end if;
    return next;
  end loop;
end
$$;

-- The steps p_steps on one document, whose head is locked. Called by wm_write. Cost: one write of the document and of
-- the head, one insert for each step.
create or replace function loci.wm_apply(p_head loci.databases, p_doc loci.working_memory, p_now timestamptz, p_steps int[], p_op text[],
  p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[],
  out versions bigint[], out digests bytea[], out events jsonb)
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_doc loci.working_memory := p_doc;
  v_is_whole boolean := p_doc.version is null or p_doc.digest = loci.document_digest(p_doc.instance_id, p_doc.database, p_doc.version, p_doc.evictions, p_doc.keys, p_doc.texts, p_doc.versions, p_doc.expires,
      p_doc.metas, p_doc.digests, p_doc.soonest, p_doc.weeks, p_doc.week_bytes);
  v_history bigint := 0;
  v_i int;
  v_n int;
  v_digest bytea;
  v_text text;
begin
  if v_doc.version is null then
    v_doc := row(p_head.instance_id, p_head.name, 0, 0, '{}', '{}', '{}', '{}', '{}', '{}', null, '{}', '{}', '')::loci.working_memory;
  end if;
  versions := '{}'; digests := '{}'; events := '[]';
  foreach v_i in array p_steps loop
    v_head.seq := v_head.seq + 1;
    v_n := array_position(v_doc.keys, p_key[v_i]);
    if v_n is not null then
      v_head := loci.wm_count_out(v_head, v_doc, v_n, v_is_whole);
    end if;
    if p_op[v_i] = 'put' then
      v_digest := loci.slot_digest(p_head.instance_id, p_head.name, p_key[v_i], v_head.seq, p_expires[v_i], p_meta[v_i], p_rest[v_i]);
      v_text := loci.slot_prefix(v_head.seq, v_digest) || p_rest[v_i];
      v_n := coalesce(v_n, cardinality(v_doc.keys) + 1);
      v_doc.keys[v_n] := p_key[v_i]; v_doc.texts[v_n] := v_text; v_doc.versions[v_n] := v_head.seq;
      v_doc.expires[v_n] := p_expires[v_i]; v_doc.metas[v_n] := p_meta[v_i]; v_doc.digests[v_n] := v_digest;
      insert into loci.slot_versions (instance_id, database, key, version, at, text, meta, expires, digest)
        values (p_head.instance_id, p_head.name, p_key[v_i], v_head.seq, p_now, v_text, p_meta[v_i], p_expires[v_i], v_digest);
      v_history := v_history + 150 + 2 * octet_length(p_key[v_i]) + octet_length(v_text) + octet_length(p_meta[v_i]);
      v_head.wm_slots := v_head.wm_slots + 1;
      v_head.wm_bytes := v_head.wm_bytes + octet_length(p_key[v_i]) + octet_length(v_text) + octet_length(p_meta[v_i]);
      v_head.wm_set_a := v_head.wm_set_a # loci.digest_part(v_digest, 1);
      v_head.wm_set_b := v_head.wm_set_b # loci.digest_part(v_digest, 9);
    elsif v_n is not null then
      v_digest := null;
      if p_why[v_i] is not null then
        v_history := v_history + loci.wm_evict(v_doc, v_n, v_head.seq, p_now, p_why[v_i]);
        v_doc.evictions := v_doc.evictions + 1;
      end if;
      v_doc := loci.wm_without(v_doc, v_n);
    end if;
    versions := versions || v_head.seq; digests := array_append(digests, v_digest);
    events := events || loci.slot_event(p_head.name, p_op[v_i], p_key[v_i], v_head.seq, p_why[v_i]);
  end loop;
  perform loci.wm_store(p_head, v_head, v_doc, p_now, v_history, v_is_whole);
end
$$;
comment on function loci.wm_apply is 'without enter_database: called with the head that wm_write has entered';

-- The head without the slot that is overwritten or removed. What a damaged one added to the sums is unknown. Called by
-- wm_apply and wm_expire.
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

create or replace function loci.eviction_digest(p_instance text, p_database text, p_seq bigint, p_at timestamptz, p_key text, p_version bigint,
  p_why text) returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_seq) || int8send(p_version)
    || timestamptz_send(p_at) || textsend(p_why))
$$;

-- Writes down why a slot left; the bytes that takes. Called by wm_apply and wm_expire.
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

-- Names and numbers, no content: an event outlives what it is about.
create or replace function loci.slot_event(p_database text, p_op text, p_key text, p_seq bigint, p_why text) returns jsonb
language sql immutable parallel safe as $$
  select jsonb_build_object('type', case when p_op = 'put' then 'slot.written' when p_why is null then 'slot.deleted'
      else case p_why::json ->> 'reasonCode' when 'outcompeted' then 'slot.evicted' else 'slot.' || (p_why::json ->> 'reasonCode') end end,
    'database', p_database, 'domain', 'working-memory', 'data', jsonb_build_object('key', p_key, 'version', p_seq)
      || case when p_why is null then '{}'::jsonb
        else jsonb_strip_nulls(jsonb_build_object('reasonCode', p_why::json ->> 'reasonCode', 'displacedBy', p_why::json ->> 'displacedBy')) end)
$$;

-- Writes document and head after their change, and puts the next expiry on the list. p_history: bytes of what was
-- appended beside the document. Called by wm_apply and wm_expire. Cost: one write each, and two of indexes.
create or replace function loci.wm_store(p_old loci.databases, p_head loci.databases, p_doc loci.working_memory, p_now timestamptz,
  p_history bigint, p_is_whole boolean) returns void language plpgsql as $$
declare
  v_doc loci.working_memory := p_doc;
  v_week date := date_trunc('week', p_now at time zone 'UTC');
  v_n int := array_position(p_doc.weeks, v_week);
begin
  v_doc.version := p_head.seq;
  v_doc.soonest := (select min(e) from unnest(v_doc.expires) e);
  if p_history > 0 and v_n is null then
    v_doc.weeks := v_doc.weeks || v_week;
    v_doc.week_bytes := v_doc.week_bytes || p_history;
    perform loci.put_due(v_doc.instance_id, v_doc.database, 'slots', loci.week_dropped(v_week));
  elsif p_history > 0 then
    v_doc.week_bytes[v_n] := v_doc.week_bytes[v_n] + p_history;
  end if;
  -- While a slot is damaged no hash is good for all of them.
  v_doc.digest := case when p_is_whole or not exists (select from loci.wm_slots(v_doc) s where not s.intact)
    then loci.document_digest(v_doc.instance_id, v_doc.database, v_doc.version, v_doc.evictions, v_doc.keys, v_doc.texts, v_doc.versions, v_doc.expires,
      v_doc.metas, v_doc.digests, v_doc.soonest, v_doc.weeks, v_doc.week_bytes) else '\x00' end;
  update loci.working_memory w set version = v_doc.version, evictions = v_doc.evictions, keys = v_doc.keys, texts = v_doc.texts,
      versions = v_doc.versions, expires = v_doc.expires, metas = v_doc.metas, digests = v_doc.digests, soonest = v_doc.soonest,
      weeks = v_doc.weeks, week_bytes = v_doc.week_bytes, digest = v_doc.digest
    where w.instance_id = v_doc.instance_id and w.database = v_doc.database;
  if not found then
    insert into loci.working_memory select (v_doc).*;
  end if;
  update loci.databases h set seq = p_head.seq, wm_slots = p_head.wm_slots, wm_bytes = p_head.wm_bytes, wm_set_a = p_head.wm_set_a,
      wm_set_b = p_head.wm_set_b, wm_unsettled = p_head.wm_unsettled
    where h.instance_id = p_head.instance_id and h.name = p_head.name;
  if v_doc.soonest is not null then
    perform loci.put_due(v_doc.instance_id, v_doc.database, 'slots', v_doc.soonest);
  end if;
  perform loci.add_totals(p_head.instance_id, 0, p_head.wm_bytes - p_old.wm_bytes + p_history);
end
$$;
comment on function loci.wm_store is 'without enter_database: called by functions that have entered';
