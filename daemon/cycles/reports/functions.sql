-- What the consistency report reads of cycles.

-- The heads as cycles count in them, and databases of cycles without a head. Called by listHeads(). No locks. Cost: one
-- read for each head; strays: one look into an index for each database with cycles. state: ok, headless, unreadable
-- (name null: there may be more).
create or replace function loci.cycle_heads(p_instance text, p_strays boolean)
returns table (name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_name text := '';
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    return query select h.name, 'ok', h.seq, h.cyc_total - h.cyc_pruned_through, h.cyc_bytes, h.cyc_set_a::text, h.cyc_set_b::text, h.cyc_unsettled,
        h.cyc_verified
      from loci.databases h where h.instance_id = p_instance and h.erasing_since is null order by h.name;
    while p_strays loop
      select c.database into v_name from loci.cycles c where c.instance_id = p_instance and c.database > v_name order by c.database limit 1;
      exit when not found;
      return query select v_name, 'headless', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint
        where not exists (select from loci.databases h where h.instance_id = p_instance and h.name = v_name);
    end loop;
  exception when others then
    return query select null::text, 'unreadable', 0::bigint, 0::bigint, 0::bigint, '0', '0', false, null::bigint;
  end;
end
$$;

-- The cycles behind the number p_after, at most p_limit and one more, newest first, with what the head says of the ends
-- of the chain; decided: whether the decisions are there, as the cycle's hash says, or were dropped by their age.
-- Called by verifyChunk(). No locks. Cost: two hashes for each.
create or replace function loci.cycle_verify(p_instance text, p_database text, p_after bigint, p_limit int)
returns table (total bigint, head_hash bytea, pruned_through bigint, pruned_hash bytea, config_intact boolean, seq bigint, state text, id text,
  hash bytea, prev_hash bytea, bytes bigint, a text, b text, decided boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_head loci.databases;
  v_kept timestamptz;
begin
  perform set_config('loci.instance', p_instance, true);
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  v_kept := loci.cycle_decisions_from(v_head.cyc_trimmed_to);
  total := coalesce(v_head.cyc_total, (select max(c.seq) from loci.cycles c where c.instance_id = p_instance and c.database = p_database), 0);
  head_hash := v_head.cyc_hash; pruned_through := coalesce(v_head.cyc_pruned_through, 0); pruned_hash := v_head.cyc_pruned_hash;
  config_intact := (select c.intact and (v_head.name is null or c.version = coalesce(v_head.cyc_config, 0))
    from loci.config_layers(p_instance, p_database, 'cognitive') c);
  return query select total, head_hash, pruned_through, pruned_hash, config_intact, w.seq, w.state, (w.made).id, (w.made).hash, (w.made).prev_hash,
      case when w.state = 'intact' then loci.cycle_bytes(w.made) end,
      case when w.state = 'intact' then loci.digest_part((w.made).hash, 1)::text end,
      case when w.state = 'intact' then loci.digest_part((w.made).hash, 9)::text end,
      case when w.state = 'intact' then (w.made).started_at < v_kept or (select d.intact from loci.cycle_decisions_of(p_instance, p_database, w.seq,
        (w.made).started_at, (w.made).decisions_hash) d) end
    from (select) always left join lateral loci.cycle_walk(p_instance, p_database, greatest(p_after, pruned_through) + 1,
      least(greatest(p_after, pruned_through) + p_limit + 1, total)) w on true;
end
$$;
