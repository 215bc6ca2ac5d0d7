-- serves: 0002

-- What the payment provider has said, and what follows from it. Every authentic event is kept; a tenant's record is folded from them
-- anew under the tenant's row lock, so it can not depend on the order in which they came.

alter table loci.tenants
  add column status_reason text,
  -- What daemons are told: open, writes_refused (reads go on), off, delete.
  add column gate text not null default 'open' check (gate in ('open', 'writes_refused', 'off', 'delete')),
  add column billing_status text check (billing_status in ('active', 'cancelled', 'past_due', 'unpaid')),
  add column subscription_id text,
  add column current_period_start text,
  add column current_period_end text,
  add column grace_ends_at timestamptz,
  add column last_event_at timestamptz,
  -- Numbers the tenant's events in the order of their arrival.
  add column arrivals bigint not null default 0,
  -- Notices that were sent, `type@time`, so that each is sent once.
  add column notices text[] not null default '{}';

create table loci.billing_events (
  -- 'platform' while the tenant is not known: parked.
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
  effect text not null check (effect in ('applied', 'superseded', 'shadowed', 'parked', 'dead')),
  received_at timestamptz not null,
  primary key (organization_id, id)
);
create unique index billing_events_inbox on loci.billing_events (inbox_key) where inbox_key is not null;
create index billing_events_of_tenant on loci.billing_events (organization_id, tenant_id, arrival desc);

-- When a tenant's standing changes by the clock alone: a grace that ends, a period that is over, a notice that is due.
create table loci.due_tenants (
  tenant_id text primary key,
  organization_id text not null,
  due_at timestamptz not null
);
create index due_tenants_by_time on loci.due_tenants (due_at);
comment on table loci.due_tenants is 'without row-level security: scanned by workers for all organizations at once; ids and times';

alter table loci.billing_events enable row level security;
alter table loci.billing_events force row level security;
create policy one_organization on loci.billing_events
  using (organization_id = nullif(current_setting('loci.organization', true), ''))
  with check (organization_id = nullif(current_setting('loci.organization', true), ''));

grant select, insert, update on loci.billing_events to loci_app;
-- A parked event is moved to its tenant when that appears.
grant delete on loci.billing_events to loci_app;
grant select, insert, update, delete on loci.due_tenants to loci_app;
