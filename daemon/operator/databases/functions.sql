-- Functions that look over all domains, which need none of them: databases, totals, and erasing a whole database.

-- The tables with rows of databases, from the catalog: a new one needs no entry anywhere. is_led: an index begins with
-- the instance and the database, so that rows are found at once. What is not closed holds names and moments, and is no
-- content of a database. Called by db_erase_some and tests. Cost: a read of the catalog, about a millisecond.
create or replace function loci.database_tables() returns table (name text, is_led boolean)
language plpgsql stable as $$
begin
  return query select t.name, exists (select from pg_index x where x.indrelid = a.attrelid and x.indpred is null
      and x.indkey[1] = a.attnum and x.indkey[0] = (select o.attnum from pg_attribute o where o.attrelid = a.attrelid and o.attname = 'instance_id'))
    from loci.tenant_tables() t join pg_attribute a on a.attrelid = format('loci.%I', t.name)::regclass and a.attname = 'database' and not a.attisdropped
    where t.is_closed and not t.is_kept;
end
$$;

-- What a database holds, in bytes, as its functions have counted it into the totals of its instance. Called by db_list
-- and db_leave. No locks. Cost: five reads of indexes, and one for each weight of an outcome.
create or replace function loci.database_bytes(p_head loci.databases) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return p_head.kv_bytes + p_head.wm_bytes + p_head.mem_bytes + p_head.mem_index_bytes + p_head.prj_bytes + p_head.cyc_bytes
    + (select coalesce(sum(b), 0) from unnest(p_head.cyc_week_bytes) b)
    + coalesce((select sum(b) from loci.working_memory w, unnest(w.week_bytes) b where w.instance_id = p_head.instance_id and w.database = p_head.name), 0)
    + coalesce((select sum(octet_length(c.sent) + 100) from loci.configs c where c.instance_id = p_head.instance_id and c.database = p_head.name), 0)
    + coalesce((select s.bytes from loci.advice_snapshots s where s.instance_id = p_head.instance_id and s.database = p_head.name), 0)
    + coalesce((select sum(octet_length(a.tool) + 100) from loci.advice_passed a where a.instance_id = p_head.instance_id and a.database = p_head.name), 0)
    + 200 * (select count(*) from loci.advice_weights w where w.instance_id = p_head.instance_id and w.database = p_head.name);
end
$$;

-- A page of the databases of an instance, by name, as their owner counts them: what has expired and was not swept yet
-- is not there any more, and neither is a database that is being erased. Called by listDatabases(). No locks. Cost: for
-- each one database_bytes(), and one read for each expired entry.
create or replace function loci.db_list(p_instance text, p_after text, p_limit int)
returns table (name text, records bigint, slots bigint, keys bigint, bytes bigint, created_at timestamptz)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_head loci.databases;
  v_gone record;
begin
  perform set_config('loci.instance', p_instance, true);
  for v_head in select * from loci.databases h where h.instance_id = p_instance and h.name > p_after and h.erasing_since is null order by h.name limit p_limit
  loop
    name := v_head.name; records := v_head.mem_records; slots := v_head.wm_slots; keys := v_head.kv_keys;
    bytes := loci.database_bytes(v_head); created_at := v_head.created_at;
    if coalesce((select d.at <= v_now + interval '5 seconds' from loci.due d
        where d.instance_id = p_instance and d.database = v_head.name and d.kind = 'expiry'), false) then
      select x.keys, x.bytes into v_gone from loci.kv_expired(p_instance, name, v_now, null, null) x;
      keys := keys - v_gone.keys; bytes := bytes - v_gone.bytes;
    end if;
    keys := least(greatest(keys, 0), 9007199254740991); bytes := least(greatest(bytes, 0), 9007199254740991);
    return next;
  end loop;
end
$$;

-- Counts what an instance holds in all domains, for its quota. Expired rows are taken off only where a sum is over one
-- of the two numbers, and only until it is not. `stable`: every statement inside sees one snapshot, so a sweep between
-- two of them is not counted twice. Called by readUsage(). No locks. Cost: a few rows of totals while there is
-- room, however many databases there are; else also the databases with something due, which a claim of the worker has
-- moved up to 5 s ahead.
create or replace function loci.kv_usage_within(p_instance text, p_records_max bigint, p_bytes_max bigint,
  out records bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_due record;
  v_gone record;
begin
  perform set_config('loci.instance', p_instance, true);
  select coalesce(sum(t.records), 0), coalesce(sum(t.bytes), 0) into records, bytes
    from loci.instance_totals t where t.instance_id = p_instance;
  bytes := bytes + coalesce((select i.keyed_bytes from loci.instances i where i.id = p_instance), 0);
  for v_due in select d.database, d.kind from loci.due d where d.instance_id = p_instance and d.kind in ('expiry', 'records')
    and d.at <= v_now + interval '5 seconds' order by d.database, d.kind
  loop
    exit when records <= p_records_max and bytes <= p_bytes_max;
    if v_due.kind = 'expiry' then
      v_gone := loci.kv_expired(p_instance, v_due.database, v_now, records - p_records_max, bytes - p_bytes_max);
    else
      v_gone := loci.mem_expired(p_instance, v_due.database, v_now, records - p_records_max, bytes - p_bytes_max);
    end if;
    records := records - v_gone.keys;
    bytes := bytes - v_gone.bytes;
  end loop;
  -- Within what the daemon can count: a total that rotted must not make every write fail.
  records := least(greatest(records, 0), 9007199254740991);
  bytes := least(greatest(bytes, 0), 9007199254740991);
end
$$;

-- Traces that an instance has left today, by the day of UTC, beside what it holds: events, acts in its audit, and bytes
-- that it has written. All are counted from its beginning, so a day is its first numbers, kept in the instance's row
-- when the first quota of the day is read. Called by readUsage(). Locks: that row, once a day, without waiting: who
-- makes a database holds it. Cost: four reads by primary keys.
create or replace function loci.traces_today(p_instance text, out events bigint, out acts bigint, out written bigint) language plpgsql as $$
declare
  v_today date := (clock_timestamp() at time zone 'UTC')::date;
  v_from record;
begin
  events := coalesce((select h.seq from loci.event_heads h where h.instance_id = p_instance), 0);
  acts := coalesce((select c.seq from loci.audit_chains c where c.chain = p_instance), 0);
  -- Within what the daemon can count, as in kv_usage_within.
  written := (select least(coalesce(sum(t.written), 0), 9007199254740991) from loci.instance_totals t where t.instance_id = p_instance);
  select i.traces_on, i.traces_events, i.traces_acts, i.traces_written into v_from from loci.instances i where i.id = p_instance;
  if v_from.traces_on = v_today then
    events := greatest(events - v_from.traces_events, 0);
    acts := greatest(acts - v_from.traces_acts, 0);
    written := greatest(written - v_from.traces_written, 0);
    return;
  end if;
  update loci.instances i set traces_on = v_today, traces_events = events, traces_acts = acts, traces_written = written
    where i.id = (select f.id from loci.instances f where f.id = p_instance and f.state <> 'deleted' for update skip locked);
  events := 0;
  acts := 0;
  written := 0;
end
$$;
comment on function loci.traces_today is 'without enter_database: writes numbers of a day into the row of the instance';

-- Begins to erase a database: from its commit on nothing of it is read (look_into) and nobody writes to it
-- (enter_database). The ledger gets its number: what has that number or a lower one is the life that ends. outcome:
-- begun, erasing (another call has begun), none, gone (the instance is). Called by beginErasure(). Locks: the head, the
-- due row, totals, the row of the ledger. Cost: database_bytes().
create or replace function loci.db_erase(p_instance text, p_database text, out outcome text) language plpgsql as $$
declare
  v_entered record;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  outcome := v_entered.outcome;
  if outcome = 'open' then
    outcome := 'begun';
    perform loci.db_leave(v_entered.head, (v_entered.head).seq + 1);
    perform loci.ledger_put(p_instance, p_database, '', false, (v_entered.head).seq + 1);
  end if;
end
$$;

-- The same when a restored cell replays the ledger: only where the database is still of the life that ended at the
-- number p_seq. What was begun after it has a higher number from its first write on (enter_database). True: it is to be
-- erased. Called by replayDatabase(), before the cell serves. Locks: the head, the due row, totals, rows of the ledger.
create or replace function loci.db_replay(p_instance text, p_database text, p_seq bigint, p_at timestamptz) returns boolean language plpgsql as $$
declare
  v_entered record;
begin
  insert into loci.deletions as l (instance_id, database, seq, at, reported_at) values (p_instance, p_database, p_seq, p_at, clock_timestamp())
    on conflict (instance_id, database, value_mac, is_override) do update set seq = greatest(l.seq, excluded.seq), at = greatest(l.at, excluded.at),
      reported_at = case when l.seq > excluded.seq then l.reported_at else excluded.reported_at end;
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome = 'open' and (v_entered.head).seq <= p_seq then
    perform loci.db_leave(v_entered.head, p_seq);
    return true;
  end if;
  return v_entered.outcome = 'erasing';
end
$$;
comment on function loci.db_replay is 'without enter_database: enters after it has written the ledger, which is of no database';

-- Closes a database that is to be erased, and takes what it holds off the totals of its instance. Called by db_erase
-- and db_replay. Locks: the due row, totals.
create or replace function loci.db_leave(p_head loci.databases, p_seq bigint) returns void language plpgsql as $$
begin
  update loci.databases h set seq = p_seq, erasing_since = clock_timestamp() where h.instance_id = p_head.instance_id and h.name = p_head.name;
  perform loci.add_totals(p_head.instance_id, -(p_head.kv_keys + p_head.mem_records + p_head.prj_held), -loci.database_bytes(p_head), 0);
  -- Whoever has begun goes on at once; after a crash a worker does.
  perform loci.put_due(p_head.instance_id, p_head.name, 'erase', clock_timestamp() + interval '5 seconds');
end
$$;
comment on function loci.db_leave is 'without enter_database: called by functions that have entered';

-- Erases up to p_limit rows of a database that is being erased. True: nothing is left, and its name is free: the next
-- write to it makes a database whose numbers go on behind those of the one that ended. Called by eraseSome(). Locks:
-- the head, rows, the due rows, the row of the instance; at the end the head of the events. Cost: one read of an index
-- and one delete for each row.
create or replace function loci.db_erase_some(p_instance text, p_database text, p_limit int) returns boolean
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_head loci.databases;
  v_answers record;
  v_table text;
  v_removed int;
  v_sum int;
begin
  if not loci.enter_instance(p_instance) then
    return true;
  end if;
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.erasing_since is not null for update;
  if not found then
    return true;
  end if;
  -- Kept answers are counted in the row of the instance.
  with gone as (
    delete from loci.idempotency i where i.instance_id = p_instance and i.database = p_database and i.ctid = any (array(
      select o.ctid from loci.idempotency o where o.instance_id = p_instance and o.database = p_database limit p_limit))
    returning i.bytes
  )
  select count(*)::int as rows, count(*) filter (where g.bytes > 0) as answers, coalesce(sum(g.bytes), 0) as bytes into v_answers from gone g;
  v_sum := v_answers.rows;
  for v_table in select t.name from loci.database_tables() t where t.name <> 'idempotency' order by not t.is_led, t.name loop
    exit when v_sum >= p_limit;
    -- The place in both conditions: a ctid is unique in one partition only.
    execute format('delete from loci.%1$I where instance_id = $1 and database = $2
        and ctid = any (array(select ctid from loci.%1$I where instance_id = $1 and database = $2 limit $3))', v_table)
      using p_instance, p_database, p_limit - v_sum;
    get diagnostics v_removed = row_count;
    v_sum := v_sum + v_removed;
  end loop;
  if v_sum < p_limit then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database;
    -- The row of the whole database says more than those of its values.
    delete from loci.deletions d where d.instance_id = p_instance and d.database = p_database and d.value_mac <> '' and d.seq <= v_head.seq;
    delete from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  end if;
  if v_sum < p_limit or v_answers.rows > 0 then
    update loci.instances i set databases = i.databases - (v_sum < p_limit)::int, keyed_answers = greatest(0, i.keyed_answers - v_answers.answers),
      keyed_bytes = greatest(0, i.keyed_bytes - v_answers.bytes) where i.id = p_instance;
  end if;
  if v_sum < p_limit then
    perform loci.append_events_of(p_instance, 'database.deleted', case when i.service_type = 'kv' then 'kv' else 'memory' end, array[p_database], '{"{}"}')
      from loci.instances i where i.id = p_instance;
  end if;
  return v_sum < p_limit;
end
$$;
comment on function loci.db_erase_some is 'without enter_database: it erases what nobody may enter any more';
