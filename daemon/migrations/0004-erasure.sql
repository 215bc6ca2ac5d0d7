-- serves: 0003

-- A deleted instance is erased by the holder of the lease, a batch at a time; until that is over nothing of it is reported.
alter table loci.instances
  -- When the last of a deleted instance was gone. Null while it is being erased, and in every other state.
  add column purged_at timestamptz,
  -- What the feed said meanwhile: an instance that is named again is not made before the old one is gone.
  add column awaiting jsonb;
create index instances_to_purge on loci.instances (updated_at) where state = 'deleted' and purged_at is null;
create index partner_credentials_owned on loci.partner_credentials (instance_id);
grant delete on loci.partner_credentials to loci_app;

-- The ledger of what this cell has erased. A row goes up with the reports until management has taken it, which keeps it longer than
-- any backup of the cell lives.
create table loci.deletions (
  instance_id text not null,
  -- Empty: the whole instance.
  database text not null,
  generation bigint not null,
  at timestamptz not null,
  reported_at timestamptz,
  primary key (instance_id, database)
);
create index deletions_unreported on loci.deletions (at) where reported_at is null;
comment on table loci.deletions is 'without row-level security: the ledger of what was erased, ids and times only';
grant select, insert, update on loci.deletions to loci_app;

-- The last batch of counts that each replica has added to usage_minutes: one whose outcome was lost is sent again and counted once.
create table loci.usage_flushes (
  replica text primary key,
  flush bigint not null,
  at timestamptz not null
);
comment on table loci.usage_flushes is 'without row-level security: numbers of the replicas, no tenant';
grant select, insert, update, delete on loci.usage_flushes to loci_app;

-- Whoever writes for an instance enters it first, to the end of his transaction. A replica that has not heard of a deletion yet would
-- otherwise write behind the back of the one who erases, and what it wrote would stay for ever. The lock is shared among writers and
-- in memory only; false says that the instance is gone. The look at its state is a statement of its own, after the lock: its snapshot
-- is of a moment at which nobody erases.
create function loci.enter_instance(p_instance text) returns boolean language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_instance, 7026300004));
  return exists (select from loci.instances i where i.id = p_instance and i.state <> 'deleted');
end
$$;

-- Writes of one instance, each on its own: a conflict of one leaves the others alone, so that requests which happen to arrive
-- together can share a commit. The arrays have one element per write. p_if_match: null = any, -1 = must exist, else the version.
-- outcome: done, conflict (version = the current one, 0 = none), missing (nothing to delete), databases (the plan has no more), gone
-- (the instance is not in this cell any more: the two statements of enter_instance, whose call would cost more than they do),
-- damaged (If-Match names a version, and that of a damaged entry can not be believed). Without a version a damaged entry is written
-- over or deleted like any other: that is how a customer repairs it.
create or replace function loci.kv_write(p_instance text, p_databases_max bigint, p_database text[], p_op text[], p_key text[], p_value text[], p_ttl_ms float8[], p_if_match bigint[])
returns table (ord int, outcome text, version bigint, created_at timestamptz, updated_at timestamptz, expires_at timestamptz, digest bytea)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  head loci.databases;
  old loci.entries;
  v_name text;
  i int;
  has_old boolean;
  is_intact boolean;
  is_there boolean;
  refused boolean;
  moment timestamptz := date_trunc('milliseconds', clock_timestamp());
  soonest timestamptz;
begin
  perform set_config('loci.instance', p_instance, true);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_instance, 7026300004));
  if not exists (select from loci.instances n where n.id = p_instance and n.state <> 'deleted') then
    return query select n, 'gone', 0::bigint, null::timestamptz, null::timestamptz, null::timestamptz, null::bytea from generate_subscripts(p_op, 1) n;
    return;
  end if;
  -- Always in this order, so that no two writers can wait for each other in a circle: the heads that are there, by name; then the
  -- instance's row, where a database or an expiry is new; then new heads, which nobody else can know of.
  perform 1 from loci.databases h where h.instance_id = p_instance and h.name = any (p_database) order by h.name for update;
  for v_name in select distinct d from unnest(p_database) d order by d loop
    refused := false;
    select * into head from loci.databases h where h.instance_id = p_instance and h.name = v_name for update;
    if not found and 'put' = any (select o from unnest(p_database, p_op) as w(d, o) where d = v_name) then
      -- The instance's row stands for the number of its databases: two first writes of two databases take turns.
      perform 1 from loci.instances n where n.id = p_instance for update;
      if (select count(*) from loci.databases h where h.instance_id = p_instance) >= p_databases_max
        and not exists (select from loci.databases h where h.instance_id = p_instance and h.name = v_name) then
        refused := true;
      else
        insert into loci.databases (instance_id, name, created_at, seq, keys, bytes, set_hash_a, set_hash_b)
          values (p_instance, v_name, moment, 0, 0, 0, 0, 0) on conflict do nothing;
        select * into head from loci.databases h where h.instance_id = p_instance and h.name = v_name for update;
      end if;
    end if;
    for i in select w.n from unnest(p_database) with ordinality as w(d, n) where w.d = v_name order by w.n loop
      ord := i; version := 0; created_at := null; updated_at := null; expires_at := null; digest := null;
      if refused then
        outcome := case when p_op[i] = 'put' then 'databases' else 'missing' end;
        return next;
        continue;
      end if;
      select * into old from loci.entries e where e.instance_id = p_instance and e.database = v_name and e.key = p_key[i];
      has_old := found;
      is_intact := has_old and loci.is_intact(old, p_instance, v_name) and old.key = p_key[i];
      is_there := has_old and (not is_intact or old.expires_at is null or old.expires_at > moment);
      if has_old and not is_intact and p_if_match[i] <> -1 then
        outcome := 'damaged';
        return next;
        continue;
      end if;
      if p_if_match[i] is not null and (not is_there or (p_if_match[i] <> -1 and p_if_match[i] <> old.version)) then
        outcome := 'conflict';
        version := case when is_there then old.version else 0 end;
        return next;
        continue;
      end if;
      if has_old then
        head.keys := head.keys - 1;
      end if;
      if is_intact then
        head.bytes := head.bytes - octet_length(old.key) - octet_length(old.value);
        head.set_hash_a := head.set_hash_a # loci.digest_part(old.digest, 1);
        head.set_hash_b := head.set_hash_b # loci.digest_part(old.digest, 9);
      elsif has_old then
        head.unsettled := true;
      end if;
      if p_op[i] = 'delete' then
        outcome := case when is_there then 'done' else 'missing' end;
        version := case when is_there and is_intact then old.version else 0 end;
        if has_old then
          delete from loci.entries e where e.instance_id = p_instance and e.database = v_name and e.key = p_key[i];
          head.seq := head.seq + 1;
        end if;
        return next;
        continue;
      end if;
      -- The database's own number: it rises with each write and is never used again, also not by a key that was deleted and comes back.
      head.seq := head.seq + 1;
      outcome := 'done';
      version := head.seq;
      created_at := case when is_there and is_intact then old.created_at else moment end;
      updated_at := moment;
      expires_at := date_trunc('milliseconds', moment + p_ttl_ms[i] * interval '1 millisecond');
      digest := loci.entry_digest(p_instance, v_name, p_key[i], p_value[i], version, created_at, updated_at, expires_at);
      insert into loci.entries as e (instance_id, database, key, value, version, created_at, updated_at, expires_at, digest)
        values (p_instance, v_name, p_key[i], p_value[i], version, created_at, updated_at, expires_at, digest)
        on conflict (instance_id, database, key) do update set value = excluded.value, version = excluded.version, created_at = excluded.created_at,
          updated_at = excluded.updated_at, expires_at = excluded.expires_at, digest = excluded.digest;
      head.keys := head.keys + 1;
      head.bytes := head.bytes + octet_length(p_key[i]) + octet_length(p_value[i]);
      head.set_hash_a := head.set_hash_a # loci.digest_part(digest, 1);
      head.set_hash_b := head.set_hash_b # loci.digest_part(digest, 9);
      soonest := least(soonest, expires_at);
      return next;
    end loop;
    if head.name is not null and not refused then
      update loci.databases h set seq = head.seq, keys = head.keys, bytes = head.bytes, set_hash_a = head.set_hash_a, set_hash_b = head.set_hash_b, unsettled = head.unsettled
      where h.instance_id = p_instance and h.name = v_name;
    end if;
  end loop;
  if soonest is not null then
    update loci.instances n set next_expiry_at = soonest where n.id = p_instance and (n.next_expiry_at is null or n.next_expiry_at > soonest);
  end if;
end
$$;

-- Null when the instance is gone: then nothing was written, and nothing will be found.
create or replace function loci.kv_probe_write(p_instance text, p_nonce text) returns timestamptz language plpgsql as $$
declare
  written timestamptz;
begin
  if loci.enter_instance(p_instance) then
    insert into loci.probes as p (instance_id, nonce, at) values (p_instance, p_nonce, clock_timestamp())
      on conflict (instance_id) do update set nonce = excluded.nonce, at = clock_timestamp() returning p.at into written;
  end if;
  return written;
end
$$;

create or replace function loci.kv_settle(p_instance text, p_database text, p_seq bigint, p_rows bigint, p_bytes bigint, p_a bigint, p_b bigint) returns void
language plpgsql as $$
begin
  if not loci.enter_instance(p_instance) then
    return;
  end if;
  update loci.databases h set bytes = p_bytes, set_hash_a = p_a, set_hash_b = p_b, unsettled = false
  where h.instance_id = p_instance and h.name = p_database and h.seq = p_seq and h.keys = p_rows and h.unsettled;
  insert into loci.verified as v (instance_id, database, seq, rows, verified_at) values (p_instance, p_database, p_seq, p_rows, clock_timestamp())
    on conflict (instance_id, database) do update set seq = excluded.seq, rows = excluded.rows, verified_at = excluded.verified_at;
end
$$;

-- Erases up to p_limit rows of a deleted instance and says how many; fewer than the limit: nothing is left, and nothing can come any
-- more. Null when it is not for the caller to do: another holds the lease, or the instance is erased or made again already. The lock
-- comes before the instance's row, as with every writer. usage_minutes is not among the tables: it holds counts, which leave when
-- they have been reported. A later table with an instance_id belongs into this list (a test holds it against the catalog). Without jit:
-- loci.cell has no other way than the scan, whose forbidding price would have every call compiled first (70 ms against 3).
create function loci.purge_some(p_fence bigint, p_instance text, p_generation bigint, p_limit int) returns int
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

-- What the instances hold together, each looked at in its own context. One whose counters can not be read counts nothing, and does not
-- keep the others from being counted.
create function loci.kv_totals(p_instances text[]) returns table (instance_id text, keys bigint, bytes bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  foreach instance_id in array p_instances loop
    begin
      select u.keys, u.bytes into keys, bytes from loci.kv_usage(instance_id) u;
    exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
      keys := 0; bytes := 0;
    end;
    return next;
  end loop;
end
$$;
