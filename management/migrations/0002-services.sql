-- serves: 0001

create table loci.cells (
  id text primary key,
  name text not null unique,
  region text not null,
  capacity int not null check (capacity > 0),
  endpoint text not null,
  -- At most two Ed25519 public keys, base64url, so that a cell can change its key without a gap.
  public_keys jsonb not null check (jsonb_typeof(public_keys) = 'array' and jsonb_array_length(public_keys) between 1 and 2),
  -- Set when the whole cell is kept for one tenant.
  tenant_id text,
  -- Numbers the changes of its feed. Who raises it holds the row until commit: the order of numbers is the order of
  -- commits.
  feed_seq bigint not null default 0,
  -- What the cell has applied, and when it was last heard.
  heard_epoch text,
  heard_seq bigint not null default 0,
  heard_seq_at timestamptz,
  heard_at timestamptz,
  created_at timestamptz not null default now(),
  -- Instances that the cell holds or is about to; changed under the row's lock.
  placed int not null default 0,
  -- {kind, at, detail} of the last alarm; cleared when the keys of the cell are changed.
  alarm jsonb,
  deletion_seq bigint not null default 0
);
comment on table loci.cells is 'without row-level security: machinery of the platform, no content of an organization';

-- The desired state of everything that a cell must know: one current row for each thing, replaced under a new seq.
create table loci.feed_items (
  cell_id text not null references loci.cells (id) on delete cascade,
  kind text not null check (kind in ('instance', 'key', 'revocation', 'partner_credential')),
  key text not null,
  seq bigint not null,
  body jsonb not null,
  changed_at timestamptz not null default now(),
  -- Of the body as text.
  bytes integer,
  primary key (cell_id, kind, key)
);
create unique index feed_items_by_seq on loci.feed_items (cell_id, seq);
create index feed_items_urgent on loci.feed_items (cell_id, seq) where kind in ('key', 'revocation');
create index feed_items_ordinary on loci.feed_items (cell_id, seq) where kind in ('instance', 'partner_credential');
create index feed_items_deleted on loci.feed_items (cell_id, seq) where kind = 'instance' and body->>'state' = 'deleted';
-- Whether an organization, or a tenant of it, has anything in a cell.
create index feed_items_owned on loci.feed_items (cell_id, (body->>'org'), (body->>'ten')) where kind = 'instance';
create index feed_items_revocations on loci.feed_items ((body->>'expires_at')) where kind = 'revocation';
comment on table loci.feed_items is 'without row-level security: of a cell, which has instances of many organizations; ids, limits, public keys and digests';

create table loci.feed_epoch (
  only_row boolean primary key default true check (only_row),
  -- Raised by `management feed new-epoch` after a restore that PostgreSQL cannot recognise.
  value bigint not null default 1,
  -- The epoch that was last seen, and when it was first seen in place of another.
  seen text,
  changed_at timestamptz
);
insert into loci.feed_epoch default values;
comment on table loci.feed_epoch is 'without row-level security: one number';

-- The ids of report tokens: each is accepted once.
create table loci.cell_report_ids (
  cell_id text not null references loci.cells (id) on delete cascade,
  jti text not null,
  at timestamptz not null default now(),
  primary key (cell_id, jti)
);
comment on table loci.cell_report_ids is 'without row-level security: ids of the tokens of cells';

create table loci.cell_replicas (
  cell_id text not null references loci.cells (id) on delete cascade,
  -- A process of the cell, or an address where it does not say which it is.
  replica text not null,
  address text not null,
  last_at timestamptz not null,
  primary key (cell_id, replica)
);
comment on table loci.cell_replicas is 'without row-level security: addresses of the replicas of cells';

create table loci.services (
  id text not null,
  organization_id text not null,
  tenant_id text not null,
  name text not null,
  slug text not null,
  service_type text not null,
  plan text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
  region text not null,
  cell_id text references loci.cells (id) on delete set null,
  config jsonb not null default '{}',
  status text not null check (status in ('provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting', 'deleted')),
  -- What the cell is told; follows from wanted_state and the tenant's billing.
  desired_state text not null check (desired_state in ('active', 'suspended', 'deleted')),
  state_reason text,
  generation bigint not null default 1,
  observed_generation bigint not null default 0,
  observed_state text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- What the customer asked for.
  wanted_state text not null default 'active' check (wanted_state in ('active', 'suspended', 'deleted')),
  status_reason text,
  -- Of what was published to the cell under `generation`; null = it must be published (again).
  published_digest text,
  -- The operation of the last command.
  operation_id text,
  -- When a transitional status gives up. No transitional status is without one.
  deadline_at timestamptz,
  -- Failures of place and publish in a row, for the back-off.
  attempts int not null default 0,
  deleted_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, tenant_id) references loci.tenants (organization_id, id)
);
create index services_by_id on loci.services (id);
create index services_of_tenant on loci.services (organization_id, tenant_id, created_at);
create unique index services_by_slug on loci.services (organization_id, slug) where status <> 'deleted';
-- One for each filter of the list, which shows the newest first by id.
create index services_listed on loci.services (organization_id, id desc) where status <> 'deleted';
create index services_listed_tenant on loci.services (organization_id, tenant_id, id desc) include (service_type, status) where status <> 'deleted';
create index services_listed_type on loci.services (organization_id, service_type, id desc) include (status) where status <> 'deleted';
create index services_listed_status on loci.services (organization_id, status, id desc) include (service_type);

-- Exact totals, kept by trigger (loci.count_services). tenant_id '' = the organization.
create table loci.service_counts (
  organization_id text not null,
  tenant_id text not null,
  service_type text not null,
  status text not null,
  count bigint not null,
  primary key (organization_id, tenant_id, service_type, status)
);

create table loci.operations (
  id text not null,
  organization_id text not null,
  service_id text not null,
  kind text not null check (kind in ('provision', 'update', 'suspend', 'resume', 'move', 'delete')),
  status text not null check (status in ('pending', 'running', 'succeeded', 'failed', 'superseded')),
  -- [{name, status, started_at, completed_at, detail}], in their order.
  steps jsonb not null,
  error jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, service_id) references loci.services (organization_id, id),
  check ((status in ('succeeded', 'failed', 'superseded')) = (finished_at is not null))
);
create index operations_of_service on loci.operations (organization_id, service_id, created_at);

create table loci.due_services (
  service_id text primary key,
  organization_id text not null,
  due_at timestamptz not null,
  -- Stays through the claims, which move due_at, until a reconciliation ends well.
  first_due_at timestamptz,
  attempts int not null default 0
);
create index due_services_by_time on loci.due_services (due_at);
comment on table loci.due_services is 'without row-level security: scanned by workers for all organizations at once; ids and times';

create table loci.published_limits (
  only_row boolean primary key default true check (only_row),
  -- Of the limits in plans.json that services are reconciled with. Null: of none yet.
  digest text,
  -- Every service is made due this many times more: the next are those behind `after`, from next_at on.
  walks int not null default 0,
  after text not null default '',
  next_at timestamptz not null default now()
);
insert into loci.published_limits default values;
comment on table loci.published_limits is 'without row-level security: one row, a digest and how far all services were made due';

-- How long provisionings took, for estimated_ready_in: the last fifty of a placement.
create table loci.ready_times (
  placement text not null,
  at timestamptz not null,
  ms int not null
);
create index ready_times_newest on loci.ready_times (placement, at desc);
comment on table loci.ready_times is 'without row-level security: durations by region, of nobody';

-- Instances that a cell has and this database does not know.
create table loci.quarantine (
  cell_id text not null references loci.cells (id),
  service_id text not null,
  organization_id text not null,
  tenant_id text not null,
  service_type text not null,
  plan text not null,
  state text not null,
  generation bigint not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  primary key (cell_id, service_id)
);
comment on table loci.quarantine is 'without row-level security: of cells, seen by staff alone; ids and states';

-- What was erased in a cell, kept longer than any backup of it.
create table loci.deletions (
  cell_id text not null references loci.cells (id) on delete cascade,
  service_id text not null,
  -- '' = the whole instance.
  database text not null default '',
  -- Of memory records: the HMAC of their value, under a key that only the cell has. Empty: the whole database or
  -- instance. is_override: the value was stored again since, which takes its tombstone back.
  value_mac bytea not null default '',
  is_override boolean not null default false,
  -- The database's number then.
  database_seq bigint,
  at timestamptz not null,
  -- Numbered under the lock of the cell.
  seq bigint,
  -- The generation that was erased, and the one that the cell was told to erase.
  generation bigint,
  asked_generation bigint,
  received_at timestamptz,
  primary key (cell_id, service_id, database, value_mac, is_override)
);
create index deletions_by_seq on loci.deletions (cell_id, seq);
create index deletions_of_instances on loci.deletions (cell_id, service_id) where database = '';
comment on table loci.deletions is 'without row-level security: replayed by a restored cell; ids, names of databases, HMACs';

-- Up to which minute the usage that a replica counted is rolled up: what is reported again at or below it was counted.
create table loci.usage_rolled (
  organization_id text not null,
  service_id text not null,
  dedup text not null,
  through timestamptz not null,
  primary key (organization_id, service_id, dedup)
);

create table loci.usage_minutes (
  organization_id text not null,
  service_id text not null,
  minute timestamptz not null,
  -- Which replica counted: a report that comes twice is counted once.
  dedup text not null,
  requests bigint not null check (requests >= 0),
  writes bigint not null check (writes >= 0),
  records bigint not null check (records >= 0),
  bytes bigint not null check (bytes >= 0),
  primary key (organization_id, service_id, minute, dedup)
);
