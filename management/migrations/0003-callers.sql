-- serves: 0002

-- Who calls management: people, what they are in an organization, and the keys they make for their programs. Then what a call needs
-- around it: its idempotency key, its rate limit, and the events that tell others what it changed.

create table loci.users (
  id text primary key,
  -- Of the sign-in provider; null until the person has signed in for the first time.
  issuer text,
  subject text,
  -- Lower case, as it is compared.
  email text not null,
  name text,
  created_at timestamptz not null default now(),
  check ((issuer is null) = (subject is null))
);
create unique index users_by_subject on loci.users (issuer, subject) where issuer is not null;
-- One person who has not signed in yet for each address: two invitations must not make two people of one.
create unique index users_by_email_unclaimed on loci.users (email) where issuer is null;
create index users_by_email on loci.users (email);
comment on table loci.users is 'without row-level security: a person may belong to several organizations and is looked up before one is chosen';

-- The best plan that the billing of any of its tenants covers: how much its callers may ask of management.
alter table loci.organizations add column plan text not null default 'free' check (plan in ('free', 'starter', 'pro', 'enterprise'));

create table loci.members (
  organization_id text not null references loci.organizations (id),
  user_id text not null references loci.users (id),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index members_of_user on loci.members (user_id);

create table loci.invitations (
  id text not null,
  organization_id text not null references loci.organizations (id),
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  -- Hex SHA-256 of the one-time token: 256 random bits, so nobody finds it from this.
  digest text not null,
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  primary key (organization_id, id)
);
create unique index invitations_by_digest on loci.invitations (digest);

create table loci.api_keys (
  id text not null,
  organization_id text not null references loci.organizations (id),
  -- Who made it: a key never does more than this person may do today.
  user_id text not null references loci.users (id),
  name text not null,
  scopes text[] not null,
  -- Null = every tenant of the organization.
  tenant_ids text[],
  -- Hex HMAC-SHA256 of the whole text with the pepper of that id (derived from LOCI_SEALING_KEYS).
  digest text not null,
  pepper text not null,
  -- What it was before its last rotation, good until then, so that programs can be given the new one without a gap.
  previous_digest text,
  previous_pepper text,
  previous_until timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (organization_id, id)
);
create index api_keys_by_id on loci.api_keys (id);

-- One answer for each Idempotency-Key of a caller (CONTRACT 0, Repeats). The claim, the work and the answer are one transaction.
create table loci.idempotency (
  organization_id text not null,
  caller text not null,
  route text not null,
  key text not null,
  fingerprint bytea not null,
  sealed_with text not null,
  -- 0 while the first is at work.
  status int not null,
  -- json and not jsonb: a replay is the first answer, byte for byte.
  body json,
  headers json,
  -- What was issued, where the answer held a credential and is not kept.
  ref text,
  created_at timestamptz not null,
  primary key (organization_id, caller, route, key)
);
create index idempotency_old on loci.idempotency (organization_id, created_at);

-- The answer to a key that is known, in one statement and without a transaction around it: every creation asks for it first.
create function loci.idempotency_answer(p_organization text, p_caller text, p_route text, p_key text)
returns table (fingerprint bytea, sealed_with text, status int, body json, headers json, ref text) language plpgsql as $$
begin
  perform set_config('loci.organization', p_organization, true);
  return query select i.fingerprint, i.sealed_with, i.status, i.body, i.headers, i.ref from loci.idempotency i
    where i.organization_id = p_organization and i.caller = p_caller and i.route = p_route and i.key = p_key
      and i.status > 0 and i.created_at >= clock_timestamp() - interval '24 hours';
end
$$;
revoke all on function loci.idempotency_answer(text, text, text, text) from public;

-- Unlogged: a limit that is forgotten in a crash does no harm, and it costs no wait for the disk.
create unlogged table loci.rate_limits (
  bucket text primary key,
  -- The theoretical arrival time of GCRA, in milliseconds since 1970.
  tat float8 not null
);
comment on table loci.rate_limits is 'without row-level security: ids of callers and a time each';

-- GCRA: a bucket of p_burst that fills by p_per_minute. wait_ms is null when the request is allowed.
create function loci.take_rate(p_bucket text, p_per_minute int, p_burst int)
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
revoke all on function loci.take_rate(text, int, int) from public;

-- One of the caller's bucket and one of the bucket that all callers of the organization share, or of neither: who is refused does not
-- use up what is the others'. The shared one is locked last by everybody.
create function loci.take_rates(p_bucket text, p_shared text, p_per_minute int, p_burst int, p_share int)
returns table (remaining int, reset_ms int, wait_ms int, is_shared boolean) language plpgsql as $$
declare
  v_own record;
  v_wait_ms int;
begin
  select * into v_own from loci.take_rate(p_bucket, p_per_minute, p_burst);
  if v_own.wait_ms is null then
    select t.wait_ms into v_wait_ms from loci.take_rate(p_shared, p_per_minute * p_share, p_burst * p_share) t;
    if v_wait_ms is not null then
      update loci.rate_limits set tat = tat - 60000.0 / p_per_minute where bucket = p_bucket;
    end if;
  end if;
  return query select v_own.remaining, v_own.reset_ms, coalesce(v_own.wait_ms, v_wait_ms), v_wait_ms is not null;
end
$$;
revoke all on function loci.take_rates(text, text, int, int, int) from public;

-- What happened, numbered for each organization under the lock of its head, so in the order of commits: a reader that has read up
-- to N can not miss anything below N. Kept seven days, a day is dropped whole.
create table loci.event_heads (
  organization_id text primary key,
  seq bigint not null
);
comment on table loci.event_heads is 'without row-level security: one number for each organization, watched for all of them at once';

create table loci.events (
  organization_id text not null,
  seq bigint not null,
  id text not null,
  type text not null,
  at timestamptz not null,
  subject text not null,
  -- Ids, states and plans, never content.
  data jsonb not null,
  primary key (organization_id, seq, at)
) partition by range (at);

create function loci.event_append(p_organization text, p_id text, p_at timestamptz, p_type text, p_subject text, p_data jsonb)
returns bigint language plpgsql as $$
declare
  v_seq bigint;
begin
  insert into loci.event_heads as h (organization_id, seq) values (p_organization, 1)
    on conflict (organization_id) do update set seq = h.seq + 1 returning seq into v_seq;
  insert into loci.events (organization_id, seq, id, type, at, subject, data)
    values (p_organization, v_seq, p_id, p_type, p_at, p_subject, p_data);
  return v_seq;
end
$$;
revoke all on function loci.event_append(text, text, timestamptz, text, text, jsonb) from public;

-- Days are made ahead and dropped when they are old, by whoever serves; the owner's rights are needed for both.
create function loci.keep_event_partitions()
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  day date;
  old name;
  name text;
begin
  perform pg_advisory_xact_lock(7026300004);
  for day in select generate_series(current_date - 1, current_date + 3, interval '1 day')::date loop
    name := format('events_%s', to_char(day, 'YYYYMMDD'));
    if to_regclass('loci.' || name) is null then
      execute format('create table loci.%I partition of loci.events for values from (%L) to (%L)', name, day, day + 1);
      execute format('alter table loci.%I enable row level security', name);
      execute format('alter table loci.%I force row level security', name);
      execute format('create policy one_organization on loci.%I using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', name);
    end if;
  end loop;
  for old in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.events'::regclass and c.relname ~ '^events_\d{8}$'
      and to_date(substr(c.relname, 8), 'YYYYMMDD') < current_date - 7
  loop
    execute format('drop table loci.%I', old);
  end loop;
end
$$;
revoke all on function loci.keep_event_partitions() from public;

do $$
declare
  closed text;
begin
  foreach closed in array array['members', 'invitations', 'api_keys', 'idempotency', 'events'] loop
    execute format('alter table loci.%I enable row level security', closed);
    execute format('alter table loci.%I force row level security', closed);
    execute format('create policy one_organization on loci.%I
      using (organization_id = nullif(current_setting(''loci.organization'', true), ''''))
      with check (organization_id = nullif(current_setting(''loci.organization'', true), ''''))', closed);
  end loop;
  foreach closed in array array['members', 'invitations', 'api_keys'] loop
    execute format('create policy owner_lookup on loci.%I for select to loci_owner using (true)', closed);
  end loop;
end
$$;
select loci.keep_event_partitions();

-- Asked before an organization is chosen, each by something that only its holder knows or that was verified before.
create function loci.api_key_of(p_id text)
returns table (id text, organization_id text, user_id text, scopes text[], tenant_ids text[], digest text, pepper text, previous_digest text,
  previous_pepper text, previous_until timestamptz, expires_at timestamptz, revoked_at timestamptz, role text, email text, plan text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  -- plpgsql keeps the plan. Every request asks this, and in a function of SQL it was planned anew each time, for 0.6 ms.
  return query select k.id, k.organization_id, k.user_id, k.scopes, k.tenant_ids, k.digest, k.pepper, k.previous_digest, k.previous_pepper,
    k.previous_until, k.expires_at, k.revoked_at, m.role, u.email, o.plan
  from loci.api_keys k
    join loci.organizations o on o.id = k.organization_id
    join loci.users u on u.id = k.user_id
    left join loci.members m on m.organization_id = k.organization_id and m.user_id = k.user_id
  where k.id = p_id;
end
$$;

-- How many keys in use have a pepper that the settings no longer have: they open nothing, and nobody is told but by this.
create function loci.count_api_keys_beyond(p_peppers text[])
returns bigint language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) from loci.api_keys k
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and k.pepper <> all (p_peppers)
$$;
revoke all on function loci.count_api_keys_beyond(text[]) from public;
grant execute on function loci.count_api_keys_beyond(text[]) to loci_app;

create function loci.memberships_of(user_id text)
returns table (organization_id text, name text, plan text, role text, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.organization_id, o.name, o.plan, m.role, o.created_at from loci.members m join loci.organizations o on o.id = m.organization_id
  where m.user_id = memberships_of.user_id
$$;

create function loci.invitation_of(digest text)
returns table (id text, organization_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select i.id, i.organization_id from loci.invitations i where i.digest = invitation_of.digest
$$;

revoke all on function loci.api_key_of(text), loci.memberships_of(text), loci.invitation_of(text) from public;
grant execute on function loci.api_key_of(text), loci.memberships_of(text), loci.invitation_of(text), loci.take_rate(text, int, int),
  loci.take_rates(text, text, int, int, int),
  loci.idempotency_answer(text, text, text, text),
  loci.event_append(text, text, timestamptz, text, text, jsonb), loci.keep_event_partitions() to loci_app;

grant select on loci.users, loci.members, loci.invitations, loci.api_keys, loci.idempotency, loci.rate_limits, loci.event_heads, loci.events to loci_app;
grant insert on loci.users, loci.members, loci.invitations, loci.api_keys, loci.idempotency, loci.rate_limits, loci.event_heads, loci.events to loci_app;
grant update on loci.users, loci.members, loci.invitations, loci.api_keys, loci.idempotency, loci.rate_limits, loci.event_heads to loci_app;
grant delete on loci.members, loci.invitations, loci.idempotency, loci.rate_limits to loci_app;
