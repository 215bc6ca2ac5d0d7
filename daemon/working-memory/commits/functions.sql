-- Writes of slots that are a transaction of their own: one call each, with their events.

-- wm_write, and the events of it. Called by commitSteps(): every write that needs no more than itself.
create or replace function loci.wm_commit(p_instance text, p_databases_max bigint, p_database text[], p_version bigint[],
  p_digest bytea[], p_service text[], p_config bigint[], p_now timestamptz[], p_step_database int[], p_op text[], p_key text[], p_rest text[], p_meta text[],
  p_expires timestamptz[], p_why text[], p_value_mac text[])
returns table (database text, outcome text, versions bigint[], digests bytea[], digest bytea)
language plpgsql as $$
#variable_conflict use_column
declare
  v_written record;
  v_events jsonb[] := '{}';
begin
  for v_written in select * from loci.wm_write(p_instance, p_databases_max, p_database, p_version, p_digest, p_service, p_config, p_now,
      p_step_database, p_op, p_key, p_rest, p_meta, p_expires, p_why, p_value_mac)
  loop
    database := v_written.database; outcome := v_written.outcome; versions := v_written.versions; digests := v_written.digests;
    digest := v_written.digest;
    v_events := v_events || v_written.events;
    return next;
  end loop;
  perform loci.append_events(p_instance, to_jsonb(v_events));
end
$$;
comment on function loci.wm_commit is 'without enter_database: wm_write enters';

-- wm_commit with claims on Idempotency-Keys: the p_claim arrays have one element for each. A row with `claim` says why
-- that one's act cannot be done (claim_keys); then nothing of the call was done, and the caller asks again without it.
-- Of an act that is done is kept: versions and digests of its steps, p_claim_from to p_claim_to among those of its
-- database, and what the plan knew of its writes. Called by commitSteps(). Locks: those of claim_keys, wm_write,
-- keep_answers, the head of events, in this order.
create or replace function loci.wm_commit_acts(p_instance text, p_databases_max bigint, p_database text[], p_version bigint[],
  p_digest bytea[], p_service text[], p_config bigint[], p_now timestamptz[], p_step_database int[], p_op text[], p_key text[], p_rest text[], p_meta text[],
  p_expires timestamptz[], p_why text[], p_value_mac text[], p_route text, p_sealed_with text, p_claim_database text[],
  p_claim_holder text[], p_claim_key text[], p_claim_fingerprint text[], p_claim_from int[], p_claim_to int[], p_claim_writes text[])
returns table (claim int, database text, outcome text, versions bigint[], digests bytea[], digest bytea)
language plpgsql as $$
#variable_conflict use_column
declare
  v_written record;
  v_n int;
  v_kept int[] := '{}';
  v_answers text[] := '{}';
  v_events jsonb[] := '{}';
begin
  perform set_config('loci.instance', p_instance, true);
  return query select c.claim, null::text, c.outcome, null::bigint[], null::bytea[], null::bytea
    from loci.claim_keys(p_instance, p_route, p_claim_database, p_claim_holder, p_claim_key) c;
  if found then
    return;
  end if;
  for v_written in select * from loci.wm_write(p_instance, p_databases_max, p_database, p_version, p_digest, p_service, p_config, p_now,
      p_step_database, p_op, p_key, p_rest, p_meta, p_expires, p_why, p_value_mac)
  loop
    database := v_written.database; outcome := v_written.outcome; versions := v_written.versions; digests := v_written.digests;
    digest := v_written.digest;
    v_events := v_events || v_written.events;
    return next;
    continue when outcome <> 'done';
    foreach v_n in array array_positions(p_claim_database, database) loop
      v_kept := v_kept || v_n;
      v_answers := v_answers || format('{"versions":%s,"digests":%s,"writes":%s}', to_json(versions[p_claim_from[v_n]:p_claim_to[v_n]]),
        to_json(digests[p_claim_from[v_n]:p_claim_to[v_n]]), p_claim_writes[v_n]);
    end loop;
  end loop;
  if v_kept <> '{}' then
    perform loci.keep_answers(p_instance, p_route, p_sealed_with, array_agg(p_claim_database[k.n]), array_agg(p_claim_holder[k.n]),
      array_agg(p_claim_key[k.n]), array_agg(p_claim_fingerprint[k.n]), array_agg(k.answer)) from unnest(v_kept, v_answers) as k(n, answer);
  end if;
  perform loci.append_events(p_instance, to_jsonb(v_events));
end
$$;
comment on function loci.wm_commit_acts is 'without enter_database: wm_write enters';
