-- What the consistency report reads of projections, as of memory.

-- The heads as projections count in them, and databases of projections without a head. Called by listHeads(). No locks.
-- Cost: one read for each head; strays: one look into an index for each database. state: ok, headless, unreadable (name
-- null: there may be more).
create or replace function loci.prj_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_name text := '';
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    return query select h.name, 'ok', h.seq, h.prj_rows, h.prj_bytes, h.prj_set_a::text, h.prj_set_b::text, h.prj_unsettled, h.prj_verified
      from loci.databases h where h.instance_id = p_instance and h.erasing_since is null order by h.name;
    while p_strays loop
      select p.database into v_name from loci.projections p where p.instance_id = p_instance and p.database > v_name order by p.database limit 1;
      exit when not found;
      return query select v_name, 'headless', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint
        where not exists (select from loci.databases h where h.instance_id = p_instance and h.name = v_name);
    end loop;
  exception when others then
    return query select null::text, 'unreadable', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint;
  end;
end
$$;

-- The projections numbered p_from to p_through, at most p_limit, each with what is wrong with it. A range that cannot
-- be read is halved until the rows that are at fault stand alone. Called by itself and prj_verify. No locks. Cost: one
-- hash for each row.
create or replace function loci.prj_walk(p_instance text, p_database text, p_from bigint, p_through bigint, p_limit int)
returns table (seq bigint, id text, state text, bytes bigint, a bigint, b bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_rows loci.projections[];
  v_middle bigint := p_from + (p_through - p_from) / 2;
  v_count int;
begin
  begin
    -- Every column is looked at here, inside of the block that catches what cannot be read.
    v_rows := array(select p from loci.projections p where p.instance_id = p_instance and p.database = p_database
      and p.seq between p_from and p_through and loci.prj_is_intact(p, p_instance, p_database) is not null order by p.seq limit p_limit);
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_from >= p_through then
      return query select p_from, null::text, 'page_unreadable', 0::bigint, 0::bigint, 0::bigint;
      return;
    end if;
    return query select * from loci.prj_walk(p_instance, p_database, p_from, v_middle, p_limit);
    get diagnostics v_count = row_count;
    if v_count < p_limit then
      return query select * from loci.prj_walk(p_instance, p_database, v_middle + 1, p_through, p_limit - v_count);
    end if;
    return;
  end;
  return query select p.seq, case when octet_length(p.id) between 1 and 1024 then p.id || '' end,
      case when i.intact then 'ok' else 'digest_mismatch' end, case when i.intact then loci.prj_bytes(p) else 0 end,
      case when octet_length(p.digest) = 32 then loci.digest_part(p.digest, 1) else 0 end,
      case when octet_length(p.digest) = 32 then loci.digest_part(p.digest, 9) else 0 end
    from unnest(v_rows) p, lateral (select loci.prj_is_intact(p, p_instance, p_database) as intact) i;
end
$$;

-- A part of a database, verified and summed up, behind the number p_after. Called by verifyChunk(). No locks. Cost: one
-- hash for each projection.
create or replace function loci.prj_verify(p_instance text, p_database text, p_after bigint, p_limit int,
  out rows int, out bytes bigint, out a text, out b text, out version_max text, out damaged_keys text[], out damaged_states text[],
  out damaged_a text, out damaged_b text, out go_on_after text)
language plpgsql as $$
declare
  v_through bigint;
begin
  perform set_config('loci.instance', p_instance, true);
  v_through := coalesce((select h.seq from loci.databases h where h.instance_id = p_instance and h.name = p_database), 9007199254740991);
  select count(*) filter (where w.state = 'ok'), coalesce(sum(w.bytes), 0), coalesce(bit_xor(w.a) filter (where w.state = 'ok'), 0)::text,
      coalesce(bit_xor(w.b) filter (where w.state = 'ok'), 0)::text, coalesce(max(w.seq) filter (where w.state = 'ok'), 0)::text,
      coalesce(array_agg(w.id order by w.seq) filter (where w.state <> 'ok'), '{}'),
      coalesce(array_agg(w.state order by w.seq) filter (where w.state <> 'ok'), '{}'),
      coalesce(bit_xor(w.a) filter (where w.state <> 'ok'), 0)::text, coalesce(bit_xor(w.b) filter (where w.state <> 'ok'), 0)::text,
      case when count(*) >= p_limit then max(w.seq)::text end
    into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, go_on_after
    from loci.prj_walk(p_instance, p_database, p_after + 1, v_through, p_limit) w;
end
$$;
