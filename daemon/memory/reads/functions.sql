-- Reading records: by id, by page, by number, and as they were answered once. Each row has the record and whether it is
-- intact: null when there is none, and of a damaged one nothing is handed out but its number and its id.

-- Of a record that is damaged.
create or replace function loci.record_named(r loci.records) returns loci.records language sql stable parallel safe as $$
  select jsonb_populate_record(null::loci.records, jsonb_build_object('seq', r.seq, 'id', case when octet_length(r.id) between 1 and 100 then r.id end))
$$;

-- Records of one instance by id, one row for each in their order. Called by findRecords(): every read by id. No locks.
create or replace function loci.mem_get_each(p_instance text, p_database text[], p_id text[]) returns table (record loci.records, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  p_database := loci.look_into_each(p_instance, p_database);
  for i in 1 .. cardinality(p_id) loop
    record := null;
    select * into record from loci.records r where r.instance_id = p_instance and r.database = p_database[i] and r.id = p_id[i];
    intact := case when record.seq is not null then loci.record_is_intact(record, p_instance, p_database[i]) end;
    if not intact then
      record := loci.record_named(record);
    elsif not loci.record_is_there(record, v_now) then
      intact := null;
    end if;
    return next;
  end loop;
end
$$;

-- A page of records, newest first, numbered below p_below. What has expired is left out. Called by listRecords(). No
-- locks. Cost: one index range, every row in full.
create or replace function loci.mem_list(p_instance text, p_database text, p_below bigint, p_limit int, p_bytes_max int)
returns table (record loci.records, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_bytes bigint := 0;
  v_count int := 0;
  v_now timestamptz := clock_timestamp();
begin
  perform loci.look_into(p_instance, p_database);
  for record in select * from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq < p_below order by r.seq desc
  loop
    intact := loci.record_is_intact(record, p_instance, p_database);
    if not intact then
      record := loci.record_named(record);
    end if;
    continue when intact and not loci.record_is_there(record, v_now);
    return next;
    v_count := v_count + 1;
    v_bytes := v_bytes + coalesce(octet_length(record.body), 0);
    exit when v_count >= p_limit or v_bytes >= p_bytes_max;
  end loop;
end
$$;

-- The same, oldest first, numbered above p_above.
create or replace function loci.mem_list_up(p_instance text, p_database text, p_above bigint, p_limit int, p_bytes_max int)
returns table (record loci.records, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_bytes bigint := 0;
  v_count int := 0;
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('loci.instance', p_instance, true);
  for record in select * from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq > p_above order by r.seq
  loop
    intact := loci.record_is_intact(record, p_instance, p_database);
    if not intact then
      record := loci.record_named(record);
    end if;
    continue when intact and not loci.record_is_there(record, v_now);
    return next;
    v_count := v_count + 1;
    v_bytes := v_bytes + coalesce(octet_length(record.body), 0);
    exit when v_count >= p_limit or v_bytes >= p_bytes_max;
  end loop;
end
$$;

-- How many records a database has, by its head; 0 while it is being erased. Called by countRecords(): every page of a
-- list that has several. No locks. Cost: one look into an index.
create or replace function loci.mem_total(p_instance text, p_database text) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return coalesce((select h.mem_records from loci.databases h
    where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null), 0);
end
$$;

-- Records by number, in the order of p_seq; those that are not there are left out. Called by findNumbered(): the second
-- stage of a recall. No locks. Cost: one read by the primary key and one hash for each. `offset 0` keeps the planner
-- from joining the numbers with the whole database (130 ms of 10^5 records).
create or replace function loci.mem_get_numbered(p_instance text, p_database text, p_seq bigint[]) returns table (record loci.records, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform loci.look_into(p_instance, p_database);
  return query select case when i.intact then f.r else loci.record_named(f.r) end, i.intact
    from unnest(p_seq) with ordinality as q(seq, n)
    cross join lateral (select r from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq = q.seq offset 0) f
    cross join lateral (select loci.record_is_intact(f.r, p_instance, p_database) as intact offset 0) i
    where not i.intact or loci.record_is_there(f.r, clock_timestamp()) order by q.n;
end
$$;

-- Records as they were at a version that was answered once, one row for each in their order: stored, then superseded,
-- then archived, so a version below the last has lost the later of these. Called by findAsOf(): repeats of keyed
-- requests. No locks.
create or replace function loci.mem_get_as_of(p_instance text, p_database text, p_id text[], p_version bigint[])
returns table (record loci.records, intact boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  v_found record;
  v_at int := 0;
begin
  for v_found in select * from loci.mem_get_each(p_instance, array_fill(p_database, array[cardinality(p_id)]), p_id) loop
    v_at := v_at + 1; record := v_found.record; intact := v_found.intact;
    if intact and record.changed_seq > p_version[v_at] then
      record.changed_seq := p_version[v_at];
      record.archived_at := null;
      record.valid_to := case when record.seq = p_version[v_at] then null else record.valid_to end;
      record.digest := loci.record_digest(record);
    end if;
    return next;
  end loop;
end
$$;

-- The records numbered p_from to p_through, at most p_limit, read around what cannot be read: a range that fails is
-- halved until the rows at fault stand alone. intact is null for these, and nothing but their number is known. Called
-- by itself and by the functions below, after a read that failed. No locks. Cost: a sub-transaction and a warning in
-- the server's log for each step of the search.
create or replace function loci.mem_rows(p_instance text, p_database text, p_from bigint, p_through bigint, p_limit int, p_is_down boolean)
returns table (seq bigint, record loci.records, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_rows loci.records[];
  v_middle bigint := p_from + (p_through - p_from) / 2;
  v_count int;
begin
  begin
    -- Every column is looked at here, inside of the block that catches what cannot be read.
    if p_is_down then
      v_rows := array(select r from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq between p_from and p_through
        and loci.record_is_intact(r, p_instance, p_database) is not null order by r.seq desc limit p_limit);
    else
      v_rows := array(select r from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq between p_from and p_through
        and loci.record_is_intact(r, p_instance, p_database) is not null order by r.seq limit p_limit);
    end if;
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_from >= p_through then
      return query select p_from, null::loci.records, null::boolean;
      return;
    end if;
    return query select * from loci.mem_rows(p_instance, p_database, case when p_is_down then v_middle + 1 else p_from end,
      case when p_is_down then p_through else v_middle end, p_limit, p_is_down);
    get diagnostics v_count = row_count;
    if v_count < p_limit then
      return query select * from loci.mem_rows(p_instance, p_database, case when p_is_down then p_from else v_middle + 1 end,
        case when p_is_down then v_middle else p_through end, p_limit - v_count, p_is_down);
    end if;
    return;
  end;
  for v_at in 1 .. cardinality(v_rows) loop
    record := v_rows[v_at]; seq := record.seq; intact := loci.record_is_intact(record, p_instance, p_database);
    if not intact then
      record := loci.record_named(record);
    end if;
    return next;
  end loop;
end
$$;

-- As mem_list, around what cannot be read; a page has at most 50. Called by listRecords().
create or replace function loci.mem_list_around(p_instance text, p_database text, p_below bigint, p_limit int)
returns table (seq bigint, record loci.records, intact boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  v_left int := least(p_limit, 50);
  v_through bigint;
  v_read int;
  v_row record;
begin
  perform loci.look_into(p_instance, p_database);
  select least(p_below - 1, h.seq) into v_through from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  loop
    v_read := 0;
    for v_row in select * from loci.mem_rows(p_instance, p_database, 0, v_through, v_left, true) loop
      seq := v_row.seq; record := v_row.record; intact := v_row.intact; v_read := v_read + 1; v_through := seq - 1;
      continue when intact and not loci.record_is_there(record, clock_timestamp());
      v_left := v_left - 1;
      return next;
    end loop;
    exit when v_read = 0 or v_left <= 0;
  end loop;
end
$$;

-- The same for mem_list_up.
create or replace function loci.mem_list_up_around(p_instance text, p_database text, p_above bigint, p_limit int)
returns table (seq bigint, record loci.records, intact boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  v_left int := least(p_limit, 50);
  v_from bigint := p_above + 1;
  v_through bigint;
  v_read int;
  v_row record;
begin
  perform set_config('loci.instance', p_instance, true);
  select h.seq into v_through from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  loop
    v_read := 0;
    for v_row in select * from loci.mem_rows(p_instance, p_database, v_from, v_through, v_left, false) loop
      seq := v_row.seq; record := v_row.record; intact := v_row.intact; v_read := v_read + 1; v_from := seq + 1;
      continue when intact and not loci.record_is_there(record, clock_timestamp());
      v_left := v_left - 1;
      return next;
    end loop;
    exit when v_read = 0 or v_left <= 0;
  end loop;
end
$$;

-- As mem_get_numbered, around what cannot be read. Called by findNumbered().
create or replace function loci.mem_get_numbered_around(p_instance text, p_database text, p_seq bigint[])
returns table (seq bigint, record loci.records, intact boolean)
language plpgsql as $$
begin
  perform loci.look_into(p_instance, p_database);
  return query select r.* from unnest(p_seq) with ordinality as q(seq, n), lateral loci.mem_rows(p_instance, p_database, q.seq, q.seq, 1, false) r
    where r.intact is not true or loci.record_is_there(r.record, clock_timestamp()) order by q.n;
end
$$;

-- The texts of the records from p_from to p_through that hold, as mem_range, around what cannot be read; of those that
-- are damaged or unreadable [seq, "0"]. Called by readTexts() and readIndex().
create or replace function loci.mem_range_around(p_instance text, p_database text, p_from bigint, p_through bigint) returns text
language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return (select '[' || coalesce(string_agg(case when r.intact then loci.mem_text(r.record) else '[' || r.seq || ',"0"]' end, ',' order by r.seq), '') || ']'
    from loci.mem_rows(p_instance, p_database, p_from, p_through, 4096, false) r
    where r.intact is not true or loci.record_holds(r.record, clock_timestamp()));
end
$$;

-- What mem_index says of records that ended, around what cannot be read of them: the number of each that changed
-- between p_from and p_through, stands in a segment and no longer holds; null of one that cannot be read, whose number
-- nobody knows. A range that fails is halved, as by mem_rows. Called by readIndex(), and by itself. No locks.
create or replace function loci.mem_changed_around(p_instance text, p_database text, p_indexed_through bigint, p_from bigint, p_through bigint)
returns table (seq bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_middle bigint := p_from + (p_through - p_from) / 2;
  v_seqs bigint[];
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    v_seqs := array(select r.seq from loci.records r where r.instance_id = p_instance and r.database = p_database
      and r.changed_seq between p_from and p_through and r.changed_seq <> r.seq and r.seq <= p_indexed_through and not loci.record_holds(r, v_now));
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_from >= p_through then
      return query select null::bigint;
      return;
    end if;
    return query select * from loci.mem_changed_around(p_instance, p_database, p_indexed_through, p_from, v_middle);
    return query select * from loci.mem_changed_around(p_instance, p_database, p_indexed_through, v_middle + 1, p_through);
    return;
  end;
  return query select unnest(v_seqs);
end
$$;

-- The same for the texts of those that ended after p_after and until p_until and held at p_as_of, of p_limit at most
-- (text; null where some that ended in one millisecond cannot be read, and then nothing is known of the others).
create or replace function loci.mem_closed_around(p_instance text, p_database text, p_as_of timestamptz, p_after timestamptz, p_until timestamptz,
  p_limit int)
returns table (text text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_middle timestamptz := p_after + (p_until - p_after) / 2;
  v_texts text[];
  v_count int;
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    v_texts := array(select case when loci.record_held(c.r, p_as_of, v_now)
        and loci.record_is_intact(c.r, p_instance, p_database) then loci.mem_text(c.r) else '' end
      from (select r from loci.records r where r.instance_id = p_instance and r.database = p_database and r.valid_to > p_after and r.valid_to <= p_until
        order by r.valid_to limit p_limit) c);
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file or program_limit_exceeded then
    if p_until - p_after <= interval '1 millisecond' then
      return query select null::text;
      return;
    end if;
    return query select * from loci.mem_closed_around(p_instance, p_database, p_as_of, p_after, v_middle, p_limit);
    get diagnostics v_count = row_count;
    if v_count < p_limit then
      return query select * from loci.mem_closed_around(p_instance, p_database, p_as_of, v_middle, p_until, p_limit - v_count);
    end if;
    return;
  end;
  return query select unnest(v_texts);
end
$$;
