-- serves: 0002

-- Intent and what has become of it. A command writes what is wanted and an operation, and puts the service into due_services, all in
-- one transaction; whoever works through due_services makes it true. Nothing but the tables below remembers anything.

alter table loci.tenants
  add column is_default boolean not null default false,
  add column updated_at timestamptz not null default now(),
  add column deleted_at timestamptz;
alter table loci.tenants drop constraint tenants_organization_id_slug_key;
create unique index tenants_by_slug on loci.tenants (organization_id, slug) where deleted_at is null;
create unique index tenants_one_default on loci.tenants (organization_id) where is_default and deleted_at is null;

alter table loci.services
  -- The customer's word. desired_state is what follows from it and from the tenant's billing, and is what the cell is told.
  add column wanted_state text not null default 'active' check (wanted_state in ('active', 'suspended', 'deleted')),
  add column status_reason text,
  -- Of everything that the cell was told under `generation`; null = it must be told (again).
  add column published_digest text,
  -- The operation of the last command.
  add column operation_id text,
  -- When a transitional status gives up by itself. No transitional status is without one.
  add column deadline_at timestamptz,
  -- Failures of place and publish in a row, for the back-off.
  add column attempts int not null default 0,
  add column deleted_at timestamptz;
alter table loci.services drop constraint services_organization_id_slug_key;
create unique index services_by_slug on loci.services (organization_id, slug) where status <> 'deleted';

-- Newest first is by id, whose first 48 bits are the time of making. One index for each filter of the list; each is partial like the
-- list itself and includes what else may be asked for, so that a page far down, or of few among many, walks the index alone.
create index services_listed on loci.services (organization_id, id desc) where status <> 'deleted';
create index services_listed_tenant on loci.services (organization_id, tenant_id, id desc) include (service_type, status) where status <> 'deleted';
create index services_listed_type on loci.services (organization_id, service_type, id desc) include (status) where status <> 'deleted';
create index services_listed_status on loci.services (organization_id, status, id desc) include (service_type);

-- Exact totals of the list and of the quota, kept by trigger whatever statement changes a service. tenant_id '' = the organization.
create table loci.service_counts (
  organization_id text not null,
  tenant_id text not null,
  service_type text not null,
  status text not null,
  count bigint not null,
  primary key (organization_id, tenant_id, service_type, status)
);
insert into loci.service_counts (organization_id, tenant_id, service_type, status, count)
  select organization_id, tenant_id, service_type, status, count(*) from loci.services group by 1, 2, 3, 4
  union all
  select organization_id, '', service_type, status, count(*) from loci.services group by 1, 2, 3, 4;

create function loci.count_services() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into loci.service_counts as c (organization_id, tenant_id, service_type, status, count)
      select n.organization_id, t.id, n.service_type, n.status, count(*) from added n, lateral (values (''), (n.tenant_id)) as t (id)
      group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (organization_id, tenant_id, service_type, status) do update set count = c.count + excluded.count;
  else
    insert into loci.service_counts as c (organization_id, tenant_id, service_type, status, count)
      select d.organization_id, t.id, d.service_type, d.status, sum(d.n)
      from (
        select organization_id, tenant_id, service_type, status, 1 as n from added
        union all
        select organization_id, tenant_id, service_type, status, -1 from removed
      ) as d, lateral (values (''), (d.tenant_id)) as t (id)
      group by 1, 2, 3, 4 having sum(d.n) <> 0 order by 1, 2, 3, 4
      on conflict (organization_id, tenant_id, service_type, status) do update set count = c.count + excluded.count;
  end if;
  return null;
end
$$;
create trigger count_added after insert on loci.services referencing new table as added
  for each statement execute function loci.count_services();
create trigger count_changed after update on loci.services referencing old table as removed new table as added
  for each statement execute function loci.count_services();

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

-- What somebody must look at, and when. A row comes with the intent, in its transaction, and goes when nothing is left to do.
create table loci.due_services (
  service_id text primary key,
  organization_id text not null,
  due_at timestamptz not null
);
create index due_services_by_time on loci.due_services (due_at);
comment on table loci.due_services is 'without row-level security: scanned by workers for all organizations at once; ids and times';

-- How long provisionings took, for estimated_ready_in: the last fifty of a placement.
create table loci.ready_times (
  placement text not null,
  at timestamptz not null,
  ms int not null
);
create index ready_times_newest on loci.ready_times (placement, at desc);
comment on table loci.ready_times is 'without row-level security: durations by region, of nobody';

-- How many instances the cell holds or is about to; changed under the cell's row lock, with the feed.
alter table loci.cells add column placed int not null default 0;
update loci.cells c set placed = (
  select count(*) from loci.feed_items i where i.cell_id = c.id and i.kind = 'instance' and i.body->>'state' <> 'deleted');

-- Instances that a cell has and this database does not know (it was restored, or a row was lost). Kept thirty days and longer:
-- adopted when their organization and tenant are here, deleted on the word of staff alone.
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

do $$
declare
  closed text;
begin
  foreach closed in array array['service_counts', 'operations'] loop
    execute format('alter table loci.%I enable row level security', closed);
    execute format('alter table loci.%I force row level security', closed);
    execute format('create policy one_organization on loci.%I
      using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))
      with check (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', closed);
  end loop;
end
$$;

grant select on loci.service_counts, loci.operations, loci.due_services, loci.ready_times, loci.quarantine to loci_app;
grant insert on loci.service_counts, loci.operations, loci.due_services, loci.ready_times, loci.quarantine to loci_app;
grant update on loci.service_counts, loci.operations, loci.due_services, loci.quarantine to loci_app;
grant delete on loci.due_services, loci.ready_times, loci.quarantine to loci_app;
