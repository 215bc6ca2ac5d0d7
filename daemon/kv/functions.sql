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

-- Eight bytes of a digest as a number, for the xor of a set.
create or replace function loci.digest_part(p_digest bytea, p_from int) returns bigint
language sql immutable parallel safe as $$
  select ('x' || encode(substr(p_digest, p_from, 8), 'hex'))::bit(64)::bigint
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
  perform set_config('loci.instance', p_instance, true);
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
  perform set_config('loci.instance', p_instance, true);
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
  perform set_config('loci.instance', p_instance, true);
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
-- arrive together can share a commit. The arrays have one element per write. p_if_match: null = any, -1 = must exist,
-- else the version. outcome: done, conflict (version = the current one, 0 = none), missing (nothing to delete), damaged
-- (If-Match names a version, and that of a damaged entry cannot be believed), or what enter_database() answered:
-- databases, erasing, gone. Without a version a damaged entry is written over or deleted like any other: that is how a
-- customer repairs it. Called by commitActs() and kv_write_acts: every write. Locks: enter_database(), then rows,
-- due work, totals.
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
            then 'missing' else v_entered.outcome end,
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
      elsif v_has_old then
        v_head.seq := v_head.seq + 1;
        delete from loci.entries e where e.instance_id = p_head.instance_id and e.database = p_head.name
          and e.key = p_key[ord];
      end if;
    end if;
    return next;
  end loop;
  perform loci.kv_save_head(p_head, v_head, v_soonest);
end
$$;
comment on function loci.kv_write_open is 'without enter_database: called with the head that kv_write has entered';

-- Writes back the head of a database that kv_write_open has changed, the totals of its instance, and when the first of
-- its new entries expires. Called by kv_write_open. Locks: totals, the due row.
create or replace function loci.kv_save_head(p_before loci.databases, p_head loci.databases, p_soonest timestamptz)
returns void language plpgsql as $$
begin
  if p_head.seq <> p_before.seq then
    update loci.databases h set seq = p_head.seq, kv_keys = p_head.kv_keys, kv_bytes = p_head.kv_bytes,
        kv_set_a = p_head.kv_set_a, kv_set_b = p_head.kv_set_b, kv_unsettled = p_head.kv_unsettled
      where h.instance_id = p_head.instance_id and h.name = p_head.name;
    perform loci.add_totals(p_head.instance_id, p_head.kv_keys - p_before.kv_keys, p_head.kv_bytes - p_before.kv_bytes);
  end if;
  if p_soonest is not null then
    perform loci.put_due(p_head.instance_id, p_head.name, 'expiry', p_soonest);
  end if;
end
$$;
comment on function loci.kv_save_head is 'without enter_database: called with the head that kv_write has entered';

-- Acts of one instance that arrived together. The writes of an act bear its number in p_act and are done all or none; a
-- write without a number is on its own, as in kv_write. An act may claim an Idempotency-Key: the p_claim arrays have one
-- element for each claim. A row with `claim` says why that claim's act cannot be done (claim_keys); then nothing of the
-- call was done, and the caller asks again without it. A write of an act that is refused fails the call with SQLSTATE
-- LC001; detail = ord, outcome, version. Called by commitActs(). Locks: those of claim_keys, kv_write, keep_answers, in
-- this order. Cost: kv_write, and one insert for each claim.
create or replace function loci.kv_write_acts(p_instance text, p_databases_max bigint, p_answers_max bigint,
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
      from loci.claim_keys(p_instance, p_route, p_answers_max, p_claim_database, p_claim_holder, p_claim_key) c;
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
    -- What is kept of the answer (kept-batch.ts): versions and creations as differences to the one before. The writes of
    -- an act stand one after the other.
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

-- What has expired in a database and was not swept yet, read from entries_expiring. Stops once both numbers are
-- reached; null = never. Called by kv_databases and kv_usage_within, which set the context. Cost: one index entry and
-- one row for each that is counted.
create or replace function loci.kv_expired(p_instance text, p_database text, p_now timestamptz, p_keys bigint,
  p_bytes bigint, out keys bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_bytes int;
begin
  keys := 0;
  bytes := 0;
  if p_keys is null then
    select count(*), coalesce(sum(octet_length(e.key) + octet_length(e.value)), 0) into keys, bytes
    from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now;
    return;
  end if;
  for v_bytes in
    select octet_length(e.key) + octet_length(e.value) from loci.entries e
    where e.instance_id = p_instance and e.database = p_database and e.expires_at <= p_now
  loop
    keys := keys + 1;
    bytes := bytes + v_bytes;
    exit when keys >= p_keys and bytes >= p_bytes;
  end loop;
exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
  -- Damage is for the consistency report; here the counters stand as they are.
  keys := 0;
  bytes := 0;
end
$$;

-- What an instance holds over all domains, for its quota. Expired entries are taken off only where the sum is over one
-- of the two numbers, and only until it is not. `stable`: every statement inside sees one snapshot, so a sweep between
-- two of them is not counted twice. Called by readUsage(). No locks. Cost: a few rows of totals while there is
-- room, however many databases there are; else also the databases with something due, which a claim of the worker has
-- moved up to 5 s ahead.
create or replace function loci.kv_usage_within(p_instance text, p_records_max bigint, p_bytes_max bigint,
  out records bigint, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_name text;
  v_gone record;
begin
  perform set_config('loci.instance', p_instance, true);
  select coalesce(sum(t.records), 0), coalesce(sum(t.bytes), 0) into records, bytes
    from loci.instance_totals t where t.instance_id = p_instance;
  bytes := bytes + coalesce((select i.keyed_bytes from loci.instances i where i.id = p_instance), 0);
  for v_name in select d.database from loci.due d
    where d.instance_id = p_instance and d.kind = 'expiry' and d.at <= v_now + interval '5 seconds' order by d.database
  loop
    exit when records <= p_records_max and bytes <= p_bytes_max;
    select x.keys, x.bytes into v_gone
      from loci.kv_expired(p_instance, v_name, v_now, records - p_records_max, bytes - p_bytes_max) x;
    records := records - v_gone.keys;
    bytes := bytes - v_gone.bytes;
  end loop;
  -- Within what the daemon can count: a total that rotted must not make every write fail.
  records := least(greatest(records, 0), 9007199254740991);
  bytes := least(greatest(bytes, 0), 9007199254740991);
end
$$;

-- Removes what has expired in a database, a bounded number at a time, and puts it on the list again for the next. An
-- entry that does not fit its digest stays: its expiry may be what rotted. What cannot be read is left for ten minutes.
-- Called by the worker of due rows, kind `expiry`. Locks: the head, rows, the due row, totals. Cost: two reads for each
-- entry removed. They are deleted one by one, because a join of the batch with the table was planned as 500 times the
-- database before its first analyze (7 s for 500 of 2,200 entries: longer than a statement may take, so it never
-- ended).
create or replace function loci.kv_expire(p_instance text, p_database text, p_limit int) returns int
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_old record;
  v_removed int := 0;
  v_bytes bigint := 0;
  v_a bigint := 0;
  v_b bigint := 0;
  v_next timestamptz;
  -- A variable, because clock_timestamp() itself is never a condition on an index: each sweep would read all that
  -- expires some day.
  v_now timestamptz := clock_timestamp();
begin
  if (select e.outcome from loci.enter_database(p_instance, array[p_database], '{}', 0) e) in ('gone', 'erasing') then
    return 0;
  end if;
  begin
    for v_old in
      select x.key, octet_length(x.key) + octet_length(x.value) as bytes, loci.digest_part(x.digest, 1) as a,
        loci.digest_part(x.digest, 9) as b
      from loci.entries x where x.instance_id = p_instance and x.database = p_database and x.expires_at <= v_now
        and loci.is_intact(x, p_instance, p_database) limit p_limit
    loop
      delete from loci.entries e where e.instance_id = p_instance and e.database = p_database and e.key = v_old.key;
      v_removed := v_removed + 1;
      v_bytes := v_bytes + v_old.bytes;
      v_a := v_a # v_old.a;
      v_b := v_b # v_old.b;
    end loop;
    select case when v_removed >= p_limit then v_now else min(e.expires_at) end into v_next from loci.entries e
      where e.instance_id = p_instance and e.database = p_database and e.expires_at > v_now;
  exception when data_corrupted or index_corrupted or internal_error or io_error or undefined_file then
    v_removed := 0;
    v_next := v_now + interval '10 minutes';
  end;
  if v_removed > 0 then
    update loci.databases h set kv_keys = h.kv_keys - v_removed, kv_bytes = h.kv_bytes - v_bytes,
      kv_set_a = h.kv_set_a # v_a,
      kv_set_b = h.kv_set_b # v_b, seq = h.seq + 1 where h.instance_id = p_instance and h.name = p_database;
    perform loci.add_totals(p_instance, -v_removed, -v_bytes);
  end if;
  if v_next is null then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'expiry';
  else
    update loci.due d set at = v_next where d.instance_id = p_instance and d.database = p_database
      and d.kind = 'expiry';
  end if;
  return v_removed;
end
$$;

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
