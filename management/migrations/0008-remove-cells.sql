-- serves: 0006

-- A cell can be removed when it holds nothing. What management told it, took from it and remembers of its deletions goes with it (a
-- cell that comes back has another id, and what it brings is kept aside); services that were deleted in it forget where they were.
alter table loci.services drop constraint services_cell_id_fkey;
alter table loci.services add constraint services_cell_id_fkey
  foreign key (cell_id) references loci.cells (id) on delete set null not valid;
alter table loci.services validate constraint services_cell_id_fkey;
alter table loci.feed_items drop constraint feed_items_cell_id_fkey;
alter table loci.feed_items add constraint feed_items_cell_id_fkey
  foreign key (cell_id) references loci.cells (id) on delete cascade not valid;
alter table loci.feed_items validate constraint feed_items_cell_id_fkey;
alter table loci.cell_report_ids drop constraint cell_report_ids_cell_id_fkey;
alter table loci.cell_report_ids add constraint cell_report_ids_cell_id_fkey
  foreign key (cell_id) references loci.cells (id) on delete cascade not valid;
alter table loci.cell_report_ids validate constraint cell_report_ids_cell_id_fkey;
alter table loci.deletions drop constraint deletions_cell_id_fkey;
alter table loci.deletions add constraint deletions_cell_id_fkey
  foreign key (cell_id) references loci.cells (id) on delete cascade not valid;
alter table loci.deletions validate constraint deletions_cell_id_fkey;

-- Called by management/cells/store.ts. Sees services of every organization, which the caller can not. Locks the cell's row: who places a
-- service there at the same moment waits and finds no cell. Cost: one scan of the services of the cell.
create function loci.remove_cell(p_id text) returns table (services int, quarantined int)
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
