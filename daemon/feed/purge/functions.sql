-- Erases up to p_limit rows of a deleted instance and returns how many; fewer than the limit: nothing is left, and
-- nothing can come any more. Null when it is not for the caller to do: another holds the lease, or the instance is
-- erased or made again already. Called by purgeSome(). Locks: the instance, exclusively (writers share it), then its
-- row, then rows. Without jit: loci.cell has no other way than the scan, whose forbidding price would have every call
-- compiled first (70 ms against 3).
create or replace function loci.purge_some(p_fence bigint, p_instance text, p_generation bigint, p_limit int)
returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_table text;
  v_removed int;
  v_sum int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_instance, 7026300004));
  perform 1 from loci.instances i
    where i.id = p_instance and i.generation = p_generation and i.state = 'deleted' and i.purged_at is null
      and exists (select from loci.cell c where c.lease_fence = p_fence) for update;
  if not found then
    return null;
  end if;
  perform set_config('loci.instance', p_instance, true);
  for v_table in select t.name from loci.tenant_tables() t where not t.is_kept loop
    -- The instance in both places: a ctid is unique in one partition only.
    execute format('delete from loci.%1$I where instance_id = $1
        and ctid = any (array(select ctid from loci.%1$I where instance_id = $1 limit $2))', v_table)
      using p_instance, p_limit - v_sum;
    get diagnostics v_removed = row_count;
    v_sum := v_sum + v_removed;
    exit when v_sum >= p_limit;
  end loop;
  -- The row of the whole instance will say more than those of its records.
  delete from loci.deletions d where d.instance_id = p_instance and d.database <> ''
    and d.ctid = any (array(select r.ctid from loci.deletions r where r.instance_id = p_instance and r.database <> '' limit p_limit - v_sum));
  get diagnostics v_removed = row_count;
  return v_sum + v_removed;
end
$$;
comment on function loci.purge_some is 'without enter_database: it erases what nobody may enter any more';
