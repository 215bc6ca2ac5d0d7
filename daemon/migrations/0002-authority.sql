-- serves: 0001

-- One row: what the cell knows about itself. change_seq is the cell's own commit order: whoever changes an instance, a key, a
-- revocation or a partner credential raises it first and holds the row until commit, so that a replica that has read up to N
-- can never miss a change numbered below N (a number given by a sequence could commit later than a higher one).
create table loci.cell (
  only_row boolean primary key default true check (only_row),
  change_seq bigint not null default 0,
  feed_epoch text,
  feed_after bigint not null default 0,
  -- When management was last heard, by this database's clock.
  feed_heard_at timestamptz,
  -- The one replica that applies the feed and reports. The fence rises with every holder: a holder that was frozen past its
  -- lease finds another fence and changes nothing.
  lease_holder text,
  lease_until timestamptz,
  lease_fence bigint not null default 0
);
insert into loci.cell default values;
comment on table loci.cell is 'without row-level security: one row, no tenant';

-- Desired state of the instances of this cell. Read by every replica before any credential is believed. No content.
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
  -- The earliest time at which something in it expires: what the sweeper looks for.
  next_expiry_at timestamptz,
  change_seq bigint not null,
  updated_at timestamptz not null default now()
);
create index instances_changed on loci.instances (change_seq);
create index instances_expiring on loci.instances (next_expiry_at) where next_expiry_at is not null;
comment on table loci.instances is 'without row-level security: read before the caller is known, scanned by workers; no content';

create table loci.signing_keys (
  kid text primary key,
  x text not null,
  state text not null check (state in ('active', 'retiring', 'removed')),
  retire_at timestamptz,
  change_seq bigint not null
);
comment on table loci.signing_keys is 'without row-level security: public keys of management';

-- A revocation leaves only when no token that it could hit can still be valid (expires_at); neither a full resync nor a restored
-- control database takes one away. svc is '*' for one made by the administration of the cell, which hits a jti of any instance.
create table loci.revocations (
  kind text not null check (kind in ('jti', 'org', 'ten', 'svc')),
  svc text not null,
  value text not null,
  not_before timestamptz,
  expires_at timestamptz not null,
  origin text not null check (origin in ('management', 'cell')),
  audit_id text,
  -- A cell-made one goes up with the next report.
  reported_at timestamptz,
  change_seq bigint not null,
  primary key (kind, svc, value)
);
create index revocations_changed on loci.revocations (change_seq);
create index revocations_unreported on loci.revocations (change_seq) where origin = 'cell' and reported_at is null;
comment on table loci.revocations is 'without row-level security: checked before the caller is known; ids only';

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
comment on table loci.partner_credentials is 'without row-level security: looked up before the caller is known; digests only';

-- Requests and writes per instance, replica and minute, until they have been reported.
create table loci.usage_minutes (
  instance_id text not null,
  minute timestamptz not null,
  replica text not null,
  requests bigint not null,
  writes bigint not null,
  primary key (instance_id, minute, replica)
);
comment on table loci.usage_minutes is 'without row-level security: counts, no content';

-- What each replica has lately seen of the busy instances, so that together they grant the plan's rate once and not once each.
-- Unlogged: a crash may forget it, the next second knows it again.
create unlogged table loci.instance_rates (
  instance_id text not null,
  replica text not null,
  requests bigint not null,
  at timestamptz not null,
  primary key (instance_id, replica)
);
comment on table loci.instance_rates is 'without row-level security: counts, no content';
grant select, insert, update, delete on loci.instance_rates to loci_app;

grant select on loci.cell, loci.instances, loci.signing_keys, loci.revocations, loci.partner_credentials, loci.usage_minutes to loci_app;
grant update (change_seq, feed_epoch, feed_after, feed_heard_at, lease_holder, lease_until, lease_fence) on loci.cell to loci_app;
grant insert, update on loci.instances, loci.signing_keys, loci.revocations, loci.partner_credentials, loci.usage_minutes to loci_app;
grant delete on loci.revocations, loci.usage_minutes to loci_app;
