-- What every domain of tenant data stands on: entering an instance and its databases, totals, and the tables from the
-- catalog.

-- Enters an instance to the end of the transaction: its rows are visible, and who erases it waits. A replica that has
-- not heard of a deletion yet would otherwise write behind the back of the eraser, and what it wrote would stay for
-- ever. False: the instance is gone. Called by enter_database() and enterInstance(). Locks: the instance, shared, an
-- advisory lock that purge_some takes exclusively. The state is read by a statement of its own, after the lock: its
-- snapshot is of a moment at which nobody erases.
create or replace function loci.enter_instance(p_instance text) returns boolean language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_instance, 7026300004));
  return exists (select from loci.instances i where i.id = p_instance and i.state <> 'deleted');
end
$$;

-- Sees one database, to the end of the transaction: its rows, or nothing at all while it is being erased. Called by
-- every function that answers from the rows of a database. No locks. Cost: a look into an index that is mostly empty.
create or replace function loci.look_into(p_instance text, p_database text) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  if exists (select from loci.databases h where h.instance_id = p_instance and h.name = p_database and h.erasing_since is not null) then
    perform set_config('loci.instance', '', true);
  end if;
end
$$;

-- The same for several: their names, and none for each that is being erased. Called by functions that answer several
-- requests at once.
create or replace function loci.look_into_each(p_instance text, p_databases text[]) returns text[]
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  if exists (select from loci.databases h where h.instance_id = p_instance and h.name = any (p_databases) and h.erasing_since is not null) then
    return array(select case when exists (select from loci.databases h where h.instance_id = p_instance and h.name = d.name
      and h.erasing_since is not null) then '' else d.name end from unnest(p_databases) with ordinality as d(name, n) order by d.n);
  end if;
  return p_databases;
end
$$;

-- Enters databases for writing: one row for each distinct name with its locked head, or why there is none. outcome:
-- open; none (there is no such database, and it is not in p_new); databases (the plan has no more); erasing; gone (the
-- instance is). Every function that writes tenant rows calls this first (a test reads the catalog). Locks, always in
-- this order, so that no two writers wait for each other in a circle: the heads that are there, by name; then, where a
-- database is new, the instance's row, which counts its databases; then new heads, without waiting: 40001 where one
-- appeared meanwhile and is held. Cost: one index read for each name, the same with ten databases and with 100,000.
create or replace function loci.enter_database(p_instance text, p_names text[], p_new text[], p_databases_max bigint)
returns table (name text, outcome text, head loci.databases) language plpgsql as $$
#variable_conflict use_column
declare
  v_name text;
  v_names text[] := p_names;
  v_missing text[];
begin
  if not loci.enter_instance(p_instance) then
    return query select distinct n, 'gone', null::loci.databases from unnest(p_names) n;
    return;
  end if;
  -- One statement for each name, and none around it for a single one: every write comes through here. Measured for one
  -- database: 65 us of processor; with the names as a table beside it and a loop over the rows, 320.
  if cardinality(p_names) > 1 then
    v_names := array(select distinct n from unnest(p_names) n order by n);
  end if;
  foreach v_name in array v_names loop
    return query select h.name, case when h.erasing_since is null then 'open' else 'erasing' end, h
      from loci.databases h where h.instance_id = p_instance and h.name = v_name for update;
    if not found and v_name = any (p_new) then
      v_missing := v_missing || v_name;
    elsif not found then
      name := v_name; outcome := 'none'; head := null;
      return next;
    end if;
  end loop;
  if v_missing is null then
    return;
  end if;
  perform 1 from loci.instances i where i.id = p_instance for update;
  foreach v_name in array v_missing loop
    name := v_name;
    outcome := 'open';
    -- Somebody may have made it since the first look, and may hold it while waiting for the instance's row that is held
    -- here: no wait for it, the caller begins again.
    select * into head from loci.databases h where h.instance_id = p_instance and h.name = v_name for update skip locked;
    if not found then
      if exists (select from loci.databases h where h.instance_id = p_instance and h.name = v_name) then
        raise exception 'the database was made by another call meanwhile' using errcode = 'serialization_failure';
      end if;
      update loci.instances i set databases = i.databases + 1 where i.id = p_instance and i.databases < p_databases_max;
      if found then
        -- The schedule and the history that the service came with hold from the first write on. Its numbers go on
        -- behind those of a database of that name that was erased: a replay of the ledger tells them apart.
        insert into loci.databases (instance_id, name, created_at, cyc_interval_ms, cyc_history, seq)
          values (p_instance, v_name, date_trunc('milliseconds', clock_timestamp()), loci.cycle_interval(p_instance, v_name),
            loci.cycle_history(p_instance, v_name), coalesce((select l.seq + 1 from loci.deletions l
              where l.instance_id = p_instance and l.database = v_name and l.value_mac = '' and not l.is_override), 0)) returning * into head;
      else
        outcome := 'databases';
      end if;
    end if;
    return next;
  end loop;
end
$$;

-- Eight bytes of a digest as a number, for the xor over the digests of a set. Called by every domain
-- that keeps such sums in the head.
create or replace function loci.digest_part(p_digest bytea, p_from int) returns bigint
language sql immutable parallel safe as $$
  select ('x' || encode(substr(p_digest, p_from, 8), 'hex'))::bit(64)::bigint
$$;

-- Adds to what an instance holds over all domains, and to what it has written. p_written: null where that is what it
-- holds more; who overwrites or builds anew says it. Called by every function that changes how much a database holds or
-- writes content, in the transaction of the change. Locks: one of the instance's rows that nobody holds, and makes one
-- where there is none: it never waits, so it is part of no circle, whatever its callers lock before and after. There
-- are as many rows as transactions of the instance have written at once. Cost: one read and one write by the primary
-- key.
create or replace function loci.add_totals(p_instance text, p_records bigint, p_bytes bigint, p_written bigint default null) returns void
language plpgsql as $$
begin
  if p_records = 0 and p_bytes = 0 and coalesce(p_written, 0) = 0 then
    return;
  end if;
  update loci.instance_totals t set records = t.records + p_records, bytes = t.bytes + p_bytes,
      written = t.written + coalesce(p_written, greatest(p_bytes, 0))
    where t.instance_id = p_instance and t.slot = (select f.slot from loci.instance_totals f
      where f.instance_id = p_instance order by f.slot limit 1 for update skip locked);
  while not found loop
    insert into loci.instance_totals (instance_id, slot, records, bytes, written)
      values (p_instance, floor(random() * 2147483647), p_records, p_bytes, coalesce(p_written, greatest(p_bytes, 0)))
      on conflict do nothing;
  end loop;
end
$$;
comment on function loci.add_totals is 'without enter_database: called by functions that have entered';

-- Counts what was written and taken back: a rollback leaves it in the write-ahead log. Called by countWritten(), after
-- an act of several writes was refused. Locks: the instance, shared, and one row of its totals, without waiting.
create or replace function loci.count_written(p_instance text, p_written bigint) returns void language plpgsql as $$
begin
  if loci.enter_instance(p_instance) then
    perform loci.add_totals(p_instance, 0, 0, p_written);
  end if;
end
$$;
comment on function loci.count_written is 'without enter_database: writes a count of the instance, which it enters';

-- Puts what was erased, or allowed again, into the deletion ledger, in the transaction that does it: one row for each
-- value and kind, with the database's number. Called by mem_erase, mem_store and mem_replay. Locks: that row. Cost: one
-- write by the primary key.
create or replace function loci.ledger_put(p_instance text, p_database text, p_value bytea, p_is_override boolean, p_seq bigint) returns void
language sql as $$
  insert into loci.deletions as l (instance_id, database, value_mac, is_override, seq, at)
    values (p_instance, p_database, p_value, p_is_override, p_seq, date_trunc('milliseconds', clock_timestamp()))
    on conflict (instance_id, database, value_mac, is_override) do update
      set seq = excluded.seq, at = greatest(excluded.at, l.at + interval '1 millisecond'), reported_at = null
$$;
comment on function loci.ledger_put is 'without enter_database: called by functions that have entered';

-- The tables with rows of instances, from the catalog: a new one needs no entry anywhere. is_closed: row-level security
-- is forced. is_kept: erasing an instance leaves its rows (the comment of the table says `kept after erasure: …`).
-- Called by purge_some, open_tables and tests. Cost: a read of the catalog, about a millisecond.
create or replace function loci.tenant_tables() returns table (name text, is_closed boolean, is_kept boolean)
language sql stable as $$
  select c.relname::text, c.relrowsecurity and c.relforcerowsecurity,
    coalesce(obj_description(c.oid, 'pg_class'), '') like '%kept after erasure: %'
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'instance_id' and not a.attisdropped
  where c.relnamespace = 'loci'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname
$$;

-- Reads the closed tables as another instance would: a table in which a row of this one is seen is open. Called by
-- checkBoundary(), once for each report. Cost: one look into an index for each table.
create or replace function loci.open_tables(p_instance text, out checked int, out failed int)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_table text;
  v_is_seen boolean;
begin
  checked := 0;
  failed := 0;
  perform set_config('loci.instance', 'svc_of_somebody_else', true);
  for v_table in select t.name from loci.tenant_tables() t where t.is_closed loop
    execute format('select exists (select from loci.%I where instance_id = $1)', v_table)
      into v_is_seen using p_instance;
    checked := checked + 1;
    failed := failed + v_is_seen::int;
  end loop;
  perform set_config('loci.instance', p_instance, true);
end
$$;

-- Puts a database on the list of due work, or its time forward. Called by functions that hold the head of the database,
-- and so alone. Cost: one read of an index while an earlier time stands.
create or replace function loci.put_due(p_instance text, p_database text, p_kind text, p_at timestamptz)
returns void language plpgsql as $$
begin
  if not exists (select from loci.due d
      where d.instance_id = p_instance and d.database = p_database and d.kind = p_kind and d.at <= p_at) then
    insert into loci.due as d (instance_id, database, kind, at) values (p_instance, p_database, p_kind, p_at)
      on conflict (instance_id, database, kind) do update set at = least(d.at, excluded.at);
  end if;
end
$$;
comment on function loci.put_due is 'without enter_database: called by functions that have entered';

-- A database with a schedule has something to take in: a cycle is due, an interval after the last one. A row that
-- stands says when, or is claimed, and then the cycle that is under way sees to the next. Called by functions that hold
-- the head and bring records or slots. Cost: one read of an index while a row stands.
create or replace function loci.put_cycle(p_head loci.databases) returns void language plpgsql as $$
begin
  insert into loci.due (instance_id, database, kind, at) values (p_head.instance_id, p_head.name, 'cycle',
      greatest(clock_timestamp(), p_head.cyc_last_at + p_head.cyc_interval_ms * interval '1 millisecond'))
    on conflict do nothing;
end
$$;
comment on function loci.put_cycle is 'without enter_database: called by functions that have entered';
