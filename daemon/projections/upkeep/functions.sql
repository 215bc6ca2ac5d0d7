-- What becomes of projections once they are stored: cycles take events in, and content whose time is over is erased.

-- Events that no cycle has taken in, the oldest first, without damaged ones: as many as have p_bytes_max, and at least
-- one. Called by listPending(). No locks. Cost: one index range, every row in full.
create or replace function loci.prj_pending(p_instance text, p_database text, p_limit int, p_bytes_max bigint)
returns table (seq bigint, partner text, id text, body text, ttl_ms float8)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
  v_event loci.projections;
  v_count int := 0;
  v_bytes bigint := 0;
begin
  perform set_config('loci.instance', p_instance, true);
  for v_event in select p.* from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.is_pending
    and (p.expires_at is null or p.expires_at > clock_timestamp()) order by p.seq
  loop
    exit when v_count >= p_limit or v_bytes >= p_bytes_max;
    continue when not loci.prj_is_intact(v_event, p_instance, p_database);
    seq := v_event.seq; partner := v_event.partner; id := v_event.id; body := v_event.body;
    ttl_ms := ceil(extract(epoch from v_event.expires_at - clock_timestamp()) * 1000);
    v_count := v_count + 1; v_bytes := v_bytes + octet_length(body);
    return next;
  end loop;
end
$$;

-- Do all of these events still wait? One that was taken in, taken back or has expired since does not. Called by
-- cycle_commit, with the head locked. Cost: one read for each.
create or replace function loci.prj_all_pending(p_instance text, p_database text, p_seqs bigint[]) returns boolean language sql stable as $$
  select count(*) = cardinality(p_seqs) from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq = any (p_seqs) and p.is_pending
$$;

-- Says that a cycle has taken these events in, each as the record of the same place in p_records, null where it made
-- none. What an event said stands in that record and nowhere else, so that erasing it erases that; who takes the event
-- back takes the record back. Called by cycle_commit, which has entered. Locks: rows, totals. Cost: one write for each.
create or replace function loci.prj_take_in(p_instance text, p_database text, p_seqs bigint[], p_records text[]) returns void
language plpgsql as $$
declare
  v_before loci.databases;
  v_head loci.databases;
  v_old loci.projections;
  v_new loci.projections;
begin
  select * into v_before from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  v_head := v_before;
  for v_old in select * from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq = any (p_seqs) and p.is_pending
  loop
    v_new := v_old;
    v_new.is_pending := false;
    v_new.record_id := p_records[array_position(p_seqs, v_old.seq)];
    v_new.body := (v_old.body::jsonb - 'payload' - 'task_intent')::text;
    v_head := loci.prj_replace(v_head, v_old, v_new);
  end loop;
  perform loci.prj_save_head(v_before, v_head);
end
$$;
comment on function loci.prj_take_in is 'without enter_database: called by functions that have entered';

-- Erases the content of projections whose time is over, at most p_limit of them, and puts the next time on the list. An
-- outcome whose words are gone can no longer be taken off what was computed from it, so the head says since when that
-- is to be computed again. One that does not fit its digest stays, and is left for ten minutes. Called by the worker of
-- due rows, kind `projections`. Locks: the head, rows, the due row, totals.
create or replace function loci.prj_expire(p_instance text, p_database text, p_limit int) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  -- Read once: an index serves no comparison with what may change from row to row.
  v_now timestamptz := clock_timestamp();
  v_entered record;
  v_head loci.databases;
  v_old loci.projections;
  v_new loci.projections;
  v_next timestamptz;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome = 'open' then
    v_head := v_entered.head;
    for v_old in select * from loci.projections p where p.instance_id = p_instance and p.database = p_database
      and p.expires_at <= v_now order by p.expires_at limit p_limit
    loop
      v_new := v_old; v_new.body := null; v_new.expires_at := null; v_new.is_pending := false;
      v_head := loci.prj_replace(v_head, v_old, v_new);
      if v_old.class = 'tool_outcome' then
        v_head.seq := v_head.seq + 1;
        v_head.prj_erased_at := v_head.seq;
      end if;
    end loop;
    if v_head is distinct from v_entered.head then
      perform loci.prj_save_head(v_entered.head, v_head);
      if v_head.prj_erased_at > (v_entered.head).prj_erased_at then
        perform loci.put_due(p_instance, p_database, 'advice', clock_timestamp());
      end if;
    end if;
    select p.expires_at into v_next from loci.projections p where p.instance_id = p_instance and p.database = p_database
      and p.expires_at is not null order by p.expires_at limit 1;
  end if;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'projections';
  else
    update loci.due d set at = case when v_next <= v_now and v_head is not distinct from v_entered.head
        then clock_timestamp() + interval '10 minutes' else v_next end
      where d.instance_id = p_instance and d.database = p_database and d.kind = 'projections';
  end if;
end
$$;
