-- serves: 0003
-- functions: 4b3da7f4eb12409e3b6cc293d827fb3154532409f1f23de5770d2870e719656a

-- Of the projections of a database: how many, how many of them have content, their bytes, their digests combined by
-- xor, whether a damaged one was changed since, and the number at which they were last read whole and found intact. How
-- many of them take back something that has not arrived; how many events no cycle has taken in; and the number at which
-- content of an outcome was last erased: what was computed from outcomes before it is to be computed again.
alter table loci.databases
  add column prj_rows bigint not null default 0,
  add column prj_held bigint not null default 0,
  add column prj_bytes bigint not null default 0,
  add column prj_set_a bigint not null default 0,
  add column prj_set_b bigint not null default 0,
  add column prj_unsettled boolean not null default false,
  add column prj_verified bigint,
  add column prj_awaited bigint not null default 0,
  add column prj_pending bigint not null default 0,
  add column prj_erased_at bigint not null default 0;

create table loci.projections (
  instance_id text not null,
  database text not null,
  -- The database's number of its arrival: appliedSeq.
  seq bigint not null,
  partner text collate "C" not null,
  id text collate "C" not null,
  class text not null,
  -- HMACs, so that repeats are known after the content is gone: of partner, class and source event, and of the rest.
  key_mac bytea not null,
  content_mac bytea not null,
  task_class text collate "C",
  -- What was sent, as JSON; null: its time is over, or it stands in a memory record alone.
  body text,
  -- HMACs of the normalised words that the body has, to be found by when a value is erased: of its payload, of its
  -- intent.
  said_mac bytea,
  intent_mac bytea,
  -- The id that it takes back, and its number once both are here.
  target text collate "C",
  takes_back bigint,
  -- The number of what took this one back. Lower than its own: that came first, and this one added nothing.
  taken_by bigint,
  -- The memory record that a fact or a preference became, or that says what an event said.
  record_id text,
  -- An event that no cycle has taken in.
  is_pending boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  -- When the row goes, or is looked at again; null while it has content.
  leaves_at timestamptz,
  -- Over every other column (loci.prj_digest).
  digest bytea not null,
  primary key (instance_id, database, seq),
  check ((body is null) = (leaves_at is not null))
);
create unique index projections_by_key on loci.projections (instance_id, database, key_mac);
create unique index projections_by_id on loci.projections (instance_id, database, partner, id);
create index projections_awaiting on loci.projections (instance_id, database, partner, target)
  where target is not null and takes_back is null;
create index projections_folded on loci.projections (instance_id, database, seq)
  where class = 'tool_outcome' or takes_back is not null;
create index projections_referring on loci.projections (instance_id, database, task_class, seq)
  where class = 'event' and strpos(body, '"evidence_refs"') > 0;
create index projections_pending on loci.projections (instance_id, database, seq) where is_pending;
-- Events that say what a record says, and do so longest.
create index projections_by_record on loci.projections (instance_id, database, record_id, expires_at desc)
  where record_id is not null and taken_by is null and body is not null;
create index projections_by_said on loci.projections (said_mac, instance_id, database, seq) where said_mac is not null;
create index projections_by_intent on loci.projections (intent_mac, instance_id, database, seq) where intent_mac is not null;
create index projections_expiring on loci.projections (instance_id, database, expires_at) where expires_at is not null;
create index projections_leaving on loci.projections (instance_id, database, leaves_at) where leaves_at is not null;

alter table loci.projections enable row level security;
alter table loci.projections force row level security;
create policy one_instance on loci.projections
  using (instance_id = nullif(current_setting('loci.instance', true), ''))
  with check (instance_id = nullif(current_setting('loci.instance', true), ''));
grant select, insert, update, delete on loci.projections to loci_app;
