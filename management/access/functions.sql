-- Whose an id is, and nothing else about it; ids of our own making alone: a jti of a child is a text of its holder's
-- choice. Called before an organization is chosen. No locks. Cost: one read of an index for each kind of id.
create or replace function loci.owner_of(p_id text)
returns table (organization_id text, tenant_id text, service_id text, cell_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.organization_id, t.id, null, null from loci.tenants t where t.id = p_id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id from loci.services s where s.id = p_id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id
  from (
    select t.organization_id, t.service_id from loci.tokens t where t.jti = p_id
    union all
    select p.organization_id, p.service_id from loci.partner_credentials p where p.id = p_id
  ) held join loci.services s on s.organization_id = held.organization_id and s.id = held.service_id
$$;
revoke all on function loci.owner_of(text) from public;
grant execute on function loci.owner_of(text) to loci_app;

-- GCRA: a bucket of p_burst that fills by p_per_minute. wait_ms is null when the request is allowed. Called by every
-- write of management, also by take_two_rates. Locks: the bucket. Cost: one upsert of an unlogged row.
create or replace function loci.take_rate(p_bucket text, p_per_minute int, p_burst int)
returns table (remaining int, reset_ms int, wait_ms int) language plpgsql as $$
declare
  v_now float8 := extract(epoch from clock_timestamp()) * 1000;
  v_step float8 := 60000.0 / p_per_minute;
  v_tat float8;
begin
  insert into loci.rate_limits as r (bucket, tat) values (p_bucket, v_now + v_step)
    on conflict (bucket) do update set tat = greatest(r.tat, v_now) + v_step
      where greatest(r.tat, v_now) - v_now <= v_step * (p_burst - 1)
    returning tat into v_tat;
  if v_tat is not null then
    return query select floor((v_step * p_burst - (v_tat - v_now)) / v_step)::int, ceil(v_tat - v_now)::int, null::int;
  else
    select r.tat into v_tat from loci.rate_limits r where r.bucket = p_bucket;
    v_tat := coalesce(v_tat, v_now);
    return query select 0, ceil(v_tat - v_now)::int, greatest(1, ceil(v_tat - v_now - v_step * (p_burst - 1)))::int;
  end if;
end
$$;

-- Asked before an organization is chosen, each by something that only its holder knows or that was verified before.
create or replace function loci.api_key_of(p_id text)
returns table (id text, organization_id text, user_id text, scopes text[], tenant_ids text[], digest text, pepper text,
  previous_digest text, previous_pepper text, previous_until timestamptz, expires_at timestamptz,
  revoked_at timestamptz, role text, email text, plan text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  -- plpgsql keeps the plan. Every request asks this, and in a function of SQL it was planned anew each time, for 0.6
  -- ms.
  return query select k.id, k.organization_id, k.user_id, k.scopes, k.tenant_ids, k.digest, k.pepper,
    k.previous_digest, k.previous_pepper, k.previous_until, k.expires_at, k.revoked_at, m.role, u.email, o.plan
  from loci.api_keys k
    join loci.organizations o on o.id = k.organization_id
    join loci.users u on u.id = k.user_id
    left join loci.members m on m.organization_id = k.organization_id and m.user_id = k.user_id
  where k.id = p_id;
end
$$;
revoke all on function loci.api_key_of(text) from public;
grant execute on function loci.api_key_of(text) to loci_app;

-- How many keys in use have a pepper that the settings no longer have: they are refused with 401.
create or replace function loci.count_api_keys_beyond(p_peppers text[])
returns bigint language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) from loci.api_keys k
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and k.pepper <> all (p_peppers)
$$;
revoke all on function loci.count_api_keys_beyond(text[]) from public;
grant execute on function loci.count_api_keys_beyond(text[]) to loci_app;

-- One of the caller's bucket and one of the organization's, each with its own rate, or of neither: who is refused does
-- not use up what is the others'. Called by every write of management but those of services. Locks: the caller's
-- bucket, then the organization's.
create or replace function loci.take_two_rates(p_bucket text, p_per_minute int, p_burst int, p_shared text,
  p_shared_per_minute int, p_shared_burst int)
returns table (remaining int, reset_ms int, wait_ms int, is_shared boolean) language plpgsql as $$
declare
  v_own record;
  v_wait_ms int;
begin
  select * into v_own from loci.take_rate(p_bucket, p_per_minute, p_burst);
  if v_own.wait_ms is null then
    select t.wait_ms into v_wait_ms from loci.take_rate(p_shared, p_shared_per_minute, p_shared_burst) t;
    if v_wait_ms is not null then
      update loci.rate_limits set tat = tat - 60000.0 / p_per_minute where bucket = p_bucket;
    end if;
  end if;
  return query select v_own.remaining, v_own.reset_ms, coalesce(v_own.wait_ms, v_wait_ms), v_wait_ms is not null;
end
$$;

-- The session of an access token, its person and the person's organizations, or nothing when it is over. Called by
-- every request with a session cookie, before an organization is chosen. No locks. Cost: four reads of indexes.
create or replace function loci.session_of(p_digest text)
returns table (id text, user_id text, issuer text, subject text, email text, name text, expires_at timestamptz,
  signed_in_at timestamptz, organizations jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query select s.id, u.id, u.issuer, u.subject, u.email, u.name, t.expires_at,
    least(s.created_at, s.auth_time),
    (select coalesce(jsonb_agg(jsonb_build_object('id', o.id, 'name', o.name, 'role', m.role, 'plan', o.plan,
          'createdAt', to_char(o.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        order by o.id), '[]')
      from loci.members m join loci.organizations o on o.id = m.organization_id where m.user_id = u.id)
  from loci.session_tokens t
    join loci.sessions s on s.id = t.session_id
    join loci.users u on u.id = s.user_id
  where t.digest = p_digest and t.expires_at > clock_timestamp()
    and s.ended_at is null and s.idle_ends_at > clock_timestamp();
end
$$;
revoke all on function loci.session_of(text) from public;
grant execute on function loci.session_of(text) to loci_app;

-- The organizations in which a session made API keys, deleted ones too, or allowed a client of OAuth. Called at
-- sign-out, before an organization is chosen. No locks. Cost: one read of an index for each.
create or replace function loci.organizations_of_session(p_session text)
returns table (organization_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select k.organization_id from loci.api_keys k where k.session_id = p_session
  union
  select g.organization_id from loci.oauth_grants g where g.session_id = p_session and g.ended_at is null
  order by 1
$$;
revoke all on function loci.organizations_of_session(text) from public;
grant execute on function loci.organizations_of_session(text) to loci_app;
