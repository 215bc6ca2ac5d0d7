-- Makes the next p_limit services due, of all organizations, by id, while the limits p_digest are being published:
-- p_every_ms apart, so that other due work is not kept waiting. Behind the last one the walk begins again after an hour
-- where one is left. False: nothing is left to do, or other limits are published now. Called by the job `limits of
-- plans` of every process. Locks: the row of the limits, without waiting, and the due rows by id. Cost: one range of an
-- index and p_limit writes.
create or replace function loci.put_limits_due(p_digest text, p_limit int, p_every_ms int) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_walk loci.published_limits;
  v_now timestamptz := clock_timestamp();
  v_rows int;
  v_last text;
begin
  if not exists (select from loci.published_limits p where p.digest = p_digest and p.walks > 0) then
    return false;
  end if;
  select * into v_walk from loci.published_limits p where p.digest = p_digest and p.walks > 0 and p.next_at <= v_now for update skip locked;
  if not found then
    return true;
  end if;
  with part as (select s.id, s.organization_id, row_number() over (order by s.id) as n
      from (select i.id, i.organization_id from loci.services i where i.id > v_walk.after and i.status <> 'deleted' order by i.id limit p_limit) s),
    put as (insert into loci.due_services as d (service_id, organization_id, due_at)
      select p.id, p.organization_id, v_now + p.n * p_every_ms * interval '1 millisecond' from part p order by p.id
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at))
  select count(*), max(p.id) into v_rows, v_last from part p;
  if v_rows = p_limit then
    update loci.published_limits p set after = v_last, next_at = v_now + p_limit * p_every_ms * interval '1 millisecond';
  else
    update loci.published_limits p set after = '', walks = p.walks - 1, next_at = v_now + interval '1 hour';
  end if;
  return true;
end
$$;
revoke all on function loci.put_limits_due(text, int, int) from public;
grant execute on function loci.put_limits_due(text, int, int) to loci_app;
