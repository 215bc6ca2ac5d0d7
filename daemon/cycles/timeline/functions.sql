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
