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
  -- Not later than the first expiry of anything in it.
  next_expiry_at timestamptz,
  change_seq bigint not null,
  updated_at timestamptz not null default now(),
  -- When the last row of a deleted instance was gone. Null while it is erased, and in every other state.
  purged_at timestamptz,
  -- What the feed said while the deleted instance of the same id was being erased.
  awaiting jsonb,
  -- Answers kept for repeated requests, their bytes, and the age of the oldest; null = there is none.
  keyed_answers bigint not null default 0,
  keyed_bytes bigint not null default 0,
  keyed_since timestamptz
);
create index instances_changed on loci.instances (change_seq);
create index instances_expiring on loci.instances (next_expiry_at) where next_expiry_at is not null;
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
comment on table loci.usage_minutes is 'without row-level security: counts, no content';

-- Unlogged: a crash may forget it, the next second knows it again.
create unlogged table loci.instance_rates (
  instance_id text not null,
  replica text not null,
  requests bigint not null,
  at timestamptz not null,
  primary key (instance_id, replica)
);
comment on table loci.instance_rates is 'without row-level security: counts, no content';

-- What this cell has erased. A row is reported until management has taken it.
create table loci.deletions (
  instance_id text not null,
  -- Empty: the whole instance.
  database text not null,
  generation bigint not null,
  at timestamptz not null,
  reported_at timestamptz,
  primary key (instance_id, database)
);
create index deletions_unreported on loci.deletions (at) where reported_at is null;
comment on table loci.deletions is 'without row-level security: the ledger of what was erased, ids and times only';

grant select, insert, update on loci.instances, loci.deletions to loci_app;
grant select, insert, update, delete on loci.partner_credentials, loci.usage_minutes, loci.instance_rates to loci_app;
