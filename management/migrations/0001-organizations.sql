-- serves: 0001

create table loci.organizations (
  id text primary key,
  -- Not unique: a name that is refused as taken would tell who else is a customer.
  name text not null,
  created_at timestamptz not null default now(),
  -- The best plan that the billing of any of its tenants covers.
  plan text not null default 'free' check (plan in ('free', 'starter', 'pro', 'enterprise'))
);
create index organizations_by_name on loci.organizations (name);
comment on table loci.organizations is 'without row-level security: looked up before an organization is chosen (sign-in, commands); id and name only';

create table loci.users (
  id text primary key,
  -- Of the sign-in provider; null until the person has signed in for the first time.
  issuer text,
  subject text,
  -- Lower case, as it is compared.
  email text not null,
  name text,
  created_at timestamptz not null default now(),
  check ((issuer is null) = (subject is null))
);
create unique index users_by_subject on loci.users (issuer, subject) where issuer is not null;
-- Two invitations of one address make one person.
create unique index users_by_email_unclaimed on loci.users (email) where issuer is null;
create index users_by_email on loci.users (email);
comment on table loci.users is 'without row-level security: a person may belong to several organizations and is looked up before one is chosen';

create table loci.members (
  organization_id text not null references loci.organizations (id),
  user_id text not null references loci.users (id),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index members_of_user on loci.members (user_id);

create table loci.invitations (
  id text not null,
  organization_id text not null references loci.organizations (id),
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  -- Hex SHA-256 of the one-time token, which has 256 random bits.
  digest text not null,
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  primary key (organization_id, id)
);
create unique index invitations_by_digest on loci.invitations (digest);

create table loci.api_keys (
  id text not null,
  organization_id text not null references loci.organizations (id),
  -- Who made it: a key never does more than this person may do today.
  user_id text not null references loci.users (id),
  name text not null,
  scopes text[] not null,
  -- Null = every tenant of the organization.
  tenant_ids text[],
  -- Hex HMAC-SHA256 of the whole text with the pepper of that id (derived from LOCI_SEALING_KEYS).
  digest text not null,
  pepper text not null,
  -- Before its last rotation; accepted until previous_until.
  previous_digest text,
  previous_pepper text,
  previous_until timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- The key, gateway or command that made it, or its present secret.
  made_by text,
  -- The browser session in which it, or its present secret, was made; null for all others.
  session_id text,
  primary key (organization_id, id)
);
create index api_keys_by_session on loci.api_keys (session_id) where session_id is not null;
create index api_keys_by_id on loci.api_keys (id);
create index api_keys_by_maker on loci.api_keys (organization_id, made_by) where made_by is not null;

create table loci.tenants (
  id text not null,
  organization_id text not null references loci.organizations (id),
  name text not null,
  slug text not null,
  -- What the tenant is entitled to; billed_plan is what is paid for.
  plan text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
  status text not null check (status in ('active', 'past_due', 'suspended', 'closed')),
  generation bigint not null default 1,
  created_at timestamptz not null default now(),
  is_default boolean not null default false,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  status_reason text,
  access text not null default 'full' check (access in ('full', 'read_only', 'none', 'delete')),
  billing_status text check (billing_status in ('active', 'cancelled', 'past_due', 'unpaid')),
  subscription_id text,
  current_period_start text,
  current_period_end text,
  grace_ends_at timestamptz,
  last_event_at timestamptz,
  -- Numbers the tenant's billing events in the order of their arrival.
  arrivals bigint not null default 0,
  -- Notices that were sent, `type@time`, so that each is sent once.
  notices text[] not null default '{}',
  billed_plan text check (billed_plan in ('free', 'starter', 'pro', 'enterprise')),
  customer_id text,
  primary key (organization_id, id)
);
create index tenants_by_id on loci.tenants (id);
create unique index tenants_by_slug on loci.tenants (organization_id, slug) where deleted_at is null;
create unique index tenants_one_default on loci.tenants (organization_id) where is_default and deleted_at is null;

create table loci.billing_events (
  -- 'platform' while the tenant is unknown (parked).
  organization_id text not null,
  tenant_id text not null,
  id text not null,
  arrival bigint not null,
  -- The provider's own id of the delivery; null = it gave none, and every delivery is a new event.
  inbox_key text,
  event_type text not null,
  customer_id text,
  -- '' when the event names none.
  subscription_id text not null,
  plan text not null,
  status text not null,
  current_period_start text,
  current_period_end text,
  sequence bigint,
  occurred_at timestamptz,
  digest text not null,
  effect text not null check (effect in ('applied', 'superseded', 'unordered', 'parked', 'dead')),
  received_at timestamptz not null,
  metadata jsonb,
  -- The subscription it counts for: the one it names, or the open one that was found when it arrived; '' = unnamed.
  counts_for text not null,
  primary key (organization_id, id)
);
create unique index billing_events_inbox on loci.billing_events (inbox_key) where inbox_key is not null;
create index billing_events_of_tenant on loci.billing_events (organization_id, tenant_id, arrival desc);

create table loci.due_tenants (
  tenant_id text primary key,
  organization_id text not null,
  due_at timestamptz not null
);
create index due_tenants_by_time on loci.due_tenants (due_at);
comment on table loci.due_tenants is 'without row-level security: scanned by workers for all organizations at once; ids and times';
