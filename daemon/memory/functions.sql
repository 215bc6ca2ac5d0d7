-- Memory records. A record is stored once and never rewritten; what changes is whether it holds (valid_to,
-- archived_at), and each change has the database's next number (changed_seq). Reads and writes set the context of
-- row-level security in the same call as the work and run with the caller's rights. Records are read by their indexes
-- and never by a scan, as entries are (daemon/kv/functions.sql).

-- What a record counts for, beside its indexes.
create or replace function loci.record_bytes_of(p_body text, p_key text, p_source_event text, p_presented text) returns bigint
language sql immutable parallel safe as $$
  select octet_length(p_body)::bigint + coalesce(octet_length(p_key), 0) + coalesce(octet_length(p_source_event), 0)
    + coalesce(octet_length(p_presented), 0) + 64
$$;

create or replace function loci.record_bytes(r loci.records) returns bigint language sql immutable parallel safe as $$
  select loci.record_bytes_of(r.body, r.key, r.source_event_id, r.presented)
$$;

-- Stored bytes as they are: see entry_digest. Whatever can have any length has it in front.
create or replace function loci.record_digest_of(p_instance text, p_database text, p_id text, p_seq bigint, p_changed_seq bigint, p_key text,
  p_source_event text, p_context bigint, p_position int, p_value_mac bytea, p_created timestamptz, p_from timestamptz, p_to timestamptz,
  p_archived timestamptz, p_expires timestamptz, p_due timestamptz, p_presented text, p_body text)
returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_id || E'\x1f') || int8send(p_seq) || int8send(p_changed_seq)
    || coalesce(int4send(octet_length(p_key)) || textsend(p_key), '\xff'::bytea)
    || coalesce(int4send(octet_length(p_source_event)) || textsend(p_source_event), '\xff'::bytea)
    || int8send(p_context) || int4send(p_position) || int4send(octet_length(p_value_mac)) || p_value_mac
    || timestamptz_send(p_created) || timestamptz_send(p_from) || coalesce('\x01'::bytea || timestamptz_send(p_to), '\x00'::bytea)
    || coalesce('\x01'::bytea || timestamptz_send(p_archived), '\x00'::bytea)
    || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea)
    || coalesce('\x01'::bytea || timestamptz_send(p_due), '\x00'::bytea)
    || coalesce(int4send(octet_length(p_presented)) || textsend(p_presented), '\xff'::bytea) || textsend(p_body))
$$;

create or replace function loci.record_digest(r loci.records) returns bytea language sql stable parallel safe as $$
  select loci.record_digest_of(r.instance_id, r.database, r.id, r.seq, r.changed_seq, r.key, r.source_event_id, r.context, r.position,
    r.value_mac, r.created_at, r.valid_from, r.valid_to, r.archived_at, r.expires_at, r.due_at, r.presented, r.body)
$$;

-- Does a record fit its digest, and is it of this database? Sizes first: see is_intact.
create or replace function loci.record_is_intact(r loci.records, p_instance text, p_database text) returns boolean
language sql stable parallel safe as $$
  select case when octet_length(r.instance_id) not between 1 and 100 or octet_length(r.database) not between 1 and 100
      or octet_length(r.id) not between 1 and 100 or octet_length(r.key) not between 1 and 256
      or octet_length(r.source_event_id) not between 1 and 1024 or octet_length(r.value_mac) <> 16
      or octet_length(r.body) not between 1 and 262144 or octet_length(r.presented) not between 1 and 1024
      or octet_length(r.digest) <> 32 then false
    else coalesce(r.digest = loci.record_digest(r) and r.instance_id = p_instance and r.database = p_database, false) end
$$;

-- Is it to be seen at that time by its id? What was superseded or archived is.
create or replace function loci.record_is_there(r loci.records, p_now timestamptz) returns boolean language sql immutable parallel safe as $$
  select r.expires_at is null or r.expires_at > p_now
$$;

-- The head with a record more (p_sign 1) or less (-1).
create or replace function loci.mem_count(p_head loci.databases, r loci.records, p_sign int) returns loci.databases
language plpgsql immutable as $$
declare
  v_head loci.databases := p_head;
begin
  v_head.mem_records := v_head.mem_records + p_sign;
  v_head.mem_bytes := v_head.mem_bytes + p_sign * loci.record_bytes(r);
  v_head.mem_set_a := v_head.mem_set_a # loci.digest_part(r.digest, 1);
  v_head.mem_set_b := v_head.mem_set_b # loci.digest_part(r.digest, 9);
  return v_head;
end
$$;

-- Ends the validity of a record at p_at, or when it began if that is later. One that has ended before, or is damaged,
-- stays as it is: a damaged one is never recalled. Called by mem_write_open. Cost: one write by the primary key.
create or replace function loci.mem_close(p_head loci.databases, p_record loci.records, p_at timestamptz) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_closed loci.records := p_record;
begin
  if p_record.valid_to is not null or not loci.record_is_intact(p_record, p_head.instance_id, p_head.name) then
    return v_head;
  end if;
  v_head := loci.mem_count(v_head, p_record, -1);
  v_head.seq := v_head.seq + 1;
  v_closed.changed_seq := v_head.seq;
  v_closed.valid_to := greatest(p_at, p_record.valid_from);
  v_closed.digest := loci.record_digest(v_closed);
  update loci.records r set changed_seq = v_closed.changed_seq, valid_to = v_closed.valid_to, digest = v_closed.digest
    where r.instance_id = p_head.instance_id and r.database = p_head.name and r.seq = p_record.seq;
  v_head.mem_tail := v_head.mem_tail + (p_record.seq <= p_head.mem_indexed_through)::int;
  return loci.mem_count(v_head, v_closed, 1);
end
$$;
comment on function loci.mem_close is 'without enter_database: called with the head that mem_write_acts has entered';

-- The records p_items of one database, whose head is locked, one after the other. Called by mem_write_each and
-- prj_write. Cost: mem_store for each, and one update of the head.
create or replace function loci.mem_write_open(p_head loci.databases, p_items int[], p_id text[], p_key text[], p_source_event text[],
  p_context text[], p_value text[], p_override boolean[], p_supersedes text[], p_body text[], p_occurred timestamptz[], p_ttl_ms float8[])
returns table (ord int, outcome text, record loci.records, events jsonb)
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_stored record;
  v_soonest timestamptz;
begin
  foreach ord in array p_items loop
    v_stored := loci.mem_store(v_head, v_now, p_id[ord], p_key[ord], p_source_event[ord], p_context[ord], p_value[ord], p_override[ord],
      p_supersedes[ord], p_body[ord], p_occurred[ord], p_ttl_ms[ord]);
    v_head := v_stored.head; outcome := v_stored.outcome; record := v_stored.record; events := v_stored.events;
    if outcome = 'done' then
      v_soonest := least(v_soonest, record.expires_at);
    end if;
    return next;
  end loop;
  perform loci.mem_save_head(p_head, v_head, v_soonest);
end
$$;
comment on function loci.mem_write_open is 'without enter_database: called with the head that mem_write_acts has entered';

-- One record of a database whose head is locked; head: as it is then, which whoever calls writes. outcome and record:
-- as mem_write_acts says them. Called by mem_write_open and cycle_write_records. Cost: one to four index reads, one
-- insert, one write of a context, and one for each record that it ends.
create or replace function loci.mem_store(p_head loci.databases, p_now timestamptz, p_id text, p_key text, p_source_event text, p_context text,
  p_value text, p_override boolean, p_supersedes text, p_body text, p_occurred timestamptz, p_ttl_ms float8,
  out head loci.databases, out outcome text, out record loci.records, out events jsonb)
language plpgsql as $$
declare
  v_value bytea := decode(p_value, 'hex');
  v_former loci.records;
  v_placed record;
  -- It takes a tombstone back.
  v_is_allowed boolean := false;
begin
  head := p_head; events := '[]';
  if p_source_event is not null then
    -- Ordered outside: ordered inside, the first plan of a new table reads the whole database (64 ms of 15,000).
    select * into record from (select * from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name
      and r.source_event_id = p_source_event and (r.expires_at is null or r.expires_at > p_now) offset 0) r order by r.seq limit 1;
    if found then
      outcome := case when loci.record_is_intact(record, p_head.instance_id, p_head.name) then 'known' else 'damaged' end;
      return;
    end if;
  end if;
  if p_supersedes is not null then
    select * into v_former from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name
      and r.id = p_supersedes and (r.expires_at is null or r.expires_at > p_now);
  end if;
  outcome := case when p_supersedes is not null and v_former.id is null then 'missing'
    when v_former.id is not null and not loci.record_is_intact(v_former, p_head.instance_id, p_head.name) then 'damaged'
    when not p_override and exists (select from loci.tombstones t where t.instance_id = p_head.instance_id and t.database = p_head.name
      and t.value_mac = v_value) then 'forgotten' else 'done' end;
  if outcome <> 'done' then
    return;
  end if;
  if p_override then
    delete from loci.tombstones t where t.instance_id = p_head.instance_id and t.database = p_head.name and t.value_mac = v_value;
    v_is_allowed := found;
    head.mem_index_bytes := head.mem_index_bytes - case when v_is_allowed then 150 else 0 end;
  end if;
  record.instance_id := p_head.instance_id; record.database := p_head.name; record.id := p_id;
  record.key := p_key; record.source_event_id := p_source_event; record.value_mac := v_value;
  record.body := p_body; record.created_at := p_now; record.valid_from := least(coalesce(p_occurred, p_now), p_now);
  record.expires_at := date_trunc('milliseconds', p_now + p_ttl_ms * interval '1 millisecond');
  -- Quotes inside JSON strings are escaped, so this pattern matches only the member.
  if p_body like '%"dueAt":"%' then
    record.due_at := (p_body::json ->> 'dueAt')::timestamptz;
  end if;
  -- Where the clock was set back it holds from when the former one began, and not beside those that ended then.
  if v_former.id is not null then
    if p_occurred is null then
      record.valid_from := greatest(p_now, v_former.valid_from);
    end if;
    head := loci.mem_close(head, v_former, record.valid_from);
    events := events || loci.mem_event(p_head.name, 'superseded', v_former.id, head.seq, p_id);
  end if;
  if p_key is not null then
    for v_former in select * from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name
      and r.key = p_key and r.valid_to is null
    loop
      if p_occurred is null and v_former.valid_from > record.valid_from and loci.record_is_intact(v_former, p_head.instance_id, p_head.name) then
        record.valid_from := v_former.valid_from;
      end if;
      head := loci.mem_close(head, v_former, record.valid_from);
      events := events || loci.mem_event(p_head.name, 'superseded', v_former.id, head.seq, p_id);
    end loop;
  end if;
  -- The usual one here, without a call that hands the head over and back.
  update loci.contexts c set position = c.position + 1, records = c.records + 1
    where c.instance_id = p_head.instance_id and c.database = p_head.name and c.name_mac = decode(p_context, 'hex')
    returning c.number, c.position - 1 into record.context, record.position;
  if not found then
    v_placed := loci.mem_place(head, decode(p_context, 'hex'), coalesce(p_occurred, p_now));
    head := v_placed.head; record.context := v_placed.context; record.position := v_placed.position;
  end if;
  head.seq := head.seq + 1;
  record.seq := head.seq; record.changed_seq := head.seq;
  if v_is_allowed then
    perform loci.ledger_put(p_head.instance_id, p_head.name, v_value, true, head.seq);
  end if;
  record.digest := loci.record_digest(record);
  insert into loci.records select (record).*;
  head.mem_records := head.mem_records + 1;
  head.mem_bytes := head.mem_bytes + loci.record_bytes(record);
  head.mem_set_a := head.mem_set_a # loci.digest_part(record.digest, 1);
  head.mem_set_b := head.mem_set_b # loci.digest_part(record.digest, 9);
  head.mem_tail := head.mem_tail + loci.mem_tail_weight(p_body);
  events := events || loci.mem_event(p_head.name, 'stored', p_id, head.seq, null);
end
$$;
comment on function loci.mem_store is 'without enter_database: called with a head that was entered';

-- Lets a record end at another time, null for never. Where that is now it is not to be seen by anybody, and the sweep
-- of what has expired removes it from records and segments. One that is gone, or is damaged, stays as it is. Called by
-- prj_unsay, which has entered the database. Locks: the due row, totals. Cost: mem_end_at, and one write of the head.
create or replace function loci.mem_end(p_instance text, p_database text, p_id text, p_at timestamptz) returns void
language plpgsql as $$
declare
  v_head loci.databases;
begin
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  perform loci.mem_save_head(v_head, loci.mem_end_at(v_head, p_id, p_at, false), p_at);
end
$$;
comment on function loci.mem_end is 'without enter_database: called by functions that have entered';

-- The same for a head that whoever calls writes. p_is_longer: only if it ends later then. Called by mem_end and
-- prj_prolong. Cost: one read by id, one write by the primary key.
create or replace function loci.mem_end_at(p_head loci.databases, p_id text, p_at timestamptz, p_is_longer boolean) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_record loci.records;
begin
  select * into v_record from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name and r.id = p_id
    and (r.expires_at is null or r.expires_at > clock_timestamp());
  if not found or v_record.expires_at is not distinct from p_at or (p_is_longer and coalesce(v_record.expires_at >= p_at, v_record.expires_at is null))
      or not loci.record_is_intact(v_record, p_head.instance_id, p_head.name) then
    return v_head;
  end if;
  v_head := loci.mem_count(v_head, v_record, -1);
  v_head.seq := v_head.seq + 1;
  v_record.changed_seq := v_head.seq;
  v_record.expires_at := p_at;
  v_record.digest := loci.record_digest(v_record);
  update loci.records r set changed_seq = v_record.changed_seq, expires_at = v_record.expires_at, digest = v_record.digest
    where r.instance_id = p_head.instance_id and r.database = p_head.name and r.seq = v_record.seq;
  v_head.mem_tail := v_head.mem_tail + (v_record.seq <= v_head.mem_indexed_through)::int;
  return loci.mem_count(v_head, v_record, 1);
end
$$;
comment on function loci.mem_end_at is 'without enter_database: called by functions that have entered';

-- Do all of these records still hold? Called by cycle_commit, with the head locked. Cost: one read and a digest for
-- each.
create or replace function loci.mem_all_hold(p_instance text, p_database text, p_ids text[]) returns boolean
language plpgsql stable as $$
declare
  v_id text;
begin
  foreach v_id in array p_ids loop
    if not exists (select from loci.records r where r.instance_id = p_instance and r.database = p_database and r.id = v_id
        and loci.record_holds(r, clock_timestamp()) and loci.record_is_intact(r, p_instance, p_database)) then
      return false;
    end if;
  end loop;
  return true;
end
$$;

-- Writes down when records were presented. No new version, and nothing for the index: a record says what it said. One
-- that is gone or damaged stays so. Answers the head as it is then, which whoever calls writes. Called by
-- cycle_write_records, with the head locked. Cost: one write for each.
create or replace function loci.mem_present(p_head loci.databases, p_id text[], p_presented text[]) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_record loci.records;
begin
  for i in 1 .. cardinality(p_id) loop
    select * into v_record from loci.records r where r.instance_id = p_head.instance_id and r.database = p_head.name and r.id = p_id[i];
    continue when not found or not loci.record_is_intact(v_record, p_head.instance_id, p_head.name);
    v_head := loci.mem_count(v_head, v_record, -1);
    v_record.presented := p_presented[i];
    v_record.digest := loci.record_digest(v_record);
    update loci.records r set presented = v_record.presented, digest = v_record.digest
      where r.instance_id = p_head.instance_id and r.database = p_head.name and r.seq = v_record.seq;
    v_head := loci.mem_count(v_head, v_record, 1);
  end loop;
  return v_head;
end
$$;
comment on function loci.mem_present is 'without enter_database: called by functions that have entered';

-- Names and numbers, no content: an event outlives what it is about. Stable, as what it calls is: an immutable one is
-- not inlined.
create or replace function loci.mem_event(p_database text, p_what text, p_id text, p_seq bigint, p_by text) returns jsonb
language sql stable parallel safe as $$
  select jsonb_build_object('type', 'memory.' || p_what, 'database', p_database, 'domain', 'memory',
    'data', jsonb_strip_nulls(jsonb_build_object('id', p_id, 'version', p_seq, 'supersededBy', p_by)))
$$;

-- How much may be outside of the segments before these are built anew: records, a long one for several.
create or replace function loci.mem_tail_max() returns int language sql immutable parallel safe as $$ select 256 $$;

-- How much of it a database keeps that rests. A recall of one that is in no cache reads and analyses its tail: over
-- ten thousand databases with half of a full tail each, two thirds of all processor time (measured).
create or replace function loci.mem_tail_rest() returns int language sql immutable parallel safe as $$ select 16 $$;

-- What a record counts for there: one, and one more for each 8 KiB. A recall that has nothing in memory reads the whole
-- tail, and what a replica keeps of it must fit into its cache (tails.ts). What ended since counts for one: its number
-- is all that is read.
create or replace function loci.mem_tail_weight(p_body text) returns int language sql immutable parallel safe as $$
  select 1 + octet_length(p_body) / 8192
$$;

-- The index is due: at once where the tail has become full, later where it has become more than a database keeps that
-- rests. Once for each tail. Called by functions that hold the head and change the tail from p_before to p_after.
create or replace function loci.mem_put_index(p_instance text, p_database text, p_before int, p_after int) returns void language plpgsql as $$
begin
  if p_before < loci.mem_tail_max() and p_after >= loci.mem_tail_max() then
    perform loci.put_due(p_instance, p_database, 'index', clock_timestamp());
  elsif p_before < loci.mem_tail_rest() and p_after >= loci.mem_tail_rest() then
    perform loci.put_due(p_instance, p_database, 'index', clock_timestamp() + interval '10 minutes');
  end if;
end
$$;
comment on function loci.mem_put_index is 'without enter_database: called by functions that have entered';

-- Writes back the head of a database whose memory has changed, the totals of its instance, and what is due. Called by
-- every function that writes memory; p_written: as of add_totals. Locks: the due rows, totals.
create or replace function loci.mem_save_head(p_before loci.databases, p_head loci.databases, p_soonest timestamptz, p_written bigint default null)
returns void language plpgsql as $$
begin
  if p_head is distinct from p_before then
    perform loci.mem_put_head(p_before, p_head, p_soonest);
    perform loci.add_totals(p_head.instance_id, p_head.mem_records - p_before.mem_records,
      p_head.mem_bytes - p_before.mem_bytes + p_head.mem_index_bytes - p_before.mem_index_bytes, p_written);
  end if;
end
$$;
comment on function loci.mem_save_head is 'without enter_database: called by functions that have entered';

-- The same without the totals. Called by mem_save_head.
create or replace function loci.mem_put_head(p_before loci.databases, p_head loci.databases, p_soonest timestamptz)
returns void language plpgsql as $$
begin
  update loci.databases h set seq = p_head.seq, mem_records = p_head.mem_records, mem_bytes = p_head.mem_bytes, mem_set_a = p_head.mem_set_a,
      mem_set_b = p_head.mem_set_b, mem_unsettled = p_head.mem_unsettled, mem_contexts = p_head.mem_contexts,
      mem_open_context = p_head.mem_open_context, mem_open_position = p_head.mem_open_position, mem_open_at = p_head.mem_open_at,
      mem_indexed_through = p_head.mem_indexed_through, mem_indexed_at = p_head.mem_indexed_at, mem_index_bytes = p_head.mem_index_bytes,
      mem_tail = p_head.mem_tail, mem_erased_at = p_head.mem_erased_at
    where h.instance_id = p_head.instance_id and h.name = p_head.name;
  if p_soonest is not null then
    perform loci.put_due(p_head.instance_id, p_head.name, 'records', p_soonest);
  end if;
  perform loci.mem_put_index(p_head.instance_id, p_head.name, p_before.mem_tail, p_head.mem_tail);
  if p_head.cyc_interval_ms is not null then
    perform loci.put_cycle(p_head);
  end if;
end
$$;
comment on function loci.mem_put_head is 'without enter_database: called by functions that have entered';
