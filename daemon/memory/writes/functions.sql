-- Storing records: acts of one instance that arrived together, in one call. Most records only add: one that is alone in
-- its call is stored by mem_write_one, several all at once, by one statement for all databases of the call
-- (mem_write_plain). Where a record ends another one, or must not be stored, its database is written record by record
-- (mem_write_open). The result is the same whichever way is taken.

-- Acts that arrived together, as kv_write_acts: the records of an act bear its number in p_act and are stored all or
-- none. The arrays have one element per record. p_nth: which of the records of its database in this call it is, from 1;
-- null where one of that database says what it supersedes, overrides a tombstone, or has the key or the source event of
-- another one of the call. p_first: p_nth of the first one of its context; p_place: which of that context's it is, from
-- 0; p_shared: of the first one of a named context, how many there are. outcome: done; known (a record with that source
-- event is there, and is answered with its body); forgotten (its value is under a tombstone); missing (there is no
-- record to supersede); damaged (the one that it names is); or what enter_database() answered. A row with `claim` says
-- why that claim's act cannot be done; then nothing of the call was. A record of an act that is refused fails the call
-- with SQLSTATE LC001; detail = ord, outcome, 0. What is kept of an answer: ids and versions. Called by
-- commitRecords(): every write. Locks: those of claim_keys, enter_database, then rows, due work, totals, keep_answers,
-- the head of events, in this order. Cost: mem_write_one or mem_write_plain, and mem_write_open for each database that
-- these leave.
create or replace function loci.mem_write_acts(p_instance text, p_databases_max bigint, p_act int[], p_nth int[],
  p_first int[], p_place int[], p_shared int[], p_database text[], p_id text[], p_key text[], p_source_event text[], p_context text[],
  p_value text[], p_override boolean[], p_supersedes text[], p_body text[], p_occurred timestamptz[], p_ttl_ms float8[], p_route text,
  p_sealed_with text, p_claim_act int[], p_claim_database text[], p_claim_holder text[], p_claim_key text[], p_claim_fingerprint text[])
returns table (claim int, ord int, outcome text, id text, key text, source_event_id text, version bigint, body text, created_at timestamptz,
  valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_is_claimed boolean := cardinality(p_claim_key) > 0;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_open text[];
  v_refused jsonb;
  v_scheduled loci.databases[];
  v_other text[] := '{}';
  v_bytes bigint := 0;
  v_more bigint;
  v_tail int;
  v_databases text[] := '{}';
  v_data text[] := '{}';
  v_kept text[] := '{}';
  v_events jsonb := '[]';
  v_made jsonb;
  v_entered record;
  v_one record;
begin
  if v_is_claimed then
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
  created_at := v_now;
  if cardinality(p_id) = 1 and p_nth[1] is not null then
    select * into v_entered from loci.enter_database(p_instance, p_database, p_database, p_databases_max);
    if v_entered.outcome <> 'open' then
      v_refused := jsonb_build_object(p_database[1], v_entered.outcome);
    else
      v_open := p_database;
      v_one := loci.mem_write_one(v_entered.head, v_now, p_id[1], p_key[1], p_source_event[1], p_context[1], p_value[1], p_body[1], p_occurred[1],
        p_ttl_ms[1]);
      if v_one.version is null then
        v_other := p_database;
      else
        ord := 1; outcome := 'done'; id := p_id[1]; version := v_one.version; valid_from := v_one.valid_from; expires_at := v_one.expires_at;
        digest := v_one.digest; v_bytes := v_one.bytes; v_databases := p_database;
        v_data := array['{"id":"' || id || '","version":' || version || '}'];
        if v_is_claimed and p_act[1] is not null then
          v_kept[p_act[1]] := '["' || id || '",' || version || ']';
        end if;
        return next;
      end if;
    end if;
  else
    select array_agg(e.name) filter (where e.outcome = 'open'), jsonb_object_agg(e.name, e.outcome) filter (where e.outcome <> 'open'),
        array_agg(e.head) filter (where e.outcome = 'open' and (e.head).cyc_interval_ms is not null)
      into v_open, v_refused, v_scheduled from loci.enter_database(p_instance, p_database, p_database, p_databases_max) e;
    v_other := loci.mem_not_plain(p_instance, v_now, p_nth, p_database, p_key, p_source_event, p_context, p_value, p_occurred);
    outcome := 'done';
    for ord, id, version, valid_from, expires_at, digest, v_more, v_tail in
      select * from loci.mem_write_plain(p_instance, v_now, v_open, v_other, p_nth, p_first, p_place, p_shared, p_database, p_id, p_key, p_source_event,
        p_context, p_value, p_body, p_occurred, p_ttl_ms)
    loop
      v_bytes := v_bytes + v_more;
      v_databases := v_databases || p_database[ord];
      v_data := v_data || ('{"id":"' || id || '","version":' || version || '}');
      if v_is_claimed and p_act[ord] is not null then
        v_kept[p_act[ord]] := coalesce(v_kept[p_act[ord]] || ',', '') || '["' || id || '",' || version || ']';
      end if;
      if v_tail >= loci.mem_tail_rest() then
        perform loci.mem_put_index(p_instance, p_database[ord], v_tail - loci.mem_tail_weight(p_body[ord]), v_tail);
      end if;
      if expires_at is not null then
        perform loci.put_due(p_instance, p_database[ord], 'records', expires_at);
      end if;
      return next;
    end loop;
  end if;
  if v_scheduled is not null then
    perform loci.put_cycle(h) from unnest(v_scheduled) h;
  end if;
  perform loci.add_totals(p_instance, cardinality(v_data), v_bytes);
  if v_other <> '{}' or v_refused is not null then
    for ord, outcome, id, key, source_event_id, version, body, created_at, valid_from, valid_to, archived_at, expires_at, digest, v_made in
      select * from loci.mem_write_each(p_instance, v_open, v_other, v_refused, p_database, p_id, p_key, p_source_event, p_context, p_value,
        p_override, p_supersedes, p_body, p_occurred, p_ttl_ms) w order by w.ord
    loop
      if p_act[ord] is not null and outcome not in ('done', 'known') then
        raise exception 'a record of an act is refused' using errcode = 'LC001', detail = format('%s %s 0', ord, outcome);
      end if;
      if v_is_claimed and p_act[ord] is not null then
        v_kept[p_act[ord]] := coalesce(v_kept[p_act[ord]] || ',', '') || '["' || id || '",' || version || ']';
      end if;
      v_events := v_events || v_made;
      return next;
    end loop;
  end if;
  if v_is_claimed then
    perform loci.keep_answers(p_instance, p_route, p_sealed_with, p_claim_database, p_claim_holder, p_claim_key, p_claim_fingerprint,
      array(select '{"records":[' || coalesce(v_kept[c.act], '') || ']}' from unnest(p_claim_act) with ordinality as c(act, n) order by c.n));
  end if;
  perform loci.append_events_of(p_instance, 'memory.stored', 'memory', v_databases, v_data);
  perform loci.append_events(p_instance, v_events);
end
$$;

-- One record of the database p_head, which is locked, if it only adds; version is null where it does not, and nothing
-- is done. bytes: what it adds to the totals. Simple statements: to set up the one of mem_write_plain for a single
-- record takes longer than all of these (measured). Called by mem_write_acts. Cost: one to three index reads, one
-- insert, one write of a context and one of the head.
create or replace function loci.mem_write_one(p_head loci.databases, p_now timestamptz, p_id text, p_key text, p_source_event text, p_context text,
  p_value text, p_body text, p_occurred timestamptz, p_ttl_ms float8,
  out version bigint, out valid_from timestamptz, out expires_at timestamptz, out digest bytea, out bytes bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_instance constant text := p_head.instance_id;
  v_database constant text := p_head.name;
  v_at constant timestamptz := coalesce(p_occurred, p_now);
  v_value constant bytea := decode(p_value, 'hex');
  v_seq constant bigint := p_head.seq + 1;
  v_context bigint := p_head.mem_open_context;
  v_position int := p_head.mem_open_position;
  v_weight constant int := loci.mem_tail_weight(p_body);
  v_new int := 0;
  v_due timestamptz;
begin
  if p_context is null and (p_head.mem_open_at is null or abs(extract(epoch from v_at - p_head.mem_open_at)) > 1800) then
    return;
  end if;
  if exists (select from loci.tombstones t where t.instance_id = v_instance and t.database = v_database and t.value_mac = v_value) then
    return;
  end if;
  if p_source_event is not null then
    if exists (select from loci.records r where r.instance_id = v_instance and r.database = v_database and r.source_event_id = p_source_event) then
      return;
    end if;
  end if;
  if p_key is not null then
    if exists (select from loci.records r where r.instance_id = v_instance and r.database = v_database and r.key = p_key and r.valid_to is null) then
      return;
    end if;
  end if;
  if p_context is not null then
    update loci.contexts c set position = c.position + 1, records = c.records + 1
      where c.instance_id = v_instance and c.database = v_database and c.name_mac = decode(p_context, 'hex')
      returning c.number, c.position - 1 into v_context, v_position;
    if not found then
      v_new := 1; v_context := p_head.mem_contexts + 1; v_position := 0;
      insert into loci.contexts (instance_id, database, name_mac, number, position, records)
        values (v_instance, v_database, decode(p_context, 'hex'), v_context, 1, 1);
    end if;
  end if;
  version := v_seq;
  valid_from := least(v_at, p_now);
  expires_at := date_trunc('milliseconds', p_now + p_ttl_ms * interval '1 millisecond');
  -- Quotes inside JSON strings are escaped, so this pattern matches only the member.
  if p_body like '%"dueAt":"%' then
    v_due := (p_body::json ->> 'dueAt')::timestamptz;
  end if;
  digest := loci.record_digest_of(v_instance, v_database, p_id, v_seq, v_seq, p_key, p_source_event, v_context, v_position, v_value, p_now,
    valid_from, null, null, expires_at, v_due, null, p_body);
  insert into loci.records (instance_id, database, seq, id, changed_seq, key, source_event_id, context, position, value_mac, body, created_at,
      valid_from, expires_at, due_at, digest)
    values (v_instance, v_database, v_seq, p_id, v_seq, p_key, p_source_event, v_context, v_position, v_value, p_body, p_now,
      mem_write_one.valid_from, mem_write_one.expires_at, v_due, mem_write_one.digest);
  bytes := loci.record_bytes_of(p_body, p_key, p_source_event, null);
  update loci.databases h set seq = v_seq, mem_records = h.mem_records + 1, mem_bytes = h.mem_bytes + mem_write_one.bytes,
      mem_set_a = h.mem_set_a # loci.digest_part(mem_write_one.digest, 1), mem_set_b = h.mem_set_b # loci.digest_part(mem_write_one.digest, 9),
      mem_tail = h.mem_tail + v_weight, mem_contexts = h.mem_contexts + v_new, mem_index_bytes = h.mem_index_bytes + 100 * v_new,
      mem_open_position = h.mem_open_position + (p_context is null)::int,
      mem_open_at = case when p_context is null then v_at else h.mem_open_at end
    where h.instance_id = v_instance and h.name = v_database;
  bytes := bytes + 100 * v_new;
  if p_head.mem_tail + v_weight >= loci.mem_tail_rest() then
    perform loci.mem_put_index(v_instance, v_database, p_head.mem_tail, p_head.mem_tail + v_weight);
  end if;
  if expires_at is not null then
    perform loci.put_due(v_instance, v_database, 'records', expires_at);
  end if;
  if p_head.cyc_interval_ms is not null then
    perform loci.put_cycle(p_head);
  end if;
end
$$;
comment on function loci.mem_write_one is 'without enter_database: called by mem_write_acts, which has entered';

-- The databases of a call whose records do not only add, as far as the stored ones tell: a value is under a tombstone,
-- a source event is known, a key has a current record, or a gap begins another open context. Called by mem_write_acts,
-- which holds the heads. Cost: two or three index reads for each record, one by one: of a join the planner may think
-- that it is cheaper to read the whole instance.
create or replace function loci.mem_not_plain(p_instance text, p_now timestamptz, p_nth int[], p_database text[], p_key text[],
  p_source_event text[], p_context text[], p_value text[], p_occurred timestamptz[]) returns text[]
language plpgsql as $$
declare
  v_found text[];
begin
  select coalesce(array_agg(distinct w.d), '{}') into v_found
    from unnest(p_nth, p_database, p_key, p_source_event, p_value) as w(nth, d, key, source, value)
    where w.nth is null
      or (select true from loci.tombstones t where t.instance_id = p_instance and t.database = w.d and t.value_mac = decode(w.value, 'hex') limit 1)
      or w.source is not null and (select true from loci.records r where r.instance_id = p_instance and r.database = w.d
        and r.source_event_id = w.source limit 1)
      or w.key is not null and (select true from loci.records r where r.instance_id = p_instance and r.database = w.d and r.key = w.key
        and r.valid_to is null limit 1);
  if array_position(p_context, null) is not null then
    v_found := v_found || array(select distinct g.d from (
        select w.d, coalesce(w.at, p_now) as at, lag(coalesce(w.at, p_now), 1, h.mem_open_at) over (partition by w.d order by w.n) as before
        from unnest(p_database, p_context, p_occurred) with ordinality as w(d, context, at, n),
          lateral (select h.mem_open_at from loci.databases h where h.instance_id = p_instance and h.name = w.d limit 1) h
        where w.context is null) g
      where g.before is null or abs(extract(epoch from g.at - g.before)) > 1800);
  end if;
  return v_found;
end
$$;
comment on function loci.mem_not_plain is 'without enter_database: called by mem_write_acts, which has entered';

-- The records of the databases p_other that are open, record by record, and those of databases that cannot be entered
-- (p_refused: why, by name). Of a new record what its writer knows is left out. Called by mem_write_acts.
create or replace function loci.mem_write_each(p_instance text, p_open text[], p_other text[], p_refused jsonb, p_database text[], p_id text[],
  p_key text[], p_source_event text[], p_context text[], p_value text[], p_override boolean[], p_supersedes text[], p_body text[],
  p_occurred timestamptz[], p_ttl_ms float8[])
returns table (ord int, outcome text, id text, key text, source_event_id text, version bigint, body text, created_at timestamptz,
  valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea, events jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
  v_head loci.databases;
begin
  for v_head in select h.* from unnest(p_open) o,
    lateral (select * from loci.databases h where h.instance_id = p_instance and h.name = o limit 1) h where o = any (p_other)
  loop
    return query select w.ord, w.outcome, r.id, case when w.outcome = 'known' then r.key end, case when w.outcome = 'known' then r.source_event_id end,
        r.changed_seq, case when w.outcome = 'known' then r.body end, r.created_at, r.valid_from, r.valid_to, r.archived_at, r.expires_at, r.digest,
        w.events
      from loci.mem_write_open(v_head, array_positions(p_database, v_head.name), p_id, p_key, p_source_event, p_context, p_value, p_override,
          p_supersedes, p_body, p_occurred, p_ttl_ms) w
        left join lateral (select (w.record).*) r on w.outcome in ('done', 'known');
  end loop;
  return query select w.n::int, p_refused ->> w.d, null, null, null, null::bigint, null, null::timestamptz, null::timestamptz, null::timestamptz,
      null::timestamptz, null::timestamptz, null::bytea, '[]'::jsonb
    from unnest(p_database) with ordinality as w(d, n) where p_refused ? w.d;
end
$$;
comment on function loci.mem_write_each is 'without enter_database: called by mem_write_acts, which has entered';

-- The records of the open databases but p_other, in which all of the call only add, by one statement. A new context has
-- the number that it would have if all of its call were new: numbers grow, and may leave gaps. Rows of contexts and
-- heads are found by `on conflict`: by their keys, whatever the planner thinks of a join. tail: what stands in no
-- segment with it. Called by mem_write_acts. Cost: two index reads and one insert for each record, one write for
-- each context and each head.
create or replace function loci.mem_write_plain(p_instance text, p_now timestamptz, p_open text[], p_other text[], p_nth int[], p_first int[],
  p_place int[], p_shared int[], p_database text[], p_id text[], p_key text[], p_source_event text[], p_context text[], p_value text[],
  p_body text[], p_occurred timestamptz[], p_ttl_ms float8[])
returns table (ord int, id text, version bigint, valid_from timestamptz, expires_at timestamptz, digest bytea, bytes bigint, tail int)
language plpgsql as $$
#variable_conflict use_column
begin
  return query with item as materialized (
    select i.*, loci.record_digest_of(p_instance, i.database, i.id, i.seq, i.seq, i.key, i.source, i.context, i.position, i.value, p_now,
        i.valid_from, null, null, i.expires_at, i.due_at, null, i.body) as digest,
      loci.record_bytes_of(i.body, i.key, i.source, null) as bytes
    from (
      select w.n::int as ord, w.database, w.id, w.key, w.source, w.body, w.shared, decode(w.value, 'hex') as value, decode(w.name, 'hex') as name,
        h.seq + w.nth as seq, case when w.name is null then h.mem_open_context else coalesce(c.number, h.mem_contexts + w.first) end as context,
        case when w.name is null then h.mem_open_position else coalesce(c.position, 0) end + w.place as position,
        -- What a context takes in the index, of the first record of a new one.
        case when c.number is null and w.shared is not null then 100 else 0 end as more, h.mem_tail, loci.mem_tail_weight(w.body) as weight,
        w.occurred, least(coalesce(w.occurred, p_now), p_now) as valid_from,
        date_trunc('milliseconds', p_now + w.ttl_ms * interval '1 millisecond') as expires_at,
        -- Quotes inside JSON strings are escaped, so this pattern matches only the member.
        case when w.body like '%"dueAt":"%' then (w.body::json ->> 'dueAt')::timestamptz end as due_at
      from unnest(p_nth, p_first, p_place, p_shared, p_database, p_id, p_key, p_source_event, p_context, p_value, p_body, p_occurred, p_ttl_ms)
          with ordinality as w(nth, first, place, shared, database, id, key, source, name, value, body, occurred, ttl_ms, n)
        cross join lateral (select h.seq, h.mem_tail, h.mem_contexts, h.mem_open_context, h.mem_open_position from loci.databases h
          where h.instance_id = p_instance and h.name = w.database limit 1) h
        left join lateral (select c.number, c.position from loci.contexts c where c.instance_id = p_instance and c.database = w.database
          and c.name_mac = decode(w.name, 'hex') limit 1) c on true
      where w.database = any (p_open) and w.database <> all (p_other)
      offset 0
    ) i
  ), made as (
    insert into loci.records (instance_id, database, seq, id, changed_seq, key, source_event_id, context, position, value_mac, body, created_at,
      valid_from, expires_at, due_at, digest)
    select p_instance, i.database, i.seq, i.id, i.seq, i.key, i.source, i.context, i.position, i.value, i.body, p_now, i.valid_from, i.expires_at,
      i.due_at, i.digest from item i
  ), placed as (
    insert into loci.contexts as c (instance_id, database, name_mac, number, position, records)
    select p_instance, i.database, i.name, i.context, i.shared, i.shared from item i where i.shared is not null
    on conflict (instance_id, database, name_mac) do update set position = c.position + excluded.position, records = c.records + excluded.records
  ), counted as (
    insert into loci.databases as h (instance_id, name, created_at, seq, mem_records, mem_bytes, mem_set_a, mem_set_b, mem_tail, mem_contexts,
      mem_index_bytes, mem_open_position, mem_open_at)
    select p_instance, i.database, p_now, max(i.seq), count(*), sum(i.bytes), bit_xor(loci.digest_part(i.digest, 1)), bit_xor(loci.digest_part(i.digest, 9)), sum(i.weight),
      coalesce(max(i.context) filter (where i.name is not null), 0), sum(i.more),
      count(*) filter (where i.name is null), (array_agg(coalesce(i.occurred, p_now) order by i.ord desc) filter (where i.name is null))[1]
    from item i group by i.database
    on conflict (instance_id, name) do update set seq = excluded.seq, mem_records = h.mem_records + excluded.mem_records,
      mem_bytes = h.mem_bytes + excluded.mem_bytes, mem_set_a = h.mem_set_a # excluded.mem_set_a, mem_set_b = h.mem_set_b # excluded.mem_set_b,
      mem_tail = h.mem_tail + excluded.mem_tail, mem_contexts = greatest(h.mem_contexts, excluded.mem_contexts),
      mem_index_bytes = h.mem_index_bytes + excluded.mem_index_bytes, mem_open_position = h.mem_open_position + excluded.mem_open_position,
      mem_open_at = coalesce(excluded.mem_open_at, h.mem_open_at)
  )
  select i.ord, i.id, i.seq, i.valid_from, i.expires_at, i.digest, i.bytes + i.more,
    i.mem_tail + (sum(i.weight) over (partition by i.database order by i.ord))::int from item i order by i.ord;
end
$$;
comment on function loci.mem_write_plain is 'without enter_database: called by mem_write_acts, which has entered';
