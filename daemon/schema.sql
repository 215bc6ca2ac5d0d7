-- Made by scripts/schema.ts from daemon/migrations. Do not edit: write a migration and run it again.

CREATE SCHEMA loci;

CREATE TYPE loci.walked AS (
	key text,
	state text,
	bytes bigint,
	is_expired boolean,
	a bigint,
	b bigint,
	version bigint
);

CREATE FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_database text, p_detail jsonb, p_digest text) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_head loci.audit_chains;
  v_hash text;
  v_context text := coalesce(current_setting('loci.instance', true), '');
begin
  insert into loci.audit_chains (chain, seq, hash) values (p_chain, 0, null) on conflict do nothing;
  select * into v_head from loci.audit_chains h where h.chain = p_chain for update;
  v_hash := encode(sha256(convert_to(coalesce(v_head.hash, '') || E'\x1f' || (v_head.seq + 1) || E'\x1f' || p_digest, 'UTF8')), 'hex');
  perform set_config('loci.instance', p_chain, true);
  insert into loci.audit (chain, id, at, actor, action, subject, outcome, request_id, database, detail, digest, seq, prev_hash, hash)
    values (p_chain, p_id, p_at, p_actor, p_action, p_subject, p_outcome, p_request_id, p_database, p_detail, p_digest, v_head.seq + 1, v_head.hash, v_hash);
  -- The rest of the transaction goes on in the context that it had.
  perform set_config('loci.instance', v_context, true);
  update loci.audit_chains h set seq = v_head.seq + 1, hash = v_hash where h.chain = p_chain;
end
$$;

CREATE FUNCTION loci.digest_part(p_digest bytea, p_from integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select ('x' || encode(substr(p_digest, p_from, 8), 'hex'))::bit(64)::bigint
$$;

CREATE FUNCTION loci.enter_instance(p_instance text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  perform set_config('loci.instance', p_instance, true);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_instance, 7026300004));
  return exists (select from loci.instances i where i.id = p_instance and i.state <> 'deleted');
end
$$;

CREATE FUNCTION loci.entry_digest(p_instance text, p_database text, p_key text, p_value text, p_version bigint, p_created timestamp with time zone, p_updated timestamp with time zone, p_expires timestamp with time zone) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  -- The ..send functions give the stored bytes as they are. convert_to() fails on a text that rotted into invalid UTF-8, extract() on
  -- a time that rotted into infinity, and milliseconds hide the lowest bits. Control characters can stand in neither ids nor keys,
  -- what follows them has a fixed length, and the value comes last: no two entries give the same bytes.
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_key || E'\x1f') || int8send(p_version)
    || timestamptz_send(p_created) || timestamptz_send(p_updated) || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea)
    || textsend(p_value))
$$;

CREATE TABLE loci.entries (
    instance_id text NOT NULL,
    database text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    digest bytea NOT NULL
);

ALTER TABLE ONLY loci.entries FORCE ROW LEVEL SECURITY;

CREATE FUNCTION loci.is_intact(e loci.entries, p_instance text, p_database text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  select case when octet_length(e.instance_id) not between 1 and 100 or octet_length(e.database) not between 1 and 100
      or octet_length(e.key) not between 1 and 256 or octet_length(e.value) not between 1 and 262144 or octet_length(e.digest) <> 32 then false
    else coalesce(e.digest = loci.entry_digest(e.instance_id, e.database, e.key, e.value, e.version, e.created_at, e.updated_at, e.expires_at)
      and e.instance_id = p_instance and e.database = p_database, false) end
$$;

CREATE FUNCTION loci.keep_answer(p_instance text, p_database text, p_route text, p_holder text, p_key text, p_status integer, p_answer json) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  -- The key's columns stand in the row and in the index; 250 = headers, fingerprint, times and the second index (measured by a test).
  v_bytes int := 250 + octet_length(p_answer::text)
    + 2 * (octet_length(p_instance) + octet_length(p_database) + octet_length(p_route) + octet_length(p_holder) + octet_length(p_key));
  v_before int;
begin
  select i.bytes into v_before from loci.idempotency i
    where i.instance_id = p_instance and i.database = p_database and i.route = p_route and i.holder = p_holder and i.key = p_key;
  update loci.idempotency i set status = p_status, answer = p_answer, bytes = v_bytes
    where i.instance_id = p_instance and i.database = p_database and i.route = p_route and i.holder = p_holder and i.key = p_key;
  update loci.instances n set keyed_answers = n.keyed_answers + case when v_before = 0 then 1 else 0 end,
      keyed_bytes = n.keyed_bytes + v_bytes - v_before, keyed_since = coalesce(n.keyed_since, now())
    where n.id = p_instance;
end
$$;

CREATE FUNCTION loci.keep_audit_partitions() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $_$
declare
  month date;
  old name;
begin
  perform pg_advisory_xact_lock(7026300002);
  for month in select generate_series(date_trunc('month', now()) - interval '1 month', date_trunc('month', now()) + interval '3 months', interval '1 month')::date loop
    if to_regclass(format('loci.audit_%s', to_char(month, 'YYYYMM'))) is null then
      execute format('create table loci.audit_%s partition of loci.audit for values from (%L) to (%L)',
        to_char(month, 'YYYYMM'), month, (month + interval '1 month')::date);
      execute format('alter table loci.audit_%s enable row level security', to_char(month, 'YYYYMM'));
      execute format('alter table loci.audit_%s force row level security', to_char(month, 'YYYYMM'));
      execute format('create policy one_chain on loci.audit_%s using (chain = nullif(current_setting(''loci.instance'', true), ''''))', to_char(month, 'YYYYMM'));
    end if;
  end loop;
  -- Kept 400 days (CONTRACT 7); a month goes when its last day is older.
  for old in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.audit'::regclass and c.relname ~ '^audit_\d{6}$'
      and to_date(substr(c.relname, 7), 'YYYYMM') + interval '1 month' < now() - interval '400 days'
  loop
    execute format('drop table loci.%I', old);
  end loop;
end
$_$;

CREATE FUNCTION loci.keys_end() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ select repeat(chr(1114111), 65) $$;

CREATE FUNCTION loci.kv_boundary(p_instance text, OUT checked integer, OUT failed integer) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $_$
declare
  v_table text;
  is_seen boolean;
begin
  checked := 0; failed := 0;
  foreach v_table in array array['databases', 'entries', 'idempotency', 'probes', 'verified'] loop
    perform set_config('loci.instance', 'svc_of_somebody_else', true);
    execute format('select exists (select from loci.%I where instance_id = $1)', v_table) into is_seen using p_instance;
    checked := checked + 1;
    failed := failed + is_seen::int;
  end loop;
  perform set_config('loci.instance', p_instance, true);
end
$_$;

CREATE FUNCTION loci.kv_databases(p_instance text, p_limit integer) RETURNS TABLE(name text, keys bigint, bytes bigint)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_column
declare
  gone record;
  v_now timestamptz := clock_timestamp();
  is_due boolean;
begin
  perform set_config('loci.instance', p_instance, true);
  is_due := exists (select from loci.instances i where i.id = p_instance and i.next_expiry_at <= v_now);
  for name, keys, bytes in select h.name, h.keys, h.bytes from loci.databases h where h.instance_id = p_instance order by h.name limit p_limit loop
    if is_due then
      select x.keys, x.bytes into gone from loci.kv_expired(p_instance, name, v_now, null, null) x;
      keys := keys - gone.keys; bytes := bytes - gone.bytes;
    end if;
    keys := least(greatest(keys, 0), 9007199254740991); bytes := least(greatest(bytes, 0), 9007199254740991);
    return next;
  end loop;
end
$$;

CREATE FUNCTION loci.kv_expire(p_instance text, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_name text;
  old record;
  sums record;
  removed int := 0;
  again timestamptz;
  -- A variable, because clock_timestamp() itself is never a condition on an index: each sweep would read all that expires some day.
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

CREATE FUNCTION loci.kv_expired(p_instance text, p_database text, p_now timestamp with time zone, p_keys bigint, p_bytes bigint, OUT keys bigint, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION loci.kv_get(p_instance text, p_database text, p_key text, OUT value text, OUT version bigint, OUT created_at timestamp with time zone, OUT updated_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT digest bytea, OUT intact boolean) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION loci.kv_get_each(p_instance text, p_database text[], p_key text[]) RETURNS TABLE(value text, version bigint, created_at timestamp with time zone, updated_at timestamp with time zone, expires_at timestamp with time zone, digest bytea, intact boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION loci.kv_get_many(p_instance text, p_database text, p_keys text[]) RETURNS TABLE(key text, value text, version bigint, created_at timestamp with time zone, updated_at timestamp with time zone, expires_at timestamp with time zone, digest bytea, intact boolean)
    LANGUAGE sql
    AS $$
  select k.key, g.value, g.version, g.created_at, g.updated_at, g.expires_at, g.digest, g.intact
  from unnest(p_keys) with ordinality as k(key, n), lateral loci.kv_get(p_instance, p_database, k.key) g
  where g.intact is not null order by k.n
$$;

CREATE FUNCTION loci.kv_heads(p_instance text, p_strays boolean) RETURNS TABLE(name text, state text, seq bigint, keys bigint, bytes bigint, a text, b text, unsettled boolean, verified_seq bigint)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_column
declare
  heads loci.databases[] := '{}';
  head loci.databases;
  v_name text;
  i int;
begin
  perform set_config('loci.instance', p_instance, true);
  begin
    heads := array(select h from loci.databases h where h.instance_id = p_instance order by h.name);
  exception when others then
    state := 'unreadable';
    return next;
  end;
  foreach head in array heads loop
    name := head.name; state := 'ok'; seq := head.seq; keys := head.keys; bytes := head.bytes; a := head.set_hash_a; b := head.set_hash_b; unsettled := head.unsettled;
    verified_seq := (select v.seq from loci.verified v where v.instance_id = p_instance and v.database = head.name);
    return next;
  end loop;
  -- One look into the index for each head: beyond this many it would take too long.
  if not p_strays or cardinality(heads) > 5000 then
    return;
  end if;
  seq := 0; keys := 0; bytes := 0; a := 0; b := 0; unsettled := false; verified_seq := null;
  for i in 0 .. cardinality(heads) loop
    begin
      v_name := case when i > 0 then heads[i].name else '' end;
      loop
        select e.database into v_name from loci.entries e
        where e.instance_id = p_instance and e.database > v_name and (i = cardinality(heads) or e.database < heads[i + 1].name)
        order by e.database, e.key limit 1;
        exit when not found;
        name := v_name; state := 'headless';
        return next;
      end loop;
    exception when others then
      name := null; state := 'unreadable';
      return next;
    end;
  end loop;
end
$$;

CREATE FUNCTION loci.kv_list(p_instance text, p_database text, p_from text, p_below text, p_after text, p_limit integer, p_bytes_max integer) RETURNS TABLE(key text, value text, version bigint, created_at timestamp with time zone, updated_at timestamp with time zone, expires_at timestamp with time zone, digest bytea, intact boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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
    -- A thousand values of a quarter of a megabyte are no page. The one that goes over is still given, so that a page never stands still.
    v_bytes := v_bytes + coalesce(octet_length(value), 0);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;

CREATE FUNCTION loci.kv_probe_read(p_instance text, p_nonce text, p_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  perform set_config('loci.instance', p_instance, true);
  return exists (select from loci.probes p where p.instance_id = p_instance and (p.nonce = p_nonce or p.at >= p_at));
end
$$;

CREATE FUNCTION loci.kv_probe_write(p_instance text, p_nonce text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION loci.kv_settle(p_instance text, p_database text, p_seq bigint, p_rows bigint, p_bytes bigint, p_a bigint, p_b bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION loci.kv_totals(p_instances text[]) RETURNS TABLE(instance_id text, keys bigint, bytes bigint)
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION loci.kv_usage(p_instance text, OUT databases bigint, OUT keys bigint, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
begin
  perform set_config('loci.instance', p_instance, true);
  -- Within what the daemon can count: a head that rotted must not make every write fail.
  select count(*), least(greatest(coalesce(sum(h.keys), 0), 0), 9007199254740991),
      least(greatest(coalesce(sum(h.bytes), 0), 0) + coalesce((select n.keyed_bytes from loci.instances n where n.id = p_instance), 0), 9007199254740991)
    into databases, keys, bytes from loci.databases h where h.instance_id = p_instance;
end
$$;

CREATE FUNCTION loci.kv_usage_within(p_instance text, p_keys_max bigint, p_bytes_max bigint, OUT databases bigint, OUT keys bigint, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION loci.kv_verify(p_instance text, p_database text, p_after text, p_limit integer, p_ms integer, p_known text[], OUT rows integer, OUT bytes bigint, OUT a text, OUT b text, OUT version_max bigint, OUT go_on_after text, OUT damaged_keys text[], OUT damaged_states text[], OUT damaged_a text, OUT damaged_b text, OUT expired integer, OUT expired_visible integer) RETURNS record
    LANGUAGE sql
    AS $$
  select c.rows, c.bytes, c.a, c.b, c.version_max, c.go_on_after, c.damaged_keys, c.damaged_states, c.damaged_a, c.damaged_b, c.expired, c.expired_visible
  from loci.kv_verify_chunk(p_instance, p_database, p_after, p_limit, p_ms, p_known) c
$$;

CREATE FUNCTION loci.kv_verify_chunk(p_instance text, p_database text, p_after text, p_limit integer, p_ms integer, p_known text[], OUT rows integer, OUT bytes bigint, OUT a text, OUT b text, OUT version_max bigint, OUT go_on_after text, OUT damaged_keys text[], OUT damaged_states text[], OUT damaged_a text, OUT damaged_b text, OUT expired integer, OUT expired_bytes bigint, OUT expired_visible integer) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  walked loci.walked[];
  stopped text;
  is_full boolean;
  last_good int;
begin
  walked := array(select w from loci.kv_walk(p_instance, p_database, '', p_after, p_limit, p_ms, p_known) w);
  stopped := (select w.key from unnest(walked) w where w.state = 'stopped');
  is_full := stopped is null and cardinality(walked) >= p_limit;
  last_good := (select max(w.n) from unnest(walked) with ordinality as w(key, state, bytes, is_expired, a, b, version, n) where w.state = 'ok');
  if is_full and last_good is not null then
    walked := walked[:last_good];
  end if;
  go_on_after := coalesce(stopped, case when is_full then walked[cardinality(walked)].key end);
  select count(*) filter (where w.state = 'ok'), coalesce(sum(w.bytes), 0), coalesce(bit_xor(w.a) filter (where w.state = 'ok'), 0), coalesce(bit_xor(w.b) filter (where w.state = 'ok'), 0),
      coalesce(max(w.version), 0), coalesce(array_agg(w.key) filter (where w.state <> 'ok'), '{}'), coalesce(array_agg(w.state) filter (where w.state <> 'ok'), '{}'),
      coalesce(bit_xor(w.a) filter (where w.state <> 'ok'), 0), coalesce(bit_xor(w.b) filter (where w.state <> 'ok'), 0),
      count(*) filter (where w.is_expired), coalesce(sum(w.bytes) filter (where w.is_expired), 0)
    into rows, bytes, a, b, version_max, damaged_keys, damaged_states, damaged_a, damaged_b, expired, expired_bytes
  from unnest(walked) w where w.state <> 'stopped';
  expired_visible := (select count(*) from unnest(walked) w, lateral loci.kv_get(p_instance, p_database, w.key) g where w.is_expired and g.intact);
end
$$;

CREATE FUNCTION loci.kv_walk(p_instance text, p_database text, p_prefix text, p_after text, p_limit integer, p_ms integer, p_known text[]) RETURNS SETOF loci.walked
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET client_min_messages TO 'error'
    AS $$
declare
  until timestamptz := clock_timestamp() + p_ms * interval '1 millisecond';
  -- A stack: the last piece is the next in order. marks: how many reads had failed when the piece was put there as a second half.
  ps text[];
  c1s int[];
  c2s int[];
  marks int[];
  p text;
  c1 int;
  c2 int;
  mark int;
  middle int;
  failed int := 0;
  rows loci.walked[];
  remaining int := p_limit;
  is_first boolean := true;
  is_readable boolean;
  v_after text := case when p_after is not null and p_after >= p_prefix collate "C" then p_after end;
  v_known text;
  i int;
begin
  perform set_config('loci.instance', p_instance, true);
  if v_after is not null and not starts_with(v_after, p_prefix) then
    return;
  end if;
  foreach v_known in array p_known loop
    begin
      rows := loci.kv_walk_piece(p_instance, p_database, p_prefix, v_known, v_after, remaining);
    exception when others then
      exit; -- Something new: it is searched for from here on.
    end;
    return query select * from unnest(rows);
    remaining := remaining - cardinality(rows);
    if remaining <= 0 then
      return;
    end if;
    begin
      rows := loci.kv_walk_piece(p_instance, p_database, v_known, v_known || chr(1), null, 1);
    exception when others then
      rows := array[row(v_known, 'page_unreadable', 0, false, 0, 0, 0)::loci.walked];
    end;
    return query select * from unnest(rows);
    remaining := remaining - cardinality(rows);
    if remaining <= 0 then
      return;
    end if;
    v_after := v_known;
  end loop;
  loop
    -- The pieces are made only when the range as a whole has failed.
    mark := null;
    if not is_first then
      exit when cardinality(ps) = 0;
      i := cardinality(ps);
      p := ps[i]; c1 := c1s[i]; c2 := c2s[i]; mark := marks[i];
      ps := trim_array(ps, 1); c1s := trim_array(c1s, 1); c2s := trim_array(c2s, 1); marks := trim_array(marks, 1);
      if clock_timestamp() > until and c1 is not null then
        -- What is left of the range begins with this key: it is asked for, and the next page begins behind it.
        ps := '{}'; c1s := '{}'; c2s := '{}'; marks := '{}';
        p := p || chr(c1); c1 := null; mark := null;
        return next row(p, 'stopped', 0, false, 0, 0, 0)::loci.walked;
      end if;
    end if;
    if mark = failed then
      is_readable := false;
    else
      begin
        rows := loci.kv_walk_piece(p_instance, p_database,
          case when is_first then p_prefix when c1 is null then p else p || chr(c1) end,
          case when is_first then loci.prefix_end(p_prefix) when c1 is null then p || chr(1)
            when c2 = 1114111 then loci.prefix_end(p) else p || chr(loci.next_character(c2)) end,
          case when is_first then v_after end, remaining);
        is_readable := true;
      exception when others then
        is_readable := false;
        failed := failed + 1;
      end;
    end if;
    if is_readable then
      return query select * from unnest(rows);
      remaining := remaining - cardinality(rows);
      exit when is_first or remaining <= 0;
    elsif is_first then
      ps := '{}'; c1s := '{}'; c2s := '{}'; marks := '{}';
      if v_after is null then
        ps := array[p_prefix]; c1s := array[1]; c2s := array[1114111]; marks := array[null::int];
        if p_prefix <> '' then
          ps := ps || p_prefix; c1s := c1s || null::int; c2s := c2s || null::int; marks := marks || null::int;
        end if;
      else
        -- What lies behind a key: at each of its characters the ones to the right of it, and below the whole of it everything.
        for i in length(p_prefix) + 1 .. length(v_after) loop
          if ascii(substr(v_after, i, 1)) < 1114111 then
            ps := ps || left(v_after, i - 1); c1s := c1s || loci.next_character(ascii(substr(v_after, i, 1))); c2s := c2s || 1114111; marks := marks || null::int;
          end if;
        end loop;
        ps := ps || v_after; c1s := c1s || 1; c2s := c2s || 1114111; marks := marks || null::int;
      end if;
      is_first := false;
    elsif c1 is null then
      return next row(p, 'page_unreadable', 0, false, 0, 0, 0)::loci.walked;
      remaining := remaining - 1;
      exit when remaining <= 0;
    elsif c1 = c2 then
      if octet_length(p) < 256 then
        ps := ps || (p || chr(c1)); c1s := c1s || 1; c2s := c2s || 1114111; marks := marks || failed;
      end if;
      ps := ps || (p || chr(c1)); c1s := c1s || null::int; c2s := c2s || null::int; marks := marks || null::int;
    else
      -- First where the length in UTF-8 changes: most keys are ASCII, and half of all characters is far from half of them.
      middle := case when c1 < 128 and c2 >= 128 then 127 when c1 < 2048 and c2 >= 2048 then 2047 when c1 < 55296 and c2 > 57343 then 55295
        when c1 < 65536 and c2 >= 65536 then 65535 else (c1 + c2) / 2 end;
      ps := ps || p; c1s := c1s || loci.next_character(middle); c2s := c2s || c2; marks := marks || failed;
      ps := ps || p; c1s := c1s || c1; c2s := c2s || middle; marks := marks || null::int;
    end if;
  end loop;
end
$$;

CREATE FUNCTION loci.kv_walk_piece(p_instance text, p_database text, p_from text, p_below text, p_after text, p_limit integer) RETURNS loci.walked[]
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION loci.kv_write(p_instance text, p_databases_max bigint, p_database text[], p_op text[], p_key text[], p_value text[], p_ttl_ms double precision[], p_if_match bigint[]) RETURNS TABLE(ord integer, outcome text, version bigint, created_at timestamp with time zone, updated_at timestamp with time zone, expires_at timestamp with time zone, digest bytea)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION loci.next_character(p_code integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ select case p_code when 55295 then 57344 else p_code + 1 end $$;

CREATE FUNCTION loci.prefix_end(p_prefix text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
declare
  p text := rtrim(p_prefix, chr(1114111));
begin
  return case when p = '' then loci.keys_end() else left(p, -1) || chr(loci.next_character(ascii(right(p, 1)))) end;
end
$$;

CREATE FUNCTION loci.purge_some(p_fence bigint, p_instance text, p_generation bigint, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $_$
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
$_$;

CREATE FUNCTION loci.sweep_answers(p_instance text, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  gone record;
  v_oldest timestamptz;
begin
  perform set_config('loci.instance', p_instance, true);
  with removed as (
    delete from loci.idempotency i where i.instance_id = p_instance and i.ctid = any (array(
      select o.ctid from loci.idempotency o where o.instance_id = p_instance and o.created_at < now() - interval '24 hours'
      order by o.created_at limit p_limit for update skip locked))
    returning i.bytes
  )
  select count(*)::int as rows, count(*) filter (where r.bytes > 0) as answers, coalesce(sum(r.bytes), 0) as bytes into gone from removed r;
  perform 1 from loci.instances n where n.id = p_instance for update;
  -- After the lock: whoever counts an answer holds it to the commit, so the oldest that is seen now is the oldest that is counted.
  select o.created_at into v_oldest from loci.idempotency o where o.instance_id = p_instance order by o.created_at limit 1;
  update loci.instances n set keyed_since = v_oldest,
      keyed_answers = case when v_oldest is null then 0 else greatest(0, n.keyed_answers - gone.answers) end,
      keyed_bytes = case when v_oldest is null then 0 else greatest(0, n.keyed_bytes - gone.bytes) end
    where n.id = p_instance;
  return gone.rows;
end
$$;

CREATE TABLE loci.audit (
    chain text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    request_id text,
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint NOT NULL,
    prev_hash text,
    hash text NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.audit FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_chains (
    chain text NOT NULL,
    seq bigint NOT NULL,
    hash text
);

COMMENT ON TABLE loci.audit_chains IS 'without row-level security: the head of each chain, ids and hashes only';

CREATE TABLE loci.cell (
    only_row boolean DEFAULT true NOT NULL,
    change_seq bigint DEFAULT 0 NOT NULL,
    feed_epoch text,
    feed_after bigint DEFAULT 0 NOT NULL,
    feed_heard_at timestamp with time zone,
    lease_holder text,
    lease_until timestamp with time zone,
    lease_fence bigint DEFAULT 0 NOT NULL,
    life text,
    CONSTRAINT cell_only_row_check CHECK (only_row)
);

COMMENT ON TABLE loci.cell IS 'without row-level security: one row, no tenant';

CREATE TABLE loci.credential_uses (
    credential text NOT NULL,
    at timestamp with time zone NOT NULL,
    told_at timestamp with time zone
);

COMMENT ON TABLE loci.credential_uses IS 'without row-level security: ids of credentials and moments, forgotten after a day';

CREATE TABLE loci.databases (
    instance_id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    keys bigint NOT NULL,
    bytes bigint NOT NULL,
    set_hash_a bigint NOT NULL,
    set_hash_b bigint NOT NULL,
    unsettled boolean DEFAULT false NOT NULL
);

ALTER TABLE ONLY loci.databases FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.deletions (
    instance_id text NOT NULL,
    database text NOT NULL,
    generation bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    reported_at timestamp with time zone
);

COMMENT ON TABLE loci.deletions IS 'without row-level security: the ledger of what was erased, ids and times only';

CREATE TABLE loci.idempotency (
    instance_id text NOT NULL,
    database text NOT NULL,
    route text NOT NULL,
    holder text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    sealed_with text NOT NULL,
    status integer NOT NULL,
    answer json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    bytes integer DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY loci.idempotency FORCE ROW LEVEL SECURITY;

CREATE UNLOGGED TABLE loci.instance_rates (
    instance_id text NOT NULL,
    replica text NOT NULL,
    requests bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.instance_rates IS 'without row-level security: counts, no content';

CREATE TABLE loci.instances (
    id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_type text NOT NULL,
    plan text NOT NULL,
    state text NOT NULL,
    state_reason text,
    generation bigint NOT NULL,
    limits jsonb NOT NULL,
    config jsonb NOT NULL,
    next_expiry_at timestamp with time zone,
    change_seq bigint NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    purged_at timestamp with time zone,
    awaiting jsonb,
    keyed_answers bigint DEFAULT 0 NOT NULL,
    keyed_bytes bigint DEFAULT 0 NOT NULL,
    keyed_since timestamp with time zone DEFAULT now(),
    CONSTRAINT instances_state_check CHECK ((state = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text])))
);

COMMENT ON TABLE loci.instances IS 'without row-level security: read before the caller is known, scanned by workers; no content';

CREATE TABLE loci.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    serves integer NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.migrations IS 'without row-level security: versions of the schema, no tenant';

CREATE TABLE loci.partner_credentials (
    id text NOT NULL,
    instance_id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    partner text NOT NULL,
    database text NOT NULL,
    projection_classes text[] NOT NULL,
    routes text[] NOT NULL,
    digest bytea NOT NULL,
    state text NOT NULL,
    expires_at timestamp with time zone,
    change_seq bigint NOT NULL,
    CONSTRAINT partner_credentials_state_check CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text])))
);

COMMENT ON TABLE loci.partner_credentials IS 'without row-level security: looked up before the caller is known; digests only';

CREATE TABLE loci.probes (
    instance_id text NOT NULL,
    nonce text NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.probes FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.revocations (
    kind text NOT NULL,
    svc text NOT NULL,
    value text NOT NULL,
    not_before timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    origin text NOT NULL,
    audit_id text,
    reported_at timestamp with time zone,
    change_seq bigint NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT revocations_kind_check CHECK ((kind = ANY (ARRAY['jti'::text, 'org'::text, 'ten'::text, 'svc'::text, 'sub'::text]))),
    CONSTRAINT revocations_origin_check CHECK ((origin = ANY (ARRAY['management'::text, 'cell'::text])))
);

COMMENT ON TABLE loci.revocations IS 'without row-level security: checked before the caller is known; ids only';

CREATE TABLE loci.sealing_checks (
    id text NOT NULL,
    value bytea NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.sealing_checks IS 'without row-level security: check values of sealing keys, no tenant';

CREATE TABLE loci.signing_keys (
    kid text NOT NULL,
    x text NOT NULL,
    state text NOT NULL,
    retire_at timestamp with time zone,
    change_seq bigint NOT NULL,
    CONSTRAINT signing_keys_state_check CHECK ((state = ANY (ARRAY['active'::text, 'retiring'::text, 'removed'::text])))
);

COMMENT ON TABLE loci.signing_keys IS 'without row-level security: public keys of management';

CREATE TABLE loci.subservices (
    name text NOT NULL,
    enabled boolean NOT NULL,
    since timestamp with time zone NOT NULL,
    changed_by text,
    reason text,
    auto_revert_at timestamp with time zone
);

COMMENT ON TABLE loci.subservices IS 'without row-level security: switches of the cell, no tenant';

CREATE TABLE loci.usage_flushes (
    replica text NOT NULL,
    flush bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.usage_flushes IS 'without row-level security: numbers of the replicas, no tenant';

CREATE TABLE loci.usage_minutes (
    instance_id text NOT NULL,
    minute timestamp with time zone NOT NULL,
    replica text NOT NULL,
    requests bigint NOT NULL,
    writes bigint NOT NULL
);

COMMENT ON TABLE loci.usage_minutes IS 'without row-level security: counts, no content';

CREATE TABLE loci.verified (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    rows bigint NOT NULL,
    verified_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.verified FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY loci.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY loci.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.cell
    ADD CONSTRAINT cell_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY loci.credential_uses
    ADD CONSTRAINT credential_uses_pkey PRIMARY KEY (credential);

ALTER TABLE ONLY loci.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (instance_id, name);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (instance_id, database);

ALTER TABLE ONLY loci.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (instance_id, database, key);

ALTER TABLE ONLY loci.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (instance_id, database, route, holder, key);

ALTER TABLE ONLY loci.instance_rates
    ADD CONSTRAINT instance_rates_pkey PRIMARY KEY (instance_id, replica);

ALTER TABLE ONLY loci.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.probes
    ADD CONSTRAINT probes_pkey PRIMARY KEY (instance_id);

ALTER TABLE ONLY loci.revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (kind, svc, value);

ALTER TABLE ONLY loci.sealing_checks
    ADD CONSTRAINT sealing_checks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY loci.subservices
    ADD CONSTRAINT subservices_pkey PRIMARY KEY (name);

ALTER TABLE ONLY loci.usage_flushes
    ADD CONSTRAINT usage_flushes_pkey PRIMARY KEY (replica);

ALTER TABLE ONLY loci.usage_minutes
    ADD CONSTRAINT usage_minutes_pkey PRIMARY KEY (instance_id, minute, replica);

ALTER TABLE ONLY loci.verified
    ADD CONSTRAINT verified_pkey PRIMARY KEY (instance_id, database);

CREATE INDEX deletions_unreported ON loci.deletions USING btree (at) WHERE (reported_at IS NULL);

CREATE INDEX entries_expiring ON loci.entries USING btree (instance_id, database, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX idempotency_age ON loci.idempotency USING btree (instance_id, created_at);

CREATE INDEX instances_changed ON loci.instances USING btree (change_seq);

CREATE INDEX instances_expiring ON loci.instances USING btree (next_expiry_at) WHERE (next_expiry_at IS NOT NULL);

CREATE INDEX instances_keyed ON loci.instances USING btree (keyed_since) WHERE (keyed_since IS NOT NULL);

CREATE INDEX instances_to_purge ON loci.instances USING btree (updated_at) WHERE ((state = 'deleted'::text) AND (purged_at IS NULL));

CREATE INDEX partner_credentials_changed ON loci.partner_credentials USING btree (change_seq);

CREATE INDEX partner_credentials_owned ON loci.partner_credentials USING btree (instance_id);

CREATE INDEX revocations_changed ON loci.revocations USING btree (change_seq);

CREATE INDEX revocations_unreported ON loci.revocations USING btree (change_seq) WHERE ((origin = 'cell'::text) AND (reported_at IS NULL));

ALTER TABLE loci.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.databases ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.idempotency ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_chain ON loci.audit USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.databases USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.entries USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.idempotency USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.probes USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.verified USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

ALTER TABLE loci.probes ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.verified ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA loci TO loci_app;

REVOKE ALL ON FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_database text, p_detail jsonb, p_digest text) FROM PUBLIC;
GRANT ALL ON FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_database text, p_detail jsonb, p_digest text) TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.entries TO loci_app;

GRANT ALL ON FUNCTION loci.keep_answer(p_instance text, p_database text, p_route text, p_holder text, p_key text, p_status integer, p_answer json) TO loci_app;

REVOKE ALL ON FUNCTION loci.keep_audit_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION loci.keep_audit_partitions() TO loci_app;

GRANT ALL ON FUNCTION loci.sweep_answers(p_instance text, p_limit integer) TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.audit TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.audit_chains TO loci_app;

GRANT SELECT ON TABLE loci.cell TO loci_app;

GRANT UPDATE(change_seq) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_epoch) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_after) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_heard_at) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_holder) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_until) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_fence) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(life) ON TABLE loci.cell TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.credential_uses TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.databases TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.deletions TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.idempotency TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.instance_rates TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.instances TO loci_app;

GRANT SELECT ON TABLE loci.migrations TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.partner_credentials TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.probes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.revocations TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.sealing_checks TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.signing_keys TO loci_app;

GRANT SELECT,UPDATE ON TABLE loci.subservices TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.usage_flushes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.usage_minutes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.verified TO loci_app;
