-- serves: 0011

-- One of the caller's bucket and one of the organization's, each with its own rate, or of neither: who is refused does not use up what is
-- the others'. Called by every write of management but those of services. Locks: the caller's bucket, then the organization's.
create function loci.take_two_rates(p_bucket text, p_per_minute int, p_burst int, p_shared text, p_shared_per_minute int, p_shared_burst int)
returns table (remaining int, reset_ms int, wait_ms int, is_shared boolean) language plpgsql as $$
declare
  v_own record;
  v_wait_ms int;
begin
  select * into v_own from loci.take_rate(p_bucket, p_per_minute, p_burst);
  if v_own.wait_ms is null then
    select t.wait_ms into v_wait_ms from loci.take_rate(p_shared, p_shared_per_minute, p_shared_burst) t;
    if v_wait_ms is not null then
      update loci.rate_limits set tat = tat - 60000.0 / p_per_minute where bucket = p_bucket;
    end if;
  end if;
  return query select v_own.remaining, v_own.reset_ms, coalesce(v_own.wait_ms, v_wait_ms), v_wait_ms is not null;
end
$$;
revoke all on function loci.take_two_rates(text, int, int, text, int, int) from public;
grant execute on function loci.take_two_rates(text, int, int, text, int, int) to loci_app;
