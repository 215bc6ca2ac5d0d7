-- What the consistency report reads of memory.

-- The heads as memory counts in them, and databases of records without a head. Called by listHeads(). No locks. Cost:
-- one read for each head; strays: one look into an index for each database with records. state: ok, headless,
-- unreadable (name null: there may be more).
create or replace function loci.mem_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_name text := '';
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    return query select h.name, 'ok', h.seq, h.mem_records, h.mem_bytes, h.mem_set_a::text, h.mem_set_b::text, h.mem_unsettled, h.mem_verified
      from loci.databases h where h.instance_id = p_instance and h.erasing_since is null order by h.name;
    while p_strays loop
      select r.database into v_name from loci.records r where r.instance_id = p_instance and r.database > v_name order by r.database limit 1;
      exit when not found;
      return query select v_name, 'headless', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint
        where not exists (select from loci.databases h where h.instance_id = p_instance and h.name = v_name);
    end loop;
  exception when others then
    return query select null::text, 'unreadable', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint;
  end;
end
$$;

-- The records numbered p_from to p_through, at most p_limit, each with what is wrong with it. A range that cannot be
-- read is halved until the rows that are at fault stand alone; a number without a row costs one look into the index.
-- Called by itself and mem_verify. No locks. Cost: one hash for each row.
create or replace function loci.mem_walk(p_instance text, p_database text, p_from bigint, p_through bigint, p_limit int)
returns table (seq bigint, id text, state text, bytes bigint, is_expired boolean, is_visible boolean, is_forgotten boolean, a bigint, b bigint, version bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_records loci.records[];
  v_middle bigint := p_from + (p_through - p_from) / 2;
  v_count int;
begin
  begin
    -- Every column is looked at here, inside of the block that catches what cannot be read.
    v_records := array(select r from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.seq between p_from and p_through and loci.record_is_intact(r, p_instance, p_database) is not null order by r.seq limit p_limit);
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_from >= p_through then
      return query select p_from, null::text, 'page_unreadable', 0::bigint, false, false, false, 0::bigint, 0::bigint, 0::bigint;
      return;
    end if;
    return query select * from loci.mem_walk(p_instance, p_database, p_from, v_middle, p_limit);
    get diagnostics v_count = row_count;
    if v_count < p_limit then
      return query select * from loci.mem_walk(p_instance, p_database, v_middle + 1, p_through, p_limit - v_count);
    end if;
    return;
  end;
  return query select r.seq, case when octet_length(r.id) between 1 and 100 then r.id || '' end,
      case when i.intact then 'ok' else 'digest_mismatch' end, case when i.intact then loci.record_bytes(r) else 0 end,
      i.intact and coalesce(r.expires_at <= clock_timestamp(), false),
      i.intact and coalesce(r.expires_at <= clock_timestamp(), false) and loci.record_is_there(r, clock_timestamp()),
      i.intact and exists (select from loci.tombstones t where t.instance_id = p_instance and t.database = p_database and t.value_mac = r.value_mac),
      case when octet_length(r.digest) = 32 then loci.digest_part(r.digest, 1) else 0 end,
      case when octet_length(r.digest) = 32 then loci.digest_part(r.digest, 9) else 0 end, case when i.intact then r.changed_seq else 0 end
    from unnest(v_records) r, lateral (select loci.record_is_intact(r, p_instance, p_database) as intact) i;
end
$$;

-- A part of a database, verified and summed up, behind the number p_after. forgotten: refs of records whose value is
-- under a tombstone. Called by verifyChunk(). No locks. Cost: one hash for each record.
create or replace function loci.mem_verify(p_instance text, p_database text, p_after bigint, p_limit int,
  out rows int, out bytes bigint, out a text, out b text, out version_max text, out damaged_keys text[], out damaged_states text[],
  out damaged_a text, out damaged_b text, out expired int, out expired_bytes bigint, out expired_visible int, out forgotten text[],
  out go_on_after text)
language plpgsql as $$
declare
  v_through bigint;
begin
  perform set_config('loci.instance', p_instance, true);
  v_through := coalesce((select h.seq from loci.databases h where h.instance_id = p_instance and h.name = p_database), 9007199254740991);
  select count(*) filter (where w.state = 'ok'), coalesce(sum(w.bytes), 0), coalesce(bit_xor(w.a) filter (where w.state = 'ok'), 0)::text,
      coalesce(bit_xor(w.b) filter (where w.state = 'ok'), 0)::text, coalesce(max(w.version), 0)::text,
      coalesce(array_agg(w.id order by w.seq) filter (where w.state <> 'ok'), '{}'),
      coalesce(array_agg(w.state order by w.seq) filter (where w.state <> 'ok'), '{}'),
      coalesce(bit_xor(w.a) filter (where w.state <> 'ok'), 0)::text, coalesce(bit_xor(w.b) filter (where w.state <> 'ok'), 0)::text,
      count(*) filter (where w.is_expired), coalesce(sum(w.bytes) filter (where w.is_expired), 0), count(*) filter (where w.is_visible),
      coalesce(array_agg(w.id) filter (where w.is_forgotten), '{}'), case when count(*) >= p_limit then max(w.seq)::text end
    into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, expired, expired_bytes, expired_visible, forgotten, go_on_after
    from loci.mem_walk(p_instance, p_database, p_after + 1, v_through, p_limit) w;
end
$$;

-- The segments of a database that do not fit their digests; one that was found so and is to be built again is none.
-- Called by verifyChunk(), after the records. No locks. Cost: one hash over each.
create or replace function loci.mem_verify_segments(p_instance text, p_database text) returns text[]
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
declare
  v_id bigint;
  v_is_intact boolean;
  v_damaged text[] := '{}';
begin
  perform set_config('loci.instance', p_instance, true);
  for v_id in select s.id from loci.segments s where s.instance_id = p_instance and s.database = p_database and s.format <> 0 order by s.id loop
    begin
      select s.digest = loci.segment_digest(s) into v_is_intact from loci.segments s
        where s.instance_id = p_instance and s.database = p_database and s.id = v_id;
    exception when others then
      v_is_intact := false;
    end;
    if not coalesce(v_is_intact, false) then
      v_damaged := v_damaged || ('segment ' || v_id);
    end if;
  end loop;
  return v_damaged;
end
$$;

-- How many values of a database are not to be learned again. Called by verifyChunk(), after the records. No locks.
create or replace function loci.mem_count_tombstones(p_instance text, p_database text) returns int language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return (select count(*) from loci.tombstones t where t.instance_id = p_instance and t.database = p_database);
end
$$;

-- The parts of the index that no segment covers, up to where the head says that it ends. Called by verifyChunk(), after
-- the records. No locks. Cost: one look at each segment, in one statement: head and segments of the same moment.
create or replace function loci.mem_index_gaps(p_instance text, p_database text) returns text[]
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return array(select format('segment of %s to %s', g.covered + 1, g.from_seq - 1) from (
      select s.from_seq, coalesce(max(s.through_seq) over (order by s.from_seq rows between unbounded preceding and 1 preceding), 0) as covered
      from (select s.from_seq, s.through_seq from loci.segments s where s.instance_id = p_instance and s.database = p_database
        union all select h.mem_indexed_through + 1, h.mem_indexed_through + 1 from loci.databases h
          where h.instance_id = p_instance and h.name = p_database) s) g
    where g.from_seq > g.covered + 1 order by g.from_seq);
end
$$;
