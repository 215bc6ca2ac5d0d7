-- Called by management/cells/store.ts. Sees services of every organization, which the caller cannot. Locks the cell's
-- row: who places a service there at the same moment waits and finds no cell. Cost: one scan of the services of the
-- cell.
create or replace function loci.remove_cell(p_id text) returns table (services int, quarantined int)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from loci.cells c where c.id = p_id for update;
  select count(*) into services from loci.services s where s.cell_id = p_id and s.status <> 'deleted';
  select count(*) into quarantined from loci.quarantine q where q.cell_id = p_id;
  if services = 0 and quarantined = 0 then
    delete from loci.cells c where c.id = p_id;
  end if;
  return next;
end
$$;
revoke all on function loci.remove_cell(text) from public;
grant execute on function loci.remove_cell(text) to loci_app;
