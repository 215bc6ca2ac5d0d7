-- Made by scripts/schema.ts from management/migrations. Do not edit: write a migration and run it again.

CREATE SCHEMA loci;

CREATE FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_detail jsonb, p_digest text) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_head loci.audit_chains;
  v_hash text;
  v_context text := coalesce(current_setting('loci.organization', true), '');
begin
  insert into loci.audit_chains (chain, seq, hash) values (p_chain, 0, null) on conflict do nothing;
  select * into v_head from loci.audit_chains h where h.chain = p_chain for update;
  v_hash := encode(sha256(convert_to(coalesce(v_head.hash, '') || E'\x1f' || (v_head.seq + 1) || E'\x1f' || p_digest, 'UTF8')), 'hex');
  perform set_config('loci.organization', p_chain, true);
  insert into loci.audit (chain, id, at, actor, action, subject, outcome, request_id, detail, digest, seq, prev_hash, hash)
    values (p_chain, p_id, p_at, p_actor, p_action, p_subject, p_outcome, p_request_id, p_detail, p_digest, v_head.seq + 1, v_head.hash, v_hash);
  -- The rest of the transaction goes on in the context that it had.
  perform set_config('loci.organization', v_context, true);
  update loci.audit_chains h set seq = v_head.seq + 1, hash = v_hash where h.chain = p_chain;
end
$$;

CREATE FUNCTION loci.keep_audit_partitions() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $_$
declare
  month date;
  old name;
begin
  perform pg_advisory_xact_lock(7026300002);
  for month in select generate_series(date_trunc('month', now()) - interval '1 month', date_trunc('month', now()) + interval '3 months', interval '1 month')::date loop
    if to_regclass(format('loci.audit_%s', to_char(month, 'YYYYMM'))) is null then
      execute format('create table loci.audit_%s partition of loci.audit for values from (%L) to (%L)',
        to_char(month, 'YYYYMM'), month, (month + interval '1 month')::date);
      execute format('alter table loci.audit_%s enable row level security', to_char(month, 'YYYYMM'));
      execute format('alter table loci.audit_%s force row level security', to_char(month, 'YYYYMM'));
      execute format('create policy one_chain on loci.audit_%s using (chain = nullif(current_setting(''loci.organization'', true), ''''))', to_char(month, 'YYYYMM'));
    end if;
  end loop;
  -- Kept 400 days (CONTRACT 7); a month goes when its last day is older.
  for old in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.audit'::regclass and c.relname ~ '^audit_\d{6}$'
      and to_date(substr(c.relname, 7), 'YYYYMM') + interval '1 month' < now() - interval '400 days'
  loop
    execute format('drop table loci.%I', old);
  end loop;
end
$_$;

CREATE FUNCTION loci.owner_of(id text) RETURNS TABLE(organization_id text, tenant_id text, service_id text, cell_id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select t.organization_id, t.id, null, null from loci.tenants t where t.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id from loci.services s where s.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id
  from (
    select t.organization_id, t.service_id from loci.tokens t where t.jti = owner_of.id
    union all
    select c.organization_id, c.service_id from loci.token_children c where c.jti = owner_of.id
    union all
    select p.organization_id, p.service_id from loci.partner_credentials p where p.id = owner_of.id
  ) held join loci.services s on s.organization_id = held.organization_id and s.id = held.service_id
$$;

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

CREATE TABLE loci.audit_202610 (
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
);

ALTER TABLE ONLY loci.audit_202610 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_202611 (
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
);

ALTER TABLE ONLY loci.audit_202611 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_202612 (
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
);

ALTER TABLE ONLY loci.audit_202612 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_202701 (
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
);

ALTER TABLE ONLY loci.audit_202701 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_202702 (
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
);

ALTER TABLE ONLY loci.audit_202702 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_chains (
    chain text NOT NULL,
    seq bigint NOT NULL,
    hash text
);

COMMENT ON TABLE loci.audit_chains IS 'without row-level security: the head of each chain, ids and hashes only';

CREATE TABLE loci.cell_report_ids (
    cell_id text NOT NULL,
    jti text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE loci.cell_report_ids IS 'without row-level security: ids of the tokens of cells';

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
    CONSTRAINT cells_capacity_check CHECK ((capacity > 0)),
    CONSTRAINT cells_public_keys_check CHECK (((jsonb_typeof(public_keys) = 'array'::text) AND ((jsonb_array_length(public_keys) >= 1) AND (jsonb_array_length(public_keys) <= 2))))
);

COMMENT ON TABLE loci.cells IS 'without row-level security: machinery of the platform, no content of an organization';

CREATE TABLE loci.deletions (
    cell_id text NOT NULL,
    service_id text NOT NULL,
    database text DEFAULT ''::text NOT NULL,
    at timestamp with time zone NOT NULL
);

COMMENT ON TABLE loci.deletions IS 'without row-level security: replayed whole by a restored cell; ids and names of databases';

CREATE TABLE loci.feed_epoch (
    only_row boolean DEFAULT true NOT NULL,
    value bigint DEFAULT 1 NOT NULL,
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
    CONSTRAINT feed_items_kind_check CHECK ((kind = ANY (ARRAY['instance'::text, 'key'::text, 'revocation'::text, 'partner_credential'::text])))
);

COMMENT ON TABLE loci.feed_items IS 'without row-level security: of a cell, which has instances of many organizations; ids, limits, public keys and digests';

CREATE TABLE loci.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    serves integer NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE loci.migrations IS 'without row-level security: versions of the schema, no tenant';

CREATE TABLE loci.organizations (
    id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
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
    last_used_at timestamp with time zone
);

ALTER TABLE ONLY loci.partner_credentials FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.revocations (
    cell_id text DEFAULT ''::text NOT NULL,
    kind text NOT NULL,
    svc text NOT NULL,
    value text NOT NULL,
    not_before timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    origin text NOT NULL,
    audit_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT revocations_check CHECK (((kind = 'jti'::text) = (not_before IS NULL))),
    CONSTRAINT revocations_kind_check CHECK ((kind = ANY (ARRAY['jti'::text, 'org'::text, 'ten'::text, 'svc'::text]))),
    CONSTRAINT revocations_origin_check CHECK ((origin = ANY (ARRAY['management'::text, 'cell'::text])))
);

COMMENT ON TABLE loci.revocations IS 'without row-level security: given to every cell, also to one that is added later; ids only';

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
    CONSTRAINT services_desired_state_check CHECK ((desired_state = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text]))),
    CONSTRAINT services_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'starter'::text, 'pro'::text, 'enterprise'::text]))),
    CONSTRAINT services_status_check CHECK ((status = ANY (ARRAY['provisioning'::text, 'active'::text, 'updating'::text, 'suspended'::text, 'failed'::text, 'deleting'::text, 'deleted'::text])))
);

ALTER TABLE ONLY loci.services FORCE ROW LEVEL SECURITY;

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
    registered_at timestamp with time zone DEFAULT now() NOT NULL
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
    last_used_at timestamp with time zone
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
    CONSTRAINT usage_minutes_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT usage_minutes_records_check CHECK ((records >= 0)),
    CONSTRAINT usage_minutes_requests_check CHECK ((requests >= 0)),
    CONSTRAINT usage_minutes_writes_check CHECK ((writes >= 0))
);

ALTER TABLE ONLY loci.usage_minutes FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202610 FOR VALUES FROM ('2026-10-01 00:00:00+00') TO ('2026-11-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202611 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202612 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202701 FOR VALUES FROM ('2027-01-01 00:00:00+00') TO ('2027-02-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202702 FOR VALUES FROM ('2027-02-01 00:00:00+00') TO ('2027-03-01 00:00:00+00');

ALTER TABLE ONLY loci.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_202610
    ADD CONSTRAINT audit_202610_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_202611
    ADD CONSTRAINT audit_202611_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_202612
    ADD CONSTRAINT audit_202612_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_202701
    ADD CONSTRAINT audit_202701_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_202702
    ADD CONSTRAINT audit_202702_pkey PRIMARY KEY (chain, seq, at);

ALTER TABLE ONLY loci.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY loci.cell_report_ids
    ADD CONSTRAINT cell_report_ids_pkey PRIMARY KEY (cell_id, jti);

ALTER TABLE ONLY loci.cells
    ADD CONSTRAINT cells_name_key UNIQUE (name);

ALTER TABLE ONLY loci.cells
    ADD CONSTRAINT cells_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (cell_id, service_id, database);

ALTER TABLE ONLY loci.feed_epoch
    ADD CONSTRAINT feed_epoch_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY loci.feed_items
    ADD CONSTRAINT feed_items_pkey PRIMARY KEY (cell_id, kind, key);

ALTER TABLE ONLY loci.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY loci.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (cell_id, kind, svc, value);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_organization_id_slug_key UNIQUE (organization_id, slug);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY loci.tenants
    ADD CONSTRAINT tenants_organization_id_slug_key UNIQUE (organization_id, slug);

ALTER TABLE ONLY loci.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (organization_id, id);

ALTER TABLE ONLY loci.token_children
    ADD CONSTRAINT token_children_pkey PRIMARY KEY (organization_id, jti);

ALTER TABLE ONLY loci.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (organization_id, jti);

ALTER TABLE ONLY loci.usage_minutes
    ADD CONSTRAINT usage_minutes_pkey PRIMARY KEY (organization_id, service_id, minute, dedup);

CREATE UNIQUE INDEX feed_items_by_seq ON loci.feed_items USING btree (cell_id, seq);

CREATE INDEX organizations_by_name ON loci.organizations USING btree (name);

CREATE INDEX partner_credentials_by_id ON loci.partner_credentials USING btree (id);

CREATE INDEX services_by_id ON loci.services USING btree (id);

CREATE INDEX services_of_tenant ON loci.services USING btree (organization_id, tenant_id, created_at);

CREATE UNIQUE INDEX signing_keys_one_active ON loci.signing_keys USING btree (state) WHERE (state = 'active'::text);

CREATE UNIQUE INDEX signing_keys_one_next ON loci.signing_keys USING btree (state) WHERE (state = 'next'::text);

CREATE INDEX tenants_by_id ON loci.tenants USING btree (id);

CREATE INDEX token_children_by_jti ON loci.token_children USING btree (jti);

CREATE INDEX tokens_by_jti ON loci.tokens USING btree (jti);

CREATE INDEX tokens_of_tenant ON loci.tokens USING btree (organization_id, tenant_id, issued_at);

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202610_pkey;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202611_pkey;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202612_pkey;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202701_pkey;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202702_pkey;

ALTER TABLE ONLY loci.cell_report_ids
    ADD CONSTRAINT cell_report_ids_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id);

ALTER TABLE ONLY loci.deletions
    ADD CONSTRAINT deletions_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id);

ALTER TABLE ONLY loci.feed_items
    ADD CONSTRAINT feed_items_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id);

ALTER TABLE ONLY loci.partner_credentials
    ADD CONSTRAINT partner_credentials_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_cell_id_fkey FOREIGN KEY (cell_id) REFERENCES loci.cells(id);

ALTER TABLE ONLY loci.services
    ADD CONSTRAINT services_organization_id_tenant_id_fkey FOREIGN KEY (organization_id, tenant_id) REFERENCES loci.tenants(organization_id, id);

ALTER TABLE ONLY loci.tenants
    ADD CONSTRAINT tenants_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES loci.organizations(id);

ALTER TABLE ONLY loci.token_children
    ADD CONSTRAINT token_children_organization_id_parent_jti_fkey FOREIGN KEY (organization_id, parent_jti) REFERENCES loci.tokens(organization_id, jti);

ALTER TABLE ONLY loci.tokens
    ADD CONSTRAINT tokens_organization_id_service_id_fkey FOREIGN KEY (organization_id, service_id) REFERENCES loci.services(organization_id, id);

ALTER TABLE loci.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202610 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202611 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202612 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202701 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202702 ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_chain ON loci.audit USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202610 USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202611 USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202612 USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202701 USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202702 USING ((chain = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.partner_credentials USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.services USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.tenants USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.token_children USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.tokens USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY one_organization ON loci.usage_minutes USING ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text))) WITH CHECK ((organization_id = NULLIF(current_setting('loci.organization'::text, true), ''::text)));

CREATE POLICY owner_lookup ON loci.partner_credentials FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.services FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.tenants FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.token_children FOR SELECT TO loci_owner USING (true);

CREATE POLICY owner_lookup ON loci.tokens FOR SELECT TO loci_owner USING (true);

ALTER TABLE loci.partner_credentials ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.services ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.tenants ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.token_children ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.usage_minutes ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA loci TO loci_app;

REVOKE ALL ON FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_detail jsonb, p_digest text) FROM PUBLIC;
GRANT ALL ON FUNCTION loci.audit_append(p_chain text, p_id text, p_at timestamp with time zone, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_detail jsonb, p_digest text) TO loci_app;

REVOKE ALL ON FUNCTION loci.keep_audit_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION loci.keep_audit_partitions() TO loci_app;

REVOKE ALL ON FUNCTION loci.owner_of(id text) FROM PUBLIC;
GRANT ALL ON FUNCTION loci.owner_of(id text) TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.audit TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.audit_chains TO loci_app;

GRANT SELECT,INSERT,DELETE ON TABLE loci.cell_report_ids TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.cells TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.deletions TO loci_app;

GRANT UPDATE(at) ON TABLE loci.deletions TO loci_app;

GRANT SELECT ON TABLE loci.feed_epoch TO loci_app;

GRANT UPDATE(value) ON TABLE loci.feed_epoch TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.feed_items TO loci_app;

GRANT SELECT ON TABLE loci.migrations TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.organizations TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(revoked_at) ON TABLE loci.partner_credentials TO loci_app;

GRANT UPDATE(last_used_at) ON TABLE loci.partner_credentials TO loci_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE loci.revocations TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.services TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.signing_keys TO loci_app;

GRANT SELECT,INSERT,UPDATE ON TABLE loci.tenants TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.token_children TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.tokens TO loci_app;

GRANT UPDATE(revoked_at) ON TABLE loci.tokens TO loci_app;

GRANT UPDATE(last_used_at) ON TABLE loci.tokens TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(requests) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(writes) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(records) ON TABLE loci.usage_minutes TO loci_app;

GRANT UPDATE(bytes) ON TABLE loci.usage_minutes TO loci_app;
