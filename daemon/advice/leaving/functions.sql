-- Projections whose time is over: what they taught is stored first, and the time that they took stays.

-- Erases the content of projections whose time is over, and lets go of those that have been without content long
-- enough, at most p_limit of each, and puts the next time on the list. An outcome whose words are gone can no longer be
-- taken off what was computed from it, so the head says since when that is to be computed again: with the weights that
-- are stored, and it as time that adds nothing. p_unsaved: what becomes of outcomes while there are some whose weights
-- are not stored: wait; those that have theirs do not (behind: what came since a snapshot was stored for this comes
-- behind the erasure); or lose them. unsaved: some wait; more: the limit was reached; or done. One that does not fit
-- its digest stays, and is left for ten minutes. Called by eraseExpired(), due kind `projections`. Locks: the head,
-- rows, the due row, totals. Cost: two writes for each, and two reads by keys where outcomes are among them.
create or replace function loci.prj_expire(p_instance text, p_database text, p_limit int, p_unsaved text) returns text
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  -- Read once: an index serves no comparison with what may change from row to row.
  v_now timestamptz := clock_timestamp();
  v_entered record;
  v_head loci.databases;
  v_left loci.databases;
  v_old loci.projections;
  v_new loci.projections;
  v_next timestamptz;
  v_saved bigint;
  v_waits boolean := false;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome = 'open' then
    v_head := v_entered.head;
    for v_old in select * from loci.projections p where p.instance_id = p_instance and p.database = p_database
      and p.expires_at <= v_now order by p.expires_at limit p_limit
    loop
      if v_old.class = 'tool_outcome' and p_unsaved <> 'lose' then
        v_saved := coalesce(v_saved, loci.prj_saved(p_instance, p_database, p_unsaved = 'behind'));
        if v_old.seq > v_saved then
          v_waits := true;
          continue;
        end if;
      end if;
      v_new := v_old; v_new.body := null; v_new.expires_at := null; v_new.is_pending := false; v_new.said_mac := null; v_new.intent_mac := null;
      v_new.leaves_at := loci.prj_leaves(v_now);
      v_left := loci.prj_replace(v_head, v_old, v_new);
      if v_old.class = 'tool_outcome' and v_left is distinct from v_head then
        v_left.seq := v_left.seq + 1;
        v_left.prj_erased_at := v_left.seq;
      end if;
      v_head := v_left;
    end loop;
    v_head := loci.prj_let_go(v_head, v_now, p_limit);
    if v_head is distinct from v_entered.head then
      perform loci.prj_save_head(v_entered.head, v_head);
      if v_head.prj_erased_at > (v_entered.head).prj_erased_at then
        perform loci.put_due(p_instance, p_database, 'advice', clock_timestamp());
      end if;
    end if;
    v_next := least(
      (select p.expires_at from loci.projections p where p.instance_id = p_instance and p.database = p_database
        and p.expires_at is not null order by p.expires_at limit 1),
      (select p.leaves_at from loci.projections p where p.instance_id = p_instance and p.database = p_database
        and p.leaves_at is not null order by p.leaves_at limit 1));
  end if;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'projections';
  -- The caller does what waits at once, or when its claim is over.
  elsif not v_waits or p_unsaved = 'behind' then
    update loci.due d set at = case when v_next <= v_now and v_head is not distinct from v_entered.head and not v_waits
        then clock_timestamp() + interval '10 minutes' else v_next end
      where d.instance_id = p_instance and d.database = p_database and d.kind = 'projections';
  end if;
  return case when v_waits then 'unsaved' when v_next <= v_now and v_head is distinct from v_entered.head then 'more' else 'done' end;
end
$$;

-- Removes projections that have been without content for 30 days, at most p_limit of them. One whose record is there,
-- or whose target is, stays as long again: who takes the record back names it, and the target would count again without
-- it. A retraction that is left over of what leaves awaits it again. What the outcomes among them had added is gone
-- already, and the time that they took is kept (prj_pass); the state of advice is begun again without them. Answers the
-- head, which the caller writes. Called by prj_expire, which has entered. Locks: rows, totals. Cost: four reads by
-- indexes and a write for each.
create or replace function loci.prj_let_go(p_head loci.databases, p_now timestamptz, p_limit int) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_old loci.projections;
  v_new loci.projections;
  v_folded bigint[] := '{}';
begin
  for v_old in select * from loci.projections p where p.instance_id = p_head.instance_id and p.database = p_head.name
    and p.leaves_at <= p_now order by p.leaves_at limit p_limit
  loop
    continue when not loci.prj_is_intact(v_old, p_head.instance_id, p_head.name);
    if loci.prj_is_needed(v_old) then
      v_new := v_old; v_new.leaves_at := loci.prj_leaves(p_now);
      v_head := loci.prj_replace(v_head, v_old, v_new);
      continue;
    end if;
    -- By a range in order: see advice_projection. prj_expire has sorting and the like off.
    delete from loci.projections p where p.ctid = (select o.ctid from loci.projections o where o.instance_id = v_old.instance_id
      and o.database = v_old.database and o.seq >= v_old.seq and o.seq <= v_old.seq order by o.seq limit 1);
    v_head := loci.prj_count(v_head, v_old, -1);
    v_head.prj_awaited := v_head.prj_awaited - loci.prj_is_awaiting(v_old)::int + (select count(*) from loci.projections p
      where p.instance_id = v_old.instance_id and p.database = v_old.database and p.partner = v_old.partner and p.target = v_old.id
      and p.takes_back is null);
    if v_old.class = 'tool_outcome' or v_old.takes_back is not null then
      v_folded := v_folded || v_old.seq;
    end if;
  end loop;
  if cardinality(v_folded) > 0 then
    perform loci.prj_pass(p_head.instance_id, p_head.name, v_folded);
    v_head.seq := v_head.seq + 1; v_head.prj_erased_at := v_head.seq;
  end if;
  return v_head;
end
$$;
comment on function loci.prj_let_go is 'without enter_database: called by functions that have entered';

-- Removes what was stored of outcomes that leave. They add nothing any more; the time that they took, and that there is
-- such a tool, stays in one row for each tool, so that a state that is folded from the beginning is the same. Called by
-- prj_let_go. Locks: rows, totals. Cost: one write for each weight and each tool; weights are found by ranges in order
-- (see advice_projection).
create or replace function loci.prj_pass(p_instance text, p_database text, p_seqs bigint[]) returns void language plpgsql as $$
declare
  v_gone record;
  v_tools text[] := '{}';
  v_seqs bigint[] := '{}';
  v_ts bigint[] := '{}';
  v_us bigint[] := '{}';
  v_new bigint;
begin
  -- One by one: of a list of places a plan made while the table is small reads every weight of the database.
  for v_gone in select w.* from unnest(p_seqs) s, lateral (select i.ctid as place_of, i.tool, i.seq, i.t, i.u from loci.advice_weights i
    where i.instance_id = p_instance and i.database = p_database and i.seq >= s and i.seq <= s order by i.seq, i.place) w
  loop
    delete from loci.advice_weights w where w.ctid = v_gone.place_of;
    v_tools := v_tools || v_gone.tool; v_seqs := v_seqs || v_gone.seq; v_ts := v_ts || v_gone.t; v_us := v_us || v_gone.u;
  end loop;
  with passed as (
    insert into loci.advice_passed as a (instance_id, database, tool, first_seq, last_seq, t, u)
      select p_instance, p_database, g.tool, min(g.seq), max(g.seq), max(g.t), max(g.u) from unnest(v_tools, v_seqs, v_ts, v_us) g(tool, seq, t, u)
      group by g.tool
      on conflict (instance_id, database, tool) do update set first_seq = least(a.first_seq, excluded.first_seq),
        last_seq = greatest(a.last_seq, excluded.last_seq), t = greatest(a.t, excluded.t), u = greatest(a.u, excluded.u)
      returning case when a.xmax = 0 then octet_length(a.tool) + 100 else 0 end as bytes
  )
  select coalesce(sum(bytes), 0) into v_new from passed;
  perform loci.add_totals(p_instance, 0, v_new - cardinality(v_tools) * 200);
end
$$;
comment on function loci.prj_pass is 'without enter_database: called by functions that have entered';

-- Up to which number outcomes may be erased: that of the snapshot, with which their weights are stored; none where an
-- outcome came since, unless p_is_behind. Called by prj_expire. No locks. Cost: two reads by keys.
create or replace function loci.prj_saved(p_instance text, p_database text, p_is_behind boolean) returns bigint language plpgsql stable as $$
declare
  v_seq bigint := coalesce((select s.seq from loci.advice_snapshots s where s.instance_id = p_instance and s.database = p_database), 0);
begin
  return case when p_is_behind or not exists (select from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq > v_seq and p.class = 'tool_outcome') then v_seq else 0 end;
end
$$;
