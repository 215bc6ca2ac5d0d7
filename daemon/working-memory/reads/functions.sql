-- Reads of slots: the list, and slots by their keys. No locks.

-- Lists of one instance that arrived together, one row for each in their order. slots: their texts with commas between.
-- What has expired is left out, and so is what does not fit its digest; that is named. `stable`: all its statements see
-- the snapshot of the call, so that version, slots and configuration are of one moment. Called by listSlots(): every
-- list. No locks. Cost: three reads by primary keys and one hash over the document for each.
create or replace function loci.wm_list_each(p_instance text, p_database text[])
returns table (version bigint, count int, slots text, damaged text[], service text, sent text, config_intact boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_is_whole boolean;
  v_now timestamptz := clock_timestamp();
  v_service text;
begin
  p_database := loci.look_into_each(p_instance, p_database);
  select (i.config -> 'working_memory')::text into v_service from loci.instances i where i.id = p_instance;
  for i in 1 .. cardinality(p_database) loop
    damaged := null;
    -- In the statement itself: a whole document in a variable is copied for each function that it is handed to.
    select w.version, cardinality(w.keys), array_to_string(w.texts, ','),
        w.digest = loci.document_digest(w.instance_id, w.database, w.version, w.evictions, w.keys, w.texts, w.versions, w.expires,
      w.metas, w.digests, w.soonest, w.weeks, w.week_bytes)
          and w.database = p_database[i] and (w.soonest is null or w.soonest > v_now)
      into version, count, slots, v_is_whole
      from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    if not found then
      version := 0; count := 0; slots := '';
    elsif not v_is_whole then
      select count(*) filter (where s.intact and (s.expires is null or s.expires > v_now)),
          coalesce(string_agg(s.text, ',' order by s.n) filter (where s.intact and (s.expires is null or s.expires > v_now)), ''),
          array_agg(s.key) filter (where not s.intact)
        into count, slots, damaged
        from loci.working_memory w, lateral loci.wm_slots(w) s where w.instance_id = p_instance and w.database = p_database[i];
    end if;
    service := v_service; sent := null; config_intact := true;
    if exists (select from loci.configs c where c.instance_id = p_instance and c.database = p_database[i] and c.kind = 'working-memory') then
      select c.sent, c.intact into sent, config_intact from loci.config_layers(p_instance, p_database[i], 'working-memory') c;
    end if;
    return next;
  end loop;
end
$$;

-- Single slots of one instance, one row for each in their order. intact is null when there is none. Called by
-- findSlots(): every read of a slot. No locks. Cost: one read by the primary key and one hash for each.
create or replace function loci.wm_get_each(p_instance text, p_database text[], p_key text[])
returns table (text text, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_doc loci.working_memory;
  v_n int;
begin
  p_database := loci.look_into_each(p_instance, p_database);
  for i in 1 .. cardinality(p_database) loop
    text := null; intact := null;
    select * into v_doc from loci.working_memory w where w.instance_id = p_instance and w.database = p_database[i];
    v_n := array_position(v_doc.keys, p_key[i]);
    if v_n is not null then
      intact := loci.slot_is_intact(p_instance, p_database[i], p_key[i], v_doc.texts[v_n], v_doc.versions[v_n], v_doc.expires[v_n],
        v_doc.metas[v_n], v_doc.digests[v_n]);
      if intact and v_doc.expires[v_n] <= clock_timestamp() then
        intact := null;
      elsif intact then
        text := v_doc.texts[v_n];
      end if;
    end if;
    return next;
  end loop;
end
$$;
