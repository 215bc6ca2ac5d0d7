-- What has expired: it is not counted, and it is removed.

-- What has expired in a database and was not swept yet, read from entries_expiring. Stops once both numbers are
-- reached; null = never. Called by kv_databases and kv_usage_within, which set the context. Cost: one index entry and
-- one row for each that is counted.
create or replace function loci.kv_expired(p_instance text, p_database text, p_now timestamptz, p_keys bigint,
  p_bytes bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_bytes int;
begin
  keys := 0;
  bytes := 0;
  if p_keys is null then
    select count(*), coalesce(sum(octet_length(e.key) + octet_length(e.value)), 0) into keys, bytes
    from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now;
    return;
  end if;
  for v_bytes in
    select octet_length(e.key) + octet_length(e.value) from loci.entries e
    where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now
  loop
    keys := keys + 1;
    bytes := bytes + v_bytes;
    exit when keys >= p_keys and bytes >= p_bytes;
  end loop;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  -- Damage is for the consistency report; here the counters stand as they are.
  keys := 0;
  bytes := 0;
end
$$;

-- Removes what has expired in a database, a bounded number at a time, and puts it on the list again for the next. An
-- entry that does not fit its digest stays: its expiry may be what rotted. What cannot be read is left for ten minutes.
-- Called by the worker of due rows, kind `expiry`. Locks: the head, rows, the due row, totals. Cost: two reads for each
-- entry removed. They are deleted one by one, because a join of the batch with the table was planned as 500 times the
-- database before its first analyze (7 s for 500 of 2,200 entries: longer than a statement may take, so it never
-- ended).
create or replace function loci.kv_expire(p_instance text, p_database text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_old record;
  v_removed int := 0;
  v_bytes bigint := 0;
  v_a bigint := 0;
  v_b bigint := 0;
  v_next timestamptz;
  -- A variable, because clock_timestamp() itself is never a condition on an index: each sweep would read all that
  -- expires some day.
  v_now timestamptz := clock_timestamp();
begin
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) in ('gone', 'erasing') then
    return 0;
  end if;
  begin
    for v_old in
      select x.key, octet_length(x.key) + octet_length(x.value) as bytes, loci.digest_part(x.digest, 1) as a,
        loci.digest_part(x.digest, 9) as b
      from loci.entries x where x.instance_id = p_instance and x.database = p_database and x.expires_at <= v_now
        and loci.is_intact(x, p_instance, p_database) limit p_limit
    loop
      delete from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.key = v_old.key;
      v_removed := v_removed + 1;
      v_bytes := v_bytes + v_old.bytes;
      v_a := v_a # v_old.a;
      v_b := v_b # v_old.b;
    end loop;
    select case when v_removed >= p_limit then v_now else min(e.expires_at) end into v_next from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.expires_at > v_now;
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
    v_removed := 0;
    v_next := v_now + interval '10 minutes';
  end;
  if v_removed > 0 then
    update loci.databases h set kv_keys = h.kv_keys - v_removed, kv_bytes = h.kv_bytes - v_bytes,
      kv_set_a = h.kv_set_a # v_a,
      kv_set_b = h.kv_set_b # v_b, seq = h.seq + 1 where h.instance_id = p_instance and h.name = p_database;
    perform loci.add_totals(p_instance, -v_removed, -v_bytes);
  end if;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'expiry';
  else
    update loci.due d set at = v_next where d.instance_id = p_instance and d.database = p_database
      and d.kind = 'expiry';
  end if;
  return v_removed;
end
$$;
