-- Entries. Reads and writes are functions, not statements: the context of row-level security is set in the same call as
-- the work, in one round trip (as begin, set, select, commit it halves the rate; this costs about a tenth, measured).
-- They run with the caller's rights.
--
-- All of them read entries through the primary key and never by a scan of the table: a page that cannot be read would
-- otherwise take every tenant with it. `set enable_seqscan` is on the function, because a small table makes the planner
-- prefer the scan.

-- The ..send functions give the stored bytes as they are. convert_to() fails on a text that rotted into invalid UTF-8,
-- extract() on a time that rotted into infinity, and milliseconds hide the lowest bits. Control characters can stand in
-- neither ids nor keys, what follows them has a fixed length, and the value comes last: no two entries give the same
-- bytes.
create or replace function loci.entry_digest(p_instance text, p_database text, p_key text, p_value text,
  p_version bigint, p_created timestamptz, p_updated timestamptz, p_expires timestamptz) returns bytea
language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_version)
    || timestamptz_send(p_created) || timestamptz_send(p_updated)
    || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea) || textsend(p_value))
$$;

-- Does a row fit its digest, and is it what it was asked for? An index that leads to another row than it says is damage
-- too. A column that rotted into null makes the answer false, not null. Sizes are looked at first, which reads no more
-- than the beginning of a column: one whose length rotted can seem to have hundreds of megabytes, or fewer than none.
create or replace function loci.is_intact(e loci.entries, p_instance text, p_database text) returns boolean
language sql stable parallel safe as $$
  select case when octet_length(e.instance_id) not between 1 and 100 or octet_length(e.database) not between 1 and 100
      or octet_length(e.key) not between 1 and 256 or octet_length(e.value) not between 1 and 262144
      or octet_length(e.digest) <> 32 then false
    else coalesce(e.digest = loci.entry_digest(e.instance_id, e.database, e.key, e.value, e.version, e.created_at,
      e.updated_at, e.expires_at)
      and e.instance_id = p_instance and e.database = p_database, false) end
$$;

-- One entry. `intact` is null when there is none, and false when the row does not fit its digest: then nothing of it is
-- handed out, neither as truth nor to an output function that fails on garbage. An expiry is believed only of an intact
-- row. Called by kv_get_many and kv_verify_chunk. No locks. Cost: one read by the primary key.
create or replace function loci.kv_get(p_instance text, p_database text, p_key text,
  out value text, out version bigint, out created_at timestamptz, out updated_at timestamptz,
    out expires_at timestamptz, out digest bytea, out intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entry loci.entries;
begin
  perform loci.look_into(p_instance, p_database);
  select * into v_entry from loci.entries x where x.instance_id = p_instance and x.database = p_database
    and x.key = p_key;
  if not found then
    return;
  end if;
  intact := loci.is_intact(v_entry, p_instance, p_database) and v_entry.key = p_key;
  if intact and v_entry.expires_at <= clock_timestamp() then
    intact := null;
  elsif intact then
    value := v_entry.value; version := v_entry.version; digest := v_entry.digest;
    created_at := v_entry.created_at; updated_at := v_entry.updated_at; expires_at := v_entry.expires_at;
  end if;
end
$$;

-- Behind every key that there can be: 256 bytes hold 64 of the highest character.
create or replace function loci.keys_end() returns text language sql immutable parallel safe
  as $$ select repeat(chr(1114111), 65) $$;

-- A page of entries from `p_from` (inclusive) and after `p_after` (exclusive) up to `p_below` (exclusive), in order of
-- code points. The bounds are made real texts first: `p_below is null or …` would not be a condition on the index in a
-- generic plan, and a list of three keys would read the database to its end. Called by listEntries(). No locks. Cost:
-- one index range, every row in full.
create or replace function loci.kv_list(p_instance text, p_database text, p_from text, p_below text, p_after text,
  p_limit int, p_bytes_max int)
returns table (key text, value text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_below text := coalesce(p_below, loci.keys_end());
  v_after text := coalesce(p_after, '');
  v_bytes bigint := 0;
begin
  perform loci.look_into(p_instance, p_database);
  for key, value, version, created_at, updated_at, expires_at, digest, intact in
    select case when octet_length(x.key) between 1 and 256 then x.key || '' end, case when x.intact then x.value end,
      case when x.intact then x.version end, case when x.intact then x.created_at end,
      case when x.intact then x.updated_at end, case when x.intact then x.expires_at end,
      case when x.intact then x.digest end, x.intact
    from (
      select e.*, loci.is_intact(e, p_instance, p_database) as intact from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.key >= p_from and e.key < v_below
        and e.key > v_after
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

-- The page as kv_list has it, backwards (p_is_back: p_after is then the key before which it begins), without values
-- (p_is_bare), or both. One of the two parts has a condition that is false before any row is read. Called by
-- listEntries(). No locks. Cost: one index range, every row in full: a digest is over the value too.
create or replace function loci.kv_list_as(p_instance text, p_database text, p_from text, p_below text, p_after text,
  p_is_back boolean, p_is_bare boolean, p_limit int, p_bytes_max int)
returns table (key text, value text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
  v_below text := coalesce(p_below, loci.keys_end());
  v_after text := coalesce(p_after, case when p_is_back then loci.keys_end() else '' end);
  v_bytes bigint := 0;
begin
  perform set_config('loci.instance', p_instance, true);
  for key, value, version, created_at, updated_at, expires_at, digest, intact in
    select case when octet_length((x.e).key) between 1 and 256 then (x.e).key || '' end,
      case when x.intact and not p_is_bare then (x.e).value end, case when x.intact then (x.e).version end,
      case when x.intact then (x.e).created_at end, case when x.intact then (x.e).updated_at end,
      case when x.intact then (x.e).expires_at end, case when x.intact then (x.e).digest end, x.intact
    from (
      select f.e, loci.is_intact(f.e, p_instance, p_database) as intact from (
        (select e from loci.entries e where not p_is_back and e.instance_id = p_instance and e.database = p_database
          and e.key >= p_from and e.key < v_below and e.key > v_after order by e.key)
        union all
        (select e from loci.entries e where p_is_back and e.instance_id = p_instance and e.database = p_database
          and e.key >= p_from and e.key < v_below and e.key < v_after order by e.key desc)
      ) f
    ) x
    where not (x.intact and coalesce((x.e).expires_at <= clock_timestamp(), false))
    limit p_limit
  loop
    return next;
    v_bytes := v_bytes + coalesce(octet_length(value), 0);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;

-- The same entries when the plain list cannot be read, by name. Called by findEntries().
create or replace function loci.kv_get_many(p_instance text, p_database text, p_keys text[])
returns table (key text, value text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea, intact boolean)
language sql as $$
  select k.key, g.value, g.version, g.created_at, g.updated_at, g.expires_at, g.digest, g.intact
  from unnest(p_keys) with ordinality as k(key, n), lateral loci.kv_get(p_instance, p_database, k.key) g
  where g.intact is not null order by k.n
$$;

-- Reads of one instance that arrived together, one row for each in their order; the same as kv_get for each, for less
-- than a third of its cost. An unreadable one fails them all: the caller then asks for each alone. Called by
-- findEach(): every read. No locks.
create or replace function loci.kv_get_each(p_instance text, p_database text[], p_key text[])
returns table (value text, version bigint, created_at timestamptz, updated_at timestamptz, expires_at timestamptz,
  digest bytea, intact boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entry loci.entries;
begin
  p_database := loci.look_into_each(p_instance, p_database);
  for i in 1 .. cardinality(p_key) loop
    select * into v_entry from loci.entries x where x.instance_id = p_instance and x.database = p_database[i]
      and x.key = p_key[i];
    intact := null;
    if found then
      intact := loci.is_intact(v_entry, p_instance, p_database[i]) and v_entry.key = p_key[i];
      if intact and v_entry.expires_at <= clock_timestamp() then
        intact := null;
      end if;
    end if;
    if intact then
      value := v_entry.value; version := v_entry.version; digest := v_entry.digest;
      created_at := v_entry.created_at; updated_at := v_entry.updated_at; expires_at := v_entry.expires_at;
    else
      value := null; version := null; created_at := null; updated_at := null; expires_at := null; digest := null;
    end if;
    return next;
  end loop;
end
$$;

-- Writes of one instance, each on its own: a conflict of one leaves the others alone, so that requests which happen to
-- arrive together can share a commit. The arrays have one element per write. p_if_match: null = any, -1 = must exist, 0
-- = must not exist, else the version. outcome: done, conflict (version = the current one, 0 = none), missing (nothing
-- to delete), damaged (If-Match names a version, and that of a damaged entry cannot be believed), or what
-- enter_database() answered: databases, erasing, gone. Without a version a damaged entry is written over or deleted
-- like any other: that is how a customer repairs it. Called by commitActs() and kv_write_acts: every write. Locks:
-- enter_database(), then rows, due work, totals.
create or replace function loci.kv_write(p_instance text, p_databases_max bigint, p_database text[], p_op text[],
  p_key text[], p_value text[], p_ttl_ms float8[], p_if_match bigint[])
returns table (ord int, outcome text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_entered record;
begin
  for v_entered in
    select e.outcome, e.head, array(select w.n::int from unnest(p_database) with ordinality as w(d, n)
      where w.d = e.name order by w.n) as items
    from loci.enter_database(p_instance, p_database,
      array(select w.d from unnest(p_database, p_op) as w(d, o) where w.o = 'put'), p_databases_max) e
  loop
    if v_entered.outcome = 'open' then
      return query select * from loci.kv_write_open(v_entered.head, v_entered.items, p_op, p_key, p_value, p_ttl_ms,
        p_if_match);
    else
      return query select i,
          case when v_entered.outcome = 'none' or (v_entered.outcome = 'databases' and p_op[i] = 'delete')
            then case when p_if_match[i] > 0 then 'conflict' else 'missing' end else v_entered.outcome end,
          0::bigint, null::timestamptz, null::timestamptz, null::timestamptz, null::bytea
        from unnest(v_entered.items) i;
    end if;
  end loop;
end
$$;

-- The writes p_items of one database, whose head is locked. Called by kv_write. Cost: one read and one write by the
-- primary key for each, and one update of the head.
create or replace function loci.kv_write_open(p_head loci.databases, p_items int[], p_op text[], p_key text[],
  p_value text[], p_ttl_ms float8[], p_if_match bigint[])
returns table (ord int, outcome text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea)
language plpgsql as $$
#variable_conflict use_column
declare
  v_head loci.databases := p_head;
  v_old loci.entries;
  v_has_old boolean;
  v_is_intact boolean;
  v_is_there boolean;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_soonest timestamptz;
  v_written bigint := 0;
begin
  foreach ord in array p_items loop
    created_at := null; updated_at := null; expires_at := null; digest := null;
    select * into v_old from loci.entries e
      where e.instance_id = p_head.instance_id and e.database = p_head.name and e.key = p_key[ord];
    v_has_old := found;
    v_is_intact := v_has_old and loci.is_intact(v_old, p_head.instance_id, p_head.name) and v_old.key = p_key[ord];
    v_is_there := v_has_old and (not v_is_intact or v_old.expires_at is null or v_old.expires_at > v_now);
    version := case when v_is_there and v_is_intact then v_old.version else 0 end;
    outcome := case when v_has_old and not v_is_intact and p_if_match[ord] <> -1 then 'damaged'
      when p_if_match[ord] = 0 then case when v_is_there then 'conflict' when p_op[ord] = 'delete' then 'missing' else 'done' end
      when p_if_match[ord] is not null and (not v_is_there or p_if_match[ord] not in (-1, v_old.version))
        then 'conflict'
      when p_op[ord] = 'delete' and not v_is_there then 'missing' else 'done' end;
    if outcome in ('done', 'missing') then
      v_head.kv_keys := v_head.kv_keys - v_has_old::int;
      if v_is_intact then
        v_head.kv_bytes := v_head.kv_bytes - octet_length(v_old.key) - octet_length(v_old.value);
        v_head.kv_set_a := v_head.kv_set_a # loci.digest_part(v_old.digest, 1);
        v_head.kv_set_b := v_head.kv_set_b # loci.digest_part(v_old.digest, 9);
      elsif v_has_old then
        v_head.kv_unsettled := true;
      end if;
      if p_op[ord] = 'put' then
        -- The database's own number: it rises with each write and is never used again, also not by a key that was
        -- deleted and comes back.
        v_head.seq := v_head.seq + 1;
        version := v_head.seq;
        created_at := case when v_is_there and v_is_intact then v_old.created_at else v_now end;
        updated_at := v_now;
        expires_at := date_trunc('milliseconds', v_now + p_ttl_ms[ord] * interval '1 millisecond');
        digest := loci.entry_digest(p_head.instance_id, p_head.name, p_key[ord], p_value[ord], version, created_at,
          updated_at, expires_at);
        insert into loci.entries as e (instance_id, database, key, value, version, created_at, updated_at, expires_at,
          digest)
          values (p_head.instance_id, p_head.name, p_key[ord], p_value[ord], version, created_at, updated_at,
            expires_at, digest)
          on conflict (instance_id, database, key) do update set value = excluded.value, version = excluded.version,
            created_at = excluded.created_at, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
              digest = excluded.digest;
        v_head.kv_keys := v_head.kv_keys + 1;
        v_head.kv_bytes := v_head.kv_bytes + octet_length(p_key[ord]) + octet_length(p_value[ord]);
        v_head.kv_set_a := v_head.kv_set_a # loci.digest_part(digest, 1);
        v_head.kv_set_b := v_head.kv_set_b # loci.digest_part(digest, 9);
        v_soonest := least(v_soonest, expires_at);
        v_written := v_written + octet_length(p_key[ord]) + octet_length(p_value[ord]) + 200;
      elsif v_has_old then
        v_head.seq := v_head.seq + 1;
        delete from loci.entries e where e.instance_id = p_head.instance_id and e.database = p_head.name
          and e.key = p_key[ord];
      end if;
    end if;
    return next;
  end loop;
  perform loci.kv_save_head(p_head, v_head, v_soonest, v_written);
end
$$;
comment on function loci.kv_write_open is 'without enter_database: called with the head that kv_write has entered';

-- Writes back the head of a database that kv_write_open has changed, the totals of its instance, and when the first of
-- its new entries expires. p_written: bytes of what was put, whatever it has replaced. Called by kv_write_open. Locks:
-- totals, the due row.
create or replace function loci.kv_save_head(p_before loci.databases, p_head loci.databases, p_soonest timestamptz, p_written bigint)
returns void language plpgsql as $$
begin
  if p_head.seq <> p_before.seq then
    update loci.databases h set seq = p_head.seq, kv_keys = p_head.kv_keys, kv_bytes = p_head.kv_bytes,
        kv_set_a = p_head.kv_set_a, kv_set_b = p_head.kv_set_b, kv_unsettled = p_head.kv_unsettled
      where h.instance_id = p_head.instance_id and h.name = p_head.name;
    perform loci.add_totals(p_head.instance_id, p_head.kv_keys - p_before.kv_keys, p_head.kv_bytes - p_before.kv_bytes,
      p_written);
  end if;
  if p_soonest is not null then
    perform loci.put_due(p_head.instance_id, p_head.name, 'expiry', p_soonest);
  end if;
end
$$;
comment on function loci.kv_save_head is 'without enter_database: called with the head that kv_write has entered';

-- Acts of one instance that arrived together. The writes of an act bear its number in p_act and are done all or none; a
-- write without a number is on its own, as in kv_write. An act may claim an Idempotency-Key: the p_claim arrays have
-- one element for each claim. A row with `claim` says why that claim's act cannot be done (claim_keys); then nothing of
-- the call was done, and the caller asks again without it. A write of an act that is refused fails the call with
-- SQLSTATE LC001; detail = ord, outcome, version. Called by commitActs(). Locks: those of claim_keys, kv_write,
-- keep_answers, in this order. Cost: kv_write, and one insert for each claim.
create or replace function loci.kv_write_acts(p_instance text, p_databases_max bigint,
  p_act int[], p_database text[], p_op text[], p_key text[], p_value text[], p_ttl_ms float8[], p_if_match bigint[],
  p_route text, p_sealed_with text, p_claim_act int[], p_claim_database text[], p_claim_holder text[], p_claim_key text[],
  p_claim_fingerprint text[])
returns table (claim int, ord int, outcome text, version bigint, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz, digest bytea)
language plpgsql as $$
#variable_conflict use_column
declare
  v_is_claimed boolean := cardinality(p_claim_key) > 0;
  v_moment timestamptz;
  v_act int;
  v_place int;
  v_version bigint;
  v_born bigint;
  v_ms bigint;
  v_versions text;
  v_created text;
  v_missing text;
  v_answers text[] := '{}';
begin
  if v_is_claimed then
    perform set_config('loci.instance', p_instance, true);
    return query select c.claim, null::int, c.outcome, 0::bigint, null::timestamptz, null::timestamptz,
        null::timestamptz, null::bytea
      from loci.claim_keys(p_instance, p_route, p_claim_database, p_claim_holder, p_claim_key) c;
    if found then
      return;
    end if;
  end if;
  for ord, outcome, version, created_at, updated_at, expires_at, digest in
    select w.ord, w.outcome, w.version, w.created_at, w.updated_at, w.expires_at, w.digest
    from loci.kv_write(p_instance, p_databases_max, p_database, p_op, p_key, p_value, p_ttl_ms, p_if_match) w
    order by w.ord
  loop
    if p_act[ord] is not null and outcome not in ('done', 'missing') then
      raise exception 'a write of an act is refused'
        using errcode = 'LC001', detail = format('%s %s %s', ord, outcome, version);
    end if;
    return next;
    v_moment := coalesce(updated_at, v_moment);
    -- What is kept of the answer (kept-batch.ts): versions and creations as differences to the one before. The writes
    -- of an act stand one after the other.
    continue when not v_is_claimed or p_act[ord] is null;
    if p_act[ord] is distinct from v_act then
      v_act := p_act[ord]; v_place := 0; v_version := 0; v_born := 0;
      v_versions := ''; v_created := ''; v_missing := '';
    end if;
    v_versions := v_versions || ',' || version - v_version;
    v_version := version;
    if created_at is not null then
      v_ms := extract(epoch from created_at) * 1000;
      v_created := v_created || ',' || v_ms - v_born;
      v_born := v_ms;
    elsif outcome = 'missing' then
      v_missing := v_missing || ',' || v_place;
    end if;
    v_place := v_place + 1;
    if p_act[ord + 1] is distinct from v_act then
      v_answers[v_act] := format('{"at":%s,"versions":[%s],"created":[%s],"missing":[%s]}',
        case when v_created = '' then 'null' else (extract(epoch from v_moment) * 1000)::bigint::text end,
        substr(v_versions, 2), substr(v_created, 2), substr(v_missing, 2));
    end if;
  end loop;
  if v_is_claimed then
    perform loci.keep_answers(p_instance, p_route, p_sealed_with, p_claim_database, p_claim_holder, p_claim_key,
      p_claim_fingerprint, array(select coalesce(v_answers[c.act], '{"at":null,"versions":[],"created":[],"missing":[]}')
        from unnest(p_claim_act) with ordinality as c(act, n) order by c.n));
  end if;
end
$$;
comment on function loci.kv_write_acts is 'without enter_database: kv_write, which it calls, enters';
