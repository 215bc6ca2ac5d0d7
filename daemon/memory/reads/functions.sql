-- Reading records: by id, by page, by number, and as they were answered once.

-- What is handed out of a record. `intact` is null when there is none; of a damaged one nothing but its id is.
create or replace function loci.record_shown(r loci.records, p_instance text, p_database text, p_now timestamptz,
  out id text, out seq bigint, out key text, out source_event_id text, out version bigint, out context bigint, out "position" int, out body text,
  out created_at timestamptz, out valid_from timestamptz, out valid_to timestamptz, out archived_at timestamptz, out expires_at timestamptz,
  out digest bytea, out intact boolean)
language plpgsql stable parallel safe as $$
begin
  if r.seq is null then
    return;
  end if;
  intact := loci.record_is_intact(r, p_instance, p_database);
  if not intact then
    id := case when octet_length(r.id) between 1 and 100 then r.id || '' end; seq := r.seq;
  elsif not loci.record_is_there(r, p_now) then
    intact := null;
  else
    id := r.id; seq := r.seq; key := r.key; source_event_id := r.source_event_id; version := r.changed_seq; context := r.context;
    "position" := r.position; body := r.body; created_at := r.created_at; valid_from := r.valid_from; valid_to := r.valid_to;
    archived_at := r.archived_at; expires_at := r.expires_at; digest := r.digest;
  end if;
end
$$;

-- Records of one instance by id, one row for each in their order. Called by findRecords(): every read by id. No locks.
create or replace function loci.mem_get_each(p_instance text, p_database text[], p_id text[])
returns table (id text, seq bigint, key text, source_event_id text, version bigint, context bigint, "position" int, body text,
  created_at timestamptz, valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_record loci.records;
begin
  perform set_config('loci.instance', p_instance, true);
  for i in 1 .. cardinality(p_id) loop
    select * into v_record from loci.records r where r.instance_id = p_instance and r.database = p_database[i] and r.id = p_id[i];
    return query select * from loci.record_shown(v_record, p_instance, p_database[i], clock_timestamp());
  end loop;
end
$$;

-- A page of records, newest first, numbered below p_below. What has expired is left out. Called by listRecords(). No
-- locks. Cost: one index range, every row in full.
create or replace function loci.mem_list(p_instance text, p_database text, p_below bigint, p_limit int, p_bytes_max int)
returns table (id text, seq bigint, key text, source_event_id text, version bigint, context bigint, "position" int, body text,
  created_at timestamptz, valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_record loci.records;
  v_bytes bigint := 0;
  v_count int := 0;
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('loci.instance', p_instance, true);
  for v_record in select * from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq < p_below order by r.seq desc
  loop
    select * into id, seq, key, source_event_id, version, context, "position", body, created_at, valid_from, valid_to, archived_at, expires_at, digest,
      intact from loci.record_shown(v_record, p_instance, p_database, v_now);
    continue when intact is null;
    return next;
    v_count := v_count + 1;
    v_bytes := v_bytes + coalesce(octet_length(body), 0);
    exit when v_count >= p_limit or v_bytes >= p_bytes_max;
  end loop;
end
$$;

-- Records by number, in the order of p_seq; those that are not there are left out. Called by findBySeq(): the second
-- stage of a recall. No locks. Cost: one read by the primary key for each.
create or replace function loci.mem_get_numbered(p_instance text, p_database text, p_seq bigint[])
returns table (id text, seq bigint, key text, source_event_id text, version bigint, context bigint, "position" int, body text,
  created_at timestamptz, valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_record loci.records;
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('loci.instance', p_instance, true);
  for i in 1 .. cardinality(p_seq) loop
    select * into v_record from loci.records r where r.instance_id = p_instance and r.database = p_database and r.seq = p_seq[i];
    return query select * from loci.record_shown(v_record, p_instance, p_database, v_now) s where s.intact is not null;
  end loop;
end
$$;

-- Records as they were at a version that was answered once, one row for each in their order: stored, then superseded,
-- then archived, so a version below the last has lost the later of these. Called by findAsOf(): repeats of keyed
-- requests. No locks.
create or replace function loci.mem_get_as_of(p_instance text, p_database text, p_id text[], p_version bigint[])
returns table (id text, seq bigint, key text, source_event_id text, version bigint, context bigint, "position" int, body text,
  created_at timestamptz, valid_from timestamptz, valid_to timestamptz, archived_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_record loci.records;
begin
  perform set_config('loci.instance', p_instance, true);
  for i in 1 .. cardinality(p_id) loop
    select * into v_record from loci.records r where r.instance_id = p_instance and r.database = p_database and r.id = p_id[i];
    if v_record.changed_seq > p_version[i] and loci.record_is_intact(v_record, p_instance, p_database) then
      v_record.changed_seq := p_version[i];
      v_record.archived_at := null;
      v_record.valid_to := case when v_record.seq = p_version[i] then null else v_record.valid_to end;
      v_record.digest := loci.record_digest(v_record);
    end if;
    return query select * from loci.record_shown(v_record, p_instance, p_database, clock_timestamp());
  end loop;
end
$$;
