-- The databases of an instance as its owner counts them: what has expired and was not swept yet is not there any more.
-- Nothing is looked for where no expiry is due; a claim of the worker has moved a due time up to 5 s ahead. `stable`:
-- one snapshot for head and count. Called by listDatabases(). No locks. Cost: one read for each head, and one for each
-- expired entry.
create or replace function loci.kv_databases(p_instance text, p_limit int)
returns table (name text, keys bigint, bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_is_due boolean;
  v_gone record;
begin
  perform set_config('loci.instance', p_instance, true);
  for name, keys, bytes, v_is_due in
    -- A value and no `exists`: of that the planner may read what is due of every instance, once, into a hash.
    select h.name, h.kv_keys, h.kv_bytes, coalesce((select d.at <= v_now + interval '5 seconds' from loci.due d
      where d.instance_id = p_instance and d.database = h.name and d.kind = 'expiry'), false)
    from loci.databases h where h.instance_id = p_instance and h.erasing_since is null order by h.name limit p_limit
  loop
    if v_is_due then
      select x.keys, x.bytes into v_gone from loci.kv_expired(p_instance, name, v_now, null, null) x;
      keys := keys - v_gone.keys;
      bytes := bytes - v_gone.bytes;
    end if;
    keys := least(greatest(keys, 0), 9007199254740991);
    bytes := least(greatest(bytes, 0), 9007199254740991);
    return next;
  end loop;
end
$$;

-- Every database that has a head or entries. Called by listHeads(). No locks. Cost: one read for each head. state: ok,
-- headless (entries, but no head), unreadable (name null: heads or entries could not be read to the end, so there may
-- be more). Between two neighbouring heads the index is empty, so looking for entries without a head reads no row of a
-- database that has one.
create or replace function loci.kv_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean,
  verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_heads loci.databases[] := '{}';
  v_head loci.databases;
  v_name text;
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    v_heads := array(select h from loci.databases h where h.instance_id = p_instance order by h.name);
  exception when others then
    state := 'unreadable';
    return next;
  end;
  foreach v_head in array v_heads loop
    continue when v_head.erasing_since is not null;
    name := v_head.name; state := 'ok'; seq := v_head.seq; keys := v_head.kv_keys; bytes := v_head.kv_bytes;
    a := v_head.kv_set_a; b := v_head.kv_set_b; unsettled := v_head.kv_unsettled;
    verified_seq := (select v.seq from loci.verified v where v.instance_id = p_instance and v.database = v_head.name);
    return next;
  end loop;
  -- One look into the index for each head: beyond this many it would take too long.
  if not p_strays or cardinality(v_heads) > 5000 then
    return;
  end if;
  seq := 0; keys := 0; bytes := 0; a := 0; b := 0; unsettled := false; verified_seq := null;
  for i in 0 .. cardinality(v_heads) loop
    begin
      v_name := case when i > 0 then v_heads[i].name else '' end;
      loop
        select e.database into v_name from loci.entries e
        where e.instance_id = p_instance and e.database > v_name
          and (i = cardinality(v_heads) or e.database < v_heads[i + 1].name)
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

-- A chunk of one database, verified and summed up. When it is full it ends at its last good entry: the key of a damaged
-- one may be what rotted, and a check that goes on behind it would leave out what lies between. What has expired is
-- verified and belongs to the sums of the head until it is swept, and is not counted to the owner. Called by
-- verifyChunk(). No locks. Cost: kv_walk.
create or replace function loci.kv_verify_chunk(p_instance text, p_database text, p_after text, p_limit int, p_ms int,
  p_known text[],
  out rows int, out bytes bigint, out a text, out b text, out version_max bigint, out go_on_after text,
  out damaged_keys text[], out damaged_states text[], out damaged_a text, out damaged_b text,
  out expired int, out expired_bytes bigint, out expired_visible int)
language plpgsql as $$
declare
  v_walked loci.walked[];
  v_stopped text;
  v_is_full boolean;
  v_last_good int;
begin
  v_walked := array(select w from loci.kv_walk(p_instance, p_database, '', p_after, p_limit, p_ms, p_known) w);
  v_stopped := (select w.key from unnest(v_walked) w where w.state = 'stopped');
  v_is_full := v_stopped is null and cardinality(v_walked) >= p_limit;
  v_last_good := (select max(w.n)
    from unnest(v_walked) with ordinality as w(key, state, bytes, is_expired, a, b, version, n) where w.state = 'ok');
  if v_is_full and v_last_good is not null then
    v_walked := v_walked[:v_last_good];
  end if;
  go_on_after := coalesce(v_stopped, case when v_is_full then v_walked[cardinality(v_walked)].key end);
  select count(*) filter (where w.state = 'ok'), coalesce(sum(w.bytes), 0),
      coalesce(bit_xor(w.a) filter (where w.state = 'ok'), 0), coalesce(bit_xor(w.b) filter (where w.state = 'ok'), 0),
      coalesce(max(w.version), 0), coalesce(array_agg(w.key) filter (where w.state <> 'ok'), '{}'),
      coalesce(array_agg(w.state) filter (where w.state <> 'ok'), '{}'),
      coalesce(bit_xor(w.a) filter (where w.state <> 'ok'), 0),
      coalesce(bit_xor(w.b) filter (where w.state <> 'ok'), 0),
      count(*) filter (where w.is_expired), coalesce(sum(w.bytes) filter (where w.is_expired), 0)
    into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, expired, expired_bytes
  from unnest(v_walked) w where w.state <> 'stopped';
  expired_visible := (select count(*) from unnest(v_walked) w, lateral loci.kv_get(p_instance, p_database, w.key) g
    where w.is_expired and g.intact);
end
$$;
