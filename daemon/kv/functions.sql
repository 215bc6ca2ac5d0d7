create or replace function loci.entry_digest(p_instance text, p_database text, p_key text, p_value text, p_version bigint, p_created timestamptz, p_updated timestamptz, p_expires timestamptz)
returns bytea language sql stable parallel safe as $$
  -- The ..send functions give the stored bytes as they are. convert_to() fails on a text that rotted into invalid
  -- UTF-8, extract() on a time that rotted into infinity, and milliseconds hide the lowest bits. Control characters can
  -- stand in neither ids nor keys, what follows them has a fixed length, and the value comes last: no two entries give
  -- the same bytes.
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_version)
    || timestamptz_send(p_created) || timestamptz_send(p_updated) || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea)
    || textsend(p_value))
$$;

-- Eight bytes of a digest as a number, for the xor of a set.
create or replace function loci.digest_part(p_digest bytea, p_from int) returns bigint language sql immutable parallel safe as $$
  select ('x' || encode(substr(p_digest, p_from, 8), 'hex'))::bit(64)::bigint
$$;

-- Does a row fit its digest, and is it what it was asked for? An index that leads to another row than it says is damage
-- too. A column that rotted into null makes the answer false, not null. Sizes are looked at first, which reads no more
-- than the beginning of a column: one whose length rotted can seem to have hundreds of megabytes, or fewer than none.
create or replace function loci.is_intact(e loci.entries, p_instance text, p_database text) returns boolean language sql stable parallel safe as $$
  select case when octet_length(e.instance_id) not between 1 and 100 or octet_length(e.database) not between 1 and 100
      or octet_length(e.key) not between 1 and 256 or octet_length(e.value) not between 1 and 262144 or octet_length(e.digest) <> 32 then false
    else coalesce(e.digest = loci.entry_digest(e.instance_id, e.database, e.key, e.value, e.version, e.created_at, e.updated_at, e.expires_at)
      and e.instance_id = p_instance and e.database = p_database, false) end
$$;

-- One entry. `intact` is null when there is none, and false when the row does not fit its digest: then nothing of it is
-- handed out, neither as truth nor to an output function that fails on garbage. An expiry is believed only of an intact
-- row.
create or replace function loci.kv_get(p_instance text, p_database text, p_key text,
  out value text, out version bigint, out created_at timestamptz, out updated_at timestamptz, out expires_at timestamptz, out digest bytea, out intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  e loci.entries;
begin
  perform set_config('loci.instance', p_instance, true);
  select * into e from loci.entries x where x.instance_id = p_instance and x.database = p_database and x.key = p_key;
  if not found then
    return;
  end if;
  intact := loci.is_intact(e, p_instance, p_database) and e.key = p_key;
  if intact and e.expires_at <= clock_timestamp() then
    intact := null;
  elsif intact then
    value := e.value; version := e.version; created_at := e.created_at; updated_at := e.updated_at; expires_at := e.expires_at; digest := e.digest;
  end if;
end
$$;

-- Behind every key that there can be: 256 bytes hold 64 of the highest character.
create or replace function loci.keys_end() returns text language sql immutable parallel safe as $$ select repeat(chr(1114111), 65) $$;

-- A page of entries from `p_from` (inclusive) and after `p_after` (exclusive) up to `p_below` (exclusive), in order of
-- code points. The bounds are made real texts first: `p_below is null or …` would not be a condition on the index in a
-- generic plan, and a list of three keys would read the database to its end.
create or replace function loci.kv_list(p_instance text, p_database text, p_from text, p_below text, p_after text, p_limit int, p_bytes_max int)
returns table (key text, value text, version bigint, created_at timestamptz, updated_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_below text := coalesce(p_below, loci.keys_end());
  v_after text := coalesce(p_after, '');
  v_bytes bigint := 0;
begin
  perform set_config('loci.instance', p_instance, true);
  for key, value, version, created_at, updated_at, expires_at, digest, intact in
    select case when octet_length(x.key) between 1 and 256 then x.key || '' end, case when x.intact then x.value end, case when x.intact then x.version end, case when x.intact then x.created_at end,
      case when x.intact then x.updated_at end, case when x.intact then x.expires_at end, case when x.intact then x.digest end, x.intact
    from (
      select e.*, loci.is_intact(e, p_instance, p_database) as intact from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.key >= p_from and e.key < v_below and e.key > v_after
      order by e.key
    ) x
    where not (x.intact and coalesce(x.expires_at <= clock_timestamp(), false))
    limit p_limit
  loop
    return next;
    -- A thousand values of a quarter of a megabyte are no page. The one that goes over is still given, so that a page
    -- never stands still.
    v_bytes := v_bytes + coalesce(octet_length(value), 0);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;

-- The same entries when the plain list can not be read, by name.
create or replace function loci.kv_get_many(p_instance text, p_database text, p_keys text[])
returns table (key text, value text, version bigint, created_at timestamptz, updated_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language sql as $$
  select k.key, g.value, g.version, g.created_at, g.updated_at, g.expires_at, g.digest, g.intact
  from unnest(p_keys) with ordinality as k(key, n), lateral loci.kv_get(p_instance, p_database, k.key) g
  where g.intact is not null order by k.n
$$;

-- Reads of one instance that arrived together, one row for each in their order; the same as kv_get for each, for less
-- than a third of its cost. An unreadable one fails them all: the caller then asks for each alone.
create or replace function loci.kv_get_each(p_instance text, p_database text[], p_key text[])
returns table (value text, version bigint, created_at timestamptz, updated_at timestamptz, expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  e loci.entries;
begin
  perform set_config('loci.instance', p_instance, true);
  for i in 1 .. cardinality(p_key) loop
    select * into e from loci.entries x where x.instance_id = p_instance and x.database = p_database[i] and x.key = p_key[i];
    intact := null;
    if found then
      intact := loci.is_intact(e, p_instance, p_database[i]) and e.key = p_key[i];
      if intact and e.expires_at <= clock_timestamp() then
        intact := null;
      end if;
    end if;
    if intact then
      value := e.value; version := e.version; created_at := e.created_at; updated_at := e.updated_at; expires_at := e.expires_at; digest := e.digest;
    else
      value := null; version := null; created_at := null; updated_at := null; expires_at := null; digest := null;
    end if;
    return next;
  end loop;
end
$$;

-- Writes of one instance, each on its own: a conflict of one leaves the others alone, so that requests which happen to
-- arrive together can share a commit. The arrays have one element per write. p_if_match: null = any, -1 = must exist,
-- else the version. outcome: done, conflict (version = the current one, 0 = none), missing (nothing to delete),
-- databases (the plan has no more), gone (the instance is not in this cell any more: the two statements of
-- enter_instance, whose call would cost more than they do), damaged (If-Match names a version, and that of a damaged
-- entry can not be believed). Without a version a damaged entry is written over or deleted like any other: that is how
-- a customer repairs it.
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
  -- Always in this order, so that no two writers can wait for each other in a circle: the heads that are there, by
  -- name; then the instance's row, where a database or an expiry is new; then new heads, which nobody else can know of.
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
      -- The database's own number: it rises with each write and is never used again, also not by a key that was deleted
      -- and comes back.
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

-- As before, with what is kept for repeats.
create or replace function loci.kv_usage(p_instance text, out databases bigint, out keys bigint, out bytes bigint)
language plpgsql stable as $$
begin
  perform set_config('loci.instance', p_instance, true);
  -- Within what the daemon can count: a head that rotted must not make every write fail.
  select count(*), least(greatest(coalesce(sum(h.keys), 0), 0), 9007199254740991),
      least(greatest(coalesce(sum(h.bytes), 0), 0) + coalesce((select n.keyed_bytes from loci.instances n where n.id = p_instance), 0), 9007199254740991)
    into databases, keys, bytes from loci.databases h where h.instance_id = p_instance;
end
$$;

-- Removes what has expired, a bounded number at a time, and says when to come again. An entry that does not fit its
-- digest stays: its expiry may be what rotted. What can not be read is left for later and does not keep the sweeper
-- from the rest. Called by the sweeper of every replica. Locks: the heads of databases with something expired, by name,
-- then the instance's row. Cost: two reads for each entry removed. They are deleted one by one, because a join of the
-- batch with the table was planned as 500 times the database before its first analyze (7 s for 500 of 2,200 entries:
-- longer than a statement may take, so it never ended).
create or replace function loci.kv_expire(p_instance text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_name text;
  old record;
  sums record;
  removed int := 0;
  again timestamptz;
  -- A variable, because clock_timestamp() itself is never a condition on an index: each sweep would read all that
  -- expires some day.
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('loci.instance', p_instance, true);
  for v_name in
    select h.name from loci.databases h where h.instance_id = p_instance
      and exists (select from loci.entries e where e.instance_id = p_instance and e.database = h.name and e.expires_at <= v_now)
    order by h.name for update of h
  loop
    begin
      select 0 as keys, 0::bigint as bytes, 0::bigint as a, 0::bigint as b into sums;
      for old in
        select x.key, octet_length(x.key) + octet_length(x.value) as bytes, loci.digest_part(x.digest, 1) as a, loci.digest_part(x.digest, 9) as b
        from loci.entries x where x.instance_id = p_instance and x.database = v_name and x.expires_at <= v_now
          and loci.is_intact(x, p_instance, v_name) limit p_limit - removed
      loop
        delete from loci.entries e where e.instance_id = p_instance and e.database = v_name and e.key = old.key;
        sums.keys := sums.keys + 1; sums.bytes := sums.bytes + old.bytes; sums.a := sums.a # old.a; sums.b := sums.b # old.b;
      end loop;
      if sums.keys > 0 then
        update loci.databases h set keys = h.keys - sums.keys, bytes = h.bytes - sums.bytes, set_hash_a = h.set_hash_a # sums.a, set_hash_b = h.set_hash_b # sums.b, seq = h.seq + 1
        where h.instance_id = p_instance and h.name = v_name;
        removed := removed + sums.keys;
      end if;
    exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
      again := clock_timestamp() + interval '10 minutes';
    end;
    exit when removed >= p_limit;
  end loop;
  -- Before looking for the next one: a writer that makes an earlier one meanwhile must not be overwritten.
  perform 1 from loci.instances n where n.id = p_instance for update;
  begin
    -- The first of each database, from its index. When there was more than the limit, the next sweep is due at once.
    select least(again, case when removed >= p_limit then v_now end, min(soonest.at)) into again
    from loci.databases h, lateral (
      select e.expires_at as at from loci.entries e
      where e.instance_id = p_instance and e.database = h.name and e.expires_at > v_now order by e.expires_at limit 1
    ) soonest
    where h.instance_id = p_instance;
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
    again := clock_timestamp() + interval '10 minutes';
  end;
  update loci.instances n set next_expiry_at = again where n.id = p_instance;
  return removed;
end
$$;

-- The keys of a page with the state of each: ok, digest_mismatch, page_unreadable; or one row `stopped` when the time
-- was over, whose key is where to go on after. Called by walkEntries() and kv_verify_chunk. No locks. Cost: reads every
-- row of the page in full; damage costs a failed read, its sub-transaction and a warning in the server's log for each
-- step of the search.
--
-- p_known, in order, are keys that were found unreadable before: the range is read between them, and each is tried
-- once. Then the rest is tried as a whole, and searched where that fails.
create or replace function loci.kv_walk(p_instance text, p_database text, p_prefix text, p_after text, p_limit int, p_ms int,
  p_known text[]) returns setof loci.walked
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
declare
  v_until timestamptz := clock_timestamp() + p_ms * interval '1 millisecond';
  v_after text := case when p_after is not null and p_after >= p_prefix collate "C" then p_after end;
  v_known text;
  v_rows loci.walked[];
  v_remaining int := p_limit;
begin
  perform set_config('loci.instance', p_instance, true);
  if v_after is not null and not starts_with(v_after, p_prefix) then
    return;
  end if;
  foreach v_known in array p_known loop
    v_rows := loci.kv_try_piece(p_instance, p_database, p_prefix, v_known, v_after, v_remaining);
    exit when v_rows is null; -- Something new: it is searched for from here on.
    return query select * from unnest(v_rows);
    v_remaining := v_remaining - cardinality(v_rows);
    if v_remaining <= 0 then
      return;
    end if;
    v_rows := coalesce(loci.kv_try_piece(p_instance, p_database, v_known, v_known || chr(1), null, 1),
      array[row(v_known, 'page_unreadable', 0, false, 0, 0, 0)::loci.walked]);
    return query select * from unnest(v_rows);
    v_remaining := v_remaining - cardinality(v_rows);
    if v_remaining <= 0 then
      return;
    end if;
    v_after := v_known;
  end loop;
  v_rows := loci.kv_try_piece(p_instance, p_database, p_prefix, loci.prefix_end(p_prefix), v_after, v_remaining);
  if v_rows is not null then
    return query select * from unnest(v_rows);
  else
    return query select * from loci.kv_search(p_instance, p_database, p_prefix, v_after, v_remaining, v_until);
  end if;
end
$$;

-- The same for a range in which something cannot be read. Nobody can say which row: its key stands on the unreadable
-- page too. So the range is searched as a tree of prefixes (loci.walk_piece). A piece that reads well is done; one that
-- fails is cut in two, down to one character, where the key that ends there is asked for on its own. So the exact keys
-- of the unreadable rows come out, everything else is read, and no piece is forgotten. A second half is not tried when
-- the first was good: the failure of the whole is in it. Called by kv_walk after a failed read, with its context and
-- settings. Exceptions are caught here and not in the daemon, because each costs a sub-transaction here and a
-- connection there.
create or replace function loci.kv_search(p_instance text, p_database text, p_prefix text, p_after text, p_limit int,
  p_until timestamptz) returns setof loci.walked
language plpgsql as $$
declare
  -- The last piece is the next in order.
  v_stack loci.walk_piece[] := loci.walk_pieces(p_prefix, p_after);
  v_piece loci.walk_piece;
  v_failed int := 1;
  v_rows loci.walked[];
  v_remaining int := p_limit;
begin
  while cardinality(v_stack) > 0 and v_remaining > 0 loop
    v_piece := v_stack[cardinality(v_stack)];
    v_stack := trim_array(v_stack, 1);
    if clock_timestamp() > p_until and v_piece.first is not null then
      -- What is left of the range begins with this key: it is asked for, and the next page begins behind it.
      v_stack := '{}';
      v_piece := row(v_piece.prefix || chr(v_piece.first), null, null, null)::loci.walk_piece;
      return next row(v_piece.prefix, 'stopped', 0, false, 0, 0, 0)::loci.walked;
    end if;
    v_rows := null;
    if v_piece.failed is distinct from v_failed then
      v_rows := loci.kv_try_piece(p_instance, p_database,
        case when v_piece.first is null then v_piece.prefix else v_piece.prefix || chr(v_piece.first) end,
        case when v_piece.first is null then v_piece.prefix || chr(1) when v_piece.last = 1114111 then loci.prefix_end(v_piece.prefix)
          else v_piece.prefix || chr(loci.next_character(v_piece.last)) end,
        null, v_remaining);
      v_failed := v_failed + (v_rows is null)::int;
    end if;
    if v_rows is not null then
      return query select * from unnest(v_rows);
      v_remaining := v_remaining - cardinality(v_rows);
    elsif v_piece.first is null then
      return next row(v_piece.prefix, 'page_unreadable', 0, false, 0, 0, 0)::loci.walked;
      v_remaining := v_remaining - 1;
    else
      v_stack := v_stack || loci.walk_halves(v_piece, v_failed);
    end if;
  end loop;
end
$$;

-- The pieces of everything that begins with the prefix, or of what of it lies behind p_after: at each of its characters
-- the ones to the right of it, and below the whole of it everything. Called by kv_search.
create or replace function loci.walk_pieces(p_prefix text, p_after text) returns loci.walk_piece[] language plpgsql immutable as $$
declare
  v_pieces loci.walk_piece[] := '{}';
begin
  if p_after is null then
    v_pieces := array[row(p_prefix, 1, 1114111, null)::loci.walk_piece];
    if p_prefix <> '' then
      v_pieces := v_pieces || row(p_prefix, null, null, null)::loci.walk_piece;
    end if;
    return v_pieces;
  end if;
  for v_at in length(p_prefix) + 1 .. length(p_after) loop
    if ascii(substr(p_after, v_at, 1)) < 1114111 then
      v_pieces := v_pieces
        || row(left(p_after, v_at - 1), loci.next_character(ascii(substr(p_after, v_at, 1))), 1114111, null)::loci.walk_piece;
    end if;
  end loop;
  return v_pieces || row(p_after, 1, 1114111, null)::loci.walk_piece;
end
$$;

-- What a piece that failed is searched as, the second half first, for it lies deeper in the stack. Called by kv_search.
create or replace function loci.walk_halves(p_piece loci.walk_piece, p_failed int) returns loci.walk_piece[] language plpgsql immutable as $$
declare
  v_key text := p_piece.prefix || chr(p_piece.first);
  v_middle int;
begin
  if p_piece.first = p_piece.last then
    return case when octet_length(p_piece.prefix) < 256 then array[row(v_key, 1, 1114111, p_failed)::loci.walk_piece] else '{}' end
      || row(v_key, null, null, null)::loci.walk_piece;
  end if;
  -- First where the length in UTF-8 changes: most keys are ASCII, and half of all characters is far from half of them.
  v_middle := case when p_piece.first < 128 and p_piece.last >= 128 then 127
    when p_piece.first < 2048 and p_piece.last >= 2048 then 2047
    when p_piece.first < 55296 and p_piece.last > 57343 then 55295
    when p_piece.first < 65536 and p_piece.last >= 65536 then 65535 else (p_piece.first + p_piece.last) / 2 end;
  return array[
    row(p_piece.prefix, loci.next_character(v_middle), p_piece.last, p_failed)::loci.walk_piece,
    row(p_piece.prefix, p_piece.first, v_middle, null)::loci.walk_piece];
end
$$;

-- kv_walk_piece, or null when something in the range cannot be read. Called by kv_walk and kv_search.
create or replace function loci.kv_try_piece(p_instance text, p_database text, p_from text, p_below text, p_after text, p_limit int)
returns loci.walked[] language plpgsql as $$
begin
  return loci.kv_walk_piece(p_instance, p_database, p_from, p_below, p_after, p_limit);
exception when others then
  return null;
end
$$;

-- One read of a range of keys. Called by kv_try_piece. Cost: one index range, every row in full.
create or replace function loci.kv_walk_piece(p_instance text, p_database text, p_from text, p_below text, p_after text, p_limit int) returns loci.walked[]
language plpgsql as $$
declare
  v_after text := coalesce(p_after, '');
begin
  return array(
    -- `|| ''` takes the key apart here, where a failure is caught, and not when it is sent.
    select row(case when octet_length(x.key) between 1 and 256 then x.key || '' end, case when x.intact then 'ok' else 'digest_mismatch' end,
      case when x.intact then octet_length(x.key) + octet_length(x.value) else 0 end,
      x.intact and coalesce(x.expires_at <= clock_timestamp(), false),
      -- Of a damaged row too: when only another field rotted, this is still what it added to the set.
      case when x.intact or octet_length(x.digest) = 32 then loci.digest_part(x.digest, 1) else 0 end,
      case when x.intact or octet_length(x.digest) = 32 then loci.digest_part(x.digest, 9) else 0 end,
      case when x.intact then x.version else 0 end)::loci.walked
    from (
      select e.*, loci.is_intact(e, p_instance, p_database) as intact from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.key >= p_from and e.key < p_below and e.key > v_after
      order by e.key limit p_limit
    ) x);
end
$$;

-- The next character: there is none between U+D7FF and U+E000.
create or replace function loci.next_character(p_code int) returns int language sql immutable parallel safe as $$ select case p_code when 55295 then 57344 else p_code + 1 end $$;

-- The first text behind all that begin with the prefix.
create or replace function loci.prefix_end(p_prefix text) returns text language plpgsql immutable parallel safe as $$
declare
  p text := rtrim(p_prefix, chr(1114111));
begin
  return case when p = '' then loci.keys_end() else left(p, -1) || chr(loci.next_character(ascii(right(p, 1)))) end;
end
$$;

-- What the instances hold together, each looked at in its own context. One whose counters can not be read counts
-- nothing, and does not keep the others from being counted.
create or replace function loci.kv_totals(p_instances text[]) returns table (instance_id text, keys bigint, bytes bigint)
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

-- What has expired in a database and was not swept yet, read from entries_expiring. Stops once both numbers are
-- reached; null = never. Called by kv_databases and kv_usage_within, which set the context. Cost: one index entry and
-- one row for each that is counted.
create or replace function loci.kv_expired(p_instance text, p_database text, p_now timestamptz, p_keys bigint, p_bytes bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_bytes int;
begin
  keys := 0; bytes := 0;
  if p_keys is null then
    select count(*), coalesce(sum(octet_length(e.key) + octet_length(e.value)), 0) into keys, bytes
    from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now;
    return;
  end if;
  for v_bytes in
    select octet_length(e.key) + octet_length(e.value) from loci.entries e
    where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now
  loop
    keys := keys + 1; bytes := bytes + v_bytes;
    exit when keys >= p_keys and bytes >= p_bytes;
  end loop;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  keys := 0; bytes := 0; -- Damage is the consistency report's to tell; here the counters stand as they are.
end
$$;

-- What an instance holds, for its quota. Expired entries are taken off only where the sum is over one of the two
-- numbers, and only until it is not: far below its quota an instance costs the sum of its heads, and over it no more
-- rows than it is over.
create or replace function loci.kv_usage_within(p_instance text, p_keys_max bigint, p_bytes_max bigint, out databases bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_name text;
  gone record;
begin
  select u.databases, u.keys, u.bytes into databases, keys, bytes from loci.kv_usage(p_instance) u;
  if (keys <= p_keys_max and bytes <= p_bytes_max)
    or not exists (select from loci.instances i where i.id = p_instance and i.next_expiry_at <= v_now) then
    return;
  end if;
  for v_name in select h.name from loci.databases h where h.instance_id = p_instance loop
    select x.keys, x.bytes into gone from loci.kv_expired(p_instance, v_name, v_now, keys - p_keys_max, bytes - p_bytes_max) x;
    keys := greatest(keys - gone.keys, 0); bytes := greatest(bytes - gone.bytes, 0);
    exit when keys <= p_keys_max and bytes <= p_bytes_max;
  end loop;
end
$$;
