-- Projections: what partners tell, one row each in the order of the database. Repeats are known by HMACs, so also when
-- the content is gone. Reads and writes set the context of row-level security in the same call as the work.

-- What a projection counts for, beside its indexes.
create or replace function loci.prj_bytes_of(p_body text, p_id text, p_target text, p_task_class text) returns bigint
language sql immutable parallel safe as $$
  select coalesce(octet_length(p_body), 0)::bigint + octet_length(p_id) + coalesce(octet_length(p_target), 0)
    + coalesce(octet_length(p_task_class), 0) + 200
$$;

create or replace function loci.prj_bytes(p loci.projections) returns bigint language sql immutable parallel safe as $$
  select loci.prj_bytes_of(p.body, p.id, p.target, p.task_class)
$$;

-- Stored bytes as they are: see entry_digest. Whatever can have any length has it in front.
create or replace function loci.prj_digest_of(p_instance text, p_database text, p_partner text, p_class text, p_seq bigint, p_id text,
  p_key_mac bytea, p_content_mac bytea, p_task_class text, p_target text, p_takes_back bigint, p_taken_by bigint, p_record_id text,
  p_is_pending boolean, p_created timestamptz, p_expires timestamptz, p_leaves timestamptz, p_body text, p_said bytea, p_intent bytea)
returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_partner || E'\x1f' || p_class || E'\x1f') || int8send(p_seq)
    || int4send(octet_length(p_id)) || textsend(p_id) || p_key_mac || p_content_mac
    || coalesce(int4send(octet_length(p_task_class)) || textsend(p_task_class), '\xff'::bytea)
    || coalesce(int4send(octet_length(p_target)) || textsend(p_target), '\xff'::bytea)
    || coalesce(int8send(p_takes_back), '\xff'::bytea) || coalesce(int8send(p_taken_by), '\xff'::bytea)
    || coalesce(int4send(octet_length(p_record_id)) || textsend(p_record_id), '\xff'::bytea) || boolsend(p_is_pending)
    || timestamptz_send(p_created) || coalesce('\x01'::bytea || timestamptz_send(p_expires), '\x00'::bytea)
    || coalesce('\x01'::bytea || timestamptz_send(p_leaves), '\x00'::bytea)
    || coalesce('\x01'::bytea || p_said, '\x00'::bytea) || coalesce('\x01'::bytea || p_intent, '\x00'::bytea)
    || coalesce('\x01'::bytea || textsend(p_body), '\x00'::bytea))
$$;

create or replace function loci.prj_digest(p loci.projections) returns bytea language sql stable parallel safe as $$
  select loci.prj_digest_of(p.instance_id, p.database, p.partner, p.class, p.seq, p.id, p.key_mac, p.content_mac, p.task_class, p.target,
    p.takes_back, p.taken_by, p.record_id, p.is_pending, p.created_at, p.expires_at, p.leaves_at, p.body, p.said_mac, p.intent_mac)
$$;

-- When a projection leaves that is without content from p_at on: 30 days later, by the full hour, so that what goes one
-- by one leaves together.
create or replace function loci.prj_leaves(p_at timestamptz) returns timestamptz language sql stable parallel safe as $$
  select date_trunc('hour', p_at) + interval '30 days 1 hour'
$$;

-- Does a projection fit its digest, and is it of this database? Sizes first: see is_intact.
create or replace function loci.prj_is_intact(p loci.projections, p_instance text, p_database text) returns boolean
language sql stable parallel safe as $$
  select case when octet_length(p.instance_id) not between 1 and 100 or octet_length(p.database) not between 1 and 100
      or octet_length(p.partner) not between 1 and 100 or octet_length(p.class) not between 1 and 20
      or octet_length(p.id) not between 1 and 1024 or octet_length(p.target) not between 1 and 1024
      or octet_length(p.task_class) not between 1 and 1024 or octet_length(p.record_id) not between 1 and 100
      or octet_length(p.key_mac) <> 16 or octet_length(p.content_mac) <> 16
      or octet_length(p.said_mac) <> 16 or octet_length(p.intent_mac) <> 16
      or octet_length(p.body) not between 1 and 1048576 or octet_length(p.digest) <> 32 then false
    else coalesce(p.digest = loci.prj_digest(p) and p.instance_id = p_instance and p.database = p_database, false) end
$$;

-- A projection as the fold takes it: [seq, partner, class, body, takes back, is void, id, told at, expires at]. Without
-- a body where it is no outcome, or its content is gone or damaged. What it says does not depend on the clock: content
-- counts until it is erased. In SQL, so that it is inlined. Called by advice_tail.
create or replace function loci.prj_told(p loci.projections) returns json language sql stable parallel safe as $$
  select json_build_array(p.seq, p.partner, p.task_class,
    case when p.class = 'tool_outcome' and loci.prj_is_intact(p, p.instance_id, p.database) then p.body end, p.takes_back, coalesce(p.taken_by < p.seq, false),
    p.id, (extract(epoch from p.created_at) * 1000)::bigint, extract(epoch from p.expires_at) * 1000)
$$;

-- The head with a projection more (p_sign 1) or less (-1).
create or replace function loci.prj_count(p_head loci.databases, p loci.projections, p_sign int) returns loci.databases
language plpgsql immutable as $$
declare
  v_head loci.databases := p_head;
begin
  v_head.prj_rows := v_head.prj_rows + p_sign;
  v_head.prj_held := v_head.prj_held + p_sign * (p.body is not null)::int;
  v_head.prj_bytes := v_head.prj_bytes + p_sign * loci.prj_bytes(p);
  v_head.prj_set_a := v_head.prj_set_a # loci.digest_part(p.digest, 1);
  v_head.prj_set_b := v_head.prj_set_b # loci.digest_part(p.digest, 9);
  v_head.prj_pending := v_head.prj_pending + p_sign * p.is_pending::int;
  return v_head;
end
$$;

-- What stays of a projection that was taken in or taken back. Of an outcome that is its intent too: what it has taught
-- is taken back by it. Called with one that is intact.
create or replace function loci.prj_without_words(p loci.projections) returns loci.projections language plpgsql stable as $$
declare
  v_left loci.projections := p;
begin
  if p.class = 'event' and (p.said_mac is not null or p.intent_mac is not null) then
    v_left.body := (p.body::jsonb - 'payload' - 'task_intent')::text; v_left.said_mac := null; v_left.intent_mac := null;
  elsif p.said_mac is not null then
    v_left.body := (p.body::jsonb - 'payload')::text; v_left.said_mac := null;
  end if;
  return v_left;
end
$$;

-- Writes a changed projection in the place of the one that was read. One that does not fit its digest stays damaged.
-- Called by functions that have entered, so nobody moves the row meanwhile. Cost: one write, found by the primary key:
-- by equality, a plan that was made while the table was small read the whole database (20,002 rows of 20,000).
create or replace function loci.prj_replace(p_head loci.databases, p_old loci.projections, p_new loci.projections) returns loci.databases
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_new loci.projections := p_new;
begin
  if not loci.prj_is_intact(p_old, p_head.instance_id, p_head.name) then
    return p_head;
  end if;
  v_new.digest := loci.prj_digest(v_new);
  update loci.projections p set body = v_new.body, said_mac = v_new.said_mac, intent_mac = v_new.intent_mac, takes_back = v_new.takes_back, taken_by = v_new.taken_by, record_id = v_new.record_id,
      is_pending = v_new.is_pending, expires_at = v_new.expires_at, leaves_at = v_new.leaves_at, digest = v_new.digest
    where p.ctid = (select o.ctid from loci.projections o where o.instance_id = p_head.instance_id and o.database = p_head.name
      and o.seq >= v_new.seq and o.seq <= v_new.seq order by o.seq limit 1);
  return loci.prj_count(loci.prj_count(p_head, p_old, -1), v_new, 1);
end
$$;
comment on function loci.prj_replace is 'without enter_database: called by functions that have entered';

-- Writes back the head of a database whose projections have changed, and the totals of its instance: without content a
-- projection is bytes, and no record. Called by every function that writes projections. Locks: totals.
create or replace function loci.prj_save_head(p_before loci.databases, p_head loci.databases) returns void
language plpgsql as $$
begin
  update loci.databases h set seq = p_head.seq, prj_rows = p_head.prj_rows, prj_held = p_head.prj_held, prj_bytes = p_head.prj_bytes, prj_set_a = p_head.prj_set_a,
      prj_set_b = p_head.prj_set_b, prj_unsettled = p_head.prj_unsettled, prj_awaited = p_head.prj_awaited,
      prj_pending = p_head.prj_pending, prj_erased_at = p_head.prj_erased_at, prj_folded = p_head.prj_folded
    where h.instance_id = p_head.instance_id and h.name = p_head.name;
  perform loci.add_totals(p_head.instance_id, p_head.prj_held - p_before.prj_held, p_head.prj_bytes - p_before.prj_bytes);
end
$$;
comment on function loci.prj_save_head is 'without enter_database: called by functions that have entered';

-- Inserts a projection under the next number of the database, or says which one it repeats. outcome: done; duplicate;
-- conflict (the same event and class with other content, or an id that another one has); full (p_is_full, and it is
-- none of those that are here); damaged (the one that it repeats is). What it takes back is marked; withdrawn: the
-- record that this had become, if any. Called by prj_write. Cost: one insert, and one or two index reads where it, or
-- one before it, takes something back: ranges in order, with sorting off, which only the right index serves (see
-- advice_projection).
create or replace function loci.prj_insert(p_head loci.databases, p_new loci.projections, p_is_given boolean, p_is_full boolean,
  out outcome text, out head loci.databases, out projection loci.projections, out withdrawn text)
language plpgsql set enable_sort = off as $$
declare
  v_awaiting bigint := 0;
  v_target loci.projections;
  v_known loci.projections;
  v_taken loci.projections;
  v_is_new boolean := false;
begin
  head := p_head; projection := p_new; projection.seq := head.seq + 1;
  if head.prj_awaited > 0 then
    select count(*), min(p.seq) into v_awaiting, projection.taken_by from loci.projections p where p.instance_id = head.instance_id
      and p.database = head.name and p.partner = p_new.partner and p.target = p_new.id and p.takes_back is null;
  end if;
  if p_new.target is not null then
    select * into v_target from loci.projections p where p.instance_id = head.instance_id and p.database = head.name
      and p.partner = p_new.partner and p.id >= p_new.target and p.id <= p_new.target order by p.id limit 1;
    -- Once taken back is enough, and a retraction cannot be taken back.
    projection.takes_back := case when v_target.taken_by is null and v_target.class <> 'retraction' then v_target.seq end;
  end if;
  projection.is_pending := p_new.class = 'event' and projection.taken_by is null;
  projection.record_id := case when projection.taken_by is null then p_new.record_id end;
  if projection.taken_by is not null then
    projection := loci.prj_without_words(projection);
  end if;
  projection.digest := loci.prj_digest(projection);
  if not p_is_full then
    insert into loci.projections values (projection.*) on conflict do nothing;
    v_is_new := found;
  end if;
  if not v_is_new then
    select * into v_known from loci.projections p where p.instance_id = head.instance_id and p.database = head.name
      and p.key_mac >= p_new.key_mac and p.key_mac <= p_new.key_mac order by p.key_mac limit 1;
    outcome := case when v_known.seq is null then case when p_is_full then 'full' else 'conflict' end
      when not loci.prj_is_intact(v_known, head.instance_id, head.name) then 'damaged'
      when v_known.content_mac = p_new.content_mac and (not p_is_given or v_known.id = p_new.id) then 'duplicate' else 'conflict' end;
    projection := v_known;
    return;
  end if;
  outcome := 'done'; head.seq := projection.seq;
  head := loci.prj_count(head, projection, 1);
  head.prj_awaited := head.prj_awaited - v_awaiting + (p_new.target is not null and v_target.seq is null)::int;
  head.prj_folded := head.prj_folded + (p_new.class = 'tool_outcome' or projection.takes_back is not null)::int;
  if projection.takes_back is not null then
    v_taken := v_target;
    if loci.prj_is_intact(v_target, head.instance_id, head.name) then
      v_taken := loci.prj_without_words(v_target);
    end if;
    v_taken.taken_by := projection.seq; v_taken.is_pending := false; withdrawn := v_target.record_id;
    head := loci.prj_replace(head, v_target, v_taken);
  end if;
end
$$;
comment on function loci.prj_insert is 'without enter_database: called with the head that prj_write has entered';

-- Stores projections that take nothing back and become no record under the numbers after p_seq, the last of the
-- database, whose head is locked and awaits nothing: one statement for all of them, and one for the head. The result is
-- that of prj_insert for each. False, and nothing is done, where one of them repeats another, stored or beside it: the
-- indexes tell, so nobody has to look before. Called by prj_write. Locks: rows, the head, totals.
create or replace function loci.prj_write_plain(p_instance text, p_name text, p_seq bigint, p_now timestamptz, p_database text[], p_partner text[],
  p_id text[], p_class text[], p_key text[], p_content text[], p_task_class text[], p_body text[], p_said text[], p_intent text[], p_ttl_ms float8[],
  out is_done boolean, out pending bigint, out folded bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_rows bigint;
  v_held bigint;
  v_bytes bigint;
  v_a bigint;
  v_b bigint;
begin
  begin
    with made as (
      insert into loci.projections as p (instance_id, database, seq, partner, id, class, key_mac, content_mac, task_class, body, said_mac,
        intent_mac, is_pending, created_at, expires_at, leaves_at, digest)
      select p_instance, p_name, w.seq, w.partner, w.id, w.class, w.key, w.content, w.task_class, w.body, w.said, w.intent, w.class = 'event', p_now, w.expires_at, w.leaves_at,
        loci.prj_digest_of(p_instance, p_name, w.partner, w.class, w.seq, w.id, w.key, w.content, w.task_class, null, null, null, null,
          w.class = 'event', p_now, w.expires_at, w.leaves_at, w.body, w.said, w.intent)
      from (
        -- In the order of the arrays.
        select p_seq + row_number() over () as seq, a.partner, a.id, a.class, decode(a.key, 'hex') as key, decode(a.content, 'hex') as content,
          a.task_class, a.body, decode(a.said, 'hex') as said, decode(a.intent, 'hex') as intent,
          case when a.body is not null then date_trunc('milliseconds', p_now + a.ttl_ms * interval '1 millisecond') end as expires_at,
          case when a.body is null then loci.prj_leaves(p_now) end as leaves_at
        from unnest(p_database, p_partner, p_id, p_class, p_key, p_content, p_task_class, p_body, p_said, p_intent, p_ttl_ms)
          as a(database, partner, id, class, key, content, task_class, body, said, intent, ttl_ms) where a.database = p_name
      ) w
      returning p.class, p.digest, p.leaves_at, loci.prj_bytes_of(p.body, p.id, null, p.task_class) as bytes
    )
    select count(*), count(*) filter (where m.leaves_at is null), sum(m.bytes), bit_xor(loci.digest_part(m.digest, 1)), bit_xor(loci.digest_part(m.digest, 9)),
      count(*) filter (where m.class = 'event'), count(*) filter (where m.class = 'tool_outcome')
      into v_rows, v_held, v_bytes, v_a, v_b, pending, folded from made m;
  exception when unique_violation then
    -- What was taken back with it stays in the write-ahead log.
    perform loci.add_totals(p_instance, 0, 0, (select sum(octet_length(p_body[n])) from generate_subscripts(p_body, 1) n where p_database[n] = p_name));
    is_done := false;
    return;
  end;
  update loci.databases h set seq = h.seq + v_rows, prj_rows = h.prj_rows + v_rows, prj_held = h.prj_held + v_held, prj_bytes = h.prj_bytes + v_bytes,
      prj_set_a = h.prj_set_a # v_a, prj_set_b = h.prj_set_b # v_b, prj_pending = h.prj_pending + prj_write_plain.pending,
      prj_folded = h.prj_folded + prj_write_plain.folded
    where h.instance_id = p_instance and h.name = p_name;
  perform loci.add_totals(p_instance, v_held, v_bytes);
  is_done := true;
end
$$;
comment on function loci.prj_write_plain is 'without enter_database: called with the head that prj_write has entered';

-- Stores projections of one instance that arrived together. The arrays have one element per projection; those of an
-- array that was sent bear its number in p_act and are stored all or none: one that is refused fails the call with
-- SQLSTATE LC001; detail = ord, outcome, 0. A fact or preference becomes a record of memory in the same transaction,
-- unless its value is under a tombstone. outcome: as prj_insert, or what enter_database() answered. events: of the
-- records that the projection changed; whoever calls appends them. Called by prj_write, and by storeWithin() for
-- outcomes, which have none: their answer is kept behind them, and that comes before the head of events. Locks:
-- enter_database(), rows, due work, totals, in this order.
create or replace function loci.prj_store(p_instance text, p_databases_max bigint, p_act int[], p_database text[], p_partner text[], p_id text[],
  p_is_given boolean[], p_is_full boolean[], p_class text[], p_key text[], p_content text[], p_task_class text[], p_body text[], p_target text[],
  p_ttl_ms float8[], p_record_id text[], p_record_context text[], p_record_value text[], p_record_body text[], p_record_occurred timestamptz[],
  p_said text[], p_intent text[])
returns table (ord int, outcome text, id text, seq bigint, events jsonb)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_entered record;
  v_head loci.databases;
  v_saved loci.databases;
  v_new loci.projections;
  v_done record;
  v_plain record;
  -- They only add: none takes anything back, becomes a record or is refused for the quota.
  v_is_plain constant boolean := p_target is null and p_record_id is null and true <> all (p_is_full);
  v_soonest timestamptz;
begin
  if p_ttl_ms is not null then
    v_soonest := (select min(v_now + t * interval '1 millisecond') from unnest(p_ttl_ms) t);
  end if;
  if p_body is null or array_position(p_body, null) is not null then
    v_soonest := least(v_soonest, loci.prj_leaves(v_now));
  end if;
  for v_entered in
    select e.outcome, e.head, array_positions(p_database, e.name) as items
    from loci.enter_database(p_instance, p_database, p_database, p_databases_max) e
  loop
    v_head := v_entered.head; v_saved := v_head;
    if v_is_plain and v_entered.outcome = 'open' and v_head.prj_awaited = 0 then
      select * into v_plain from loci.prj_write_plain(p_instance, v_head.name, v_head.seq, v_now, p_database, p_partner, p_id, p_class, p_key,
        p_content, p_task_class, p_body, p_said, p_intent, p_ttl_ms);
      if v_plain.is_done then
        seq := v_head.seq; outcome := 'done';
        foreach ord in array v_entered.items loop
          seq := seq + 1; id := p_id[ord];
          return next;
        end loop;
        v_head.prj_pending := v_head.prj_pending + v_plain.pending; v_head.prj_folded := v_head.prj_folded + v_plain.folded;
        perform loci.prj_put_due(v_saved, v_head, v_soonest);
        continue;
      end if;
    end if;
    foreach ord in array v_entered.items loop
      outcome := v_entered.outcome; id := null; seq := null; events := null;
      if outcome = 'open' then
        v_new := null;
        v_new.instance_id := p_instance; v_new.database := p_database[ord]; v_new.partner := p_partner[ord]; v_new.id := p_id[ord];
        v_new.class := p_class[ord]; v_new.key_mac := decode(p_key[ord], 'hex'); v_new.content_mac := decode(p_content[ord], 'hex');
        v_new.task_class := p_task_class[ord]; v_new.body := p_body[ord]; v_new.target := p_target[ord]; v_new.record_id := p_record_id[ord];
        v_new.said_mac := decode(p_said[ord], 'hex'); v_new.intent_mac := decode(p_intent[ord], 'hex');
        v_new.created_at := v_now;
        v_new.expires_at := case when p_body[ord] is not null then date_trunc('milliseconds', v_now + p_ttl_ms[ord] * interval '1 millisecond') end;
        v_new.leaves_at := case when p_body[ord] is null then loci.prj_leaves(v_now + coalesce(p_ttl_ms[ord], 0) * interval '1 millisecond') end;
        select * into v_done from loci.prj_insert(v_head, v_new, p_is_given[ord], p_is_full[ord]);
        v_head := v_done.head; outcome := v_done.outcome; id := (v_done.projection).id; seq := (v_done.projection).seq;
        if outcome = 'done' and (v_done.withdrawn is not null or (v_done.projection).record_id is not null) then
          perform loci.prj_save_head(v_saved, v_head);
          if v_done.withdrawn is not null then
            perform loci.prj_unsay(p_instance, v_head.name, v_done.withdrawn, (v_done.projection).takes_back);
          end if;
          if (v_done.projection).record_id is not null then
            events := loci.prj_remember(p_instance, v_head.name, v_done.projection, p_record_context[ord], p_record_value[ord],
              p_record_body[ord], p_record_occurred[ord], p_ttl_ms[ord]);
          end if;
          select * into v_head from loci.databases h where h.instance_id = p_instance and h.name = p_database[ord];
          v_saved := v_head;
        end if;
      end if;
      if p_act[ord] is not null and outcome not in ('done', 'duplicate') then
        raise exception 'a projection of an array is refused' using errcode = 'LC001', detail = format('%s %s 0', ord, outcome);
      end if;
      return next;
    end loop;
    if v_head is distinct from v_saved then
      perform loci.prj_save_head(v_saved, v_head);
    end if;
    perform loci.prj_put_due(v_entered.head, v_head, v_soonest);
  end loop;
end
$$;

-- The projections of every ingest, with the events of what they became. Called by commitProjections(). Locks: those of
-- prj_store, the head of events.
create or replace function loci.prj_write(p_instance text, p_databases_max bigint, p_act int[], p_database text[], p_partner text[], p_id text[],
  p_is_given boolean[], p_is_full boolean[], p_class text[], p_key text[], p_content text[], p_task_class text[], p_body text[], p_target text[],
  p_ttl_ms float8[], p_record_id text[], p_record_context text[], p_record_value text[], p_record_body text[], p_record_occurred timestamptz[],
  p_said text[], p_intent text[])
returns table (ord int, outcome text, id text, seq bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_done record;
  v_events jsonb := '[]';
begin
  for v_done in
    select s.ord, s.outcome, s.id, s.seq, s.events from loci.prj_store(p_instance, p_databases_max, p_act, p_database, p_partner, p_id, p_is_given,
      p_is_full, p_class, p_key, p_content, p_task_class, p_body, p_target, p_ttl_ms, p_record_id, p_record_context, p_record_value, p_record_body,
      p_record_occurred, p_said, p_intent) s
  loop
    ord := v_done.ord; outcome := v_done.outcome; id := v_done.id; seq := v_done.seq;
    v_events := v_events || coalesce(v_done.events, '[]');
    return next;
  end loop;
  perform loci.append_events(p_instance, v_events);
end
$$;

-- What a write makes due: the erasure of content whose time ends, or the end of a row without content; a cycle once as
-- many events wait as the configuration says; and a snapshot of advice with every 256th outcome. Called by prj_write.
-- Locks: the due rows. Cost: one read of the configuration where events came.
create or replace function loci.prj_put_due(p_before loci.databases, p_head loci.databases, p_soonest timestamptz) returns void
language plpgsql as $$
declare
  v_pressure bigint;
begin
  if p_soonest is not null and p_head.name is not null then
    perform loci.put_due(p_head.instance_id, p_head.name, 'projections', p_soonest);
  end if;
  if p_head.prj_folded / 256 > p_before.prj_folded / 256 then
    perform loci.put_due(p_head.instance_id, p_head.name, 'advice', clock_timestamp());
  end if;
  if p_head.prj_pending > p_before.prj_pending then
    v_pressure := loci.cycle_pressure(p_head.instance_id, p_head.name);
    if p_head.prj_pending >= v_pressure and p_before.prj_pending < v_pressure then
      perform loci.put_due(p_head.instance_id, p_head.name, 'cycle', clock_timestamp());
    elsif v_pressure is not null and p_head.cyc_interval_ms is not null then
      perform loci.put_cycle(p_head);
    end if;
  end if;
end
$$;
comment on function loci.prj_put_due is 'without enter_database: called with the head that prj_write has entered';
