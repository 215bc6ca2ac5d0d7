-- What facts, preferences and retractions do to the records of memory.

-- What the record p_record says is no longer said by the projection p_taken: it ends with the last of the events that
-- say it too, or now if there is none. Called by prj_store. Locks: those of mem_end. Cost: one index read, mem_end.
create or replace function loci.prj_unsay(p_instance text, p_database text, p_record text, p_taken bigint) returns void
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_until timestamptz;
begin
  -- The index has those that never end first. One that is damaged may still say it; what is taken back does not.
  select p.expires_at into v_until from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.record_id >= p_record and p.record_id <= p_record and p.taken_by is null and p.body is not null and p.seq <> p_taken
    order by p.record_id, p.expires_at desc limit 1;
  perform loci.mem_end(p_instance, p_database, p_record, case when found and coalesce(v_until > v_now, true) then v_until else v_now end);
end
$$;
comment on function loci.prj_unsay is 'without enter_database: called with the head that prj_write has entered';

-- Stores the record of a fact or a preference, and answers its events. A value under a tombstone is not learned again,
-- and the projection then says that it became nothing. Called by prj_store. Locks: those of mem_write_open.
create or replace function loci.prj_remember(p_instance text, p_database text, p_projection loci.projections, p_context text, p_value text,
  p_body text, p_occurred timestamptz, p_ttl_ms float8) returns jsonb
language plpgsql as $$
declare
  v_head loci.databases;
  v_stored record;
  v_without loci.projections := p_projection;
begin
  select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  select * into v_stored from loci.mem_write_open(v_head, array[1], array[p_projection.record_id], array[null], array[null], array[p_context],
    array[p_value], array[false], array[null], array[p_body], array[p_occurred], array[p_ttl_ms]);
  if v_stored.outcome <> 'done' then
    v_without.record_id := null;
    perform loci.prj_save_head(v_head, loci.prj_replace(v_head, p_projection, v_without));
  end if;
  return v_stored.events;
end
$$;
comment on function loci.prj_remember is 'without enter_database: called with the head that prj_write has entered';
