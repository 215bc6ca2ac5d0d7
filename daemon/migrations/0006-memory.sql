-- serves: 0003
-- functions: 24be4adb1b18c667868668dd12c78ad944e249a2a2f8abd471ce2968a990e482

-- Of the memory of a database. Records: how many, their bytes, their digests combined by xor, whether a damaged one was
-- erased since, and the number at which they were last read whole and found intact. Contexts: how many were numbered;
-- the open one, its next position and its last moment. Index: records up to mem_indexed_through stand in segments, as
-- they were at mem_indexed_at; the bytes of the segments; how much is in none, or has changed since; and the
-- number of the last erasure.
alter table loci.databases
  add column mem_records bigint not null default 0,
  add column mem_bytes bigint not null default 0,
  add column mem_set_a bigint not null default 0,
  add column mem_set_b bigint not null default 0,
  add column mem_unsettled boolean not null default false,
  add column mem_verified bigint,
  add column mem_contexts bigint not null default 0,
  add column mem_open_context bigint,
  add column mem_open_position int not null default 0,
  add column mem_open_at timestamptz,
  add column mem_indexed_through bigint not null default 0,
  add column mem_indexed_at bigint not null default 0,
  add column mem_index_bytes bigint not null default 0,
  add column mem_tail int not null default 0,
  add column mem_erased_at bigint not null default 0;

create table loci.records (
  instance_id text not null,
  database text not null,
  -- The database's number of its storing: what segments name it by.
  seq bigint not null,
  id text collate "C" not null,
  -- The database's number of its last change: its version. Another than seq when it was superseded or archived.
  changed_seq bigint not null,
  key text collate "C",
  source_event_id text collate "C",
  -- Neighbours are by position in the context; erasure moves neither.
  context bigint not null,
  position int not null,
  -- HMAC of the normalised content: what a tombstone is compared with.
  value_mac bytea not null,
  -- What was sent and never changes, as the JSON that is answered.
  body text not null,
  created_at timestamptz not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  archived_at timestamptz,
  expires_at timestamptz,
  -- Over every other column (loci.record_digest).
  digest bytea not null,
  -- When, beyond the moment that a record is about: what its slot has learned, written when it leaves, as JSON.
  presented text,
  -- Of the body, to be found by.
  due_at timestamptz,
  primary key (instance_id, database, seq)
);
-- The id first: with the same columns in front as the primary key, a plan that is made while the table is small may
-- read a whole database through this index to find a record by its number. Ids grow with time: it grows at its end.
create unique index records_by_id on loci.records (id, instance_id, database);
-- Not unique: of an expired record that is not swept yet and a new one both stand here for a moment.
create index records_by_source_event on loci.records (instance_id, database, source_event_id) where source_event_id is not null;
create index records_current_key on loci.records (instance_id, database, key) where key is not null and valid_to is null;
create index records_changed on loci.records (instance_id, database, changed_seq) where changed_seq <> seq;
create index records_closed on loci.records (instance_id, database, valid_to) where valid_to is not null;
create index records_expiring on loci.records (instance_id, database, expires_at) where expires_at is not null;
create index records_due on loci.records (instance_id, database, due_at) where due_at is not null and valid_to is null;
-- Equal content heard again is the same record. `value_mac is not null` always holds, and only a lookup by value
-- implies it: without it a plan that is made while the table is empty takes this index for a lookup by key, and reads
-- all of it.
create index records_by_value on loci.records (value_mac, instance_id, database) where valid_to is null and value_mac is not null;
-- For erasure, which takes all that say the same. Apart from those that hold: of a fact that goes to and fro there are
-- thousands, and every cycle looks for the one that holds.
create index records_closed_by_value on loci.records (value_mac, instance_id, database) where valid_to is not null;

-- The number of each context that was named, its next position and how many records it has: it goes with the last one.
-- The name stands as an HMAC: it is content.
create table loci.contexts (
  instance_id text not null,
  database text not null,
  name_mac bytea not null,
  number bigint not null,
  position int not null,
  records int not null,
  primary key (instance_id, database, name_mac)
) with (fillfactor = 80);
create unique index contexts_by_number on loci.contexts (number, instance_id, database);

-- Values that were deleted and are not to be learned again, as HMACs.
create table loci.tombstones (
  instance_id text not null,
  database text not null,
  value_mac bytea not null,
  record_id text not null,
  at timestamptz not null,
  primary key (instance_id, database, value_mac)
);

-- The index: each row covers the records from_seq to through_seq, without a gap between rows up to the head's
-- mem_indexed_through. A body never changes; one that is replaced has another id.
create table loci.segments (
  instance_id text not null,
  database text not null,
  id bigint not null,
  from_seq bigint not null,
  through_seq bigint not null,
  items int not null,
  -- Of layout and analysis; 0: found damaged, to be built again from the records.
  format int not null,
  -- Of the body: the mark of the encoder that made the vectors of all its items; 0: of none, or not of all.
  encoded bigint not null,
  body bytea not null,
  -- Over every other column but format and encoded (segmentDigest in segments.ts).
  digest bytea not null,
  primary key (instance_id, database, id)
);
-- Compressed already: to try again would cost time and save nothing.
alter table loci.segments alter column body set storage external;

do $$
declare
  v_table text;
begin
  foreach v_table in array array['records', 'contexts', 'tombstones', 'segments'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_instance on loci.%I
      using (instance_id = nullif(current_setting('loci.instance', true), ''))
      with check (instance_id = nullif(current_setting('loci.instance', true), ''))$policy$, v_table);
  end loop;
end
$$;

grant select, insert, update, delete on loci.records, loci.contexts, loci.tombstones, loci.segments to loci_app;
