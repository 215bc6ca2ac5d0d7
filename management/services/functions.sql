-- Keeps loci.service_counts exact, whatever statement changes a service; tenant_id '' is the whole organization.
-- Trigger on loci.services. Locks: rows of service_counts in the order of their key. Cost: one upsert for each distinct
-- pair of type and status.
create or replace function loci.count_services() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into loci.service_counts as c (organization_id, tenant_id, service_type, status, count)
      select n.organization_id, t.id, n.service_type, n.status, count(*)
      from added n, lateral (values (''), (n.tenant_id)) as t (id)
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

do $$
begin
  if not exists (select from pg_trigger where tgrelid = 'loci.services'::regclass and tgname = 'count_added') then
    create trigger count_added after insert on loci.services referencing new table as added
      for each statement execute function loci.count_services();
    create trigger count_changed after update on loci.services referencing old table as removed new table as added
      for each statement execute function loci.count_services();
  end if;
end
$$;
