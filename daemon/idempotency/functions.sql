-- Claims on Idempotency-Keys of one route, inside the function that does the work. The arrays have
-- one element per claim, in the same order wherever two calls have the same keys. No row: each claim is the first. Else
-- nothing may be done: `known`: the key was used within 24 hours. `answers`: the instance keeps as many as its plan has
-- records. `expired`: its answer is older, drop it (drop_expired_answers) and ask again. Called by kv_write_acts,
-- wm_commit_acts, mem_write_acts, cycle_commit and claimKey(), before their work. Locks: an advisory lock for each key,
-- so that a second request waits here until the first has committed or gone. Cost: one index lookup for each.
create or replace function loci.claim_keys(p_instance text, p_route text, p_database text[],
  p_holder text[], p_key text[])
returns table (claim int, outcome text)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_day timestamptz := clock_timestamp() - interval '24 hours';
begin
  perform pg_advisory_xact_lock(
      hashtextextended(concat_ws(E'\x1f', p_instance, c.database, p_route, c.holder, c.key), 7026300011))
    from unnest(p_database, p_holder, p_key) as c(database, holder, key);
  -- Statements of their own, after the locks: their snapshots have what the first ones committed. limit: one lookup by
  -- the key for each; before the first analyze a join read every answer of the instance.
  return query select c.n::int, case when o.created_at is null then 'answers' when o.created_at < v_day then 'expired' else 'known' end
    from unnest(p_database, p_holder, p_key) with ordinality as c(database, holder, key, n)
      left join lateral (select k.created_at from loci.idempotency k where k.instance_id = p_instance and k.database = c.database
        and k.route = p_route and k.holder = c.holder and k.key = c.key limit 1) o on true
    where o.created_at is not null or (select i.keyed_answers >= (i.limits ->> 'records')::bigint from loci.instances i where i.id = p_instance);
end
$$;
comment on function loci.claim_keys is 'without enter_database: reads, for those that claim';

-- Removes answers that are older than a day, of keys that are claimed anew. Called by dropExpired(), in a transaction
-- of its own. Locks: the old rows, then the instance's row. Cost: one index lookup for each.
create or replace function loci.drop_expired_answers(p_instance text, p_route text, p_database text[], p_holder text[], p_key text[])
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  with expired as (
    delete from loci.idempotency e where e.instance_id = p_instance and e.ctid = any (array(
      select o.ctid from unnest(p_database, p_holder, p_key) as c(database, holder, key)
        cross join lateral (select k.ctid, k.created_at from loci.idempotency k where k.instance_id = p_instance
          and k.database = c.database and k.route = p_route and k.holder = c.holder and k.key = c.key limit 1) o
      where o.created_at < clock_timestamp() - interval '24 hours'))
    returning e.bytes
  )
  update loci.instances i set keyed_answers = i.keyed_answers - e.count, keyed_bytes = i.keyed_bytes - e.bytes
    from (select count(*) as count, coalesce(sum(x.bytes), 0) as bytes from expired x) e where i.id = p_instance and e.count > 0;
end
$$;
comment on function loci.drop_expired_answers is 'without enter_database: it removes what is too old, and adds nothing';

-- Stores the answers of claims that were the first, and counts them once for all. A key that stands twice among them
-- fails the call: the caller then claims each alone. Called by those that claim, after their work. Locks: the new rows;
-- then the instance's row, last. Cost: one insert for each, one update.
create or replace function loci.keep_answers(p_instance text, p_route text, p_sealed_with text, p_database text[],
  p_holder text[], p_key text[], p_fingerprint text[], p_answer text[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  -- The key's columns stand in the row and in the index; 250 = headers, fingerprint, times and the second index
  -- (measured by a test).
  v_each int := 250 + 2 * (octet_length(p_instance) + octet_length(p_route));
begin
  with kept as (
    insert into loci.idempotency
      (instance_id, database, route, holder, key, fingerprint, sealed_with, status, answer, created_at, bytes)
    select p_instance, c.database, p_route, c.holder, c.key, decode(c.fingerprint, 'hex'), p_sealed_with, 200,
      c.answer::json, clock_timestamp(),
      v_each + octet_length(c.answer) + 2 * (octet_length(c.database) + octet_length(c.holder) + octet_length(c.key))
    from unnest(p_database, p_holder, p_key, p_fingerprint, p_answer) as c(database, holder, key, fingerprint, answer)
    returning bytes
  )
  update loci.instances i set keyed_answers = i.keyed_answers + k.count, keyed_bytes = i.keyed_bytes + k.bytes,
      keyed_since = coalesce(i.keyed_since, now())
    from (select count(*) as count, sum(x.bytes) as bytes from kept x) k where i.id = p_instance and i.state <> 'deleted';
  if not found then
    raise exception 'the instance is gone' using errcode = 'LC001', detail = '0 gone 0';
  end if;
end
$$;

comment on function loci.keep_answers is 'without enter_database: called by functions that have entered';

-- Removes answers that are older than a day, a bounded number at a time. Called by the sweeper of every replica. Locks:
-- old rows of the instance, those that somebody takes over left out, then the instance's row. Cost: one index range of
-- what goes.
create or replace function loci.sweep_answers(p_instance text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  gone record;
  v_oldest timestamptz;
begin
  perform set_config('loci.instance', p_instance, true);
  with removed as (
    delete from loci.idempotency i where i.instance_id = p_instance and i.ctid = any (array(
      select o.ctid from loci.idempotency o
      where o.instance_id = p_instance and o.status > 0 and o.created_at < now() - interval '24 hours'
      order by o.created_at limit p_limit for update skip locked))
    returning i.bytes
  )
  select count(*)::int as rows, count(*) filter (where r.bytes > 0) as answers, coalesce(sum(r.bytes), 0) as bytes
    into gone from removed r;
  perform 1 from loci.instances n where n.id = p_instance for update;
  -- After the lock: whoever counts an answer holds it to the commit, so the oldest that is seen now is the oldest that
  -- is counted.
  select o.created_at into v_oldest from loci.idempotency o where o.instance_id = p_instance and o.status > 0
    order by o.created_at limit 1;
  update loci.instances n set keyed_since = v_oldest,
      keyed_answers = case when v_oldest is null then 0 else greatest(0, n.keyed_answers - gone.answers) end,
      keyed_bytes = case when v_oldest is null then 0 else greatest(0, n.keyed_bytes - gone.bytes) end
    where n.id = p_instance;
  return gone.rows;
end
$$;
comment on function loci.sweep_answers is 'without enter_database: it removes what is too old, and adds nothing';
