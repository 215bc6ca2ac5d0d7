-- Made by scripts/schema.ts from daemon/migrations, without functions (functions.sql). Do not edit: run it again.

CREATE SCHEMA loci;

CREATE TYPE loci.walk_piece AS (
	prefix text,
	first integer,
	last integer,
	failed integer
);

CREATE TYPE loci.walked AS (
	key text,
	state text,
	bytes bigint,
	is_expired boolean,
	a bigint,
	b bigint,
	version bigint
);

CREATE TABLE loci.databases (
    instance_id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    erasing_since timestamp with time zone,
    kv_keys bigint DEFAULT 0 NOT NULL,
    kv_bytes bigint DEFAULT 0 NOT NULL,
    kv_set_a bigint DEFAULT 0 NOT NULL,
    kv_set_b bigint DEFAULT 0 NOT NULL,
    kv_unsettled boolean DEFAULT false NOT NULL,
    wm_slots bigint DEFAULT 0 NOT NULL,
    wm_bytes bigint DEFAULT 0 NOT NULL,
    wm_set_a bigint DEFAULT 0 NOT NULL,
    wm_set_b bigint DEFAULT 0 NOT NULL,
    wm_unsettled boolean DEFAULT false NOT NULL,
    wm_verified bigint,
    wm_config bigint,
    mem_records bigint DEFAULT 0 NOT NULL,
    mem_bytes bigint DEFAULT 0 NOT NULL,
    mem_set_a bigint DEFAULT 0 NOT NULL,
    mem_set_b bigint DEFAULT 0 NOT NULL,
    mem_unsettled boolean DEFAULT false NOT NULL,
    mem_verified bigint,
    mem_contexts bigint DEFAULT 0 NOT NULL,
    mem_open_context bigint,
    mem_open_position integer DEFAULT 0 NOT NULL,
    mem_open_at timestamp with time zone,
    mem_indexed_through bigint DEFAULT 0 NOT NULL,
    mem_indexed_at bigint DEFAULT 0 NOT NULL,
    mem_index_bytes bigint DEFAULT 0 NOT NULL,
    mem_tail integer DEFAULT 0 NOT NULL,
    mem_erased_at bigint DEFAULT 0 NOT NULL,
    prj_rows bigint DEFAULT 0 NOT NULL,
    prj_held bigint DEFAULT 0 NOT NULL,
    prj_bytes bigint DEFAULT 0 NOT NULL,
    prj_set_a bigint DEFAULT 0 NOT NULL,
    prj_set_b bigint DEFAULT 0 NOT NULL,
    prj_unsettled boolean DEFAULT false NOT NULL,
    prj_verified bigint,
    prj_awaited bigint DEFAULT 0 NOT NULL,
    prj_pending bigint DEFAULT 0 NOT NULL,
    prj_erased_at bigint DEFAULT 0 NOT NULL,
    prj_folded bigint DEFAULT 0 NOT NULL,
    cyc_total bigint DEFAULT 0 NOT NULL,
    cyc_ms bigint DEFAULT 0 NOT NULL,
    cyc_last_at timestamp with time zone,
    cyc_hash bytea,
    cyc_bytes bigint DEFAULT 0 NOT NULL,
    cyc_set_a bigint DEFAULT 0 NOT NULL,
    cyc_set_b bigint DEFAULT 0 NOT NULL,
    cyc_unsettled boolean DEFAULT false NOT NULL,
    cyc_pruned_through bigint DEFAULT 0 NOT NULL,
    cyc_pruned_hash bytea,
    cyc_pruned_ms bigint DEFAULT 0 NOT NULL,
    cyc_focus_seq bigint,
    cyc_seen bigint DEFAULT 0 NOT NULL,
    cyc_weeks date[] DEFAULT '{}'::date[] NOT NULL,
    cyc_week_bytes bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    cyc_trimmed_to timestamp with time zone,
    cyc_config bigint,
    cyc_interval_ms bigint,
    cyc_history bigint DEFAULT 100000 NOT NULL,
    cyc_failed bigint DEFAULT 0 NOT NULL,
    cyc_failed_row bigint DEFAULT 0 NOT NULL,
    cyc_failed_after bigint DEFAULT 0 NOT NULL,
    cyc_failed_at timestamp with time zone,
    cyc_failed_code text,
    cyc_verified bigint,
    cyc_checked_seq bigint,
    cyc_checked_at timestamp with time zone,
    cyc_damaged jsonb
);

ALTER TABLE ONLY loci.databases FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.projections (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    partner text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    class text NOT NULL,
    key_mac bytea NOT NULL,
    content_mac bytea NOT NULL,
    task_class text COLLATE pg_catalog."C",
    body text,
    said_mac bytea,
    intent_mac bytea,
    target text COLLATE pg_catalog."C",
    takes_back bigint,
    taken_by bigint,
    record_id text,
    is_pending boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    leaves_at timestamp with time zone,
    digest bytea NOT NULL,
    CONSTRAINT projections_check CHECK (((body IS NULL) = (leaves_at IS NOT NULL)))
);

ALTER TABLE ONLY loci.projections FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.cycles (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    focus text,
    focus_salt bytea,
    focus_hash bytea,
    focus_mac bytea,
    metadata text,
    metadata_salt bytea,
    metadata_hash bytea,
    after_digest bytea NOT NULL,
    decisions_hash bytea NOT NULL,
    body text NOT NULL,
    prev_hash bytea,
    hash bytea NOT NULL
);
ALTER TABLE ONLY loci.cycles ALTER COLUMN body SET COMPRESSION lz4;

ALTER TABLE ONLY loci.cycles FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.working_memory (
    instance_id text NOT NULL,
    database text NOT NULL,
    version bigint NOT NULL,
    evictions bigint NOT NULL,
    keys text[] NOT NULL,
    texts text[] NOT NULL,
    versions bigint[] NOT NULL,
    expires timestamp with time zone[] NOT NULL,
    metas text[] NOT NULL,
    digests bytea[] NOT NULL,
    soonest timestamp with time zone,
    weeks date[] NOT NULL,
    week_bytes bigint[] NOT NULL,
    digest bytea NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY loci.working_memory ALTER COLUMN instance_id SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN instance_id SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN database SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN database SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN keys SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN keys SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN texts SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN texts SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN versions SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN versions SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN expires SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN expires SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN metas SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN metas SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN digests SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN digests SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN weeks SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN weeks SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN week_bytes SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN week_bytes SET COMPRESSION lz4;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN digest SET STORAGE MAIN;
ALTER TABLE ONLY loci.working_memory ALTER COLUMN digest SET COMPRESSION lz4;

ALTER TABLE ONLY loci.working_memory FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.records (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    changed_seq bigint NOT NULL,
    key text COLLATE pg_catalog."C",
    source_event_id text COLLATE pg_catalog."C",
    context bigint NOT NULL,
    "position" integer NOT NULL,
    value_mac bytea NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    archived_at timestamp with time zone,
    expires_at timestamp with time zone,
    digest bytea NOT NULL,
    presented text,
    due_at timestamp with time zone
);

ALTER TABLE ONLY loci.records FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.entries (
    instance_id text NOT NULL,
    database text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    digest bytea NOT NULL
);

ALTER TABLE ONLY loci.entries FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.segments (
    instance_id text NOT NULL,
    database text NOT NULL,
    id bigint NOT NULL,
    from_seq bigint NOT NULL,
    through_seq bigint NOT NULL,
    items integer NOT NULL,
    format integer NOT NULL,
    encoded bigint NOT NULL,
    body bytea NOT NULL,
    digest bytea NOT NULL
);
ALTER TABLE ONLY loci.segments ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE ONLY loci.segments FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.advice_passed (
    instance_id text NOT NULL,
    database text NOT NULL,
    tool text NOT NULL COLLATE pg_catalog."C",
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    t bigint NOT NULL,
    u bigint NOT NULL
);

ALTER TABLE ONLY loci.advice_passed FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.advice_snapshots (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    erased_at bigint NOT NULL,
    head bytea NOT NULL,
    bytes bigint NOT NULL
);

ALTER TABLE ONLY loci.advice_snapshots FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.advice_tools (
    instance_id text NOT NULL,
    database text NOT NULL,
    place integer NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL
)
WITH (fillfactor='70');

ALTER TABLE ONLY loci.advice_tools FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.advice_weights (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    place integer NOT NULL,
    tool text NOT NULL COLLATE pg_catalog."C",
    task_class text COLLATE pg_catalog."C",
    scope text,
    outcome text NOT NULL,
    t bigint NOT NULL,
    u bigint NOT NULL,
    attempt double precision NOT NULL,
    expected double precision NOT NULL
);

ALTER TABLE ONLY loci.advice_weights FORCE ROW LEVEL SECURITY;

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

CREATE TABLE loci.cell (
    only_row boolean DEFAULT true NOT NULL,
    change_seq bigint DEFAULT 0 NOT NULL,
    feed_epoch text,
    feed_after bigint DEFAULT 0 NOT NULL,
    feed_heard_at timestamp with time zone,
    lease_holder text,
    lease_until timestamp with time zone,
    lease_fence bigint DEFAULT 0 NOT NULL,
    life text,
    ledger_acked bigint DEFAULT 0 NOT NULL,
    ledger_sent bigint DEFAULT 0 NOT NULL,
    ledger_again timestamp with time zone,
    CONSTRAINT cell_only_row_check CHECK (only_row)
);

COMMENT ON TABLE loci.cell IS 'without row-level security: one row, no tenant';

CREATE TABLE loci.clears (
    instance_id text NOT NULL,
    database text NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    keys text[] NOT NULL,
    versions bigint[] NOT NULL,
    used_at timestamp with time zone
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.clears FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.configs (
    instance_id text NOT NULL,
    database text NOT NULL,
    kind text NOT NULL,
    version bigint NOT NULL,
    sent text NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT configs_kind_check CHECK (((kind = ANY (ARRAY['working-memory'::text, 'cognitive'::text])) OR (kind ~~ 'policy/%'::text)))
);

ALTER TABLE ONLY loci.configs FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.contexts (
    instance_id text NOT NULL,
    database text NOT NULL,
    name_mac bytea NOT NULL,
    number bigint NOT NULL,
    "position" integer NOT NULL,
    records integer NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE ONLY loci.contexts FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.credential_uses (
    credential text NOT NULL,
    at timestamp with time zone NOT NULL,
    told_at timestamp with time zone
);

COMMENT ON TABLE loci.credential_uses IS 'without row-level security: ids of credentials and moments, forgotten after a day';

CREATE TABLE loci.cycle_decisions (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    body text NOT NULL
)
PARTITION BY RANGE (at);
ALTER TABLE ONLY loci.cycle_decisions ALTER COLUMN body SET COMPRESSION lz4;

ALTER TABLE ONLY loci.cycle_decisions FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.deletions (
    instance_id text NOT NULL,
    database text NOT NULL,
    value_mac bytea DEFAULT '\x'::bytea NOT NULL,
    is_override boolean DEFAULT false NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    at timestamp with time zone NOT NULL,
    reported_at timestamp with time zone
);

COMMENT ON TABLE loci.deletions IS 'without row-level security: ids, times and HMACs only; kept after erasure: it is the ledger of what was erased';

CREATE TABLE loci.due (
    instance_id text NOT NULL,
    database text NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    after text DEFAULT ''::text NOT NULL,
    first_at timestamp with time zone,
    CONSTRAINT due_kind_check CHECK ((kind = ANY (ARRAY['expiry'::text, 'slots'::text, 'records'::text, 'projections'::text, 'history'::text, 'index'::text, 'vectors'::text, 'advice'::text, 'cycle'::text, 'config'::text, 'erase'::text])))
);

COMMENT ON TABLE loci.due IS 'without row-level security: claimed by workers for all instances at once; names and times';

CREATE TABLE loci.event_heads (
    instance_id text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE loci.event_heads IS 'without row-level security: one query asks for many instances; ids and numbers only';

CREATE TABLE loci.events (
    instance_id text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    type text NOT NULL,
    database text NOT NULL,
    domain text NOT NULL,
    data json NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.events FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.evictions (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    why text NOT NULL,
    digest bytea NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.evictions FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.idempotency (
    instance_id text NOT NULL,
    database text NOT NULL,
    route text NOT NULL,
    holder text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    sealed_with text NOT NULL,
    status integer NOT NULL,
    answer json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    bytes integer DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY loci.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.instance_keys (
    instance_id text NOT NULL,
    sealed text NOT NULL,
    sealed_with text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE loci.instance_keys IS 'without row-level security: sealed, and resealed for all instances at once';

CREATE UNLOGGED TABLE loci.instance_rates (
    instance_id text NOT NULL,
    replica text NOT NULL,
    units bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.instance_rates IS 'without row-level security: counts, no content';

CREATE TABLE loci.instance_totals (
    instance_id text NOT NULL,
    slot integer NOT NULL,
    records bigint NOT NULL,
    bytes bigint NOT NULL,
    written bigint NOT NULL
);

COMMENT ON TABLE loci.instance_totals IS 'without row-level security: counts, no content';

CREATE TABLE loci.instances (
    id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    service_type text NOT NULL,
    plan text NOT NULL,
    state text NOT NULL,
    state_reason text,
    generation bigint NOT NULL,
    limits jsonb NOT NULL,
    config jsonb NOT NULL,
    change_seq bigint NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    purged_at timestamp with time zone,
    awaiting jsonb,
    keyed_answers bigint DEFAULT 0 NOT NULL,
    keyed_bytes bigint DEFAULT 0 NOT NULL,
    keyed_since timestamp with time zone,
    databases bigint DEFAULT 0 NOT NULL,
    traces_on date,
    traces_events bigint DEFAULT 0 NOT NULL,
    traces_acts bigint DEFAULT 0 NOT NULL,
    traces_written bigint DEFAULT 0 NOT NULL,
    held_until timestamp with time zone,
    CONSTRAINT instances_state_check CHECK ((state = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text])))
);

COMMENT ON TABLE loci.instances IS 'without row-level security: read before the caller is known, scanned by workers; no content';

CREATE TABLE loci.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    serves integer NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.migrations IS 'without row-level security: versions of the schema, no tenant';

CREATE TABLE loci.partner_credentials (
    id text NOT NULL,
    instance_id text NOT NULL,
    organization_id text NOT NULL,
    tenant_id text NOT NULL,
    partner text NOT NULL,
    database text NOT NULL,
    projection_classes text[] NOT NULL,
    routes text[] NOT NULL,
    digest bytea NOT NULL,
    state text NOT NULL,
    expires_at timestamp with time zone,
    change_seq bigint NOT NULL,
    CONSTRAINT partner_credentials_state_check CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text])))
);

COMMENT ON TABLE loci.partner_credentials IS 'without row-level security: looked up before the caller is known; digests only';

CREATE TABLE loci.probes (
    instance_id text NOT NULL,
    nonce text NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.probes FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.revocations (
    kind text NOT NULL,
    svc text NOT NULL,
    value text NOT NULL,
    not_before timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    origin text NOT NULL,
    audit_id text,
    reported_at timestamp with time zone,
    change_seq bigint NOT NULL,
    revoked_at timestamp with time zone,
    withdrawn boolean DEFAULT false NOT NULL,
    restated boolean DEFAULT false NOT NULL,
    CONSTRAINT revocations_kind_check CHECK ((kind = ANY (ARRAY['jti'::text, 'org'::text, 'ten'::text, 'svc'::text, 'sub'::text]))),
    CONSTRAINT revocations_origin_check CHECK ((origin = ANY (ARRAY['management'::text, 'cell'::text])))
);

COMMENT ON TABLE loci.revocations IS 'without row-level security: checked before the caller is known; ids only';

CREATE TABLE loci.sealing_checks (
    id text NOT NULL,
    value bytea NOT NULL,
    first_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.sealing_checks IS 'without row-level security: check values of sealing keys, no tenant';

CREATE TABLE loci.signing_keys (
    kid text NOT NULL,
    x text NOT NULL,
    state text NOT NULL,
    retire_at timestamp with time zone,
    change_seq bigint NOT NULL,
    CONSTRAINT signing_keys_state_check CHECK ((state = ANY (ARRAY['active'::text, 'retiring'::text, 'removed'::text])))
);

COMMENT ON TABLE loci.signing_keys IS 'without row-level security: public keys of management';

CREATE TABLE loci.slot_versions (
    instance_id text NOT NULL,
    database text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    text text NOT NULL,
    meta text NOT NULL,
    expires timestamp with time zone,
    digest bytea NOT NULL,
    value_mac bytea NOT NULL
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.slot_versions FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.subservices (
    name text NOT NULL,
    enabled boolean NOT NULL,
    since timestamp with time zone NOT NULL,
    changed_by text,
    reason text,
    auto_revert_at timestamp with time zone,
    changed_at timestamp with time zone,
    told_at timestamp with time zone,
    told_outcome text
);

COMMENT ON TABLE loci.subservices IS 'without row-level security: switches of the cell, no tenant';

CREATE TABLE loci.tombstones (
    instance_id text NOT NULL,
    database text NOT NULL,
    value_mac bytea NOT NULL,
    record_id text NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.tombstones FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.usage_flushes (
    replica text NOT NULL,
    flush bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.usage_flushes IS 'without row-level security: numbers of the replicas, no tenant';

CREATE TABLE loci.usage_minutes (
    instance_id text NOT NULL,
    minute timestamp with time zone NOT NULL,
    replica text NOT NULL,
    requests bigint NOT NULL,
    writes bigint NOT NULL,
    units double precision DEFAULT 0 NOT NULL,
    routes jsonb DEFAULT '{}'::jsonb NOT NULL,
    errors bigint DEFAULT 0 NOT NULL,
    cycles bigint DEFAULT 0 NOT NULL,
    evictions bigint DEFAULT 0 NOT NULL,
    latency bigint[] DEFAULT '{}'::bigint[] NOT NULL
);

COMMENT ON TABLE loci.usage_minutes IS 'without row-level security: counts, no content; kept after erasure: they leave with their report';

CREATE TABLE loci.verified (
    instance_id text NOT NULL,
    database text NOT NULL,
    seq bigint NOT NULL,
    rows bigint NOT NULL,
    verified_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY loci.verified FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY loci.advice_passed
    ADD CONSTRAINT advice_passed_pkey PRIMARY KEY (instance_id, database, tool);

ALTER TABLE ONLY loci.advice_snapshots
    ADD CONSTRAINT advice_snapshots_pkey PRIMARY KEY (instance_id, database);

ALTER TABLE ONLY loci.advice_tools
    ADD CONSTRAINT advice_tools_pkey PRIMARY KEY (instance_id, database, place);

ALTER TABLE ONLY loci.advice_weights
    ADD CONSTRAINT advice_weights_pkey PRIMARY KEY (instance_id, database, seq, place);

ALTER TABLE ONLY loci.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY loci.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.cell
    ADD CONSTRAINT cell_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY loci.clears
    ADD CONSTRAINT clears_pkey PRIMARY KEY (instance_id, database, id, at);

ALTER TABLE ONLY loci.configs
    ADD CONSTRAINT configs_pkey PRIMARY KEY (instance_id, database, kind);

ALTER TABLE ONLY loci.contexts
    ADD CONSTRAINT contexts_pkey PRIMARY KEY (instance_id, database, name_mac);

ALTER TABLE ONLY loci.credential_uses
    ADD CONSTRAINT credential_uses_pkey PRIMARY KEY (credential);

ALTER TABLE ONLY loci.cycle_decisions
    ADD CONSTRAINT cycle_decisions_pkey PRIMARY KEY (instance_id, database, seq, at);

ALTER TABLE ONLY loci.cycles
    ADD CONSTRAINT cycles_pkey PRIMARY KEY (instance_id, database, seq);

ALTER TABLE ONLY loci.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (instance_id, name);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (instance_id, database, value_mac, is_override);

ALTER TABLE ONLY loci.due
    ADD CONSTRAINT due_pkey PRIMARY KEY (instance_id, database, kind);

ALTER TABLE ONLY loci.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (instance_id, database, key);

ALTER TABLE ONLY loci.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (instance_id);

ALTER TABLE ONLY loci.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (instance_id, seq, at);

ALTER TABLE ONLY loci.evictions
    ADD CONSTRAINT evictions_pkey PRIMARY KEY (instance_id, database, seq, at);

ALTER TABLE ONLY loci.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (instance_id, database, route, holder, key);

ALTER TABLE ONLY loci.instance_keys
    ADD CONSTRAINT instance_keys_pkey PRIMARY KEY (instance_id);

ALTER TABLE ONLY loci.instance_rates
    ADD CONSTRAINT instance_rates_pkey PRIMARY KEY (instance_id, replica);

ALTER TABLE ONLY loci.instance_totals
    ADD CONSTRAINT instance_totals_pkey PRIMARY KEY (instance_id, slot);

ALTER TABLE ONLY loci.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.probes
    ADD CONSTRAINT probes_pkey PRIMARY KEY (instance_id);

ALTER TABLE ONLY loci.projections
    ADD CONSTRAINT projections_pkey PRIMARY KEY (instance_id, database, seq);

ALTER TABLE ONLY loci.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (instance_id, database, seq);

ALTER TABLE ONLY loci.revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (kind, svc, value);

ALTER TABLE ONLY loci.sealing_checks
    ADD CONSTRAINT sealing_checks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.segments
    ADD CONSTRAINT segments_pkey PRIMARY KEY (instance_id, database, id);

ALTER TABLE ONLY loci.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY loci.slot_versions
    ADD CONSTRAINT slot_versions_pkey PRIMARY KEY (instance_id, database, key, version, at);

ALTER TABLE ONLY loci.subservices
    ADD CONSTRAINT subservices_pkey PRIMARY KEY (name);

ALTER TABLE ONLY loci.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (instance_id, database, value_mac);

ALTER TABLE ONLY loci.usage_flushes
    ADD CONSTRAINT usage_flushes_pkey PRIMARY KEY (replica);

ALTER TABLE ONLY loci.usage_minutes
    ADD CONSTRAINT usage_minutes_pkey PRIMARY KEY (instance_id, minute, replica);

ALTER TABLE ONLY loci.verified
    ADD CONSTRAINT verified_pkey PRIMARY KEY (instance_id, database);

ALTER TABLE ONLY loci.working_memory
    ADD CONSTRAINT working_memory_pkey PRIMARY KEY (instance_id, database);

CREATE INDEX advice_weights_by_tool ON loci.advice_weights USING btree (instance_id, database, task_class, tool, seq, place);

CREATE UNIQUE INDEX contexts_by_number ON loci.contexts USING btree (number, instance_id, database);

CREATE INDEX cycles_by_focus ON loci.cycles USING btree (instance_id, database, focus_mac) WHERE (focus_mac IS NOT NULL);

CREATE UNIQUE INDEX cycles_by_id ON loci.cycles USING btree (instance_id, database, id);

CREATE INDEX databases_erasing ON loci.databases USING btree (instance_id, name) WHERE (erasing_since IS NOT NULL);

CREATE INDEX deletions_reported ON loci.deletions USING btree (reported_at) WHERE (reported_at IS NOT NULL);

CREATE INDEX deletions_unreported ON loci.deletions USING btree (at) WHERE (reported_at IS NULL);

CREATE INDEX due_by_time ON loci.due USING btree (kind, at);

CREATE INDEX entries_expiring ON loci.entries USING btree (instance_id, database, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX events_by_database ON ONLY loci.events USING btree (instance_id, database);

CREATE INDEX idempotency_age ON loci.idempotency USING btree (instance_id, created_at) WHERE (status > 0);

CREATE INDEX instance_keys_by_seal ON loci.instance_keys USING btree (sealed_with);

CREATE INDEX instances_changed ON loci.instances USING btree (change_seq);

CREATE INDEX instances_held ON loci.instances USING btree (id) WHERE (held_until IS NOT NULL);

CREATE INDEX instances_keyed ON loci.instances USING btree (keyed_since) WHERE (keyed_since IS NOT NULL);

CREATE INDEX instances_to_purge ON loci.instances USING btree (updated_at) WHERE ((state = 'deleted'::text) AND (purged_at IS NULL));

CREATE INDEX partner_credentials_changed ON loci.partner_credentials USING btree (change_seq);

CREATE INDEX partner_credentials_owned ON loci.partner_credentials USING btree (instance_id);

CREATE INDEX projections_awaiting ON loci.projections USING btree (instance_id, database, partner, target) WHERE ((target IS NOT NULL) AND (takes_back IS NULL));

CREATE UNIQUE INDEX projections_by_id ON loci.projections USING btree (instance_id, database, partner, id);

CREATE INDEX projections_by_intent ON loci.projections USING btree (intent_mac, instance_id, database, seq) WHERE (intent_mac IS NOT NULL);

CREATE UNIQUE INDEX projections_by_key ON loci.projections USING btree (instance_id, database, key_mac);

CREATE INDEX projections_by_record ON loci.projections USING btree (instance_id, database, record_id, expires_at DESC) WHERE ((record_id IS NOT NULL) AND (taken_by IS NULL) AND (body IS NOT NULL));

CREATE INDEX projections_by_said ON loci.projections USING btree (said_mac, instance_id, database, seq) WHERE (said_mac IS NOT NULL);

CREATE INDEX projections_expiring ON loci.projections USING btree (instance_id, database, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX projections_folded ON loci.projections USING btree (instance_id, database, seq) WHERE ((class = 'tool_outcome'::text) OR (takes_back IS NOT NULL));

CREATE INDEX projections_leaving ON loci.projections USING btree (instance_id, database, leaves_at) WHERE (leaves_at IS NOT NULL);

CREATE INDEX projections_pending ON loci.projections USING btree (instance_id, database, seq) WHERE is_pending;

CREATE INDEX projections_referring ON loci.projections USING btree (instance_id, database, task_class, seq) WHERE ((class = 'event'::text) AND (strpos(body, '"evidence_refs"'::text) > 0));

CREATE UNIQUE INDEX records_by_id ON loci.records USING btree (id, instance_id, database);

CREATE INDEX records_by_source_event ON loci.records USING btree (instance_id, database, source_event_id) WHERE (source_event_id IS NOT NULL);

CREATE INDEX records_by_value ON loci.records USING btree (value_mac, instance_id, database) WHERE ((valid_to IS NULL) AND (value_mac IS NOT NULL));

CREATE INDEX records_changed ON loci.records USING btree (instance_id, database, changed_seq) WHERE (changed_seq <> seq);

CREATE INDEX records_closed ON loci.records USING btree (instance_id, database, valid_to) WHERE (valid_to IS NOT NULL);

CREATE INDEX records_closed_by_value ON loci.records USING btree (value_mac, instance_id, database) WHERE (valid_to IS NOT NULL);

CREATE INDEX records_current_key ON loci.records USING btree (instance_id, database, key) WHERE ((key IS NOT NULL) AND (valid_to IS NULL));

CREATE INDEX records_due ON loci.records USING btree (instance_id, database, due_at) WHERE ((due_at IS NOT NULL) AND (valid_to IS NULL));

CREATE INDEX records_expiring ON loci.records USING btree (instance_id, database, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX revocations_changed ON loci.revocations USING btree (change_seq);

CREATE INDEX revocations_unreported ON loci.revocations USING btree (change_seq) WHERE ((origin = 'cell'::text) AND (reported_at IS NULL));

CREATE INDEX slot_versions_by_value ON ONLY loci.slot_versions USING btree (value_mac, instance_id, database) WHERE (value_mac IS NOT NULL);

ALTER TABLE loci.advice_passed ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.advice_snapshots ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.advice_tools ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.advice_weights ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.clears ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.configs ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.contexts ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.cycle_decisions ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.cycles ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.databases ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.evictions ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.idempotency ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_chain ON loci.audit USING ((chain = NULLIF(current_setting('loci.chain'::text, true), ''::text))) WITH CHECK ((chain = NULLIF(current_setting('loci.chain'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.advice_passed USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.advice_snapshots USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.advice_tools USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.advice_weights USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.clears USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.configs USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.contexts USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.cycle_decisions USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.cycles USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.databases USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.entries USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.events USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.evictions USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.idempotency USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.probes USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.projections USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.records USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.segments USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.slot_versions USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.tombstones USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.verified USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_instance ON loci.working_memory USING ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((instance_id = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

ALTER TABLE loci.probes ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.projections ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.records ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.segments ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.slot_versions ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.tombstones ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.verified ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.working_memory ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA loci TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.databases TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.projections TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.cycles TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.working_memory TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.records TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.entries TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.segments TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.advice_passed TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.advice_snapshots TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.advice_tools TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.advice_weights TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.audit TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.audit_chains TO loci_app;

GRANT SELECT ON TABLE loci.cell TO loci_app;

GRANT UPDATE(change_seq) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_epoch) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_after) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(feed_heard_at) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_holder) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_until) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(lease_fence) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(life) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(ledger_acked) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(ledger_sent) ON TABLE loci.cell TO loci_app;

GRANT UPDATE(ledger_again) ON TABLE loci.cell TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.clears TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.configs TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.contexts TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.credential_uses TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.cycle_decisions TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.deletions TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.due TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.event_heads TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.events TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.evictions TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.idempotency TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.instance_keys TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.instance_rates TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.instance_totals TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.instances TO loci_app;

GRANT SELECT ON TABLE loci.migrations TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.partner_credentials TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.probes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.revocations TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.sealing_checks TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.signing_keys TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.slot_versions TO loci_app;

GRANT SELECT,UPDATE ON TABLE loci.subservices TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.tombstones TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.usage_flushes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.usage_minutes TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.verified TO loci_app;
