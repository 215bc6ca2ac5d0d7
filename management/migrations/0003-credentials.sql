-- serves: 0001

create table loci.signing_keys (
  kid text primary key,
  x text not null,
  -- Sealed with LOCI_SEALING_KEYS; gone once the key signs no more.
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
  made_by text,
  primary key (organization_id, jti),
  foreign key (organization_id, service_id) references loci.services (organization_id, id)
);
create index tokens_by_jti on loci.tokens (jti);
create index tokens_listed on loci.tokens (organization_id, tenant_id, jti desc);
create index tokens_listed_service on loci.tokens (organization_id, service_id, jti desc);
create index tokens_by_sub on loci.tokens (organization_id, sub) where revoked_at is null;

-- Children that a holder made offline and registered, so that they can be listed and revoked by name.
create table loci.token_children (
  jti text not null,
  organization_id text not null,
  tenant_id text not null,
  service_id text not null,
  parent_jti text not null,
  expires_at timestamptz not null,
  registered_at timestamptz not null default now(),
  revoked_at timestamptz,
  -- By service: whoever hears of a jti of another service cannot register it first.
  primary key (organization_id, service_id, jti),
  foreign key (organization_id, parent_jti) references loci.tokens (organization_id, jti)
);
create index token_children_of_parent on loci.token_children (organization_id, parent_jti, registered_at desc);

create table loci.revocations (
  id text collate "C" not null unique,
  -- '' for what management revoked, else the cell whose administration did it, which counts in that cell alone.
  cell_id text not null default '',
  kind text not null check (kind in ('jti', 'org', 'ten', 'svc', 'sub')),
  -- Whose tokens a jti is looked for in; '*' = any of the cell. '' where kind is not jti.
  svc text not null,
  value text not null,
  not_before timestamptz,
  expires_at timestamptz not null,
  origin text not null check (origin in ('management', 'cell')),
  audit_id text,
  -- Of one that a cell made: whose it is, if that is known, and when staff withdrew it. Kept then, so that a cell that
  -- reports it again is told so.
  organization_id text,
  withdrawn_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (cell_id, kind, svc, value),
  check ((kind = 'jti') = (not_before is null))
);
create index revocations_of_cells on loci.revocations (id desc) where cell_id <> '';
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
  -- Hex SHA-256 of the whole token text, which has 256 random bits.
  digest text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- Null until its secret was replaced for the first time.
  rotated_at timestamptz,
  made_by text,
  primary key (organization_id, id),
  foreign key (organization_id, service_id) references loci.services (organization_id, id)
);
create index partner_credentials_by_id on loci.partner_credentials (id);
create index partner_credentials_listed on loci.partner_credentials (organization_id, service_id, id desc) where revoked_at is null;
create index partner_credentials_by_maker on loci.partner_credentials (organization_id, made_by) where revoked_at is null;

create table loci.sealing_checks (
  id text primary key,
  value bytea not null,
  first_seen_at timestamptz not null default clock_timestamp()
);
comment on table loci.sealing_checks is 'without row-level security: check values of sealing keys, no tenant';
