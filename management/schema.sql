-- Made by scripts/schema.ts from management/migrations, without functions (functions.sql). Do not edit: run it again.

CREATE SCHEMA loci;

CREATE TABLE loci.api_keys (
    id text NOT NULL,
    organization_id text NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    tenant_ids text[],
    digest text NOT NULL,
    pepper text NOT NULL,
    previous_digest text,
    previous_pepper text,
    previous_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    made_by text,
    session_id text
);

ALTER TABLE ONLY loci.api_keys FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit (
    chain text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    request_id text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint NOT NULL,
    prev_hash text,
    hash text NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.audit FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_chains (
    chain text NOT NULL,
    seq bigint NOT NULL,
    hash text
);

COMMENT ON TABLE loci.audit_chains IS 'without row-level security: the head of each chain, ids and hashes only';

CREATE TABLE loci.billing_events (
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    id text NOT NULL,
    arrival bigint NOT NULL,
    inbox_key text,
    event_type text NOT NULL,
    customer_id text,
    subscription_id text NOT NULL,
    plan text NOT NULL,
    status text NOT NULL,
    current_period_start text,
    current_period_end text,
    sequence bigint,
    occurred_at timestamp with time zone,
    digest text NOT NULL,
    effect text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    metadata jsonb,
    counts_for text NOT NULL,
    CONSTRAINT billing_events_effect_check CHECK ((effect = ANY (ARRAY['applied'::text, 'superseded'::text, 'unordered'::text, 'parked'::text, 'dead'::text])))
);

ALTER TABLE ONLY loci.billing_events FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.cell_replicas (
    cell_id text NOT NULL,
    replica text NOT NULL,
    address text NOT NULL,
    last_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.cell_replicas IS 'without row-level security: addresses of the replicas of cells';

CREATE TABLE loci.cell_report_ids (
    cell_id text NOT NULL,
    jti text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE loci.cell_report_ids IS 'without row-level security: ids of the tokens of cells';

CREATE TABLE loci.cell_switches (
    cell_id text NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL,
    since timestamp with time zone NOT NULL,
    changed_by text,
    reason text,
    auto_revert_at timestamp with time zone,
    told_at timestamp with time zone,
    outcome text,
    reported_at timestamp with time zone NOT NULL,
    wanted boolean,
    wanted_at timestamp with time zone,
    wanted_by text,
    wanted_reason text,
    wanted_revert_at timestamp with time zone,
    seq bigint
);

COMMENT ON TABLE loci.cell_switches IS 'without row-level security: switches of the cells, no tenant';

CREATE TABLE loci.cells (
    id text NOT NULL,
    name text NOT NULL,
    region text NOT NULL,
    capacity integer NOT NULL,
    endpoint text NOT NULL,
    public_keys jsonb NOT NULL,
    tenant_id text,
    feed_seq bigint DEFAULT 0 NOT NULL,
    heard_epoch text,
    heard_seq bigint DEFAULT 0 NOT NULL,
    heard_seq_at timestamp with time zone,
    heard_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    placed integer DEFAULT 0 NOT NULL,
    alarm jsonb,
    deletion_seq bigint DEFAULT 0 NOT NULL,
    CONSTRAINT cells_capacity_check CHECK ((capacity > 0)),
    CONSTRAINT cells_public_keys_check CHECK (((jsonb_typeof(public_keys) = 'array'::text) AND ((jsonb_array_length(public_keys) >= 1) AND (jsonb_array_length(public_keys) <= 2))))
);

COMMENT ON TABLE loci.cells IS 'without row-level security: machinery of the platform, no content of an organization';

CREATE TABLE loci.cli_logins (
    id text NOT NULL,
    user_code text NOT NULL,
    device_digest text NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    organization_id text,
    user_id text,
    session_id text,
    CONSTRAINT cli_logins_status_check CHECK ((status = ANY (ARRAY['open'::text, 'approved'::text, 'denied'::text, 'delivered'::text])))
);

COMMENT ON TABLE loci.cli_logins IS 'without row-level security: nobody''s until a person decides; codes and digests';

CREATE TABLE loci.deletions (
    cell_id text NOT NULL,
    service_id text NOT NULL,
    database text DEFAULT ''::text NOT NULL,
    value_mac bytea DEFAULT '\x'::bytea NOT NULL,
    is_override boolean DEFAULT false NOT NULL,
    database_seq bigint,
    at timestamp with time zone NOT NULL,
    seq bigint,
    generation bigint,
    asked_generation bigint,
    received_at timestamp with time zone
);

COMMENT ON TABLE loci.deletions IS 'without row-level security: replayed by a restored cell; ids, names of databases, HMACs';

CREATE TABLE loci.due_services (
    service_id text NOT NULL,
    organization_id text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    first_due_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL
);

COMMENT ON TABLE loci.due_services IS 'without row-level security: scanned by workers for all organizations at once; ids and times';

CREATE TABLE loci.due_tenants (
    tenant_id text NOT NULL,
    organization_id text NOT NULL,
    due_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.due_tenants IS 'without row-level security: scanned by workers for all organizations at once; ids and times';

CREATE TABLE loci.event_heads (
    organization_id text NOT NULL,
    seq bigint NOT NULL
);

COMMENT ON TABLE loci.event_heads IS 'without row-level security: one number for each organization, watched for all of them at once';

CREATE TABLE loci.events (
    organization_id text NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.events FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.feed_epoch (
    only_row boolean DEFAULT true NOT NULL,
    value bigint DEFAULT 1 NOT NULL,
    seen text,
    changed_at timestamp with time zone,
    CONSTRAINT feed_epoch_only_row_check CHECK (only_row)
);

COMMENT ON TABLE loci.feed_epoch IS 'without row-level security: one number';

CREATE TABLE loci.feed_items (
    cell_id text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    seq bigint NOT NULL,
    body jsonb NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    bytes integer,
    CONSTRAINT feed_items_kind_check CHECK ((kind = ANY (ARRAY['instance'::text, 'key'::text, 'revocation'::text, 'partner_credential'::text])))
);

COMMENT ON TABLE loci.feed_items IS 'without row-level security: of a cell, which has instances of many organizations; ids, limits, public keys and digests';

CREATE TABLE loci.idempotency (
    organization_id text NOT NULL,
    caller text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    sealed_with text NOT NULL,
    status integer NOT NULL,
    body json,
    headers json,
    ref text,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.invitations (
    id text NOT NULL,
    organization_id text NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    digest text NOT NULL,
    invited_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])))
);

ALTER TABLE ONLY loci.invitations FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.members (
    organization_id text NOT NULL,
    user_id text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])))
);

ALTER TABLE ONLY loci.members FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    serves integer NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.migrations IS 'without row-level security: versions of the schema, no tenant';

CREATE TABLE loci.oauth_clients (
    id text NOT NULL,
    organization_id text NOT NULL,
    name text NOT NULL,
    redirect_uris text[] NOT NULL,
    made_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY loci.oauth_clients FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.oauth_grants (
    id text NOT NULL,
    organization_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    tenant_id text NOT NULL,
    service_id text NOT NULL,
    client_id text NOT NULL,
    client_name text NOT NULL,
    resource text NOT NULL,
    ops text[] NOT NULL,
    databases text[] NOT NULL,
    redirect_uri text NOT NULL,
    code_digest text NOT NULL,
    code_challenge text NOT NULL,
    code_used_at timestamp with time zone,
    refresh_digest text,
    spent_digests text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    ended_at timestamp with time zone,
    end_reason text
);

ALTER TABLE ONLY loci.oauth_grants FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.operations (
    id text NOT NULL,
    organization_id text NOT NULL,
    service_id text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    steps jsonb NOT NULL,
    error jsonb,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT operations_check CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'superseded'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT operations_kind_check CHECK ((kind = ANY (ARRAY['provision'::text, 'update'::text, 'suspend'::text, 'resume'::text, 'move'::text, 'delete'::text]))),
    CONSTRAINT operations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'superseded'::text])))
);

ALTER TABLE ONLY loci.operations FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.organizations (
    id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    plan text DEFAULT 'free'::text NOT NULL,
    CONSTRAINT organizations_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'starter'::text, 'pro'::text, 'enterprise'::text])))
);

COMMENT ON TABLE loci.organizations IS 'without row-level security: looked up before an organization is chosen (sign-in, commands); id and name only';

CREATE TABLE loci.partner_credentials (
    id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_id text NOT NULL,
    name text NOT NULL,
    partner text NOT NULL,
    database text NOT NULL,
    projection_classes text[] NOT NULL,
    routes text[] NOT NULL,
    digest text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    rotated_at timestamp with time zone,
    made_by text
);

ALTER TABLE ONLY loci.partner_credentials FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.published_limits (
    only_row boolean DEFAULT true NOT NULL,
    digest text,
    walks integer DEFAULT 0 NOT NULL,
    after text DEFAULT ''::text NOT NULL,
    next_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT published_limits_only_row_check CHECK (only_row)
);

COMMENT ON TABLE loci.published_limits IS 'without row-level security: one row, a digest and how far all services were made due';

CREATE TABLE loci.quarantine (
    cell_id text NOT NULL,
    service_id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_type text NOT NULL,
    plan text NOT NULL,
    state text NOT NULL,
    generation bigint NOT NULL,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE loci.quarantine IS 'without row-level security: of cells, seen by staff alone; ids and states';

CREATE UNLOGGED TABLE loci.rate_limits (
    bucket text NOT NULL,
    tat double precision NOT NULL
);

COMMENT ON TABLE loci.rate_limits IS 'without row-level security: ids of callers and a time each';

CREATE TABLE loci.ready_times (
    placement text NOT NULL,
    at timestamp with time zone NOT NULL,
    ms integer NOT NULL
);

COMMENT ON TABLE loci.ready_times IS 'without row-level security: durations by region, of nobody';

CREATE TABLE loci.revocations (
    id text NOT NULL COLLATE pg_catalog."C",
    cell_id text DEFAULT ''::text NOT NULL,
    kind text NOT NULL,
    svc text NOT NULL,
    value text NOT NULL,
    not_before timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    origin text NOT NULL,
    audit_id text,
    organization_id text,
    withdrawn_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT revocations_check CHECK (((kind = 'jti'::text) = (not_before IS NULL))),
    CONSTRAINT revocations_kind_check CHECK ((kind = ANY (ARRAY['jti'::text, 'org'::text, 'ten'::text, 'svc'::text, 'sub'::text]))),
    CONSTRAINT revocations_origin_check CHECK ((origin = ANY (ARRAY['management'::text, 'cell'::text])))
);

COMMENT ON TABLE loci.revocations IS 'without row-level security: given to every cell, also to one that is added later; ids only';

CREATE TABLE loci.sealing_checks (
    id text NOT NULL,
    value bytea NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.sealing_checks IS 'without row-level security: check values of sealing keys, no tenant';

CREATE TABLE loci.service_counts (
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_type text NOT NULL,
    status text NOT NULL,
    count bigint NOT NULL
);

ALTER TABLE ONLY loci.service_counts FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.services (
    id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    service_type text NOT NULL,
    plan text NOT NULL,
    region text NOT NULL,
    cell_id text,
    config jsonb DEFAULT '{}'::jsonb NOT NULL,
    status text NOT NULL,
    desired_state text NOT NULL,
    state_reason text,
    generation bigint DEFAULT 1 NOT NULL,
    observed_generation bigint DEFAULT 0 NOT NULL,
    observed_state text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    wanted_state text DEFAULT 'active'::text NOT NULL,
    status_reason text,
    published_digest text,
    operation_id text,
    deadline_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT services_desired_state_check CHECK ((desired_state = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text]))),
    CONSTRAINT services_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'starter'::text, 'pro'::text, 'enterprise'::text]))),
    CONSTRAINT services_status_check CHECK ((status = ANY (ARRAY['provisioning'::text, 'active'::text, 'updating'::text, 'suspended'::text, 'failed'::text, 'deleting'::text, 'deleted'::text]))),
    CONSTRAINT services_wanted_state_check CHECK ((wanted_state = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text])))
);

ALTER TABLE ONLY loci.services FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.session_capabilities (
    session_id text NOT NULL,
    service_id text NOT NULL,
    organization_id text NOT NULL,
    role text NOT NULL,
    jti text NOT NULL,
    sealed text NOT NULL,
    sealed_with text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.session_capabilities IS 'without row-level security: of a session, which may be of several organizations; tokens are sealed';

CREATE TABLE loci.session_tokens (
    digest text NOT NULL,
    session_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.session_tokens IS 'without row-level security: digests, looked up before an organization is chosen';

CREATE TABLE loci.sessions (
    id text NOT NULL,
    user_id text NOT NULL,
    salt text NOT NULL,
    generation integer NOT NULL,
    replaced_at timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    sealed text,
    sealed_with text,
    access_expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    auth_time timestamp with time zone,
    idle_ends_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    refresh_call text,
    refresh_asked_at timestamp with time zone,
    ended_at timestamp with time zone,
    end_reason text,
    revoke_at timestamp with time zone
);

COMMENT ON TABLE loci.sessions IS 'without row-level security: a session is of a person, who may belong to several organizations; tokens are sealed';

CREATE TABLE loci.signing_keys (
    kid text NOT NULL,
    x text NOT NULL,
    private_sealed text,
    sealed_with text,
    state text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    signed_until timestamp with time zone DEFAULT now() NOT NULL,
    retire_at timestamp with time zone,
    CONSTRAINT signing_keys_check CHECK (((state = ANY (ARRAY['next'::text, 'active'::text])) = ((private_sealed IS NOT NULL) AND (sealed_with IS NOT NULL)))),
    CONSTRAINT signing_keys_state_check CHECK ((state = ANY (ARRAY['next'::text, 'active'::text, 'retiring'::text, 'removed'::text])))
);

COMMENT ON TABLE loci.signing_keys IS 'without row-level security: keys of the platform, the private halves sealed';

CREATE TABLE loci.tenants (
    id text NOT NULL,
    organization_id text NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    plan text NOT NULL,
    status text NOT NULL,
    generation bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    status_reason text,
    access text DEFAULT 'full'::text NOT NULL,
    billing_status text,
    subscription_id text,
    current_period_start text,
    current_period_end text,
    grace_ends_at timestamp with time zone,
    last_event_at timestamp with time zone,
    arrivals bigint DEFAULT 0 NOT NULL,
    notices text[] DEFAULT '{}'::text[] NOT NULL,
    billed_plan text,
    customer_id text,
    CONSTRAINT tenants_access_check CHECK ((access = ANY (ARRAY['full'::text, 'read_only'::text, 'none'::text, 'delete'::text]))),
    CONSTRAINT tenants_billed_plan_check CHECK ((billed_plan = ANY (ARRAY['free'::text, 'starter'::text, 'pro'::text, 'enterprise'::text]))),
    CONSTRAINT tenants_billing_status_check CHECK ((billing_status = ANY (ARRAY['active'::text, 'cancelled'::text, 'past_due'::text, 'unpaid'::text]))),
    CONSTRAINT tenants_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'starter'::text, 'pro'::text, 'enterprise'::text]))),
    CONSTRAINT tenants_status_check CHECK ((status = ANY (ARRAY['active'::text, 'past_due'::text, 'suspended'::text, 'closed'::text])))
);

ALTER TABLE ONLY loci.tenants FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.token_children (
    jti text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_id text NOT NULL,
    parent_jti text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    name text,
    ops text[]
);

ALTER TABLE ONLY loci.token_children FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.tokens (
    jti text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_id text NOT NULL,
    name text,
    kid text NOT NULL,
    ops text[] NOT NULL,
    ks text[] NOT NULL,
    sub text,
    issued_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    delegation_depth integer NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    made_by text
);

ALTER TABLE ONLY loci.tokens FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.usage_minutes (
    organization_id text NOT NULL,
    service_id text NOT NULL,
    minute timestamp with time zone NOT NULL,
    dedup text NOT NULL,
    requests bigint NOT NULL,
    writes bigint NOT NULL,
    records bigint NOT NULL,
    bytes bigint NOT NULL,
    units double precision DEFAULT 0 NOT NULL,
    routes jsonb,
    errors bigint DEFAULT 0 NOT NULL,
    cycles bigint DEFAULT 0 NOT NULL,
    evictions bigint DEFAULT 0 NOT NULL,
    latency bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    CONSTRAINT usage_minutes_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT usage_minutes_records_check CHECK ((records >= 0)),
    CONSTRAINT usage_minutes_requests_check CHECK ((requests >= 0)),
    CONSTRAINT usage_minutes_writes_check CHECK ((writes >= 0))
);

ALTER TABLE ONLY loci.usage_minutes FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.usage_rolled (
    organization_id text NOT NULL,
    service_id text NOT NULL,
    dedup text NOT NULL,
    through timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.usage_rolled FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.users (
    id text NOT NULL,
    issuer text,
    subject text,
    email text NOT NULL,
    name text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT users_check CHECK (((issuer IS NULL) = (subject IS NULL)))
);

COMMENT ON TABLE loci.users IS 'without row-level security: a person may belong to several organizations and is looked up before one is chosen';

ALTER TABLE ONLY loci.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY loci.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.billing_events
    ADD CONSTRAINT billing_events_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.cell_replicas
    ADD CONSTRAINT cell_replicas_pkey PRIMARY KEY (cell_id, replica);

ALTER TABLE ONLY loci.cell_report_ids
    ADD CONSTRAINT cell_report_ids_pkey PRIMARY KEY (cell_id, jti);

ALTER TABLE ONLY loci.cell_switches
    ADD CONSTRAINT cell_switches_pkey PRIMARY KEY (cell_id, name);

ALTER TABLE ONLY loci.cells
    ADD CONSTRAINT cells_name_key UNIQUE (name);

ALTER TABLE ONLY loci.cells
    ADD CONSTRAINT cells_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.cli_logins
    ADD CONSTRAINT cli_logins_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (cell_id, service_id, database, value_mac, is_override);

ALTER TABLE ONLY loci.due_services
    ADD CONSTRAINT due_services_pkey PRIMARY KEY (service_id);

ALTER TABLE ONLY loci.due_tenants
    ADD CONSTRAINT due_tenants_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY loci.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (organization_id);

ALTER TABLE ONLY loci.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (organization_id, seq, at);

ALTER TABLE ONLY loci.feed_epoch
    ADD CONSTRAINT feed_epoch_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY loci.feed_items
    ADD CONSTRAINT feed_items_pkey PRIMARY KEY (cell_id, kind, key);

ALTER TABLE ONLY loci.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (organization_id, caller, route, key);

ALTER TABLE ONLY loci.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (organization_id, user_id);

ALTER TABLE ONLY loci.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY loci.oauth_clients
    ADD CONSTRAINT oauth_clients_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.oauth_grants
    ADD CONSTRAINT oauth_grants_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.published_limits
    ADD CONSTRAINT published_limits_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY loci.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (cell_id, service_id);

ALTER TABLE ONLY loci.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (bucket);

ALTER TABLE ONLY loci.revocations
    ADD CONSTRAINT revocations_id_key UNIQUE (id);

ALTER TABLE ONLY loci.revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (cell_id, kind, svc, value);

ALTER TABLE ONLY loci.sealing_checks
    ADD CONSTRAINT sealing_checks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.service_counts
    ADD CONSTRAINT service_counts_pkey PRIMARY KEY (organization_id, tenant_id, service_type, status);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.session_capabilities
    ADD CONSTRAINT session_capabilities_pkey PRIMARY KEY (session_id, service_id);

ALTER TABLE ONLY loci.session_tokens
    ADD CONSTRAINT session_tokens_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY loci.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY loci.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.token_children
    ADD CONSTRAINT token_children_pkey PRIMARY KEY (organization_id, service_id, jti);

ALTER TABLE ONLY loci.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (organization_id, jti);

ALTER TABLE loci.usage_minutes
    ADD CONSTRAINT usage_minutes_answers_check CHECK (((errors >= 0) AND (cycles >= 0) AND (evictions >= 0))) NOT VALID;

ALTER TABLE ONLY loci.usage_minutes
    ADD CONSTRAINT usage_minutes_pkey PRIMARY KEY (organization_id, service_id, minute, dedup);

ALTER TABLE loci.usage_minutes
    ADD CONSTRAINT usage_minutes_units_check CHECK ((units >= (0)::double precision)) NOT VALID;

ALTER TABLE ONLY loci.usage_rolled
    ADD CONSTRAINT usage_rolled_pkey PRIMARY KEY (organization_id, service_id, dedup);

ALTER TABLE ONLY loci.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

CREATE INDEX api_keys_by_id ON loci.api_keys USING btree (id);

CREATE INDEX api_keys_by_maker ON loci.api_keys USING btree (organization_id, made_by) WHERE (made_by IS NOT NULL);

CREATE INDEX api_keys_by_session ON loci.api_keys USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE UNIQUE INDEX billing_events_inbox ON loci.billing_events USING btree (inbox_key) WHERE (inbox_key IS NOT NULL);

CREATE INDEX billing_events_of_tenant ON loci.billing_events USING btree (organization_id, tenant_id, arrival DESC);

CREATE INDEX cli_logins_by_end ON loci.cli_logins USING btree (expires_at);

CREATE INDEX cli_logins_by_session ON loci.cli_logins USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE UNIQUE INDEX cli_logins_open ON loci.cli_logins USING btree (user_code);

CREATE INDEX deletions_by_seq ON loci.deletions USING btree (cell_id, seq);

CREATE INDEX deletions_of_instances ON loci.deletions USING btree (cell_id, service_id) WHERE (database = ''::text);

CREATE INDEX due_services_by_time ON loci.due_services USING btree (due_at);

CREATE INDEX due_tenants_by_time ON loci.due_tenants USING btree (due_at);

CREATE UNIQUE INDEX feed_items_by_seq ON loci.feed_items USING btree (cell_id, seq);

CREATE INDEX feed_items_deleted ON loci.feed_items USING btree (cell_id, seq) WHERE ((kind = 'instance'::text) AND ((body ->> 'state'::text) = 'deleted'::text));

CREATE INDEX feed_items_ordinary ON loci.feed_items USING btree (cell_id, seq) WHERE (kind = ANY (ARRAY['instance'::text, 'partner_credential'::text]));

CREATE INDEX feed_items_owned ON loci.feed_items USING btree (cell_id, ((body ->> 'org'::text)), ((body ->> 'ten'::text))) WHERE (kind = 'instance'::text);

CREATE INDEX feed_items_revocations ON loci.feed_items USING btree (((body ->> 'expires_at'::text))) WHERE (kind = 'revocation'::text);

CREATE INDEX feed_items_urgent ON loci.feed_items USING btree (cell_id, seq) WHERE (kind = ANY (ARRAY['key'::text, 'revocation'::text]));

CREATE INDEX idempotency_old ON loci.idempotency USING btree (organization_id, created_at);

CREATE UNIQUE INDEX invitations_by_digest ON loci.invitations USING btree (digest);

CREATE INDEX members_of_user ON loci.members USING btree (user_id);

CREATE INDEX oauth_clients_by_id ON loci.oauth_clients USING btree (id);

CREATE INDEX oauth_grants_by_end ON loci.oauth_grants USING btree (organization_id, expires_at);

CREATE INDEX oauth_grants_by_id ON loci.oauth_grants USING btree (id);

CREATE INDEX oauth_grants_of_session ON loci.oauth_grants USING btree (session_id) WHERE (ended_at IS NULL);

CREATE INDEX oauth_grants_of_user ON loci.oauth_grants USING btree (organization_id, user_id, id) WHERE (ended_at IS NULL);

CREATE INDEX operations_of_service ON loci.operations USING btree (organization_id, service_id, created_at);

CREATE INDEX organizations_by_name ON loci.organizations USING btree (name);

CREATE INDEX partner_credentials_by_id ON loci.partner_credentials USING btree (id);

CREATE INDEX partner_credentials_by_maker ON loci.partner_credentials USING btree (organization_id, made_by) WHERE (revoked_at IS NULL);

CREATE INDEX partner_credentials_listed ON loci.partner_credentials USING btree (organization_id, service_id, id DESC) WHERE (revoked_at IS NULL);

CREATE INDEX ready_times_newest ON loci.ready_times USING btree (placement, at DESC);

CREATE INDEX revocations_of_cells ON loci.revocations USING btree (id DESC) WHERE (cell_id <> ''::text);

CREATE INDEX services_by_id ON loci.services USING btree (id);

CREATE UNIQUE INDEX services_by_slug ON loci.services USING btree (organization_id, slug) WHERE (status <> 'deleted'::text);

CREATE INDEX services_listed ON loci.services USING btree (organization_id, id DESC) WHERE (status <> 'deleted'::text);

CREATE INDEX services_listed_status ON loci.services USING btree (organization_id, status, id DESC) INCLUDE (service_type);

CREATE INDEX services_listed_tenant ON loci.services USING btree (organization_id, tenant_id, id DESC) INCLUDE (service_type, status) WHERE (status <> 'deleted'::text);

CREATE INDEX services_listed_type ON loci.services USING btree (organization_id, service_type, id DESC) INCLUDE (status) WHERE (status <> 'deleted'::text);

CREATE INDEX services_of_tenant ON loci.services USING btree (organization_id, tenant_id, created_at);

CREATE INDEX session_tokens_by_end ON loci.session_tokens USING btree (expires_at);

CREATE INDEX session_tokens_of_session ON loci.session_tokens USING btree (session_id);

CREATE INDEX sessions_of_user ON loci.sessions USING btree (user_id);

CREATE INDEX sessions_to_expire ON loci.sessions USING btree (idle_ends_at) WHERE (ended_at IS NULL);

CREATE INDEX sessions_to_prune ON loci.sessions USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX sessions_to_revoke ON loci.sessions USING btree (revoke_at) WHERE (revoke_at IS NOT NULL);

CREATE UNIQUE INDEX signing_keys_one_active ON loci.signing_keys USING btree (state) WHERE (state = 'active'::text);

CREATE UNIQUE INDEX signing_keys_one_next ON loci.signing_keys USING btree (state) WHERE (state = 'next'::text);

CREATE INDEX tenants_by_id ON loci.tenants USING btree (id);

CREATE UNIQUE INDEX tenants_by_slug ON loci.tenants USING btree (organization_id, slug) WHERE (deleted_at IS NULL);

CREATE UNIQUE INDEX tenants_one_default ON loci.tenants USING btree (organization_id) WHERE (is_default AND (deleted_at IS NULL));

CREATE INDEX token_children_of_parent ON loci.token_children USING btree (organization_id, parent_jti, registered_at DESC);

CREATE INDEX tokens_by_jti ON loci.tokens USING btree (jti);

CREATE INDEX tokens_by_sub ON loci.tokens USING btree (organization_id, sub) WHERE (revoked_at IS NULL);

CREATE INDEX tokens_listed ON loci.tokens USING btree (organization_id, tenant_id, jti DESC);

CREATE INDEX tokens_listed_service ON loci.tokens USING btree (organization_id, service_id, jti DESC);

CREATE INDEX users_by_email ON loci.users USING btree (email);

CREATE UNIQUE INDEX users_by_email_unclaimed ON loci.users USING btree (email) WHERE (issuer IS NULL);

CREATE UNIQUE INDEX users_by_subject ON loci.users USING btree (issuer, subject) WHERE (issuer IS NOT NULL);

CREATE TRIGGER count_added AFTER INSERT ON loci.services REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION loci.count_services();

CREATE TRIGGER count_changed AFTER UPDATE ON loci.services REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION loci.count_services();

ALTER TABLE ONLY loci.api_keys
    ADD CONSTRAINT api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES loci.users(id);

ALTER TABLE ONLY loci.cell_replicas
    ADD CONSTRAINT cell_replicas_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.cell_report_ids
    ADD CONSTRAINT cell_report_ids_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.cell_switches
    ADD CONSTRAINT cell_switches_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.cli_logins
    ADD CONSTRAINT cli_logins_user_id_fkey FOREIGN KEY (user_id) REFERENCES loci.users(id);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.feed_items
    ADD CONSTRAINT feed_items_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.invitations
    ADD CONSTRAINT invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.members
    ADD CONSTRAINT members_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES loci.users(id);

ALTER TABLE ONLY loci.oauth_clients
    ADD CONSTRAINT oauth_clients_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.oauth_grants
    ADD CONSTRAINT oauth_grants_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.oauth_grants
    ADD CONSTRAINT oauth_grants_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE ONLY loci.oauth_grants
    ADD CONSTRAINT oauth_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES loci.users(id);

ALTER TABLE ONLY loci.operations
    ADD CONSTRAINT operations_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE ONLY loci.quarantine
    ADD CONSTRAINT quarantine_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id) ON DELETE SET NULL;

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_organization_id_tenant_id_fkey FOREIGN KEY (organization_id, tenant_id) REFERENCES loci.tenants(organization_id, id);

ALTER TABLE ONLY loci.session_capabilities
    ADD CONSTRAINT session_capabilities_session_id_fkey FOREIGN KEY (session_id) REFERENCES loci.sessions(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.session_tokens
    ADD CONSTRAINT session_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES loci.sessions(id) ON DELETE CASCADE;

ALTER TABLE ONLY loci.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES loci.users(id);

ALTER TABLE ONLY loci.tenants
    ADD CONSTRAINT tenants_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.token_children
    ADD CONSTRAINT token_children_organization_id_parent_jti_fkey FOREIGN KEY (organization_id, parent_jti) REFERENCES loci.tokens(organization_id, jti);

ALTER TABLE ONLY loci.tokens
    ADD CONSTRAINT tokens_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE loci.api_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.billing_events ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.idempotency ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.invitations ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.members ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.oauth_clients ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.oauth_grants ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_chain ON loci.audit USING ((chain = NULLIF(current_setting('loci.chain'::text, true), ''::text))) WITH CHECK ((chain = NULLIF(current_setting('loci.chain'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.api_keys USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.billing_events USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.events USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.idempotency USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.invitations USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.members USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.oauth_clients USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.oauth_grants USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.operations USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.partner_credentials USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.service_counts USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.services USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.tenants USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.token_children USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.tokens USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.usage_minutes USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.usage_rolled USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

ALTER TABLE loci.operations ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_lookup ON loci.api_keys FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.invitations FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.members FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.oauth_clients FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.oauth_grants FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.partner_credentials FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.services FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.tenants FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.token_children FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.tokens FOR SELECT TO loci_owner USING (true);

ALTER TABLE loci.partner_credentials ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.service_counts ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.services ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.tenants ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.token_children ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.usage_minutes ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.usage_rolled ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA loci TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.api_keys TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.audit TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.audit_chains TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.billing_events TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.cell_replicas TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.cell_report_ids TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.cell_switches TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.cells TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.cli_logins TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(database_seq) ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(at) ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(seq) ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(generation) ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(asked_generation) ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(received_at) ON TABLE loci.deletions TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.due_services TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.due_tenants TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.event_heads TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.events TO loci_app;

GRANT SELECT ON TABLE loci.feed_epoch TO loci_app;

GRANT UPDATE(value) ON TABLE loci.feed_epoch TO loci_app;

GRANT UPDATE(seen) ON TABLE loci.feed_epoch TO loci_app;

GRANT UPDATE(changed_at) ON TABLE loci.feed_epoch TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.feed_items TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.idempotency TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.invitations TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.members TO loci_app;

GRANT SELECT ON TABLE loci.migrations TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.oauth_clients TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.oauth_grants TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.operations TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.organizations TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(digest) ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(revoked_at) ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(last_used_at) ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(rotated_at) ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(made_by) ON TABLE loci.partner_credentials TO loci_app;

GRANT SELECT,UPDATE ON TABLE loci.published_limits TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.quarantine TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.rate_limits TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.ready_times TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.revocations TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.sealing_checks TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.service_counts TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.services TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.session_capabilities TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.session_tokens TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.sessions TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.signing_keys TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.tenants TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.token_children TO loci_app;

GRANT UPDATE(revoked_at) ON TABLE loci.token_children TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.tokens TO loci_app;

GRANT UPDATE(revoked_at) ON TABLE loci.tokens TO loci_app;

GRANT UPDATE(last_used_at) ON TABLE loci.tokens TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(requests) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(writes) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(records) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(bytes) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(units) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(routes) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(errors) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(cycles) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(evictions) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(latency) ON TABLE loci.usage_minutes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.usage_rolled TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.users TO loci_app;
