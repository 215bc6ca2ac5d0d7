-- What a restored cell does with the deletion ledger of management, before it serves.

-- Takes rows of the deletion ledger that management returned to a restored cell: puts them into the cell's own ledger,
-- then sets the tombstone of each value that was erased, or takes it back where an override came later. The database's
-- number rises above theirs, so that what is stored from now on is told from what was erased. Answers each value whose
-- records are to be erased, up to the number p_to. A database that is gone with the restore is made again for its
-- tombstones; where the instance has no key, its HMACs fit nothing. What a database had erased before it was itself
-- erased is left out: that life is over. Called by replayLedger(), before the cell serves. Locks: the head, rows,
-- totals. Cost: two writes for each.
create or replace function loci.mem_replay(p_instance text, p_database text, p_value text[], p_is_override boolean[], p_seq bigint[], p_at timestamptz[])
returns table (value_mac bytea, erased_through bigint, erased_at timestamptz)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
  v_head loci.databases;
  v_allowed bigint;
  v_ended bigint := coalesce((select d.seq from loci.deletions d where d.instance_id = p_instance and d.database = p_database
    and d.value_mac = '' and not d.is_override), -1);
begin
  if not exists (select from loci.instance_keys k where k.instance_id = p_instance) then
    return;
  end if;
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], array[p_database], 9007199254740991) e;
  if v_entered.outcome <> 'open' then
    return;
  end if;
  v_head := v_entered.head;
  insert into loci.deletions as l (instance_id, database, value_mac, is_override, seq, at, reported_at)
    select p_instance, p_database, decode(r.value, 'hex'), r.is_override, r.seq, r.at, clock_timestamp()
    from unnest(p_value, p_is_override, p_seq, p_at) as r(value, is_override, seq, at) where r.seq > v_ended
    on conflict (instance_id, database, value_mac, is_override) do update set seq = greatest(l.seq, excluded.seq), at = greatest(l.at, excluded.at),
      reported_at = case when l.seq > excluded.seq then l.reported_at else excluded.reported_at end;
  for value_mac in select distinct decode(r.value, 'hex') from unnest(p_value, p_seq) as r(value, seq) where r.seq > v_ended loop
    select max(l.seq) filter (where not l.is_override), max(l.at) filter (where not l.is_override), coalesce(max(l.seq) filter (where l.is_override), 0)
      into erased_through, erased_at, v_allowed from loci.deletions l
      where l.instance_id = p_instance and l.database = p_database and l.value_mac = mem_replay.value_mac;
    v_head.seq := greatest(v_head.seq, erased_through, v_allowed);
    if erased_through > v_allowed then
      insert into loci.tombstones (instance_id, database, value_mac, record_id, at) values (p_instance, p_database, mem_replay.value_mac, '', erased_at)
        on conflict do nothing;
      v_head.mem_index_bytes := v_head.mem_index_bytes + case when found then 150 else 0 end;
    else
      delete from loci.tombstones t where t.instance_id = p_instance and t.database = p_database and t.value_mac = mem_replay.value_mac;
      v_head.mem_index_bytes := v_head.mem_index_bytes - case when found then 150 else 0 end;
    end if;
    if erased_through is not null then
      return next;
    end if;
  end loop;
  -- Another number: a cycle or a build that was begun before does not commit.
  v_head.seq := v_head.seq + 1;
  v_head.mem_erased_at := v_head.seq;
  perform loci.mem_save_head(v_entered.head, v_head, null);
end
$$;
