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
      from loci.databases h where h.instance_id = p_instance and h.erasing_since is null order by h.name;
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
-- around the slots, the configuration, also where it vanished or came back older. A document that cannot be read is one
-- damaged slot without a name. Called by verifyChunk(). No locks. Cost: one hash for each slot.
create or replace function loci.wm_verify(p_instance text, p_database text,
  out rows int, out bytes bigint, out a text, out b text, out version_max bigint, out damaged_keys text[], out damaged_states text[],
  out damaged_a text, out damaged_b text, out expired int, out expired_bytes bigint, out uncounted text[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
declare
  v_doc loci.working_memory;
begin
  perform set_config('loci.instance', p_instance, true);
  uncounted := '{}';
  -- Version 0: none is stored. Without a head there is nothing to compare it with.
  if exists (select from loci.config_layers(p_instance, p_database, 'working-memory') c
      left join loci.databases h on h.instance_id = p_instance and h.name = p_database
      where not c.intact or (h.name is not null and c.version <> coalesce(h.wm_config, 0))) then
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
-- or what goes on. bytes: of the pages so far, as the document counts them. counted: with the last page, what the
-- document counted, by which a row that vanished is found; null where the two cannot be compared: the document was
-- written or a week of history was dropped since the first page, or something is damaged. Called by verifyChunk(),
-- after the document. No locks. Cost: one index range, every row in full.
create or replace function loci.wm_verify_appended(p_instance text, p_database text, p_after text, p_limit int,
  out uncounted text[], out bytes bigint, out counted bigint, out go_on_after text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  -- Kind, number, bytes so far, mark, key.
  v_after text[] := string_to_array(p_after, E'\x1f');
  v_seq bigint := coalesce(nullif(v_after[2], '')::bigint, 0);
  v_kept date := date_trunc('week', now() at time zone 'UTC' - interval '30 days');
  v_mark text;
  v_more bigint;
  v_rows int;
  v_last_seq bigint;
  v_last_key text;
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    select w.version || ' ' || v_kept, (select coalesce(sum(k.b), 0) from unnest(w.weeks, w.week_bytes) as k(d, b) where k.d >= v_kept)
      into v_mark, counted from loci.working_memory w where w.instance_id = p_instance and w.database = p_database;
  exception when others then
    v_mark := null;
  end;
  if coalesce(v_after[1], 'v') = 'v' then
    with page as (select v.key, v.version as seq, loci.slot_is_intact(p_instance, p_database, v.key, v.text, v.version, v.expires, v.meta, v.digest) as intact,
        case when v.at >= v_kept::timestamp at time zone 'UTC' then 150 + 2 * octet_length(v.key) + octet_length(v.text) + octet_length(v.meta) end as size
      from loci.slot_versions v where v.instance_id = p_instance and v.database = p_database
        and (v.key, v.version) > (coalesce(array_to_string(v_after[5:], E'\x1f'), ''), v_seq) order by v.key, v.version limit p_limit)
    select count(*), coalesce(array_agg('history of ' || p.key) filter (where not p.intact), '{}'), coalesce(sum(p.size), 0),
        (array_agg(p.seq order by p.key desc, p.seq desc))[1], max(p.key)
      into v_rows, uncounted, v_more, v_last_seq, v_last_key from page p;
  else
    with page as (select e.key, e.seq, coalesce(e.digest = loci.eviction_digest(p_instance, p_database, e.seq, e.at, e.key, e.version, e.why), false) as intact,
        case when e.at >= v_kept::timestamp at time zone 'UTC' then 150 + 2 * octet_length(e.key) + octet_length(e.why) end as size
      from loci.evictions e where e.instance_id = p_instance and e.database = p_database and e.seq > v_seq order by e.seq limit p_limit)
    select count(*), coalesce(array_agg('eviction of ' || p.key) filter (where not p.intact), '{}'), coalesce(sum(p.size), 0),
        max(p.seq)
      into v_rows, uncounted, v_more, v_last_seq from page p;
  end if;
  bytes := coalesce(v_after[3]::bigint, 0) + v_more;
  if cardinality(uncounted) > 0 or v_mark is distinct from coalesce(v_after[4], v_mark) then
    v_mark := null;
  end if;
  if v_rows >= p_limit then
    go_on_after := concat_ws(E'\x1f', coalesce(v_after[1], 'v'), v_last_seq, bytes, coalesce(v_mark, ''), v_last_key);
  elsif coalesce(v_after[1], 'v') = 'v' then
    go_on_after := concat_ws(E'\x1f', 'e', 0, bytes, coalesce(v_mark, ''));
  end if;
  if go_on_after is not null or v_mark is null then
    counted := null;
  end if;
end
$$;
