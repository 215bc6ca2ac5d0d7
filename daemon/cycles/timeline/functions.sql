-- What the timeline of a mind is read from. No locks.

-- The number of the last slot that left before p_at, or 0. Times rise with numbers but for what was planned by two
-- clocks at once: whoever asks leaves a minute. Found by halving. Called by timeline_ends. Cost: some twenty reads by
-- the primary key in each partition.
create or replace function loci.timeline_before(p_instance text, p_database text, p_at timestamptz) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_low bigint := 0;
  v_high bigint := coalesce((select e.seq from loci.evictions e where e.instance_id = p_instance and e.database = p_database
    order by e.seq desc limit 1), 0);
  v_middle bigint;
  v_found record;
begin
  while v_low < v_high loop
    v_middle := v_low + (v_high - v_low + 1) / 2;
    select e.seq, e.at into v_found from loci.evictions e where e.instance_id = p_instance and e.database = p_database
      and e.seq > v_low and e.seq <= v_middle order by e.seq desc limit 1;
    if not found or v_found.at < p_at then
      v_low := v_middle;
    else
      v_high := v_found.seq - 1;
    end if;
  end loop;
  return v_low;
end
$$;

-- The slots that left from p_from until before p_to (null: since ever, until now) and have a number below p_below, at
-- most p_limit: newest first, or where p_is_forward oldest first. Called by listEnds(). Cost: timeline_before twice,
-- one range of the primary key, one hash for each row.
create or replace function loci.timeline_ends(p_instance text, p_database text, p_from timestamptz, p_to timestamptz, p_below bigint,
  p_is_forward boolean, p_limit int)
returns table (seq bigint, at timestamptz, key text, version bigint, why text, intact boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_above bigint := 0;
  v_below bigint := p_below;
  v_from timestamptz := coalesce(p_from, '-infinity');
  v_to timestamptz := coalesce(p_to, 'infinity');
begin
  perform loci.look_into(p_instance, p_database);
  if p_from is not null then
    v_above := loci.timeline_before(p_instance, p_database, p_from - interval '1 minute');
  end if;
  if p_to is not null then
    v_below := least(p_below, loci.timeline_before(p_instance, p_database, p_to + interval '1 minute') + 1);
  end if;
  -- A branch for each order: one that depends on a value would take no index.
  if p_is_forward then
    return query select e.seq, e.at, e.key, e.version, e.why,
        coalesce(e.digest = loci.eviction_digest(p_instance, p_database, e.seq, e.at, e.key, e.version, e.why), false)
      from loci.evictions e where e.instance_id = p_instance and e.database = p_database and e.seq > v_above and e.seq < v_below
        and e.at >= v_from and e.at < v_to order by e.seq limit p_limit;
  else
    return query select e.seq, e.at, e.key, e.version, e.why,
        coalesce(e.digest = loci.eviction_digest(p_instance, p_database, e.seq, e.at, e.key, e.version, e.why), false)
      from loci.evictions e where e.instance_id = p_instance and e.database = p_database and e.seq > v_above and e.seq < v_below
        and e.at >= v_from and e.at < v_to order by e.seq desc limit p_limit;
  end if;
end
$$;

-- A record, with what it took the place of and what took its own: the records that were closed just before it was
-- stored, at the moment from which it holds, and the first that was stored after it was closed, if it holds from then
-- on. No row: there is none. Called by readTraced(). Cost: three index reads and one hash.
create or replace function loci.timeline_record(p_instance text, p_database text, p_id text)
returns table (body text, presented text, created_at timestamptz, intact boolean, supersedes text[], superseded_by text)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_record loci.records;
  v_next loci.records;
begin
  perform loci.look_into(p_instance, p_database);
  select * into v_record from loci.records r where r.instance_id = p_instance and r.database = p_database and r.id = p_id;
  if not found or not loci.record_is_there(v_record, clock_timestamp()) then
    return;
  end if;
  intact := loci.record_is_intact(v_record, p_instance, p_database);
  if intact then
    body := v_record.body; presented := v_record.presented; created_at := v_record.created_at;
    supersedes := array(select f.id from (select * from loci.records r where r.instance_id = p_instance and r.database = p_database
        and r.valid_to = v_record.valid_from limit 1000) f
      where f.changed_seq between v_record.seq - 64 and v_record.seq - 1 order by f.seq);
    if v_record.valid_to is not null then
      select * into v_next from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq > v_record.changed_seq
        order by r.seq limit 1;
      if not found or v_next.valid_from <> v_record.valid_to then
        select * into v_next from loci.records r where r.instance_id = p_instance and r.database = p_database and r.key = v_record.key
          and r.valid_to is null limit 1;
      end if;
      superseded_by := case when v_next.valid_from = v_record.valid_to then v_next.id end;
    end if;
  end if;
  return next;
end
$$;

-- Versions of slots that say a value, at most p_limit, each with when its slot left after it: null while it is there,
-- or where more than 2,000 others left before. Called by listStaysOf(). Cost: one index range, one hash for each, and a
-- range of what left for each of the newest p_ends.
create or replace function loci.timeline_versions(p_instance text, p_database text, p_mac bytea, p_limit int, p_ends int)
returns table (key text, version bigint, meta text, ended_at timestamptz)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform loci.look_into(p_instance, p_database);
  return query select f.key, f.version, f.meta, case when f.n <= p_ends then (select e.at from (select * from loci.evictions l
        where l.instance_id = p_instance and l.database = p_database and l.seq > f.version order by l.seq limit 2000) e
      where e.key = f.key order by e.seq limit 1) end
    from (select v.*, row_number() over (order by v.version desc) as n from (select * from loci.slot_versions s where s.value_mac >= p_mac
        and s.value_mac <= p_mac and s.instance_id = p_instance and s.database = p_database order by s.value_mac limit p_limit) v
      where loci.slot_is_intact(p_instance, p_database, v.key, v.text, v.version, v.expires, v.meta, v.digest)) f
    order by f.version desc;
end
$$;

-- The intact cycles of these numbers, and those that began at these moments. Called by findCycles(). Cost: cycle_before
-- for each moment.
create or replace function loci.timeline_cycles(p_instance text, p_database text, p_seqs bigint[], p_at timestamptz[])
returns setof loci.cycles
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_head loci.databases;
  v_seqs bigint[] := p_seqs;
  v_before bigint;
  v_at timestamptz;
begin
  perform loci.look_into(p_instance, p_database);
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  foreach v_at in array p_at loop
    v_before := loci.cycle_before(p_instance, p_database, v_head.cyc_pruned_through + 1, v_head.cyc_total, v_at);
    v_seqs := v_seqs || array(select c.seq from loci.cycles c where c.instance_id = p_instance and c.database = p_database
      and c.seq between v_before + 1 and v_before + 2 and c.started_at = v_at);
  end loop;
  return query select f.* from (select distinct unnest(v_seqs) as seq) s,
      lateral (select * from loci.cycles c where c.instance_id = p_instance and c.database = p_database and c.seq = s.seq offset 0) f
    where loci.cycle_is_intact(f, p_instance, p_database) order by f.seq;
end
$$;
