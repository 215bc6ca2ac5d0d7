-- Reads every entry of a range, also around pages that cannot be read.

-- The keys of a page with the state of each: ok, digest_mismatch, page_unreadable; or one row `stopped` when the time
-- was over, whose key is where to go on after. Called by walkEntries() and kv_verify_chunk. No locks. Cost: reads every
-- row of the page in full; damage costs a failed read, its sub-transaction and a warning in the server's log for each
-- step of the search.
--
-- p_known, in order, are keys that were found unreadable before: the range is read between them, and each is tried
-- once. Then the rest is tried as a whole, and searched where that fails.
create or replace function loci.kv_walk(p_instance text, p_database text, p_prefix text, p_after text, p_limit int,
  p_ms int, p_known text[]) returns setof loci.walked
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set client_min_messages = error as $$
declare
  v_until timestamptz := clock_timestamp() + p_ms * interval '1 millisecond';
  v_after text := case when p_after is not null and p_after >= p_prefix collate "C" then p_after end;
  v_known text;
  v_rows loci.walked[];
  v_remaining int := p_limit;
begin
  perform loci.look_into(p_instance, p_database);
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
        case when v_piece.first is null then v_piece.prefix || chr(1) when v_piece.last = 1114111
          then loci.prefix_end(v_piece.prefix)
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
create or replace function loci.walk_pieces(p_prefix text, p_after text) returns loci.walk_piece[]
language plpgsql immutable as $$
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
        || row(left(p_after, v_at - 1), loci.next_character(ascii(substr(p_after, v_at, 1))), 1114111,
          null)::loci.walk_piece;
    end if;
  end loop;
  return v_pieces || row(p_after, 1, 1114111, null)::loci.walk_piece;
end
$$;

-- What a piece that failed is searched as, the second half first, for it lies deeper in the stack. Called by kv_search.
create or replace function loci.walk_halves(p_piece loci.walk_piece, p_failed int) returns loci.walk_piece[]
language plpgsql immutable as $$
declare
  v_key text := p_piece.prefix || chr(p_piece.first);
  v_middle int;
begin
  if p_piece.first = p_piece.last then
    return
      case when octet_length(p_piece.prefix) < 256 then array[row(v_key, 1, 1114111, p_failed)::loci.walk_piece]
        else '{}' end
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
create or replace function loci.kv_try_piece(p_instance text, p_database text, p_from text, p_below text, p_after text,
  p_limit int)
returns loci.walked[] language plpgsql as $$
begin
  return loci.kv_walk_piece(p_instance, p_database, p_from, p_below, p_after, p_limit);
exception when others then
  return null;
end
$$;

-- One read of a range of keys. Called by kv_try_piece. Cost: one index range, every row in full.
create or replace function loci.kv_walk_piece(p_instance text, p_database text, p_from text, p_below text,
  p_after text, p_limit int) returns loci.walked[]
language plpgsql as $$
declare
  v_after text := coalesce(p_after, '');
begin
  return array(
    -- `|| ''` takes the key apart here, where a failure is caught, and not when it is sent.
    select row(case when octet_length(x.key) between 1 and 256 then x.key || '' end, case when x.intact then 'ok'
      else 'digest_mismatch' end, case when x.intact then octet_length(x.key) + octet_length(x.value) else 0 end,
      x.intact and coalesce(x.expires_at <= clock_timestamp(), false),
      -- Of a damaged row too: when only another field rotted, this is still what it added to the set.
      case when x.intact or octet_length(x.digest) = 32 then loci.digest_part(x.digest, 1) else 0 end,
      case when x.intact or octet_length(x.digest) = 32 then loci.digest_part(x.digest, 9) else 0 end,
      case when x.intact then x.version else 0 end)::loci.walked
    from (
      select e.*, loci.is_intact(e, p_instance, p_database) as intact from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.key >= p_from and e.key < p_below
        and e.key > v_after
      order by e.key limit p_limit
    ) x);
end
$$;

-- The next character: there is none between U+D7FF and U+E000.
create or replace function loci.next_character(p_code int) returns int language sql immutable parallel safe as $$
  select case p_code when 55295 then 57344 else p_code + 1 end
$$;

-- The first text behind all that begin with the prefix.
create or replace function loci.prefix_end(p_prefix text) returns text language plpgsql immutable parallel safe as $$
declare
  v_prefix text := rtrim(p_prefix, chr(1114111));
begin
  return case when v_prefix = '' then loci.keys_end()
    else left(v_prefix, -1) || chr(loci.next_character(ascii(right(v_prefix, 1)))) end;
end
$$;
