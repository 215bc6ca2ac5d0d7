-- The index of memory (segments, and the tail that stands in none) and what leaves: by erasure, or when its time ends.

-- What tells a record from another of the same number, in a database that was restored or made anew. Of its id: under
-- one id there is one text, and what else changes of a record is no reason to read it again.
create or replace function loci.record_mark(r loci.records) returns bigint language sql immutable parallel safe as $$
  select hashtextextended(r.id, 0)
$$;

-- A record as JSON for the analyser: [seq, mark, context, position, stored ms, body, key].
create or replace function loci.mem_text(r loci.records) returns text language sql stable parallel safe as $$
  select '[' || r.seq || ',"' || loci.record_mark(r) || '",' || r.context || ',' || r.position || ','
    || (extract(epoch from r.created_at) * 1000)::bigint || ',' || r.body || ',' || coalesce(to_json(r.key)::text, 'null') || ']'
$$;

-- A segment in the list of a database: [id, from, through, items, format, mark, encoded], the mark as of records.
create or replace function loci.segment_listed(s loci.segments) returns json language sql stable parallel safe as $$
  select json_build_array(s.id, s.from_seq, s.through_seq, s.items, s.format, encode(substr(s.digest, 1, 12), 'hex'), s.encoded)
$$;

-- May a record be recalled? One that was ended holds no longer, whatever time stands there: a clock that was set back
-- leaves times in the future. Expiry is by the clock alone.
create or replace function loci.record_holds(r loci.records, p_now timestamptz) returns boolean
language sql immutable parallel safe as $$
  select r.valid_to is null and r.archived_at is null and (r.expires_at is null or r.expires_at > p_now)
$$;

-- May a record be recalled as of p_at?
create or replace function loci.record_held(r loci.records, p_at timestamptz, p_now timestamptz) returns boolean
language sql immutable parallel safe as $$
  select r.valid_from <= p_at and (r.valid_to is null or r.valid_to > p_at) and (r.archived_at is null or r.archived_at > p_at)
    and (r.expires_at is null or r.expires_at > p_now)
$$;

-- All that a recall needs before it searches, of one moment: the list of segments (as JSON), the numbers of the tail
-- that hold, the texts of those of them above p_have ([seq, mark] of a damaged one), the marks of the others by xor, so
-- that the caller knows whether those that it has are the same, the numbers of the records that stand in a segment and
-- no longer hold, and the texts of those that no longer hold and did at p_as_of, of the 4,096, or the 4 MiB, that
-- ended first after it; is_closed_cut: there are more. p_tail_max 0: no record is read, neither of the tail nor of
-- those that ended. Called by readIndex(): every recall and every build of segments. No locks. Cost: the tail's rows,
-- and in full those that the caller has not seen. Planned once: planned for its values each time it took .8 ms, so .3
-- (measured).
create or replace function loci.mem_index(p_instance text, p_database text, p_have bigint, p_as_of timestamptz, p_tail_max int,
  out now timestamptz, out life text, out sums text, out seq bigint, out through bigint, out indexed_at bigint, out erased_at bigint, out segments text, out tail_rows int, out tail_through bigint,
  out tail bigint[], out tail_mark text, out texts text, out changed bigint[], out closed text, out is_closed_cut boolean, out service text, out sent text, out config_intact boolean)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  -- As of a page of the list: all of them could have what the plan has.
  v_bytes_max constant bigint := 4194304;
  v_closed bigint[];
  v_config bigint;
begin
  now := v_now;
  perform set_config('loci.instance', p_instance, true);
  select extract(epoch from h.created_at)::text, h.mem_set_a || '.' || h.mem_set_b, h.seq, h.mem_indexed_through, h.mem_indexed_at, h.mem_erased_at, h.cyc_config
    into life, sums, seq, through, indexed_at, erased_at, v_config from loci.databases h
    where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  if not found then
    -- The first cycle of a database too goes by the configuration of its service.
    service := (select (i.config -> 'cognitive')::text from loci.instances i where i.id = p_instance);
    return;
  end if;
  select coalesce(json_agg(loci.segment_listed(s) order by s.from_seq)::text, '[]') into segments
    from loci.segments s where s.instance_id = p_instance and s.database = p_database;
  select count(*), max(t.seq), coalesce(array_agg(t.seq order by t.seq) filter (where t.holds), '{}'),
      coalesce(bit_xor(t.mark) filter (where t.holds and t.seq <= p_have), 0)::text into tail_rows, tail_through, tail, tail_mark
    from (select r.seq, loci.record_mark(r) as mark, loci.record_holds(r, v_now) as holds from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.seq > through order by r.seq limit p_tail_max) t;
  texts := '[]';
  if tail_through > p_have then
    select '[' || coalesce(string_agg(case when loci.record_is_intact(r, p_instance, p_database) then loci.mem_text(r)
        else '[' || r.seq || ',"' || loci.record_mark(r) || '"]' end, ',' order by r.seq), '') || ']' into texts from loci.records r
      where r.instance_id = p_instance and r.database = p_database and r.seq > greatest(through, p_have) and r.seq <= tail_through
        and loci.record_holds(r, v_now);
  end if;
  changed := '{}';
  if p_tail_max > 0 then
    changed := array(select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.changed_seq > indexed_at and r.changed_seq <> r.seq and r.seq <= through and not loci.record_holds(r, v_now));
  end if;
  closed := '[]'; is_closed_cut := false;
  if p_as_of is not null and p_tail_max > 0 then
    select array_agg(f.seq) filter (where f.before < v_bytes_max), count(*) >= 4096 or coalesce(bool_or(f.before >= v_bytes_max), false)
      into v_closed, is_closed_cut from (select w.seq, sum(w.size) over (order by w.valid_to, w.seq) - w.size as before from (
        select r.seq, r.valid_to, octet_length(r.body) as size from loci.records r
        where r.instance_id = p_instance and r.database = p_database and r.valid_to > p_as_of order by r.valid_to limit 4096) w) f;
    select '[' || coalesce(string_agg(loci.mem_text(r), ',' order by r.seq), '') || ']' into closed
      from unnest(v_closed) c join loci.records r on r.instance_id = p_instance and r.database = p_database and r.seq = c
      where loci.record_held(r, p_as_of, v_now) and loci.record_is_intact(r, p_instance, p_database);
  end if;
  -- The head knows whether a configuration was put: mostly none was.
  config_intact := true;
  if v_config is null then
    service := (select (i.config -> 'cognitive')::text from loci.instances i where i.id = p_instance);
  else
    select c.service, c.sent, c.intact into service, sent, config_intact from loci.config_layers(p_instance, p_database, 'cognitive') c;
  end if;
end
$$;

-- The texts of the records from p_from to p_through that hold: what a segment that cannot be used would say. Called by
-- readTexts(). No locks. Cost: one index range, every row in full.
create or replace function loci.mem_range(p_instance text, p_database text, p_from bigint, p_through bigint) returns text
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return (select '[' || coalesce(string_agg(loci.mem_text(r), ',' order by r.seq), '') || ']' from loci.records r where r.instance_id = p_instance
    and r.database = p_database and r.seq between p_from and p_through and loci.record_holds(r, clock_timestamp())
    and loci.record_is_intact(r, p_instance, p_database));
end
$$;

-- For each range of numbers what tells its records from others: how many there are, and their marks by xor. Called by
-- readMarks(), where a part of the index is built from the records. No locks. Cost: one index range, every row.
create or replace function loci.mem_range_marks(p_instance text, p_database text, p_from bigint[], p_through bigint[]) returns text[]
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return array(select (select count(*) || '.' || coalesce(bit_xor(loci.record_mark(r)), 0) from loci.records r
      where r.instance_id = p_instance and r.database = p_database and r.seq between g.f and g.t)
    from unnest(p_from, p_through) with ordinality as g(f, t, n) order by g.n);
end
$$;

-- Segments by id, as base64: half of what a bytea is as text. Called by readSegments(). No locks.
create or replace function loci.mem_segments(p_instance text, p_database text, p_ids bigint[])
returns table (id bigint, body text, digest bytea)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform set_config('loci.instance', p_instance, true);
  return query select s.id, encode(s.body, 'base64'), s.digest from loci.segments s
    where s.instance_id = p_instance and s.database = p_database and s.id = any (p_ids);
end
$$;

-- Over what a segment says and of whom; segments.ts makes the same.
create or replace function loci.segment_digest(s loci.segments) returns bytea language sql stable parallel safe as $$
  select sha256(textsend(concat_ws(E'\x1f', s.instance_id, s.database, s.from_seq, s.through_seq, s.items) || E'\x1f') || s.body)
$$;

-- Puts segments in the place of others, each over the range of those that it replaces. The id is the database's next
-- number. Called by mem_index_commit and mem_erase. Cost: one write for each.
create or replace function loci.mem_replace_segments(p_head loci.databases, p_replaced bigint[], p_from bigint[], p_through bigint[], p_items int[],
  p_format int[], p_body text[], p_digest text[]) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_bytes bigint;
  v_body bytea;
begin
  with gone as (delete from loci.segments s where s.instance_id = p_head.instance_id and s.database = p_head.name and s.id = any (p_replaced)
    returning octet_length(s.body) as bytes)
  select coalesce(sum(g.bytes), 0) into v_bytes from gone g;
  v_head.mem_index_bytes := v_head.mem_index_bytes - v_bytes;
  for i in 1 .. cardinality(p_from) loop
    v_head.seq := v_head.seq + 1;
    v_body := decode(p_body[i], 'base64');
    insert into loci.segments (instance_id, database, id, from_seq, through_seq, items, format, encoded, body, digest)
      values (p_head.instance_id, p_head.name, v_head.seq, p_from[i], p_through[i], p_items[i], p_format[i], loci.segment_encoded(v_body),
        v_body, decode(p_digest[i], 'hex'));
    v_head.mem_index_bytes := v_head.mem_index_bytes + octet_length(v_body);
  end loop;
  return v_head;
end
$$;
comment on function loci.mem_replace_segments is 'without enter_database: called by functions that have entered';

-- Publishes segments that were built outside, while the index is still the one that they were built from: moved, when
-- another list, or an erasure, came first. p_at: the database's number when it was read; what changed since is not in
-- the segments. A segment that was found damaged meanwhile is still due. Fails where a segment of a newer release would
-- be replaced: both may run, and neither is to undo the other's work. Called by commitIndex(), due kind `index`. Locks:
-- the head, rows, the due row, totals.
create or replace function loci.mem_index_commit(p_instance text, p_database text, p_ids bigint[], p_erased_at bigint, p_at bigint, p_new_through bigint,
  p_replaced bigint[], p_from bigint[], p_through bigint[], p_items int[], p_format int[], p_body text[], p_digest text[]) returns text
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entered record;
  v_head loci.databases;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome <> 'open' then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'index';
    return v_entered.outcome;
  end if;
  v_head := v_entered.head;
  if v_head.mem_erased_at <> p_erased_at or p_ids <> array(select s.id from loci.segments s
      where s.instance_id = p_instance and s.database = p_database order by s.from_seq) then
    return 'moved';
  end if;
  if exists (select from loci.segments s where s.instance_id = p_instance and s.database = p_database and s.id = any (p_replaced)
      and s.format / 256 > any (array(select f / 256 from unnest(p_format) f))) then
    raise exception 'a segment of a newer release is not replaced by an older one';
  end if;
  v_head := loci.mem_replace_segments(v_head, p_replaced, p_from, p_through, p_items, p_format, p_body, p_digest);
  v_head.mem_indexed_through := p_new_through;
  v_head.mem_indexed_at := p_at;
  v_head.mem_tail := (select coalesce(sum(loci.mem_tail_weight(r.body)), 0) from loci.records r where r.instance_id = p_instance
      and r.database = p_database and r.seq > p_new_through)
    + (select count(*) from loci.records r where r.instance_id = p_instance and r.database = p_database and r.changed_seq > p_at
      and r.changed_seq <> r.seq and r.seq <= p_new_through);
  -- Segments that were merged are written again.
  perform loci.mem_save_head(v_entered.head, v_head, null, (select coalesce(sum(octet_length(b)), 0) * 3 / 4 from unnest(p_body) b));
  -- A tail of which nothing was built is what ended in segments of a newer release: it waits for that.
  if (v_head.mem_tail >= loci.mem_tail_max() and cardinality(p_from) > 0) or exists (select from loci.segments s
      where s.instance_id = p_instance and s.database = p_database and s.format = 0) then
    update loci.due d set at = clock_timestamp() where d.instance_id = p_instance and d.database = p_database and d.kind = 'index';
  else
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'index';
    -- What came while it was built.
    perform loci.mem_put_index(p_instance, p_database, 0, v_head.mem_tail);
  end if;
  return 'done';
end
$$;

-- Says that a segment cannot be used, so that it is built again from the records. Called by dropSegments(). Locks: the
-- head, rows, the due row.
create or replace function loci.mem_drop_segments(p_instance text, p_database text, p_ids bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) = 'open' then
    update loci.segments s set format = 0 where s.instance_id = p_instance and s.database = p_database and s.id = any (p_ids);
    perform loci.put_due(p_instance, p_database, 'index', clock_timestamp());
  end if;
end
$$;

-- Where the record p_id stands, for its erasure, with at most p_limit others that say the same: their numbers, its own
-- first, the HMAC of its value, and the segments that cover them, as of the database's number `read`. p_value: at most
-- p_limit of those that have this value and a number up to p_to. Neither: of those whose time is over, at most p_limit,
-- and only those beside the first in its segment or in none: an erasure writes each segment anew, and must fit into a
-- statement however many there are. A record that does not fit its digest is not believed to have expired, nor to say
-- what others do. Called by findPlaces(). No locks. Cost: the rows of a segment.
create or replace function loci.mem_places(p_instance text, p_database text, p_id text, p_limit int, p_value bytea default null,
  p_to bigint default null, out seqs bigint[], out segments text, out read bigint, out mac bytea)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_first bigint;
  v_from bigint;
  v_through bigint;
  v_record loci.records;
  v_is_intact boolean;
begin
  perform set_config('loci.instance', p_instance, true);
  read := (select h.seq from loci.databases h where h.instance_id = p_instance and h.name = p_database);
  if p_value is not null then
    seqs := array(select e.seq from (
      select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database and r.value_mac = p_value
        and r.valid_to is null and r.seq <= p_to
      union all select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database and r.value_mac = p_value
        and r.valid_to is not null and r.seq <= p_to) e limit p_limit);
  elsif p_id is null then
    select r.seq into v_first from loci.records r where r.instance_id = p_instance and r.database = p_database and r.expires_at <= v_now
      and loci.record_is_intact(r, p_instance, p_database) order by r.expires_at limit 1;
    seqs := '{}'; segments := '[]';
    if not found then
      return;
    end if;
    select coalesce(max(s.from_seq) filter (where s.through_seq >= v_first), max(s.through_seq) + 1, 0) into v_from
      from loci.segments s where s.instance_id = p_instance and s.database = p_database and s.from_seq <= v_first;
    select coalesce(min(s.through_seq) filter (where s.from_seq <= v_first), min(s.from_seq) - 1, 9007199254740991) into v_through
      from loci.segments s where s.instance_id = p_instance and s.database = p_database and s.through_seq >= v_first;
    seqs := array(select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.seq between v_from and v_through and r.expires_at <= v_now and loci.record_is_intact(r, p_instance, p_database)
      order by r.seq limit p_limit);
  else
    select * into v_record from loci.records r where r.instance_id = p_instance and r.database = p_database and r.id = p_id;
    v_is_intact := loci.record_is_intact(v_record, p_instance, p_database); mac := v_record.value_mac;
    seqs := case when v_record.seq is not null and (loci.record_is_there(v_record, v_now) or not v_is_intact)
      then array[v_record.seq] else '{}' end;
    if seqs <> '{}' and v_is_intact then
      -- In two, for each has its index.
      seqs := seqs || array(select e.seq from (
        select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database and r.value_mac = v_record.value_mac
          and r.valid_to is null
        union all select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database and r.value_mac = v_record.value_mac
          and r.valid_to is not null) e where e.seq <> v_record.seq limit p_limit);
    end if;
  end if;
  select coalesce(json_agg(loci.segment_listed(s) order by s.from_seq)::text, '[]') into segments
    from loci.segments s where s.instance_id = p_instance and s.database = p_database
      and exists (select from unnest(seqs) q where q between s.from_seq and s.through_seq);
end
$$;

-- Removes records, and puts the segments without them in the place of those that cover them: moved, when one of them is
-- covered by another segment by now, or the same was said again behind the number p_read. p_why: erased (their value
-- leaves a tombstone, and a row of the deletion ledger), replayed (mem_replay has done that) or expired. outcome: done,
-- moved, or what enter_database() answered; ids, stored, content: of the records. Called by eraseRecords(). Locks: the
-- head, rows, the due row, totals; who calls appends audit and events.
create or replace function loci.mem_erase(p_instance text, p_database text, p_seqs bigint[], p_why text, p_replaced bigint[],
  p_from bigint[], p_through bigint[], p_items int[], p_format int[], p_body text[], p_digest text[], p_read bigint default null,
  out outcome text, out at timestamptz, out erased int, out segments int, out tombstone bytea, out events jsonb,
  out ids text[], out stored timestamptz[], out content text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entered record;
  v_head loci.databases;
  v_seq bigint;
  v_record loci.records;
  v_covering bigint[];
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  outcome := v_entered.outcome; at := date_trunc('milliseconds', clock_timestamp()); erased := 0; events := '[]';
  ids := '{}'; stored := '{}';
  if outcome <> 'open' then
    return;
  end if;
  v_head := v_entered.head;
  v_covering := array(select s.id from loci.segments s where s.instance_id = p_instance and s.database = p_database
    and exists (select from unnest(p_seqs) q where q between s.from_seq and s.through_seq) order by s.from_seq);
  if v_covering <> p_replaced or (p_why = 'erased' and exists (select from loci.records e
      where e.instance_id = p_instance and e.database = p_database and e.seq > p_read and e.value_mac = any (array(select r.value_mac
        from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq = any (p_seqs))))) then
    outcome := 'moved';
    return;
  end if;
  outcome := 'done'; segments := cardinality(p_replaced);
  foreach v_seq in array p_seqs loop
    delete from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq = v_seq returning * into v_record;
    continue when not found;
    erased := erased + 1; ids := ids || v_record.id; stored := stored || v_record.created_at;
    if loci.record_is_intact(v_record, p_instance, p_database) then
      content := v_record.body::json ->> 'content';
      v_head := loci.mem_unplace(loci.mem_count(v_head, v_record, -1), v_record.context);
    else
      v_head.mem_records := v_head.mem_records - 1;
      v_head.mem_unsettled := true;
    end if;
    v_head.mem_tail := greatest(0, v_head.mem_tail - case when v_seq > v_head.mem_indexed_through then loci.mem_tail_weight(v_record.body)
      else (v_record.changed_seq > v_head.mem_indexed_at and v_record.changed_seq <> v_seq)::int end);
    v_head.seq := v_head.seq + 1;
    v_head.mem_erased_at := v_head.seq;
    tombstone := case when p_why <> 'expired' then v_record.value_mac end;
    if p_why = 'erased' then
      insert into loci.tombstones (instance_id, database, value_mac, record_id, at) values (p_instance, p_database, tombstone, v_record.id, mem_erase.at)
        on conflict do nothing;
      v_head.mem_index_bytes := v_head.mem_index_bytes + case when found then 150 else 0 end;
    end if;
    events := events || loci.mem_event(p_database, case when p_why = 'expired' then 'expired' else 'erased' end, v_record.id, v_head.seq, null);
  end loop;
  if erased > 0 and p_why = 'erased' then
    perform loci.ledger_put(p_instance, p_database, tombstone, false, v_head.seq);
  end if;
  if erased > 0 then
    v_head := loci.mem_replace_segments(v_head, p_replaced, p_from, p_through, p_items, p_format, p_body, p_digest);
    -- A segment is written anew without what left it: as large as it was, for one record.
    perform loci.mem_save_head(v_entered.head, v_head, null, (select coalesce(sum(octet_length(b)), 0) * 3 / 4 from unnest(p_body) b));
    if 0 = any (p_format) then
      perform loci.put_due(p_instance, p_database, 'index', clock_timestamp());
    end if;
  end if;
end
$$;

-- What has expired of the records of a database and was not swept yet, as kv_expired: stops once both numbers are
-- reached. Called by kv_usage_within, which sets the context. Cost: one index entry and one row for each.
create or replace function loci.mem_expired(p_instance text, p_database text, p_now timestamptz, p_records bigint, p_bytes bigint,
  out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_bytes bigint;
begin
  keys := 0;
  bytes := 0;
  for v_bytes in select loci.record_bytes(r) from loci.records r
    where r.instance_id = p_instance and r.database = p_database and r.expires_at <= p_now
  loop
    keys := keys + 1;
    bytes := bytes + v_bytes;
    exit when keys >= p_records and bytes >= p_bytes;
  end loop;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  keys := 0;
  bytes := 0;
end
$$;

-- After a sweep: when the next record of a database expires, if one does. What is over its time and still there could
-- not be removed, and is left for ten minutes. Called by sweepingRecords(). Locks: the head, the due row.
create or replace function loci.mem_expiry_next(p_instance text, p_database text) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_next timestamptz;
begin
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) = 'open' then
    select min(r.expires_at) into v_next from loci.records r where r.instance_id = p_instance and r.database = p_database and r.expires_at is not null;
  end if;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'records';
  else
    update loci.due d set at = case when v_next <= clock_timestamp() then clock_timestamp() + interval '10 minutes' else v_next end
      where d.instance_id = p_instance and d.database = p_database and d.kind = 'records';
  end if;
end
$$;
