-- What becomes of projections once they are stored: cycles take events in, content whose time is over is erased, and
-- what has been without content for 30 days leaves.

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

-- Lets the records p_heard live as long as these events, which say what they say: an event of the same place in
-- p_records. Answers the head as it is then, which whoever calls writes. Called by cycle_commit, with the head that it
-- has entered. Cost: one read for each event, and one or two for each of the records.
create or replace function loci.prj_prolong(p_head loci.databases, p_seqs bigint[], p_records text[], p_heard text[]) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_record text;
  v_until timestamptz;
begin
  foreach v_record in array p_heard loop
    select max(coalesce(p.expires_at, 'infinity')) into v_until from loci.projections p where p.instance_id = p_head.instance_id
      and p.database = p_head.name and p.seq = any (array(select p_seqs[i] from unnest(array_positions(p_records, v_record)) i)) and p.is_pending;
    v_head := loci.mem_end_at(v_head, v_record, nullif(v_until, 'infinity'), true);
  end loop;
  return v_head;
end
$$;
comment on function loci.prj_prolong is 'without enter_database: called by functions that have entered';

-- Says that a cycle has taken these events in, each as the record of the same place in p_records, null where none says
-- what it said. That stands in the record and nowhere else, so that erasing it erases that; who takes back the last
-- event of a record takes the record back. Called by cycle_commit, which has entered. Locks: rows, totals. Cost: one
-- write for each.
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
    v_new := loci.prj_without_words(v_old);
    v_new.is_pending := false;
    v_new.record_id := p_records[array_position(p_seqs, v_old.seq)];
    v_head := loci.prj_replace(v_head, v_old, v_new);
  end loop;
  perform loci.prj_save_head(v_before, v_head);
end
$$;
comment on function loci.prj_take_in is 'without enter_database: called by functions that have entered';

-- Is there something of which this projection is to be known: its record, or what it takes back? Called by prj_let_go.
-- Cost: two reads by primary keys, of projections by a range in order (see advice_projection).
create or replace function loci.prj_is_needed(p loci.projections) returns boolean language plpgsql stable as $$
begin
  return exists (select from loci.records r where r.instance_id = p.instance_id and r.database = p.database and r.id = p.record_id)
    or (select t.seq from loci.projections t where t.instance_id = p.instance_id and t.database = p.database and t.seq >= p.takes_back
      and t.seq <= p.takes_back order by t.seq limit 1) is not null;
end
$$;

-- Does it take back what is not there? Called by prj_let_go. Cost: one read of an index.
create or replace function loci.prj_is_awaiting(p loci.projections) returns boolean language plpgsql stable as $$
begin
  return p.target is not null and p.takes_back is null and not exists (select from loci.projections t
    where t.instance_id = p.instance_id and t.database = p.database and t.partner = p.partner and t.id = p.target);
end
$$;

-- Takes a value out of the projections numbered above p_after and up to p_to, of at most p_limit: the words of an event
-- that said it, the payload of an outcome that did, an intent that is it. An outcome without its intent is one whose
-- content is gone, as in prj_expire. hits: how many have it; erased: all of them but damaged ones; last: the number to
-- go on after, null when none is left. Called by forgetIn(), in the transaction of mem_erase. Locks: rows, totals, the
-- due row. Cost: one write for each.
create or replace function loci.prj_forget(p_instance text, p_database text, p_mac bytea, p_after bigint, p_limit int, p_to bigint,
  out hits int, out erased int, out last bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_before loci.databases;
  v_head loci.databases;
  v_seqs bigint[];
  v_seq bigint;
  v_old loci.projections;
  v_new loci.projections;
begin
  select * into v_before from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  v_head := v_before; erased := 0;
  v_seqs := array(select distinct f.seq from (
    (select p.seq from loci.projections p where p.said_mac >= p_mac and p.said_mac <= p_mac and p.instance_id = p_instance
      and p.database = p_database and p.seq > p_after and p.seq <= p_to order by p.said_mac, p.seq limit p_limit)
    union all (select p.seq from loci.projections p where p.intent_mac >= p_mac and p.intent_mac <= p_mac and p.instance_id = p_instance
      and p.database = p_database and p.seq > p_after and p.seq <= p_to order by p.intent_mac, p.seq limit p_limit)) f order by f.seq limit p_limit);
  hits := cardinality(v_seqs);
  foreach v_seq in array v_seqs loop
    select * into v_old from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.seq >= v_seq and p.seq <= v_seq
      order by p.seq limit 1;
    continue when not loci.prj_is_intact(v_old, p_instance, p_database);
    v_new := v_old; erased := erased + 1;
    if v_old.said_mac = p_mac then
      v_new := loci.prj_without_words(v_old);
    end if;
    if v_new.intent_mac = p_mac then
      v_new.body := case when v_old.class = 'event' then (v_new.body::jsonb - 'task_intent')::text end; v_new.intent_mac := null;
      if v_old.class <> 'event' then
        v_new.said_mac := null; v_new.expires_at := null; v_new.leaves_at := loci.prj_leaves(clock_timestamp());
        v_head.seq := v_head.seq + 1; v_head.prj_erased_at := v_head.seq;
      end if;
    end if;
    v_head := loci.prj_replace(v_head, v_old, v_new);
  end loop;
  perform loci.prj_save_head(v_before, v_head);
  if v_head.prj_erased_at > v_before.prj_erased_at then
    perform loci.put_due(p_instance, p_database, 'advice', clock_timestamp());
    perform loci.put_due(p_instance, p_database, 'projections', loci.prj_leaves(clock_timestamp()));
  end if;
  last := case when hits = p_limit then v_seqs[hits] end;
end
$$;
comment on function loci.prj_forget is 'without enter_database: called in the transaction of mem_erase, which has entered';
