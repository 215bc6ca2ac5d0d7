-- serves: 0004
-- functions: 935b74a16f5ea6ee7263ecc5da303b3ea05b8e33e1cd44edc0bb52e8739d573e

create table loci.sessions (
  id text primary key,
  user_id text not null references loci.users (id),
  -- Random: with the sealing key it makes the handles of this session (management/sessions/handle.ts).
  salt text not null,
  -- Which handle is the current one.
  generation int not null,
  -- When each of the handles before this one was replaced, the newest first, twenty at most.
  replaced_at timestamptz[] not null default '{}',
  -- The provider's tokens as JSON, AES-256-GCM; null once the session is over and nothing is left to revoke.
  sealed text,
  sealed_with text,
  access_expires_at timestamptz not null,
  created_at timestamptz not null,
  -- When the person last gave proof at the provider, where it says so.
  auth_time timestamptz,
  -- Seven days after the last refresh, thirty after sign-in.
  idle_ends_at timestamptz not null,
  ends_at timestamptz not null,
  -- The lease: who is asking the provider for new tokens, null when nobody is; and when the refresh token was last
  -- sent without a recorded answer.
  refresh_call text,
  refresh_asked_at timestamptz,
  ended_at timestamptz,
  end_reason text,
  -- When to revoke at the provider what an ended session still holds.
  revoke_at timestamptz
);
create index sessions_of_user on loci.sessions (user_id);
create index sessions_to_revoke on loci.sessions (revoke_at) where revoke_at is not null;
create index sessions_to_expire on loci.sessions (idle_ends_at) where ended_at is null;
create index sessions_to_prune on loci.sessions (ended_at) where ended_at is not null;
comment on table loci.sessions is 'without row-level security: a session is of a person, who may belong to several organizations; tokens are sealed';

-- Access tokens that came with a session. A token that is not here opens nothing, however well it is signed.
create table loci.session_tokens (
  -- Hex SHA-256.
  digest text primary key,
  session_id text not null references loci.sessions (id) on delete cascade,
  expires_at timestamptz not null
);
create index session_tokens_of_session on loci.session_tokens (session_id);
create index session_tokens_by_end on loci.session_tokens (expires_at);
comment on table loci.session_tokens is 'without row-level security: digests, looked up before an organization is chosen';

-- What the proxy holds for a session: one capability for each service that it looks at.
create table loci.session_capabilities (
  session_id text not null references loci.sessions (id) on delete cascade,
  service_id text not null,
  organization_id text not null,
  role text not null,
  jti text not null,
  sealed text not null,
  sealed_with text not null,
  expires_at timestamptz not null,
  primary key (session_id, service_id)
);
comment on table loci.session_capabilities is 'without row-level security: of a session, which may be of several organizations; tokens are sealed';

-- A command line that waits for a person: open → approved → delivered, or denied; over after ten minutes.
create table loci.cli_logins (
  id text primary key,
  -- What a person compares; what the command line proves itself with, as hex SHA-256.
  user_code text not null,
  device_digest text not null,
  status text not null check (status in ('open', 'approved', 'denied', 'delivered')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Who decided, and for which organization.
  organization_id text,
  user_id text references loci.users (id),
  -- In which session.
  session_id text
);
create index cli_logins_by_session on loci.cli_logins (session_id) where session_id is not null;
create unique index cli_logins_open on loci.cli_logins (user_code);
create index cli_logins_by_end on loci.cli_logins (expires_at);
comment on table loci.cli_logins is 'without row-level security: nobody''s until a person decides; codes and digests';

grant select, insert, update, delete on loci.cli_logins, loci.sessions, loci.session_tokens, loci.session_capabilities to loci_app;
