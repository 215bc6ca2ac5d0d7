-- What the consistency report reads of working memory.

-- The heads as working memory counts in them, and documents without a head. Called by listHeads(). No locks. Cost: one
-- read for each head. state: ok, headless, unreadable (name null: there may be more).
create or replace function loci.wm_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    return query select h.name, 'ok', h.seq, h.wm_slots, h.wm_bytes, h.wm_set_a::text, h.wm_set_b::text, h.wm_unsettled, h.wm_verified
      from loci.databases h where h.instance_id = p_instance order by h.name;
    if p_strays then
      return query select w.database, 'headless', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint
        from loci.working_memory w where w.instance_id = p_instance
          and not exists (select from loci.databases h where h.instance_id = p_instance and h.name = w.database);
    end if;
  exception when others then
    return query select null::text, 'unreadable', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint;
  end;
end
$$;

-- The document of a database, verified and summed up. uncounted: what is damaged and no slot of the sums: the document
-- around the slots, the configuration. A document that cannot be read is one damaged slot without a name. Called by
-- verifyChunk(). No locks. Cost: one hash for each slot.
create or replace function loci.wm_verify(p_instance text, p_database text,
  out rows int, out bytes bigint, out a text, out b text, out version_max bigint, out damaged_keys text[], out damaged_states text[],
  out damaged_a text, out damaged_b text, out expired int, out expired_bytes bigint, out uncounted text[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
declare
  v_doc loci.working_memory;
begin
  perform set_config('loci.instance', p_instance, true);
  uncounted := '{}';
  if not (select c.intact from loci.config_layers(p_instance, p_database, 'working-memory') c) then
    uncounted := array['config'];
  end if;
  begin
    select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database;
    select count(*) filter (where s.intact), coalesce(sum(octet_length(s.key) + octet_length(s.text) + octet_length(s.meta))
        filter (where s.intact), 0), coalesce(bit_xor(loci.digest_part(s.digest, 1)) filter (where s.intact), 0),
        coalesce(bit_xor(loci.digest_part(s.digest, 9)) filter (where s.intact), 0), coalesce(max(s.version) filter (where s.intact), 0),
        coalesce(array_agg(s.key) filter (where not s.intact), '{}'), coalesce(array_agg('digest_mismatch'::text) filter (where not s.intact), '{}'),
        coalesce(bit_xor(loci.digest_part(s.digest, 1)) filter (where not s.intact and octet_length(s.digest) = 32), 0),
        coalesce(bit_xor(loci.digest_part(s.digest, 9)) filter (where not s.intact and octet_length(s.digest) = 32), 0),
        count(*) filter (where s.intact and s.expires <= clock_timestamp()),
        coalesce(sum(octet_length(s.key) + octet_length(s.text) + octet_length(s.meta)) filter (where s.intact and s.expires <= clock_timestamp()), 0)
      into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, expired, expired_bytes
      from loci.wm_slots(v_doc) s;
    if v_doc.version is not null and cardinality(damaged_keys) = 0 and v_doc.digest is distinct from loci.wm_digest(v_doc) then
      uncounted := uncounted || 'document'::text;
    end if;
  exception when others then
    rows := 0; bytes := 0; a := 0; b := 0; version_max := 0; damaged_keys := array[null::text]; damaged_states := array['page_unreadable'];
    damaged_a := 0; damaged_b := 0; expired := 0; expired_bytes := 0;
  end;
end
$$;

-- A page of what working memory has appended in a database, verified: versions of slots, then evictions. p_after: null,
-- or what goes on. Called by verifyChunk(), after the document. No locks. Cost: one index range, every row in full.
create or replace function loci.wm_verify_history(p_instance text, p_database text, p_after text, p_limit int,
  out rows int, out uncounted text[], out go_on_after text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_seq bigint := nullif(split_part(p_after, E'\x1f', 2), '');
  v_key text := split_part(p_after, E'\x1f', 3);
begin
  perform set_config('loci.instance', p_instance, true);
  if p_after is null or p_after like 'v%' then
    with page as (select v.key, v.version, loci.slot_is_intact(p_instance, p_database, v.key, v.text, v.version, v.expires, v.meta, v.digest) as intact
      from loci.slot_versions v where v.instance_id = p_instance and v.database = p_database
        and (v.key, v.version) > (coalesce(v_key, ''), coalesce(v_seq, 0)) order by v.key, v.version limit p_limit)
    select count(*), coalesce(array_agg('history of ' || p.key) filter (where not p.intact), '{}'),
      case when count(*) >= p_limit then (select 'v' || E'\x1f' || l.version || E'\x1f' || l.key from page l order by l.key desc, l.version desc limit 1)
        else 'e' end into rows, uncounted, go_on_after from page p;
    return;
  end if;
  with page as (select e.seq, e.key, coalesce(e.digest = loci.eviction_digest(p_instance, p_database, e.seq, e.at, e.key, e.version, e.why), false) as intact
    from loci.evictions e where e.instance_id = p_instance and e.database = p_database and e.seq > coalesce(v_seq, 0) order by e.seq limit p_limit)
  select count(*), coalesce(array_agg('eviction of ' || p.key) filter (where not p.intact), '{}'),
    case when count(*) >= p_limit then 'e' || E'\x1f' || max(p.seq) end into rows, uncounted, go_on_after from page p;
end
$$;
