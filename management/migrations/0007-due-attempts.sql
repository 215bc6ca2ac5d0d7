-- serves: 0006

-- A claim moves due_at, so a service whose reconciliation always throws was never overdue. first_due_at is when it became due, and
-- stays through the claims until a reconciliation ends well; attempts makes the waits between them grow.
alter table loci.due_services add column first_due_at timestamptz;
alter table loci.due_services add column attempts int not null default 0;
