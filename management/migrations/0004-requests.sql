-- serves: 0004
-- functions: bf839e191b91c93c1fb2e55a3afde6b97394e7a524325f89899ec8d24683fc89

-- chain: 'platform', or the id of an organization.
-- include: ../../libs/acts/audit/tables.sql

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

-- Unlogged: a crash may forget a limit, and it costs no wait for the disk.
create unlogged table loci.rate_limits (
  bucket text primary key,
  -- The theoretical arrival time of GCRA, in milliseconds since 1970.
  tat float8 not null
);
comment on table loci.rate_limits is 'without row-level security: ids of callers and a time each';

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

do $$
declare
  v_table text;
begin
  foreach v_table in array array['api_keys', 'billing_events', 'events', 'idempotency', 'invitations', 'members', 'operations',
    'partner_credentials', 'service_counts', 'services', 'tenants', 'token_children', 'tokens', 'usage_minutes', 'usage_rolled'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    -- Empty, not null, is what a setting leaves behind once a transaction has used it.
    execute format($policy$create policy one_organization on loci.%I
      using (organization_id = nullif(current_setting('loci.organization', true), ''))
      with check (organization_id = nullif(current_setting('loci.organization', true), ''))$policy$, v_table);
  end loop;
  -- For the functions that find the organization of an id; nothing else runs as the owner.
  foreach v_table in array array['api_keys', 'invitations', 'members', 'partner_credentials', 'services', 'tenants',
    'token_children', 'tokens'] loop
    execute format('create policy owner_lookup on loci.%I for select to loci_owner using (true)', v_table);
  end loop;
end
$$;

grant usage on schema loci to loci_app;
grant select, insert on loci.audit, loci.events, loci.sealing_checks to loci_app;
grant select, insert, update on loci.api_keys, loci.audit_chains, loci.cells, loci.event_heads, loci.organizations, loci.service_counts,
  loci.services, loci.signing_keys, loci.tenants, loci.users to loci_app;
grant select, insert, update, delete on loci.billing_events, loci.cell_replicas, loci.due_services, loci.due_tenants, loci.feed_items,
  loci.idempotency, loci.invitations, loci.members, loci.operations, loci.quarantine, loci.rate_limits, loci.revocations, loci.usage_rolled to loci_app;
grant select, insert, delete on loci.cell_report_ids, loci.ready_times, loci.token_children, loci.tokens, loci.usage_minutes to loci_app;
grant select, insert, delete on loci.deletions to loci_app;
grant select, insert on loci.partner_credentials to loci_app;
grant select on loci.feed_epoch, loci.published_limits to loci_app;
grant update on loci.published_limits to loci_app;
grant update (value, seen, changed_at) on loci.feed_epoch to loci_app;
grant update (at, seq, generation, asked_generation, received_at, database_seq) on loci.deletions to loci_app;
grant update (digest, revoked_at, last_used_at, rotated_at, made_by) on loci.partner_credentials to loci_app;
grant update (revoked_at) on loci.token_children to loci_app;
grant update (revoked_at, last_used_at) on loci.tokens to loci_app;
grant update (requests, writes, records, bytes) on loci.usage_minutes to loci_app;
