-- Where records stand: the contexts of a database and the positions in them.

-- The number of a context that is not known yet, and the first position in it. p_name: the HMAC of its name; null: the
-- open context, which a gap of 30 minutes between two moments closes, in either direction, and the next position in it.
-- Called by mem_write_open. Cost: one write.
create or replace function loci.mem_place(p_head loci.databases, p_name bytea, p_at timestamptz,
  out head loci.databases, out context bigint, out "position" int)
language plpgsql as $$
begin
  head := p_head;
  if p_name is null then
    if head.mem_open_context is null or abs(extract(epoch from p_at - head.mem_open_at)) > 1800 then
      head.mem_contexts := head.mem_contexts + 1;
      head.mem_open_context := head.mem_contexts;
      head.mem_open_position := 0;
    end if;
    context := head.mem_open_context; "position" := head.mem_open_position;
    head.mem_open_position := head.mem_open_position + 1;
    head.mem_open_at := p_at;
    return;
  end if;
  head.mem_contexts := head.mem_contexts + 1;
  head.mem_index_bytes := head.mem_index_bytes + 100;
  context := head.mem_contexts; "position" := 0;
  insert into loci.contexts (instance_id, database, name_mac, number, position, records)
    values (p_head.instance_id, p_head.name, p_name, context, 1, 1);
end
$$;
comment on function loci.mem_place is 'without enter_database: called with the head that mem_write_acts has entered';

-- A record has left its context. The last one takes the name with it: who uses it again begins another. Called by
-- mem_erase. Cost: one write.
create or replace function loci.mem_unplace(p_head loci.databases, p_context bigint) returns loci.databases
language plpgsql as $$
declare
  v_head loci.databases := p_head;
  v_left int;
begin
  update loci.contexts c set records = c.records - 1
    where c.instance_id = p_head.instance_id and c.database = p_head.name and c.number = p_context returning c.records into v_left;
  if v_left <= 0 then
    delete from loci.contexts c where c.instance_id = p_head.instance_id and c.database = p_head.name and c.number = p_context;
    v_head.mem_index_bytes := v_head.mem_index_bytes - 100;
  end if;
  return v_head;
end
$$;
comment on function loci.mem_unplace is 'without enter_database: called with the head that mem_erase has entered';
