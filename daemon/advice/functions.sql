-- Advice: the outcomes of a database in order, snapshots of what they add up to, and evidence. Reads set the context of
-- row-level security in the same call as the work.

-- In milliseconds.
create or replace function loci.advice_ms(p_at timestamptz) returns numeric language sql stable parallel safe as $$
  select extract(epoch from p_at) * 1000
$$;

-- What a projection is known by: of another history the one of its number has another mark. The same, sent again after
-- a restore, came at another time.
create or replace function loci.advice_mark(p loci.projections) returns text language sql stable parallel safe as $$
  select encode(p.key_mac || p.content_mac, 'hex') || extract(epoch from p.created_at)
$$;

-- What the head says of all projections: another one whenever one of them is added or changed. Stable, as `||` is: as
-- immutable it was not inlined, and each rank made a row of the whole head for it.
create or replace function loci.advice_head(h loci.databases) returns text language sql stable parallel safe as $$
  select h.prj_rows || ' ' || h.prj_set_a || ' ' || h.prj_set_b
$$;

-- What a replica needs to go on folding behind the projection p_after, of one moment: the database's life and number,
-- the number of its last erasure of an outcome, which snapshot is stored, what the head says of the projections
-- (p_head: what it said when the caller last read; is_same: still, so nothing was told, taken back or erased since),
-- the mark of p_after, what was told since (at most p_limit, and as many as have p_bytes_max; is_cut: there may be
-- more) and the mark of the last of it, of what is taken back the projections up to p_after, and the weights of both
-- that are stored: [[seq, place, tool, outcome, t, u, attempt, expected]]. policy, fallback: the stored policies of
-- that name and `default`; is_damaged: one of them cannot be read. Without a life there is no such database. Called by
-- readTail(): every rank. No locks. Cost: three reads by keys; else two index ranges and a read by key more.
create or replace function loci.advice_tail(p_instance text, p_database text, p_after bigint, p_limit int, p_bytes_max bigint, p_policy text, p_head text,
  out life text, out seq bigint, out now float8, out erased_at bigint, out snapshot_seq bigint, out snapshot_erased_at bigint, out head text,
  out is_same boolean, out mark text, out told text, out last_mark text, out taken text, out weights text, out is_cut boolean, out policy text,
  out fallback text, out is_damaged boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_config loci.configs;
  v_last bigint;
  v_taken bigint[];
begin
  perform set_config('loci.instance', p_instance, true);
  now := loci.advice_ms(clock_timestamp());
  select extract(epoch from h.created_at)::text, h.seq, h.prj_erased_at, loci.advice_head(h)
    into life, seq, erased_at, head from loci.databases h
    where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  if not found then
    return;
  end if;
  select s.seq, s.erased_at into snapshot_seq, snapshot_erased_at from loci.advice_snapshots s
    where s.instance_id = p_instance and s.database = p_database;
  is_damaged := false;
  for v_config in select * from loci.configs c where c.instance_id = p_instance and c.database = p_database
    and c.kind in ('policy/default', 'policy/' || p_policy)
  loop
    is_damaged := is_damaged or v_config.digest is distinct from loci.config_digest(p_instance, p_database, v_config.kind, v_config.version, v_config.sent);
    policy := case when v_config.kind = 'policy/' || p_policy then v_config.sent else policy end;
    fallback := case when v_config.kind = 'policy/default' then v_config.sent else fallback end;
  end loop;
  is_same := coalesce(head = p_head, false);
  is_cut := false;
  if is_same then
    return;
  end if;
  select loci.advice_mark(p) into mark from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq >= p_after and p.seq <= p_after order by p.seq limit 1;
  -- By their lengths first: what is beyond the bytes is not read.
  select max(s.seq) filter (where s.before < p_bytes_max), coalesce(count(*) >= p_limit or bool_or(s.before >= p_bytes_max), false),
      coalesce(array_agg(s.takes_back) filter (where s.before < p_bytes_max and s.takes_back <= p_after), '{}')
    into v_last, is_cut, v_taken from (
      select q.seq, q.takes_back, coalesce(sum(q.bytes) over (order by q.seq rows between unbounded preceding and 1 preceding), 0) as before from (
        -- With what it takes back, which is read too.
        select p.seq, p.takes_back, coalesce(octet_length(p.body), 0) + case when p.takes_back <= p_after then coalesce((select octet_length(t.body)
            from loci.projections t where t.instance_id = p_instance and t.database = p_database and t.seq >= p.takes_back and t.seq <= p.takes_back
            order by t.seq limit 1), 0) else 0 end as bytes
          from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.seq > p_after
            and (p.class = 'tool_outcome' or p.takes_back is not null) order by p.seq limit p_limit) q) s;
  if v_last is null then
    return;
  end if;
  told := (select json_agg(loci.prj_told(r)) from (select * from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq > p_after and p.seq <= v_last and (p.class = 'tool_outcome' or p.takes_back is not null) order by p.seq) r);
  select loci.advice_mark(p) into last_mark from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq >= v_last and p.seq <= v_last order by p.seq limit 1;
  if cardinality(v_taken) > 0 then
    taken := (select json_agg(loci.prj_told(t.p))
      from (select loci.advice_projection(p_instance, p_database, n) as p from unnest(v_taken) n) t where (t.p).class = 'tool_outcome');
  elsif snapshot_seq <= p_after then
    return;
  end if;
  weights := (select json_agg(json_build_array(w.seq, w.place, w.tool, w.outcome, w.t, w.u, w.attempt, w.expected)) from (
    (select o.* from loci.advice_weights o where o.instance_id = p_instance and o.database = p_database and o.seq > p_after
      and o.seq <= least(snapshot_seq, v_last) order by o.seq, o.place)
    union all
    (select o.* from unnest(v_taken) n, lateral (select * from loci.advice_weights i where i.instance_id = p_instance and i.database = p_database
      and i.seq >= n and i.seq <= n order by i.seq, i.place) o)) w);
end
$$;

-- The stored snapshot, a row for each of its tools; bodies as base64. Called by readSnapshot(): a replica that begins.
-- No locks.
create or replace function loci.advice_snapshot(p_instance text, p_database text)
returns table (seq bigint, erased_at bigint, head text, place int, name text, body text)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform set_config('loci.instance', p_instance, true);
  return query select s.seq, s.erased_at, encode(s.head, 'base64'), t.place, t.name, encode(t.body, 'base64') from loci.advice_snapshots s
    left join loci.advice_tools t on t.instance_id = p_instance and t.database = p_database
    where s.instance_id = p_instance and s.database = p_database order by t.place;
end
$$;

-- What outcomes that have left had taken, as JSON: [[first seq, last seq, tool, t, u]]. Called by readPassed(): a
-- replica that begins without a snapshot. No locks. Cost: a row for each tool.
create or replace function loci.advice_passed_of(p_instance text, p_database text) returns text
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return (select json_agg(json_build_array(a.first_seq, a.last_seq, a.tool, a.t, a.u)) from loci.advice_passed a
    where a.instance_id = p_instance and a.database = p_database);
end
$$;

-- Stores a snapshot: the head, the tools that changed since the one numbered p_base (or all: p_is_whole) as [[place,
-- name, length]] with their bytes one after the other, and the weights since. done; or moved: the database was made
-- anew, something was erased, or the rows of other tools are not those of p_base, or of another version. Who comes
-- second with no more than is stored changes nothing. Called by saveSnapshot(), due kind `advice`. Locks: the head,
-- rows, the due row, totals.
create or replace function loci.advice_save(p_instance text, p_database text, p_life text, p_base bigint, p_is_whole boolean, p_seq bigint,
  p_erased_at bigint, p_head bytea, p_tools json, p_bodies bytea, p_weights json) returns text
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_entered record;
  v_stored loci.advice_snapshots;
  v_bytes bigint;
  v_weights bigint;
begin
  select e.outcome, e.head into v_entered from loci.enter_database(p_instance, array[p_database], '{}', 0) e;
  if v_entered.outcome <> 'open' then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'advice';
    return 'done';
  end if;
  select * into v_stored from loci.advice_snapshots s where s.instance_id = p_instance and s.database = p_database;
  if p_life <> extract(epoch from (v_entered.head).created_at)::text or (v_entered.head).prj_erased_at <> p_erased_at
    or (not p_is_whole and (v_stored.seq is null or v_stored.erased_at <> p_erased_at or v_stored.seq < p_base
      -- The version stands first, in three bytes: rows of two folds do not make one state.
      or substr(v_stored.head, 1, 3) <> substr(p_head, 1, 3))) then
    return 'moved';
  end if;
  if p_is_whole or v_stored.seq < p_seq then
    if p_is_whole then
      delete from loci.advice_tools t where t.instance_id = p_instance and t.database = p_database;
    end if;
    insert into loci.advice_tools as t (instance_id, database, place, name, body)
      select p_instance, p_database, (n.tool ->> 0)::int, n.tool ->> 1, substr(p_bodies, 1 + (sum((n.tool ->> 2)::int) over (order by n.at)
        - (n.tool ->> 2)::int)::int, (n.tool ->> 2)::int) from json_array_elements(p_tools) with ordinality n(tool, at)
      on conflict (instance_id, database, place) do update set name = excluded.name, body = excluded.body;
    insert into loci.advice_weights (instance_id, database, seq, place, tool, task_class, scope, outcome, t, u, attempt, expected)
      select p_instance, p_database, (n -> 0)::bigint, (n -> 1)::int, n ->> 2, n ->> 3, n ->> 4, n ->> 5, (n -> 6)::bigint, (n -> 7)::bigint,
        (n -> 8)::float8, (n -> 9)::float8 from jsonb_array_elements(p_weights::jsonb) n
      on conflict (instance_id, database, seq, place) do nothing;
    get diagnostics v_weights = row_count;
    v_bytes := (select coalesce(sum(octet_length(t.body) + octet_length(t.name) + 100), 0) from loci.advice_tools t
      where t.instance_id = p_instance and t.database = p_database);
    -- What weights take is counted once, when they are written: they stay as long as their projection's row (prj_pass).
    perform loci.add_totals(p_instance, 0, v_bytes + v_weights * 200 - coalesce(v_stored.bytes, 0),
      octet_length(p_bodies) + octet_length(p_head) + v_weights * 200);
    insert into loci.advice_snapshots as s (instance_id, database, seq, erased_at, head, bytes)
      values (p_instance, p_database, p_seq, p_erased_at, p_head, v_bytes)
      on conflict (instance_id, database) do update set seq = excluded.seq, erased_at = excluded.erased_at, head = excluded.head, bytes = excluded.bytes;
  end if;
  if (select count(*) from (select from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.seq > p_seq
      and (p.class = 'tool_outcome' or p.takes_back is not null) limit 256) n) < 256 then
    delete from loci.due d where d.instance_id = p_instance and d.database = p_database and d.kind = 'advice';
  else
    update loci.due d set at = clock_timestamp() where d.instance_id = p_instance and d.database = p_database and d.kind = 'advice';
  end if;
  return 'done';
end
$$;

-- A projection by its number. As a range in order, with sorting off: only the primary key serves that, while for an
-- equality a plan that is made when the table is small reads the whole database by another index. Its callers have
-- sorting and the like off: settings of its own would cost more than the read.
create or replace function loci.advice_projection(p_instance text, p_database text, p_seq bigint) returns loci.projections
language plpgsql stable as $$
declare
  v_found loci.projections;
begin
  select p.* into v_found from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq >= p_seq and p.seq <= p_seq order by p.seq limit 1;
  return v_found;
end
$$;

-- The newest outcomes of each tool in a task class up to p_through, at most p_limit of those that may be shown, with
-- their content: first from the tail that the caller has (p_tail: {tool: [[seq, place, outcome]]}, newest first, of
-- this class and scope), then from the weights, of which p_looks are looked at. After the last of a tool comes a row
-- without a number: looked, how many weights were. p_scope: a hash; outcomes without a scope match each. It ends with
-- the outcome at which the bodies have p_bytes_max, and then without that row: one projection may have half a
-- megabyte, and tell of 64 tools. Digests are verified row by row: as a condition the planner, which cannot know what
-- a hash of a row costs, had it for all rows (20 s for 1,200 outcomes, measured). Called by advice_evidence. No locks.
-- Cost: two reads by keys and a digest for each outcome.
create or replace function loci.advice_newest(p_instance text, p_database text, p_class text, p_scope text, p_tools text[], p_limit int, p_looks int[],
  p_through bigint, p_tail jsonb, p_bytes_max bigint)
returns table (tool text, seq bigint, place int, outcome text, looked int, projection loci.projections) language plpgsql stable as $$
#variable_conflict use_column
declare
  v_row record;
  v_left int;
  v_bytes bigint := 0;
begin
  for n in 1 .. cardinality(p_tools) loop
    tool := p_tools[n]; looked := 0; v_left := p_limit;
    for v_row in select o.*, p as projection from (
        (select (r ->> 0)::bigint as seq, (r ->> 1)::int as place, r ->> 2 as outcome, null::text as scope, 0 as looked
          from jsonb_array_elements(p_tail -> p_tools[n]) r)
        union all
        (select w.seq, w.place, w.outcome, w.scope, 1 from loci.advice_weights w where w.instance_id = p_instance and w.database = p_database
          and w.task_class = p_class and w.tool = p_tools[n] and w.seq <= p_through order by w.seq desc, w.place desc limit p_looks[n])) o,
      lateral (select * from loci.projections i where i.instance_id = p_instance and i.database = p_database and i.seq >= o.seq and i.seq <= o.seq
        order by i.seq limit 1) p
    loop
      exit when v_left = 0;
      looked := looked + v_row.looked;
      continue when p_scope is not null and v_row.scope <> p_scope;
      projection := v_row.projection;
      -- Another replica may have stored a snapshot meanwhile, with what is in the tail: not twice.
      if projection.taken_by is null and projection.body is not null and (projection.expires_at is null or projection.expires_at > clock_timestamp())
        and (seq is null or (v_row.seq, v_row.place) < (seq, place)) and loci.prj_is_intact(projection, p_instance, p_database) then
        seq := v_row.seq; place := v_row.place; outcome := v_row.outcome;
        v_left := v_left - 1; v_bytes := v_bytes + octet_length(projection.body);
        return next;
        if v_bytes >= p_bytes_max then
          return;
        end if;
      end if;
    end loop;
    seq := null; place := null; projection := null;
    return next;
  end loop;
end
$$;

-- By tool, what its newest outcomes in the class were, as advice_newest says; without their content, which is neither
-- read nor verified, as the state counts it without that. Called by readRecent(). No locks. Cost: two reads by keys for
-- each outcome.
create or replace function loci.advice_recent(p_instance text, p_database text, p_class text, p_tools text[], p_limit int, p_looks int[], p_through bigint,
  p_tail jsonb) returns table (tool text, outcome text)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
begin
  perform set_config('loci.instance', p_instance, true);
  for n in 1 .. cardinality(p_tools) loop
    return query select p_tools[n], o.outcome from (
        (select (r ->> 0)::bigint as seq, r ->> 2 as outcome from jsonb_array_elements(p_tail -> p_tools[n]) r)
        union all
        (select w.seq, w.outcome from loci.advice_weights w where w.instance_id = p_instance and w.database = p_database
          and w.task_class = p_class and w.tool = p_tools[n] and w.seq <= p_through
          and w.seq < coalesce((select min((r ->> 0)::bigint) from jsonb_array_elements(p_tail -> p_tools[n]) r), p_through + 1)
          order by w.seq desc, w.place desc limit p_looks[n])) o
      where (select p.taken_by is null and p.body is not null and (p.expires_at is null or p.expires_at > clock_timestamp()) from loci.projections p
        where p.instance_id = p_instance and p.database = p_database and p.seq >= o.seq and p.seq <= o.seq order by p.seq limit 1)
      limit p_limit;
  end loop;
end
$$;

-- What an answer shows beside its numbers, as JSON. outcomes: the rows of advice_newest, [[tool, seq, id, outcome,
-- refs, told at, expires at, bytes]], of each tool newest first, and looks [[tool, looked]] of those that were read to
-- their end. p_has_refs: the caller has the references, and only outcomes are read. refs: the references of the events
-- of the class, oldest first: of the newest 5,000 events that have some as many as have p_refs_max; is_cut: there are
-- more; over_at: when the time of one of them is over; head: what the head says as this is read. p_scope_json: scope
-- itself, compared as JSON; null matches each. p_stored: what the caller's state took from a snapshot; outcomes behind
-- it are in p_tail, and weights that another replica has stored of them since would take the looks of older ones.
-- Events are read up to p_through. Of outcomes and of events each only as many are read as have p_bytes_max; bytes:
-- what was read; events: how many. Called by readEvidence(). No locks. Cost: advice_newest, and one index range.
create or replace function loci.advice_evidence(p_instance text, p_database text, p_class text, p_scope text, p_scope_json text, p_tools text[], p_limit int,
  p_looks int[], p_through bigint, p_stored bigint, p_tail jsonb, p_has_refs boolean, p_refs_max int, p_bytes_max bigint, out outcomes text, out looks text,
  out refs text, out is_cut boolean, out over_at float8, out head text, out bytes bigint, out events int)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_event loci.projections;
  v_scope jsonb := p_scope_json::jsonb;
  v_body jsonb;
  v_refs text[] := '{}';
  v_bytes bigint := 0;
begin
  perform set_config('loci.instance', p_instance, true);
  bytes := 0; is_cut := false; events := 0;
  if cardinality(p_tools) > 0 then
    select json_agg(json_build_array(e.tool, e.seq, (e.projection).id, e.outcome, coalesce((e.projection).body::jsonb -> 'evidence_refs', '[]'),
        loci.advice_ms((e.projection).created_at)::bigint, loci.advice_ms((e.projection).expires_at), octet_length((e.projection).body)))
        filter (where e.seq is not null)::text,
        json_agg(json_build_array(e.tool, e.looked)) filter (where e.seq is null)::text, coalesce(sum(octet_length((e.projection).body)), 0)
      into outcomes, looks, bytes
      from loci.advice_newest(p_instance, p_database, p_class, p_scope, p_tools, p_limit, p_looks, p_stored, p_tail, p_bytes_max) e;
  end if;
  if p_has_refs then
    return;
  end if;
  select loci.advice_head(h) into head from loci.databases h where h.instance_id = p_instance and h.name = p_database;
  for v_event in select p.* from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.task_class = p_class
    and p.class = 'event' and strpos(p.body, '"evidence_refs"') > 0 and p.seq <= p_through order by p.seq desc limit 5001
  loop
    is_cut := events = 5000 or cardinality(v_refs) > p_refs_max or v_bytes >= p_bytes_max;
    exit when is_cut;
    events := events + 1; v_bytes := v_bytes + coalesce(octet_length(v_event.body), 0);
    if v_event.taken_by is null and (v_event.expires_at is null or v_event.expires_at > clock_timestamp())
      and loci.prj_is_intact(v_event, p_instance, p_database) then
      over_at := least(over_at, loci.advice_ms(v_event.expires_at));
      v_body := v_event.body::jsonb;
      if v_body ? 'evidence_refs' and (v_scope is null or coalesce(nullif(v_body -> 'scope', 'null'), v_scope) = v_scope) then
        v_refs := array(select jsonb_array_elements_text(v_body -> 'evidence_refs')) || v_refs;
      end if;
    end if;
  end loop;
  is_cut := is_cut or cardinality(v_refs) > p_refs_max; bytes := bytes + v_bytes;
  refs := array_to_json(v_refs[greatest(1, cardinality(v_refs) - p_refs_max + 1):])::text;
end
$$;
