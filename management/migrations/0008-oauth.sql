-- serves: 0004
-- functions: 33a02cc852e6b9884a5af142b2280fba55328fcba127bb3514f3a18167b04128

-- Clients of OAuth that an organization registered. Those that name the address of their document are in no table.
create table loci.oauth_clients (
  id text not null,
  organization_id text not null references loci.organizations (id),
  name text not null,
  redirect_uris text[] not null,
  made_by text not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, id)
);
create index oauth_clients_by_id on loci.oauth_clients (id);

-- What a person allowed a client: at first with a code that is good once, for a minute, then with a refresh token that
-- is good once.
create table loci.oauth_grants (
  id text not null,
  organization_id text not null references loci.organizations (id),
  user_id text not null references loci.users (id),
  -- In which it was allowed.
  session_id text not null,
  tenant_id text not null,
  service_id text not null,
  -- `oac_…`, or the address of the client's document; and what it called itself then.
  client_id text not null,
  client_name text not null,
  resource text not null,
  ops text[] not null,
  databases text[] not null,
  redirect_uri text not null,
  -- Hex SHA-256, as all digests here. The challenge is the client's own, of PKCE.
  code_digest text not null,
  code_challenge text not null,
  code_used_at timestamptz,
  -- Null until the code was exchanged, and once the grant is over.
  refresh_digest text,
  -- Of those before it, the newest first, twenty at most: one that comes back is a copy.
  spent_digests text[] not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  ended_at timestamptz,
  end_reason text,
  primary key (organization_id, id),
  foreign key (organization_id, service_id) references loci.services (organization_id, id)
);
create index oauth_grants_by_id on loci.oauth_grants (id);
create index oauth_grants_of_user on loci.oauth_grants (organization_id, user_id, id) where ended_at is null;
create index oauth_grants_of_session on loci.oauth_grants (session_id) where ended_at is null;
create index oauth_grants_by_end on loci.oauth_grants (organization_id, expires_at);

do $$
declare
  v_table text;
begin
  foreach v_table in array array['oauth_clients', 'oauth_grants'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_organization on loci.%I
      using (organization_id = nullif(current_setting('loci.organization', true), ''))
      with check (organization_id = nullif(current_setting('loci.organization', true), ''))$policy$, v_table);
    -- For the functions that find the organization of an id; nothing else runs as the owner.
    execute format('create policy owner_lookup on loci.%I for select to loci_owner using (true)', v_table);
  end loop;
end
$$;
grant select, insert, update, delete on loci.oauth_clients, loci.oauth_grants to loci_app;
