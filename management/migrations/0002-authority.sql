-- serves: 0001

-- Tables of an organization are closed by row-level security to every other one; each of the rest says in its comment why it is
-- not. The second policy of the closed ones lets the owner read, and nobody runs as the owner but loci.owner_of() below: it
-- answers "whose is this id?", which has to be known before an organization can be chosen.

create table loci.organizations (
  id text primary key,
  -- Not unique: a name that is refused as taken would tell who else is a customer.
  name text not null,
  created_at timestamptz not null default now()
);
create index organizations_by_name on loci.organizations (name);
comment on table loci.organizations is 'without row-level security: looked up before an organization is chosen (sign-in, commands); id and name only';

create table loci.tenants (
  id text not null,
  organization_id text not null references loci.organizations (id),
  name text not null,
  slug text not null,
  plan text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
  status text not null check (status in ('active', 'past_due', 'suspended', 'closed')),
  generation bigint not null default 1,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);
create index tenants_by_id on loci.tenants (id);

-- A cell is one Postgres and the daemons in front of it. feed_seq numbers the changes of its feed: whoever changes anything that
-- the cell must know raises it first and holds the row until commit, so the order of the numbers is the order of the commits and
-- a cell that has read up to N can not miss anything below N (a number of a sequence may commit after a higher one was read).
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
  feed_seq bigint not null default 0,
  -- What the cell has said that it has applied, and when it was last heard.
  heard_epoch text,
  heard_seq bigint not null default 0,
  heard_seq_at timestamptz,
  heard_at timestamptz,
  created_at timestamptz not null default now()
);
comment on table loci.cells is 'without row-level security: machinery of the platform, no content of an organization';

-- The desired state of everything that a cell must know: one current row for each thing, replaced under a new seq.
create table loci.feed_items (
  cell_id text not null references loci.cells (id),
  kind text not null check (kind in ('instance', 'key', 'revocation', 'partner_credential')),
  key text not null,
  seq bigint not null,
  body jsonb not null,
  changed_at timestamptz not null default now(),
  primary key (cell_id, kind, key)
);
create unique index feed_items_by_seq on loci.feed_items (cell_id, seq);
comment on table loci.feed_items is 'without row-level security: of a cell, which has instances of many organizations; ids, limits, public keys and digests';

-- Raised by hand (`management feed new-epoch`) after a restore that PostgreSQL itself can not tell from going on: a disk snapshot
-- that was put back keeps its system identifier and its timeline.
create table loci.feed_epoch (
  only_row boolean primary key default true check (only_row),
  value bigint not null default 1
);
insert into loci.feed_epoch default values;
comment on table loci.feed_epoch is 'without row-level security: one number';

create table loci.services (
  id text not null,
  organization_id text not null,
  tenant_id text not null,
  name text not null,
  slug text not null,
  service_type text not null,
  plan text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
  region text not null,
  cell_id text references loci.cells (id),
  config jsonb not null default '{}',
  status text not null check (status in ('provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting', 'deleted')),
  -- What it should be, and what its cell last said that it is, each with the generation of which that is true.
  desired_state text not null check (desired_state in ('active', 'suspended', 'deleted')),
  state_reason text,
  generation bigint not null default 1,
  observed_generation bigint not null default 0,
  observed_state text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug),
  foreign key (organization_id, tenant_id) references loci.tenants (organization_id, id)
);
create index services_by_id on loci.services (id);
create index services_of_tenant on loci.services (organization_id, tenant_id, created_at);

-- The keys that sign capabilities. next: published, not yet signing; active: signs; retiring: verifies what it has signed until
-- retire_at; removed: verifies nothing. The private half is sealed (AES-256-GCM, LOCI_SEALING_KEYS) and gone once it signs no more.
create table loci.signing_keys (
  kid text primary key,
  x text not null,
  private_sealed text,
  sealed_with text,
  state text not null check (state in ('next', 'active', 'retiring', 'removed')),
  created_at timestamptz not null default now(),
  -- No token that it signed lives longer.
  signed_until timestamptz not null default now(),
  retire_at timestamptz,
  check ((state in ('next', 'active')) = (private_sealed is not null and sealed_with is not null))
);
create unique index signing_keys_one_next on loci.signing_keys (state) where state = 'next';
create unique index signing_keys_one_active on loci.signing_keys (state) where state = 'active';
comment on table loci.signing_keys is 'without row-level security: keys of the platform, the private halves sealed';

create table loci.tokens (
  jti text not null,
  organization_id text not null,
  tenant_id text not null,
  service_id text not null,
  name text,
  kid text not null,
  ops text[] not null,
  ks text[] not null,
  sub text,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  delegation_depth int not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (organization_id, jti),
  foreign key (organization_id, service_id) references loci.services (organization_id, id)
);
create index tokens_by_jti on loci.tokens (jti);
create index tokens_of_tenant on loci.tokens (organization_id, tenant_id, issued_at);

-- Children that a holder made offline and told us about, so that they can be listed and revoked by name.
create table loci.token_children (
  jti text not null,
  organization_id text not null,
  tenant_id text not null,
  service_id text not null,
  parent_jti text not null,
  expires_at timestamptz not null,
  registered_at timestamptz not null default now(),
  primary key (organization_id, jti),
  foreign key (organization_id, parent_jti) references loci.tokens (organization_id, jti)
);
create index token_children_by_jti on loci.token_children (jti);

-- cell_id is '' for what management revoked, else the cell whose administration did it, which counts in that cell alone.
create table loci.revocations (
  cell_id text not null default '',
  kind text not null check (kind in ('jti', 'org', 'ten', 'svc')),
  -- Whose tokens a jti is looked for in; '*' = any of the cell. '' where kind is not jti.
  svc text not null,
  value text not null,
  not_before timestamptz,
  expires_at timestamptz not null,
  origin text not null check (origin in ('management', 'cell')),
  audit_id text,
  created_at timestamptz not null default now(),
  primary key (cell_id, kind, svc, value),
  check ((kind = 'jti') = (not_before is null))
);
comment on table loci.revocations is 'without row-level security: given to every cell, also to one that is added later; ids only';

create table loci.partner_credentials (
  id text not null,
  organization_id text not null,
  tenant_id text not null,
  service_id text not null,
  name text not null,
  partner text not null,
  database text not null,
  projection_classes text[] not null,
  routes text[] not null,
  -- Hex SHA-256 of the whole token text: the text has 256 random bits, so nobody finds it from this.
  digest text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, service_id) references loci.services (organization_id, id)
);
create index partner_credentials_by_id on loci.partner_credentials (id);

-- The token of a report is good once.
create table loci.cell_report_ids (
  cell_id text not null references loci.cells (id),
  jti text not null,
  at timestamptz not null default now(),
  primary key (cell_id, jti)
);
comment on table loci.cell_report_ids is 'without row-level security: ids of the tokens of cells';

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

-- What was deleted in a cell, kept longer than any backup of it: a restored cell serves nothing before it has replayed this.
create table loci.deletions (
  cell_id text not null references loci.cells (id),
  service_id text not null,
  -- '' = the whole instance.
  database text not null default '',
  at timestamptz not null,
  primary key (cell_id, service_id, database)
);
comment on table loci.deletions is 'without row-level security: replayed whole by a restored cell; ids and names of databases';

do $$
declare
  closed text;
begin
  foreach closed in array array['tenants', 'services', 'tokens', 'token_children', 'partner_credentials', 'usage_minutes'] loop
    execute format('alter table loci.%I enable row level security', closed);
    execute format('alter table loci.%I force row level security', closed);
    -- Empty, not null, is what a setting leaves behind once a transaction has used it.
    execute format('create policy one_organization on loci.%I
      using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))
      with check (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', closed);
  end loop;
  foreach closed in array array['tenants', 'services', 'tokens', 'token_children', 'partner_credentials'] loop
    execute format('create policy owner_lookup on loci.%I for select to loci_owner using (true)', closed);
  end loop;
end
$$;

-- Whose an id is, and nothing else about it.
create function loci.owner_of(id text)
returns table (organization_id text, tenant_id text, service_id text, cell_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.organization_id, t.id, null, null from loci.tenants t where t.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id from loci.services s where s.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id
  from (
    select t.organization_id, t.service_id from loci.tokens t where t.jti = owner_of.id
    union all
    select c.organization_id, c.service_id from loci.token_children c where c.jti = owner_of.id
    union all
    select p.organization_id, p.service_id from loci.partner_credentials p where p.id = owner_of.id
  ) held join loci.services s on s.organization_id = held.organization_id and s.id = held.service_id
$$;
revoke all on function loci.owner_of(text) from public;
grant execute on function loci.owner_of(text) to loci_app;

grant select on loci.organizations, loci.tenants, loci.cells, loci.feed_items, loci.feed_epoch, loci.services, loci.signing_keys, loci.tokens,
  loci.token_children, loci.revocations, loci.partner_credentials, loci.cell_report_ids, loci.usage_minutes, loci.deletions to loci_app;
grant insert on loci.organizations, loci.tenants, loci.cells, loci.feed_items, loci.services, loci.signing_keys, loci.tokens,
  loci.token_children, loci.revocations, loci.partner_credentials, loci.cell_report_ids, loci.usage_minutes, loci.deletions to loci_app;
grant update on loci.organizations, loci.tenants, loci.cells, loci.feed_items, loci.services, loci.signing_keys, loci.revocations to loci_app;
grant update (value) on loci.feed_epoch to loci_app;
grant update (revoked_at, last_used_at) on loci.tokens, loci.partner_credentials to loci_app;
grant update (requests, writes, records, bytes) on loci.usage_minutes to loci_app;
grant update (at) on loci.deletions to loci_app;
grant delete on loci.feed_items, loci.revocations, loci.cell_report_ids to loci_app;
