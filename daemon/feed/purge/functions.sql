-- Erases up to p_limit rows of a deleted instance and says how many; fewer than the limit: nothing is left, and nothing
-- can come any more. Null when it is not for the caller to do: another holds the lease, or the instance is erased or
-- made again already. The lock comes before the instance's row, as with every writer. usage_minutes is not among the
-- tables: it holds counts, which leave when they have been reported. A later table with an instance_id belongs into
-- this list (a test holds it against the catalog). Without jit: loci.cell has no other way than the scan, whose
-- forbidding price would have every call compiled first (70 ms against 3).
create or replace function loci.purge_some(p_fence bigint, p_instance text, p_generation bigint, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_table text;
  v_removed int;
  removed int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_instance, 7026300004));
  perform 1 from loci.instances i where i.id = p_instance and i.generation = p_generation and i.state = 'deleted' and i.purged_at is null
    and exists (select from loci.cell c where c.lease_fence = p_fence) for update;
  if not found then
    return null;
  end if;
  perform set_config('loci.instance', p_instance, true);
  foreach v_table in array array['partner_credentials', 'idempotency', 'entries', 'databases', 'verified', 'probes', 'instance_rates'] loop
    execute format('delete from loci.%1$I where ctid = any (array(select ctid from loci.%1$I where instance_id = $1 limit $2))', v_table)
      using p_instance, p_limit - removed;
    get diagnostics v_removed = row_count;
    removed := removed + v_removed;
    exit when removed >= p_limit;
  end loop;
  return removed;
end
$$;
