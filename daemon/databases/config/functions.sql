-- Configurations of databases: what was PUT, as a text with a digest; and what heads and due work need of them.

create or replace function loci.config_digest(p_instance text, p_database text, p_kind text, p_version bigint, p_sent text)
returns bytea language sql stable parallel safe as $$
  select sha256(textsend(p_instance || E'\x1f' || p_database || E'\x1f' || p_kind || E'\x1f') || int8send(p_version) || textsend(p_sent))
$$;

-- The two layers of a database's configuration. sent is null when there is none; intact is false when it does not fit
-- its digest, and then nothing of it is given. Called by wm_list_each, wm_snapshot and readConfig(), which set the
-- context. Cost: two reads by primary keys.
create or replace function loci.config_layers(p_instance text, p_database text, p_kind text,
  out service text, out sent text, out version bigint, out intact boolean)
language plpgsql stable as $$
declare
  v_config loci.configs;
begin
  service := (select (i.config -> replace(p_kind, '-', '_'))::text from loci.instances i where i.id = p_instance);
  select * into v_config from loci.configs c where c.instance_id = p_instance and c.database = p_database and c.kind = p_kind;
  intact := not found or coalesce(v_config.digest = loci.config_digest(v_config.instance_id, v_config.database, v_config.kind,
    v_config.version, v_config.sent) and v_config.instance_id = p_instance and v_config.database = p_database, false);
  if intact then
    sent := v_config.sent;
  end if;
  version := coalesce(v_config.version, 0);
end
$$;

-- Replaces what was sent as a database's configuration. outcome: done, conflict (version = the current one, 0 = none),
-- or what enter_database() answered. Called by writeConfig(). Locks: the head, the row, totals.
create or replace function loci.config_write(p_instance text, p_databases_max bigint, p_database text, p_kind text, p_sent text,
  p_if_match bigint, out outcome text, out version bigint)
language plpgsql as $$
declare
  v_entered record;
  v_old loci.configs;
begin
  select e.outcome, e.head into v_entered
    from loci.enter_database(p_instance, array[p_database], array[p_database], p_databases_max) e;
  outcome := v_entered.outcome;
  if outcome <> 'open' then
    return;
  end if;
  select * into v_old from loci.configs c where c.instance_id = p_instance and c.database = p_database and c.kind = p_kind;
  version := coalesce(v_old.version, 0);
  if p_if_match is not null and (version = 0 or p_if_match not in (-1, version)) then
    outcome := 'conflict';
    return;
  end if;
  outcome := 'done';
  version := (v_entered.head).seq + 1;
  insert into loci.configs as c (instance_id, database, kind, version, sent, digest)
    values (p_instance, p_database, p_kind, config_write.version, p_sent,
      loci.config_digest(p_instance, p_database, p_kind, config_write.version, p_sent))
    on conflict (instance_id, database, kind) do update set version = excluded.version, sent = excluded.sent, digest = excluded.digest;
  update loci.databases h set seq = config_write.version,
      wm_config = case p_kind when 'working-memory' then config_write.version else h.wm_config end,
      cyc_config = case p_kind when 'cognitive' then config_write.version else h.cyc_config end
    where h.instance_id = p_instance and h.name = p_database;
  perform loci.add_totals(p_instance, 0, octet_length(p_sent) - coalesce(octet_length(v_old.sent), -100), octet_length(p_sent) + 100);
end
$$;

-- The value in force of a whole number of the configuration of cycles, by the rules of databases/config/rules.ts: what
-- was put, else the service's, else p_default; a value that is not usable counts as none. Null is usable where the
-- default is null. Called by cycle_pressure, cycle_interval and cycle_history. Cost: two index reads.
create or replace function loci.cycle_setting(p_instance text, p_database text, p_path text[], p_min bigint, p_max bigint, p_default bigint)
returns bigint language plpgsql stable as $$
declare
  v_used bigint := p_default;
  v_given jsonb;
begin
  for v_given in select l.layer #> p_path from loci.config_layers(p_instance, p_database, 'cognitive') c,
    lateral (values (1, c.service::jsonb), (2, c.sent::jsonb)) as l(n, layer) order by l.n
  loop
    if jsonb_typeof(v_given) = 'number' then
      if v_given::numeric between p_min and p_max and v_given::numeric = floor(v_given::numeric) then
        v_used := v_given::numeric;
      end if;
    elsif jsonb_typeof(v_given) = 'null' and p_default is null then
      v_used := null;
    end if;
  end loop;
  return v_used;
end
$$;

-- The interval of the schedule in milliseconds; null: there is none. Called by enter_database, for a new one, and
-- cycle_schedule.
create or replace function loci.cycle_interval(p_instance text, p_database text) returns bigint language sql stable as $$
  select loci.cycle_setting(p_instance, p_database, '{schedule,intervalMs}', 1000, 86400000, null)
$$;

-- How many cycles are kept: never more than the plan has records. Called as cycle_interval is.
create or replace function loci.cycle_history(p_instance text, p_database text) returns bigint language sql stable as $$
  select least(loci.cycle_setting(p_instance, p_database, '{cycleHistory}', 10, 100000, 100000),
    greatest((select (i.limits ->> 'records')::bigint from loci.instances i where i.id = p_instance), 10))
$$;

-- How many events make a cycle due when they wait; null: cycles take in none. Called by prj_put_due, cycle_pressed and
-- cycle_fresh.
create or replace function loci.cycle_pressure(p_instance text, p_database text) returns bigint language sql stable as $$
  select case when loci.cycle_setting(p_instance, p_database, '{maxEvents}', 0, 1000, 100) > 0
    then loci.cycle_setting(p_instance, p_database, '{pressure,pendingEvents}', 1, 10000, 32) end
$$;
