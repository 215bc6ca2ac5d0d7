-- Stores the answer of a claim and counts it. A claim that took over an expired row counts the difference. Called by
-- once(), in the transaction of the claim, which has entered the instance. Locks: the claim's row (held already), then
-- the instance's row, last: whoever takes the heads of databases takes them before it, as kv_write does.
create or replace function loci.keep_answer(p_instance text, p_database text, p_route text, p_holder text, p_key text, p_status int, p_answer json)
returns void language plpgsql as $$
declare
  -- The key's columns stand in the row and in the index; 250 = headers, fingerprint, times and the second index
  -- (measured by a test).
  v_bytes int := 250 + octet_length(p_answer::text)
    + 2 * (octet_length(p_instance) + octet_length(p_database) + octet_length(p_route) + octet_length(p_holder) + octet_length(p_key));
  v_before int;
begin
  select i.bytes into v_before from loci.idempotency i
    where i.instance_id = p_instance and i.database = p_database and i.route = p_route and i.holder = p_holder and i.key = p_key;
  update loci.idempotency i set status = p_status, answer = p_answer, bytes = v_bytes
    where i.instance_id = p_instance and i.database = p_database and i.route = p_route and i.holder = p_holder and i.key = p_key;
  update loci.instances n set keyed_answers = n.keyed_answers + case when v_before = 0 then 1 else 0 end,
      keyed_bytes = n.keyed_bytes + v_bytes - v_before, keyed_since = coalesce(n.keyed_since, now())
    where n.id = p_instance;
end
$$;

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
      select o.ctid from loci.idempotency o where o.instance_id = p_instance and o.created_at < now() - interval '24 hours'
      order by o.created_at limit p_limit for update skip locked))
    returning i.bytes
  )
  select count(*)::int as rows, count(*) filter (where r.bytes > 0) as answers, coalesce(sum(r.bytes), 0) as bytes into gone from removed r;
  perform 1 from loci.instances n where n.id = p_instance for update;
  -- After the lock: whoever counts an answer holds it to the commit, so the oldest that is seen now is the oldest that
  -- is counted.
  select o.created_at into v_oldest from loci.idempotency o where o.instance_id = p_instance order by o.created_at limit 1;
  update loci.instances n set keyed_since = v_oldest,
      keyed_answers = case when v_oldest is null then 0 else greatest(0, n.keyed_answers - gone.answers) end,
      keyed_bytes = case when v_oldest is null then 0 else greatest(0, n.keyed_bytes - gone.bytes) end
    where n.id = p_instance;
  return gone.rows;
end
$$;
comment on function loci.keep_answer is 'without enter_database: called in the transaction of a claim, which has entered';
comment on function loci.sweep_answers is 'without enter_database: it removes what is too old, and adds nothing';
