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

-- Every database that has a head or entries; state: ok, headless (entries, but no head), unreadable (name null: heads
-- or entries could not be read to the end, so there may be more). Between two neighbouring heads the index is empty, so
-- looking for entries without a head reads no row of a database that has one.
create or replace function loci.kv_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  heads loci.databases[] := '{}';
  head loci.databases;
  v_name text;
  i int;
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    heads := array(select h from loci.databases h where h.instance_id = p_instance order by h.name);
  exception when others then
    state := 'unreadable';
    return next;
  end;
  foreach head in array heads loop
    name := head.name; state := 'ok'; seq := head.seq; keys := head.keys; bytes := head.bytes; a := head.set_hash_a; b := head.set_hash_b; unsettled := head.unsettled;
    verified_seq := (select v.seq from loci.verified v where v.instance_id = p_instance and v.database = head.name);
    return next;
  end loop;
  -- One look into the index for each head: beyond this many it would take too long.
  if not p_strays or cardinality(heads) > 5000 then
    return;
  end if;
  seq := 0; keys := 0; bytes := 0; a := 0; b := 0; unsettled := false; verified_seq := null;
  for i in 0 .. cardinality(heads) loop
    begin
      v_name := case when i > 0 then heads[i].name else '' end;
      loop
        select e.database into v_name from loci.entries e
        where e.instance_id = p_instance and e.database > v_name and (i = cardinality(heads) or e.database < heads[i + 1].name)
        order by e.database, e.key limit 1;
        exit when not found;
        name := v_name; state := 'headless';
        return next;
      end loop;
    exception when others then
      name := null; state := 'unreadable';
      return next;
    end;
  end loop;
end
$$;

-- Looks at the instance's rows with the eyes of another instance, table by table: whatever is seen is a hole in the
-- wall.
create or replace function loci.kv_boundary(p_instance text, out checked int, out failed int)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_table text;
  is_seen boolean;
begin
  checked := 0; failed := 0;
  foreach v_table in array array['databases', 'entries', 'idempotency', 'probes', 'verified'] loop
    perform set_config('loci.instance', 'svc_of_somebody_else', true);
    execute format('select exists (select from loci.%I where instance_id = $1)', v_table) into is_seen using p_instance;
    checked := checked + 1;
    failed := failed + is_seen::int;
  end loop;
  perform set_config('loci.instance', p_instance, true);
end
$$;

-- A chunk of one database, verified and summed up. When it is full it ends at its last good entry: the key of a damaged
-- one may be what rotted, and a check that goes on behind it would leave out what lies between. What has expired is
-- verified and belongs to the sums of the head until it is swept, and is not counted to the owner. Called by
-- verifyChunk(). No locks. Cost: kv_walk.
create or replace function loci.kv_verify_chunk(p_instance text, p_database text, p_after text, p_limit int, p_ms int, p_known text[],
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
