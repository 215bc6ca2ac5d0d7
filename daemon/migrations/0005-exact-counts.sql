-- serves: 0004

-- Counts that are exact between an expiry and its sweep. `stable`: every statement inside sees the snapshot of the call. With a
-- snapshot each, a sweep that committed between the head and the count of what has expired made the entry count as a key again.

-- What has expired in a database and was not swept yet, read from entries_expiring. Stops once both numbers are reached; null = never.
-- Called by kv_databases and kv_usage_within, which set the context. Cost: one index entry and one row for each that is counted.
create function loci.kv_expired(p_instance text, p_database text, p_now timestamptz, p_keys bigint, p_bytes bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_bytes int;
begin
  keys := 0; bytes := 0;
  if p_keys is null then
    select count(*), coalesce(sum(octet_length(e.key) + octet_length(e.value)), 0) into keys, bytes
    from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now;
    return;
  end if;
  for v_bytes in
    select octet_length(e.key) + octet_length(e.value) from loci.entries e
    where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now
  loop
    keys := keys + 1; bytes := bytes + v_bytes;
    exit when keys >= p_keys and bytes >= p_bytes;
  end loop;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  keys := 0; bytes := 0; -- Damage is the consistency report's to tell; here the counters stand as they are.
end
$$;

-- The databases of an instance as its owner counts them: what has expired and was not swept yet is not there any more.
-- next_expiry_at is never later than the first expiry, so nothing is looked for while it lies ahead.
create or replace function loci.kv_databases(p_instance text, p_limit int) returns table (name text, keys bigint, bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  gone record;
  v_now timestamptz := clock_timestamp();
  is_due boolean;
begin
  perform set_config('loci.instance', p_instance, true);
  is_due := exists (select from loci.instances i where i.id = p_instance and i.next_expiry_at <= v_now);
  for name, keys, bytes in select h.name, h.keys, h.bytes from loci.databases h where h.instance_id = p_instance order by h.name limit p_limit loop
    if is_due then
      select x.keys, x.bytes into gone from loci.kv_expired(p_instance, name, v_now, null, null) x;
      keys := keys - gone.keys; bytes := bytes - gone.bytes;
    end if;
    keys := least(greatest(keys, 0), 9007199254740991); bytes := least(greatest(bytes, 0), 9007199254740991);
    return next;
  end loop;
end
$$;

-- What an instance holds, for its quota. Expired entries are taken off only where the sum is over one of the two numbers, and only
-- until it is not: far below its quota an instance costs the sum of its heads, and over it no more rows than it is over.
create function loci.kv_usage_within(p_instance text, p_keys_max bigint, p_bytes_max bigint, out databases bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_name text;
  gone record;
begin
  select u.databases, u.keys, u.bytes into databases, keys, bytes from loci.kv_usage(p_instance) u;
  if (keys <= p_keys_max and bytes <= p_bytes_max)
    or not exists (select from loci.instances i where i.id = p_instance and i.next_expiry_at <= v_now) then
    return;
  end if;
  for v_name in select h.name from loci.databases h where h.instance_id = p_instance loop
    select x.keys, x.bytes into gone from loci.kv_expired(p_instance, v_name, v_now, keys - p_keys_max, bytes - p_bytes_max) x;
    keys := greatest(keys - gone.keys, 0); bytes := greatest(bytes - gone.bytes, 0);
    exit when keys <= p_keys_max and bytes <= p_bytes_max;
  end loop;
end
$$;

-- Only reads; stable, so that kv_usage_within sees one snapshot.
alter function loci.kv_usage(text) stable;

-- kv_verify, with the bytes of what has expired: those rows are verified and belong to the sums of the head until they are swept, and
-- are not counted to the owner. A chunk of one database, verified and summed up. When it is full it ends at its last good entry: the
-- key of a damaged one may be what rotted, and a check that goes on behind it would leave out what lies between.
create function loci.kv_verify_chunk(p_instance text, p_database text, p_after text, p_limit int, p_ms int, p_known text[],
  out rows int, out bytes bigint, out a text, out b text, out version_max bigint, out go_on_after text, out damaged_keys text[], out damaged_states text[],
  out damaged_a text, out damaged_b text, out expired int, out expired_bytes bigint, out expired_visible int)
language plpgsql as $$
declare
  walked loci.walked[];
  stopped text;
  is_full boolean;
  last_good int;
begin
  walked := array(select w from loci.kv_walk(p_instance, p_database, '', p_after, p_limit, p_ms, p_known) w);
  stopped := (select w.key from unnest(walked) w where w.state = 'stopped');
  is_full := stopped is null and cardinality(walked) >= p_limit;
  last_good := (select max(w.n) from unnest(walked) with ordinality as w(key, state, bytes, is_expired, a, b, version, n) where w.state = 'ok');
  if is_full and last_good is not null then
    walked := walked[:last_good];
  end if;
  go_on_after := coalesce(stopped, case when is_full then walked[cardinality(walked)].key end);
  select count(*) filter (where w.state = 'ok'), coalesce(sum(w.bytes), 0), coalesce(bit_xor(w.a) filter (where w.state = 'ok'), 0), coalesce(bit_xor(w.b) filter (where w.state = 'ok'), 0),
      coalesce(max(w.version), 0), coalesce(array_agg(w.key) filter (where w.state <> 'ok'), '{}'), coalesce(array_agg(w.state) filter (where w.state <> 'ok'), '{}'),
      coalesce(bit_xor(w.a) filter (where w.state <> 'ok'), 0), coalesce(bit_xor(w.b) filter (where w.state <> 'ok'), 0),
      count(*) filter (where w.is_expired), coalesce(sum(w.bytes) filter (where w.is_expired), 0)
    into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, expired, expired_bytes
  from unnest(walked) w where w.state <> 'stopped';
  expired_visible := (select count(*) from unnest(walked) w, lateral loci.kv_get(p_instance, p_database, w.key) g where w.is_expired and g.intact);
end
$$;

-- For the previous release.
create or replace function loci.kv_verify(p_instance text, p_database text, p_after text, p_limit int, p_ms int, p_known text[],
  out rows int, out bytes bigint, out a text, out b text, out version_max bigint, out go_on_after text,
  out damaged_keys text[], out damaged_states text[], out damaged_a text, out damaged_b text, out expired int, out expired_visible int)
language sql as $$
  select c.rows, c.bytes, c.a, c.b, c.version_max, c.go_on_after, c.damaged_keys, c.damaged_states, c.damaged_a, c.damaged_b, c.expired, c.expired_visible
  from loci.kv_verify_chunk(p_instance, p_database, p_after, p_limit, p_ms, p_known) c
$$;

-- Removes what has expired, a bounded number at a time, and says when to come again. An entry that does not fit its digest stays: its
-- expiry may be what rotted. What can not be read is left for later and does not keep the sweeper from the rest.
-- Called by the sweeper of every replica. Locks: the heads of databases with something expired, by name, then the instance's row.
-- Cost: two reads for each entry removed. They are deleted one by one, because a join of the batch with the table was planned as
-- 500 times the database before its first analyze (7 s for 500 of 2,200 entries: longer than a statement may take, so it never ended).
create or replace function loci.kv_expire(p_instance text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_name text;
  old record;
  sums record;
  removed int := 0;
  again timestamptz;
  -- A variable, because clock_timestamp() itself is never a condition on an index: each sweep would read all that expires some day.
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('loci.instance', p_instance, true);
  for v_name in
    select h.name from loci.databases h where h.instance_id = p_instance
      and exists (select from loci.entries e where e.instance_id = p_instance and e.database = h.name and e.expires_at <= v_now)
    order by h.name for update of h
  loop
    begin
      select 0 as keys, 0::bigint as bytes, 0::bigint as a, 0::bigint as b into sums;
      for old in
        select x.key, octet_length(x.key) + octet_length(x.value) as bytes, loci.digest_part(x.digest, 1) as a, loci.digest_part(x.digest, 9) as b
        from loci.entries x where x.instance_id = p_instance and x.database = v_name and x.expires_at <= v_now
          and loci.is_intact(x, p_instance, v_name) limit p_limit - removed
      loop
        delete from loci.entries e where e.instance_id = p_instance and e.database = v_name and e.key = old.key;
        sums.keys := sums.keys + 1; sums.bytes := sums.bytes + old.bytes; sums.a := sums.a # old.a; sums.b := sums.b # old.b;
      end loop;
      if sums.keys > 0 then
        update loci.databases h set keys = h.keys - sums.keys, bytes = h.bytes - sums.bytes, set_hash_a = h.set_hash_a # sums.a, set_hash_b = h.set_hash_b # sums.b, seq = h.seq + 1
        where h.instance_id = p_instance and h.name = v_name;
        removed := removed + sums.keys;
      end if;
    exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
      again := clock_timestamp() + interval '10 minutes';
    end;
    exit when removed >= p_limit;
  end loop;
  -- Before looking for the next one: a writer that makes an earlier one meanwhile must not be overwritten.
  perform 1 from loci.instances n where n.id = p_instance for update;
  begin
    -- The first of each database, from its index. When there was more than the limit, the next sweep is due at once.
    select least(again, case when removed >= p_limit then v_now end, min(soonest.at)) into again
    from loci.databases h, lateral (
      select e.expires_at as at from loci.entries e
      where e.instance_id = p_instance and e.database = h.name and e.expires_at > v_now order by e.expires_at limit 1
    ) soonest
    where h.instance_id = p_instance;
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
    again := clock_timestamp() + interval '10 minutes';
  end;
  update loci.instances n set next_expiry_at = again where n.id = p_instance;
  return removed;
end
$$;
