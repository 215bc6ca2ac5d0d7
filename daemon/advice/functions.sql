-- Advice: the outcomes of a database in order, snapshots of what they add up to, and evidence. Reads set the context of
-- row-level security in the same call as the work.

-- A projection as the fold takes it: [seq, partner, class, body, takes back, is void]. Without a body where it is no
-- outcome, or its content is gone or damaged. What it says does not depend on the clock: content counts until it is
-- erased.
create or replace function loci.advice_told(p loci.projections) returns json language plpgsql stable parallel safe as $$
begin
  return json_build_array(p.seq, p.partner, p.task_class,
    case when p.class = 'tool_outcome' and loci.prj_is_intact(p, p.instance_id, p.database) then p.body end, p.takes_back, coalesce(p.taken_by < p.seq, false));
end
$$;

-- What a projection is known by: of another history the one of its number has another mark. The same, sent again after
-- a restore, came at another time.
create or replace function loci.advice_mark(p loci.projections) returns text language sql stable parallel safe as $$
  select encode(p.key_mac || p.content_mac, 'hex') || extract(epoch from p.created_at)
$$;

-- What a replica needs to go on folding behind the projection p_after, of one moment: the database's life and number,
-- the number of its last erasure of an outcome, which snapshot is stored, the mark of p_after, what was told since (at
-- most p_limit, and as many as have p_bytes_max; is_cut: there may be more) and the mark of the last of it, of what is
-- taken back the projections up to p_after, and the weights of both that are stored: [[seq, place, tool, outcome, t, u,
-- attempt, expected]]. policy, fallback: the stored policies of that name and `default`; is_damaged: one of them cannot
-- be read. Without a life there is no such database. Called by readTail(): every rank. No locks. Cost: two index
-- ranges, four reads by keys.
create or replace function loci.advice_tail(p_instance text, p_database text, p_after bigint, p_limit int, p_bytes_max bigint, p_policy text,
  out life text, out seq bigint, out erased_at bigint, out snapshot_seq bigint, out snapshot_erased_at bigint, out mark text, out told text,
  out last_mark text, out taken text, out weights text, out is_cut boolean, out policy text, out fallback text, out is_damaged boolean)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_row loci.projections;
  v_rows loci.projections[] := '{}';
  v_bytes bigint := 0;
  v_taken bigint[];
begin
  perform set_config('loci.instance', p_instance, true);
  select extract(epoch from h.created_at)::text, h.seq, h.prj_erased_at into life, seq, erased_at from loci.databases h
    where h.instance_id = p_instance and h.name = p_database and h.erasing_since is null;
  if not found then
    return;
  end if;
  select s.seq, s.erased_at into snapshot_seq, snapshot_erased_at from loci.advice_snapshots s
    where s.instance_id = p_instance and s.database = p_database;
  mark := loci.advice_mark(loci.advice_projection(p_instance, p_database, p_after));
  for v_row in select p.* from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.seq > p_after
    and (p.class = 'tool_outcome' or p.takes_back is not null) order by p.seq limit p_limit
  loop
    is_cut := v_bytes >= p_bytes_max;
    exit when is_cut;
    v_rows := v_rows || v_row;
    -- With what it takes back, which is read too.
    v_bytes := v_bytes + coalesce(octet_length(v_row.body), 0) + coalesce((select octet_length(t.body) from loci.projections t
      where v_row.takes_back <= p_after and t.instance_id = p_instance and t.database = p_database and t.seq >= v_row.takes_back
        and t.seq <= v_row.takes_back order by t.seq limit 1), 0);
  end loop;
  is_cut := coalesce(is_cut, false) or cardinality(v_rows) >= p_limit;
  told := (select coalesce(json_agg(loci.advice_told(r))::text, '[]') from unnest(v_rows) r);
  last_mark := loci.advice_mark(v_rows[cardinality(v_rows)]);
  v_taken := array(select r.takes_back from unnest(v_rows) r where r.takes_back <= p_after);
  taken := (select coalesce(json_agg(loci.advice_told(t.p))::text, '[]')
    from (select loci.advice_projection(p_instance, p_database, n) as p from unnest(v_taken) n) t where (t.p).class = 'tool_outcome');
  weights := (select coalesce(json_agg(json_build_array(w.seq, w.place, w.tool, w.outcome, w.t, w.u, w.attempt, w.expected))::text, '[]') from (
    (select o.* from loci.advice_weights o where o.instance_id = p_instance and o.database = p_database and o.seq > p_after
      and o.seq <= least(snapshot_seq, v_rows[cardinality(v_rows)].seq) order by o.seq, o.place)
    union all
    (select o.* from unnest(v_taken) n, lateral (select * from loci.advice_weights i where i.instance_id = p_instance and i.database = p_database
      and i.seq >= n and i.seq <= n order by i.seq, i.place) o)) w);
  select c.sent, not c.intact into policy, is_damaged from loci.config_layers(p_instance, p_database, 'policy/' || p_policy) c;
  select c.sent, is_damaged or not c.intact into fallback, is_damaged from loci.config_layers(p_instance, p_database, 'policy/default') c;
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

-- Stores a snapshot: the head, the tools that changed since the one numbered p_base (or all: p_is_whole), and the
-- weights since. done; or moved: the database was made anew, something was erased, or the rows of other tools are not
-- those of p_base. Who comes second with no more than is stored changes nothing. Called by saveSnapshot(), due kind
-- `advice`. Locks: the head, rows, the due row, totals.
create or replace function loci.advice_save(p_instance text, p_database text, p_life text, p_base bigint, p_is_whole boolean, p_seq bigint,
  p_erased_at bigint, p_head text, p_tools json, p_weights json) returns text
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
    or (not p_is_whole and (v_stored.seq is null or v_stored.erased_at <> p_erased_at or v_stored.seq < p_base)) then
    return 'moved';
  end if;
  if p_is_whole or v_stored.seq < p_seq then
    if p_is_whole then
      delete from loci.advice_tools t where t.instance_id = p_instance and t.database = p_database;
    end if;
    insert into loci.advice_tools as t (instance_id, database, place, name, body)
      select p_instance, p_database, (n ->> 0)::int, n ->> 1, decode(n ->> 2, 'base64') from json_array_elements(p_tools) n
      on conflict (instance_id, database, place) do update set name = excluded.name, body = excluded.body;
    insert into loci.advice_weights (instance_id, database, seq, place, tool, task_class, scope, outcome, t, u, attempt, expected)
      select p_instance, p_database, (n ->> 0)::bigint, (n ->> 1)::int, n ->> 2, n ->> 3, n ->> 4, n ->> 5, (n ->> 6)::bigint, (n ->> 7)::bigint,
        (n ->> 8)::float8, (n ->> 9)::float8 from json_array_elements(p_weights) n
      on conflict (instance_id, database, seq, place) do nothing;
    get diagnostics v_weights = row_count;
    v_bytes := (select coalesce(sum(octet_length(t.body) + octet_length(t.name) + 100), 0) from loci.advice_tools t
      where t.instance_id = p_instance and t.database = p_database);
    -- What weights take is counted once, when they are written: they stay as long as their projection's row.
    perform loci.add_totals(p_instance, 0, v_bytes + v_weights * 200 - coalesce(v_stored.bytes, 0));
    insert into loci.advice_snapshots as s (instance_id, database, seq, erased_at, head, bytes)
      values (p_instance, p_database, p_seq, p_erased_at, decode(p_head, 'base64'), v_bytes)
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

-- May a projection be shown as evidence now?
create or replace function loci.advice_is_shown(p loci.projections) returns boolean language plpgsql stable parallel safe as $$
begin
  return p.taken_by is null and p.body is not null and (p.expires_at is null or p.expires_at > clock_timestamp())
    and loci.prj_is_intact(p, p.instance_id, p.database);
end
$$;

-- A projection by its number. As a range in order, with sorting off: only the primary key serves that, while for an
-- equality a plan that is made when the table is small reads the whole database by another index.
create or replace function loci.advice_projection(p_instance text, p_database text, p_seq bigint) returns loci.projections
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_found loci.projections;
begin
  select p.* into v_found from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq >= p_seq and p.seq <= p_seq order by p.seq limit 1;
  return v_found;
end
$$;

-- A projection that may be shown, or nulls. Not p_is_read: of its columns the number alone, and its content is neither
-- read nor verified, as the state counts it without that.
create or replace function loci.advice_shown(p_instance text, p_database text, p_seq bigint, p_is_read boolean) returns loci.projections
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_found loci.projections;
begin
  if p_is_read then
    v_found := loci.advice_projection(p_instance, p_database, p_seq);
    return case when v_found.seq is not null and loci.advice_is_shown(v_found) then v_found end;
  end if;
  select p.seq into v_found.seq from loci.projections p where p.instance_id = p_instance and p.database = p_database
    and p.seq >= p_seq and p.seq <= p_seq and p.taken_by is null and p.body is not null
    and (p.expires_at is null or p.expires_at > clock_timestamp()) order by p.seq limit 1;
  return v_found;
end
$$;

-- The newest outcomes of tools in a task class up to p_through, at most p_limit of each: first from the tail that the
-- caller has (p_tail: [[seq, place, tool, outcome]], newest first, of this class and scope), then from the weights.
-- p_scope: a hash; outcomes without a scope match each. Of a tool at most ten times p_limit weights are looked at. It
-- ends with the outcome at which the bodies have p_bytes_max: one projection may have half a megabyte, and tell of 64
-- tools. p_bytes_max null: no content is read, so a tool that is asked for is never left out. One row at a time, by
-- keys: as one statement the planner, which cannot know what a hash of a row costs, read all rows for each (20 s for
-- 1,200 outcomes, measured). Called by advice_evidence and readRecent(). No locks. Cost: two reads by keys for each
-- outcome.
create or replace function loci.advice_newest(p_instance text, p_database text, p_class text, p_scope text, p_tools text[], p_limit int, p_through bigint, p_tail json,
  p_bytes_max bigint)
returns table (tool text, seq bigint, outcome text, projection loci.projections)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
  v_row record;
  v_left int;
  v_before bigint;
  v_bytes bigint := 0;
begin
  perform set_config('loci.instance', p_instance, true);
  foreach tool in array p_tools loop
    v_left := p_limit; v_before := p_through + 1;
    for v_row in select (r ->> 0)::bigint as seq, r ->> 3 as outcome from json_array_elements(p_tail) r where r ->> 2 = tool loop
      exit when v_left = 0;
      v_before := least(v_before, v_row.seq);
      projection := loci.advice_shown(p_instance, p_database, v_row.seq, p_bytes_max is not null);
      if projection.seq is not null then
        seq := v_row.seq; outcome := v_row.outcome; v_left := v_left - 1; v_bytes := v_bytes + coalesce(octet_length(projection.body), 0);
        return next;
        if v_bytes >= p_bytes_max then
          return;
        end if;
      end if;
    end loop;
    if v_left > 0 then
      for v_row in select w.seq, w.outcome, w.scope from loci.advice_weights w where w.instance_id = p_instance and w.database = p_database
        and w.task_class = p_class and w.tool = advice_newest.tool and w.seq < v_before order by w.seq desc, w.place desc limit p_limit * 10
      loop
        exit when v_left = 0;
        continue when p_scope is not null and v_row.scope is not null and v_row.scope <> p_scope;
        projection := loci.advice_shown(p_instance, p_database, v_row.seq, p_bytes_max is not null);
        if projection.seq is not null then
          seq := v_row.seq; outcome := v_row.outcome; v_left := v_left - 1; v_bytes := v_bytes + coalesce(octet_length(projection.body), 0);
          return next;
          if v_bytes >= p_bytes_max then
            return;
          end if;
        end if;
      end loop;
    end if;
  end loop;
end
$$;

-- What an answer shows beside its numbers, as JSON. evidence: [[tool, id, outcome, refs, told at]], newest first. refs:
-- the references of the events of the class, oldest first: of the newest 5,000 events as many as have p_refs_max
-- references; is_cut: there are more. p_scope_json: the scope itself, compared as JSON; null matches each. Of outcomes
-- and of events each only as many are read as have p_bytes_max; bytes: what was read. Called by readEvidence(): every
-- rank. No locks. Cost: advice_newest, and one index range.
create or replace function loci.advice_evidence(p_instance text, p_database text, p_class text, p_scope text, p_scope_json text, p_tools text[], p_limit int,
  p_through bigint, p_tail json, p_refs_max int, p_bytes_max bigint, out evidence text, out refs text, out is_cut boolean, out bytes bigint)
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_event loci.projections;
  v_scope jsonb := p_scope_json::jsonb;
  v_body jsonb;
  v_refs text[] := '{}';
  v_seen int := 0;
  v_bytes bigint := 0;
  v_is_full boolean;
begin
  perform set_config('loci.instance', p_instance, true);
  evidence := '[]'; is_cut := false; bytes := 0;
  if cardinality(p_tools) > 0 then
    select coalesce(json_agg(json_build_array(e.tool, (e.projection).id, e.outcome, coalesce((e.projection).body::jsonb -> 'evidence_refs', '[]'),
        (extract(epoch from (e.projection).created_at) * 1000)::bigint) order by e.seq desc)::text, '[]'),
        coalesce(sum(octet_length((e.projection).body)), 0)
      into evidence, bytes
      from loci.advice_newest(p_instance, p_database, p_class, p_scope, p_tools, p_limit, p_through, p_tail, p_bytes_max) e;
  end if;
  v_is_full := bytes >= p_bytes_max;
  for v_event in select p.* from loci.projections p where p.instance_id = p_instance and p.database = p_database and p.task_class = p_class
    and p.class = 'event' and p.seq <= p_through order by p.seq desc limit 5001
  loop
    v_seen := v_seen + 1;
    is_cut := v_seen > 5000 or cardinality(v_refs) > p_refs_max or v_bytes >= p_bytes_max;
    exit when is_cut;
    v_bytes := v_bytes + coalesce(octet_length(v_event.body), 0);
    if loci.advice_is_shown(v_event) then
      v_body := v_event.body::jsonb;
      if v_body ? 'evidence_refs' and (v_scope is null or coalesce(nullif(v_body -> 'scope', 'null'), v_scope) = v_scope) then
        v_refs := array(select jsonb_array_elements_text(v_body -> 'evidence_refs')) || v_refs;
      end if;
    end if;
  end loop;
  is_cut := is_cut or v_is_full or cardinality(v_refs) > p_refs_max; bytes := bytes + v_bytes;
  refs := array_to_json(v_refs[greatest(1, cardinality(v_refs) - p_refs_max + 1):])::text;
end
$$;
