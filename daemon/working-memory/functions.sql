-- Working memory. A database's slots are one row, its document; every write of it is one call (wm_commit), planned
-- outside the database on the document as wm_snapshot gave it, and refused when that has moved. Reads and writes set
-- the context of row-level security in the same call as the work and run with the caller's rights.

-- The beginning of a slot's text, which only the commit knows. slots.ts makes the same.
-- Stable, as what it is made of: an immutable one is not taken into its caller's expression and costs ten times that.
create or replace function loci.slot_prefix(p_version bigint, p_digest bytea) returns text language sql stable parallel safe as $$
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
  -- The large parts last: each || copies what stands before it.
  return sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f') || int8send(p_version) || int8send(p_evictions)
    || coalesce(timestamptz_send(p_soonest), ''::bytea) || array_send(p_weeks) || array_send(p_week_bytes) || array_send(p_keys)
    || array_send(p_versions) || array_send(p_expires) || array_send(p_digests) || array_send(p_metas) || array_send(p_texts));
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

-- What writes of one instance are planned on, one row for each database in their order. texts: only of the keys in
-- p_wanted, whose database has the same number in p_wanted_database. intact: null when all slots are. config_version:
-- the one that the head says was put. `stable`, as wm_list_each. Called by readDocuments(). No locks: wm_commit refuses
-- when document or configuration has moved. Cost: as wm_list_each.
create or replace function loci.wm_snapshot(p_instance text, p_database text[], p_wanted_database int[], p_wanted text[])
returns table (version bigint, now timestamptz, evictions bigint, keys text[], versions bigint[], expires timestamptz[], metas text[],
  texts text[], intact boolean[], digest bytea, service text, sent text, config_version bigint, config_intact boolean, cycle bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_doc loci.working_memory;
  v_wanted text[];
begin
  perform set_config('loci.instance', p_instance, true);
  now := date_trunc('milliseconds', clock_timestamp());
  for i in 1 .. cardinality(p_database) loop
    select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    select h.cyc_total, h.wm_config into cycle, config_version from loci.databases h where h.instance_id = p_instance and h.name = p_database[i];
    cycle := coalesce(cycle, 0); config_version := coalesce(config_version, 0);
    version := coalesce(v_doc.version, 0); evictions := coalesce(v_doc.evictions, 0);
    keys := coalesce(v_doc.keys, '{}'); versions := coalesce(v_doc.versions, '{}'); expires := coalesce(v_doc.expires, '{}');
    metas := coalesce(v_doc.metas, '{}'); digest := coalesce(v_doc.digest, '');
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
    select c.service, c.sent, c.intact into service, sent, config_intact
      from loci.config_layers(p_instance, p_database[i], 'working-memory') c;
    return next;
  end loop;
end
$$;

-- Does the steps of a plan, database by database. A database whose document is not of the version that was planned on
-- is left alone: outcome moved. Else: done (versions and digests, one for each step of it, and the digest of the whole
-- document), or what enter_database() answered. Steps: put (p_rest, p_meta, p_expires, p_value_mac) and remove (p_why:
-- an eviction; null: none is written), each with the number of its database in p_database. The service's configuration
-- (p_service) and the database's (p_config, its version) must be those that were planned on, else moved. p_digest: of
-- the document that was remembered and planned on, null where it was read for this; what was remembered must also fit
-- by content and by the clock, and its configuration must be intact: else moved. Called by wm_commit, wm_commit_acts
-- and writeSteps(). Locks: enter_database(), then rows, due work, totals; whoever calls
-- appends the events, last.
create or replace function loci.wm_write(p_instance text, p_databases_max bigint, p_database text[], p_version bigint[],
  p_digest bytea[], p_service text[], p_config bigint[], p_now timestamptz[], p_step_database int[], p_op text[], p_key text[], p_rest text[], p_meta text[],
  p_expires timestamptz[], p_why text[], p_value_mac text[])
returns table (database text, outcome text, versions bigint[], digests bytea[], digest bytea, events jsonb[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
  v_doc loci.working_memory;
  v_applied record;
  v_n int;
  v_is_whole boolean;
  v_is_service_read boolean := false;
  v_service text;
  v_bytes bigint := 0;
  v_written bigint := 0;
  v_steps int[];
  -- One for each step that was done.
  v_done int[] := '{}';
  v_versions bigint[] := '{}';
  v_digests bytea[] := '{}';
  v_texts text[] := '{}';
begin
  for v_entered in
    select e.name, e.outcome, e.head from loci.enter_database(p_instance, p_database,
      array(select p_database[s.d] from unnest(p_step_database, p_op) as s(d, op) where s.op = 'put'), p_databases_max) e
  loop
    database := v_entered.name; versions := '{}'; digests := '{}'; digest := null; events := '{}';
    v_n := array_position(p_database, database);
    v_steps := array_positions(p_step_database, v_n);
    -- Where there is nothing to do it is done: an act that found nothing to delete is claimed too.
    outcome := case when v_entered.outcome in ('open', 'none') and v_steps = '{}' then 'done'
      when v_entered.outcome = 'none' then 'moved' else v_entered.outcome end;
    if outcome = 'open' then
      select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = v_entered.name;
      if coalesce(v_doc.version, 0) <> p_version[v_n] then
        outcome := 'moved';
        return next;
        continue;
      end if;
      v_is_whole := v_doc.version is null or v_doc.digest = loci.document_digest(v_doc.instance_id, v_doc.database, v_doc.version,
        v_doc.evictions, v_doc.keys, v_doc.texts, v_doc.versions, v_doc.expires, v_doc.metas, v_doc.digests, v_doc.soonest, v_doc.weeks,
        v_doc.week_bytes);
      if not v_is_service_read then
        v_is_service_read := true;
        select (i.config -> 'working_memory')::text into v_service from loci.instances i where i.id = p_instance;
      end if;
      if p_service[v_n] is distinct from v_service or p_config[v_n] is distinct from coalesce((v_entered.head).wm_config, 0)
          or (p_digest[v_n] is not null and not (v_is_whole and coalesce(v_doc.digest, '') = p_digest[v_n]
            and p_now[v_n] between clock_timestamp() - interval '1500 milliseconds' and clock_timestamp() + interval '100 milliseconds'
            and coalesce(loci.wm_config_version(p_instance, database) = p_config[v_n], false))) then
        outcome := 'moved';
      else
        outcome := 'done';
        -- A call in an assignment: as a table in a query it costs four times as much.
        v_applied := loci.wm_apply(v_entered.head, v_doc, v_is_whole, p_now[v_n], v_steps, p_op, p_key, p_rest, p_meta, p_expires, p_why, true);
        versions := v_applied.versions; digests := v_applied.digests; digest := v_applied.digest; events := v_applied.events;
        v_bytes := v_bytes + v_applied.bytes; v_written := v_written + v_applied.written;
        v_done := v_done || v_steps; v_versions := v_versions || versions;
        v_digests := v_digests || digests; v_texts := v_texts || v_applied.texts;
      end if;
    end if;
    return next;
  end loop;
  -- For all at once: finding the partition costs as much as the row.
  insert into loci.slot_versions (instance_id, database, key, version, at, text, meta, expires, digest, value_mac)
    select p_instance, p_database[p_step_database[s.n]], p_key[s.n], s.version, p_now[p_step_database[s.n]], s.text, p_meta[s.n], p_expires[s.n], s.digest,
      decode(p_value_mac[s.n], 'hex')
    from unnest(v_done, v_versions, v_texts, v_digests) as s(n, version, text, digest) where s.text is not null;
  perform loci.add_totals(p_instance, 0, v_bytes, v_written);
end
$$;

-- The version of a database's configuration, 0 without one; null when it does not fit its digest. Called by wm_write.
-- Cost: one index read where there is none.
create or replace function loci.wm_config_version(p_instance text, p_database text) returns bigint language plpgsql stable as $$
begin
  if exists (select from loci.configs c where c.instance_id = p_instance and c.database = p_database and c.kind = 'working-memory') then
    return (select c.version from loci.config_layers(p_instance, p_database, 'working-memory') c where c.intact);
  end if;
  return 0;
end
$$;

-- The steps p_steps on one document, whose head is locked; `touch`: what a cycle has seen of a slot that stays, under
-- the version that it has, without history or event. texts: of the steps that put. bytes: what the instance holds more;
-- written: the document, which every change writes whole, and what is kept beside it.
-- p_saves_head: false where the caller writes the head, which it is then handed. Called by wm_write, wm_erase and
-- cycle_append, which append the versions. Cost: one write of the document and of the head. A cycle with a focus takes
-- forty steps: what each costs is most of a commit.
create or replace function loci.wm_apply(p_head loci.databases, p_doc loci.working_memory, p_is_whole boolean, p_now timestamptz,
  p_steps int[], p_op text[], p_key text[], p_rest text[], p_meta text[], p_expires timestamptz[], p_why text[], p_saves_head boolean,
  out versions bigint[], out digests bytea[], out texts text[], out digest bytea, out bytes bigint, out written bigint, out events jsonb[],
  out head loci.databases)
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_doc loci.working_memory := p_doc;
  -- Beside the document, in which an array is unpacked with each look and copied with each change; others are small.
  v_texts text[];
  v_metas text[];
  -- What is removed stays in its place to the end, under an empty key, which no slot has.
  v_removed int[];
  -- One for each that leaves with a reason: its step, the number of its leaving, its version.
  v_left int[];
  v_left_seqs bigint[];
  v_left_versions bigint[];
  v_history bigint := 0;
  v_i int;
  v_n int;
  v_key text;
  v_why jsonb;
  v_version bigint;
  v_is_touch boolean;
  v_is_counted boolean;
  v_digest bytea;
  v_text text;
begin
  if v_doc.version is null then
    v_doc := row(p_head.instance_id, p_head.name, 0, 0, '{}', '{}', '{}', '{}', '{}', '{}', null, '{}', '{}', '')::loci.working_memory;
  end if;
  v_texts := v_doc.texts; v_metas := v_doc.metas;
  versions := '{}'; digests := '{}'; texts := '{}'; events := '{}';
  foreach v_i in array p_steps loop
    v_key := p_key[v_i];
    v_n := array_position(v_doc.keys, v_key);
    v_is_touch := p_op[v_i] = 'touch' and v_n is not null;
    v_head.seq := v_head.seq + (not v_is_touch)::int;
    v_version := case when v_is_touch then v_doc.versions[v_n] else v_head.seq end;
    v_digest := null; v_text := null; v_why := null;
    if v_n is not null then
      -- What a damaged one added to the sums is unknown.
      v_is_counted := p_is_whole;
      if not v_is_counted then
        v_is_counted := loci.slot_is_intact(v_doc.instance_id, v_doc.database, v_key, v_texts[v_n], v_doc.versions[v_n], v_doc.expires[v_n], v_metas[v_n],
          v_doc.digests[v_n]);
      end if;
      if v_is_counted then
        v_head.wm_bytes := v_head.wm_bytes - octet_length(v_key) - octet_length(v_texts[v_n]) - octet_length(v_metas[v_n]);
        v_head.wm_set_a := v_head.wm_set_a # loci.digest_part(v_doc.digests[v_n], 1);
        v_head.wm_set_b := v_head.wm_set_b # loci.digest_part(v_doc.digests[v_n], 9);
      else
        v_head.wm_unsettled := true;
      end if;
      v_head.wm_slots := v_head.wm_slots - 1;
    end if;
    if p_op[v_i] = 'put' or v_is_touch then
      v_digest := loci.slot_digest(p_head.instance_id, p_head.name, v_key, v_version, p_expires[v_i], p_meta[v_i], p_rest[v_i]);
      v_text := loci.slot_prefix(v_version, v_digest) || p_rest[v_i];
      v_n := coalesce(v_n, cardinality(v_doc.keys) + 1);
      v_doc.keys[v_n] := v_key; v_texts[v_n] := v_text; v_doc.versions[v_n] := v_version;
      v_doc.expires[v_n] := p_expires[v_i]; v_metas[v_n] := p_meta[v_i]; v_doc.digests[v_n] := v_digest;
      v_head.wm_slots := v_head.wm_slots + 1;
      v_head.wm_bytes := v_head.wm_bytes + octet_length(v_key) + octet_length(v_text) + octet_length(p_meta[v_i]);
      v_head.wm_set_a := v_head.wm_set_a # loci.digest_part(v_digest, 1);
      v_head.wm_set_b := v_head.wm_set_b # loci.digest_part(v_digest, 9);
      if v_is_touch then
        v_text := null;
      else
        v_history := v_history + 150 + 2 * octet_length(v_key) + octet_length(v_text) + octet_length(p_meta[v_i]);
      end if;
    else
      if v_n is not null then
        if p_why[v_i] is not null then
          v_left := v_left || v_i; v_left_seqs := v_left_seqs || v_head.seq; v_left_versions := v_left_versions || v_doc.versions[v_n];
          v_history := v_history + 150 + 2 * octet_length(v_key) + octet_length(p_why[v_i]);
        end if;
        v_doc.keys[v_n] := '';
        v_removed := v_removed || v_n;
      end if;
      v_why := p_why[v_i]::jsonb;
    end if;
    versions := versions || v_version; digests := array_append(digests, v_digest); texts := array_append(texts, v_text);
    if not v_is_touch then
      events := events || loci.slot_event(p_head.name, p_op[v_i], v_key, v_version, v_why);
    end if;
  end loop;
  if v_left is not null then
    insert into loci.evictions (instance_id, database, seq, at, key, version, why, digest)
      select p_head.instance_id, p_head.name, l.seq, p_now, p_key[l.step], l.version, p_why[l.step],
        loci.eviction_digest(p_head.instance_id, p_head.name, l.seq, p_now, p_key[l.step], l.version, p_why[l.step])
      from unnest(v_left, v_left_seqs, v_left_versions) as l(step, seq, version);
    v_doc.evictions := v_doc.evictions + cardinality(v_left);
  end if;
  if v_removed is null then
    v_doc.texts := v_texts; v_doc.metas := v_metas;
  elsif cardinality(v_removed) = 1 then
    v_n := v_removed[1];
    v_doc.keys := v_doc.keys[:v_n - 1] || v_doc.keys[v_n + 1:]; v_doc.texts := v_texts[:v_n - 1] || v_texts[v_n + 1:];
    v_doc.versions := v_doc.versions[:v_n - 1] || v_doc.versions[v_n + 1:]; v_doc.expires := v_doc.expires[:v_n - 1] || v_doc.expires[v_n + 1:];
    v_doc.metas := v_metas[:v_n - 1] || v_metas[v_n + 1:]; v_doc.digests := v_doc.digests[:v_n - 1] || v_doc.digests[v_n + 1:];
  else
    select array(select v_doc.keys[n] from generate_subscripts(v_doc.keys, 1) n where n <> all (v_removed) order by n),
        array(select v_texts[n] from generate_subscripts(v_texts, 1) n where n <> all (v_removed) order by n),
        array(select v_doc.versions[n] from generate_subscripts(v_doc.versions, 1) n where n <> all (v_removed) order by n),
        array(select v_doc.expires[n] from generate_subscripts(v_doc.expires, 1) n where n <> all (v_removed) order by n),
        array(select v_metas[n] from generate_subscripts(v_metas, 1) n where n <> all (v_removed) order by n),
        array(select v_doc.digests[n] from generate_subscripts(v_doc.digests, 1) n where n <> all (v_removed) order by n)
      into v_doc.keys, v_doc.texts, v_doc.versions, v_doc.expires, v_doc.metas, v_doc.digests;
  end if;
  digest := loci.wm_store(v_head, v_doc, p_now, v_history, p_is_whole, p_saves_head);
  bytes := v_head.wm_bytes - p_head.wm_bytes + v_history; written := v_head.wm_bytes + v_history;
  if not p_saves_head then
    head := v_head;
  end if;
end
$$;
comment on function loci.wm_apply is 'without enter_database: called with the head that wm_write has entered';

create or replace function loci.eviction_digest(p_instance text, p_database text, p_seq bigint, p_at timestamptz, p_key text, p_version bigint,
  p_why text) returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_seq) || int8send(p_version)
    || timestamptz_send(p_at) || textsend(p_why))
$$;

-- Names and numbers, no content: an event outlives what it is about. p_why as jsonb: as text it would be parsed for
-- each look at it.
create or replace function loci.slot_event(p_database text, p_op text, p_key text, p_seq bigint, p_why jsonb) returns jsonb
language sql stable parallel safe as $$
  select jsonb_build_object('type', case when p_op = 'put' then 'slot.written' when p_why is null then 'slot.deleted'
      when p_why ->> 'reasonCode' in ('outcompeted', 'below_threshold', 'over_limit') then 'slot.evicted' else 'slot.' || (p_why ->> 'reasonCode') end,
    'database', p_database, 'domain', 'working-memory', 'data', jsonb_build_object('key', p_key, 'version', p_seq)
      || case when p_why is null then '{}'::jsonb
        else jsonb_strip_nulls(jsonb_build_object('reasonCode', p_why ->> 'reasonCode', 'displacedBy', p_why ->> 'displacedBy')) end)
$$;

-- Writes document and head after their change, and puts the next expiry on the list; the digest of the document.
-- p_history: bytes of what was appended beside the document. p_saves_head: false where the caller writes the head, and
-- knows when the next cycle is due. Called by wm_apply and wm_expire. Cost: one write each, and two of indexes.
create or replace function loci.wm_store(p_head loci.databases, p_doc loci.working_memory, p_now timestamptz, p_history bigint,
  p_is_whole boolean, p_saves_head boolean) returns bytea language plpgsql as $$
declare
  v_doc loci.working_memory := p_doc;
  v_is_whole boolean := p_is_whole;
  v_week date := date_trunc('week', p_now at time zone 'UTC');
  v_n int := array_position(p_doc.weeks, v_week);
begin
  v_doc.version := p_head.seq;
  v_doc.soonest := null;
  -- Without a query where there is nothing to ask: each costs more than all the expressions here.
  if cardinality(array_remove(v_doc.expires, null)) > 0 then
    v_doc.soonest := (select min(e) from unnest(v_doc.expires) e);
  end if;
  if p_history > 0 and v_n is null then
    v_doc.weeks := v_doc.weeks || v_week;
    v_doc.week_bytes := v_doc.week_bytes || p_history;
    perform loci.put_due(v_doc.instance_id, v_doc.database, 'slots', loci.history_next(v_doc.instance_id, array[v_week]));
  elsif p_history > 0 then
    v_doc.week_bytes[v_n] := v_doc.week_bytes[v_n] + p_history;
  end if;
  -- While a slot is damaged no hash is good for all of them.
  if not v_is_whole then
    v_is_whole := not exists (select from loci.wm_slots(v_doc) s where not s.intact);
  end if;
  v_doc.digest := '\x00';
  if v_is_whole then
    v_doc.digest := loci.document_digest(v_doc.instance_id, v_doc.database, v_doc.version, v_doc.evictions, v_doc.keys, v_doc.texts,
      v_doc.versions, v_doc.expires, v_doc.metas, v_doc.digests, v_doc.soonest, v_doc.weeks, v_doc.week_bytes);
  end if;
  update loci.working_memory w set version = v_doc.version, evictions = v_doc.evictions, keys = v_doc.keys, texts = v_doc.texts,
      versions = v_doc.versions, expires = v_doc.expires, metas = v_doc.metas, digests = v_doc.digests, soonest = v_doc.soonest,
      weeks = v_doc.weeks, week_bytes = v_doc.week_bytes, digest = v_doc.digest
    where w.instance_id = v_doc.instance_id and w.database = v_doc.database;
  if not found then
    insert into loci.working_memory select (v_doc).*;
  end if;
  if v_doc.soonest is not null then
    perform loci.put_due(v_doc.instance_id, v_doc.database, 'slots', v_doc.soonest);
  end if;
  if p_saves_head then
    update loci.databases h set seq = p_head.seq, wm_slots = p_head.wm_slots, wm_bytes = p_head.wm_bytes, wm_set_a = p_head.wm_set_a,
        wm_set_b = p_head.wm_set_b, wm_unsettled = p_head.wm_unsettled
      where h.instance_id = p_head.instance_id and h.name = p_head.name;
    if p_head.cyc_interval_ms is not null then
      perform loci.put_cycle(p_head);
    end if;
  end if;
  return v_doc.digest;
end
$$;
comment on function loci.wm_store is 'without enter_database: called by functions that have entered';
