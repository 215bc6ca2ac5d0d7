-- serves: 0001

-- The instances of this cell as the feed of management describes them.
create table loci.instances (
  id text primary key,
  organization_id text not null,
  tenant_id text not null,
  service_type text not null,
  plan text not null,
  state text not null check (state in ('active', 'suspended', 'deleted')),
  state_reason text,
  generation bigint not null,
  limits jsonb not null,
  config jsonb not null,
  change_seq bigint not null,
  updated_at timestamptz not null default now(),
  -- When the last row of a deleted instance was gone. Null while it is erased, and in every other state.
  purged_at timestamptz,
  -- What the feed said while the deleted instance of the same id was being erased.
  awaiting jsonb,
  -- Answers kept for repeated requests, their bytes, and the age of the oldest; null = there is none.
  keyed_answers bigint not null default 0,
  keyed_bytes bigint not null default 0,
  keyed_since timestamptz,
  -- How many it has; changed under the row's lock.
  databases bigint not null default 0,
  -- The day, in UTC, the numbers of its last event and audit entry before it, and the bytes that were written before it
  -- (loci.traces_today).
  traces_on date,
  traces_events bigint not null default 0,
  traces_acts bigint not null default 0,
  traces_written bigint not null default 0
);
create index instances_changed on loci.instances (change_seq);
create index instances_to_purge on loci.instances (updated_at) where state = 'deleted' and purged_at is null;
create index instances_keyed on loci.instances (keyed_since) where keyed_since is not null;
comment on table loci.instances is 'without row-level security: read before the caller is known, scanned by workers; no content';

create table loci.partner_credentials (
  id text primary key,
  instance_id text not null,
  organization_id text not null,
  tenant_id text not null,
  partner text not null,
  database text not null,
  projection_classes text[] not null,
  routes text[] not null,
  digest bytea not null,
  state text not null check (state in ('active', 'revoked')),
  expires_at timestamptz,
  change_seq bigint not null
);
create index partner_credentials_changed on loci.partner_credentials (change_seq);
create index partner_credentials_owned on loci.partner_credentials (instance_id);
comment on table loci.partner_credentials is 'without row-level security: looked up before the caller is known; digests only';

-- Requests and writes of each replica, until they have been reported.
create table loci.usage_minutes (
  instance_id text not null,
  minute timestamptz not null,
  replica text not null,
  requests bigint not null,
  writes bigint not null,
  primary key (instance_id, minute, replica)
);
comment on table loci.usage_minutes is 'without row-level security: counts, no content; kept after erasure: they leave with their report';

-- Unlogged: a crash may forget it, the next second knows it again.
create unlogged table loci.instance_rates (
  instance_id text not null,
  replica text not null,
  units bigint not null,
  at timestamptz not null,
  primary key (instance_id, replica)
);
comment on table loci.instance_rates is 'without row-level security: counts, no content';

-- The deletion ledger: what this cell has erased. A row is reported until management has taken it.
create table loci.deletions (
  instance_id text not null,
  -- Empty: the whole instance.
  database text not null,
  -- Of memory records: the HMAC of their value. Empty: the whole database or instance.
  value_mac bytea not null default '',
  -- The value was stored again with `override`: its tombstone is taken back.
  is_override boolean not null default false,
  -- Of a whole instance; else 0.
  generation bigint not null default 0,
  -- The database's number at the erasure or the override.
  seq bigint not null default 0,
  at timestamptz not null,
  reported_at timestamptz,
  primary key (instance_id, database, value_mac, is_override)
);
create index deletions_unreported on loci.deletions (at) where reported_at is null;
create index deletions_reported on loci.deletions (reported_at) where reported_at is not null;
comment on table loci.deletions is 'without row-level security: ids, times and HMACs only; kept after erasure: it is the ledger of what was erased';

-- What an instance holds over all domains: the sum of its slots, each of which may be negative (loci.add_totals).
-- written: bytes that it has written since it was made, also those that were overwritten or deleted since.
create table loci.instance_totals (
  instance_id text not null,
  slot int not null,
  records bigint not null,
  bytes bigint not null,
  written bigint not null,
  primary key (instance_id, slot)
);
comment on table loci.instance_totals is 'without row-level security: counts, no content';

-- Work that is due: names and times, no content. A claim moves `at` five seconds ahead.
create table loci.due (
  instance_id text not null,
  -- Empty: the instance.
  database text not null,
  kind text not null check (kind in ('expiry', 'slots', 'records', 'projections', 'history', 'index', 'vectors', 'advice', 'cycle', 'config')),
  at timestamptz not null,
  -- Of work that takes the databases of an instance by name: the last one that is done.
  after text not null default '',
  primary key (instance_id, database, kind)
);
create index due_by_time on loci.due (kind, at);
comment on table loci.due is 'without row-level security: claimed by workers for all instances at once; names and times';

grant select, insert, update on loci.instances to loci_app;
grant select, insert, update, delete on loci.deletions, loci.partner_credentials, loci.usage_minutes, loci.instance_rates, loci.instance_totals,
  loci.due to loci_app;
