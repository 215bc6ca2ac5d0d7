-- Made by scripts/schema.ts from daemon/migrations. Do not edit: write a migration and run it again.

CREATE SCHEMA loci;

CREATE FUNCTION loci.keep_audit_partitions() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  month date;
  old name;
begin
  perform pg_advisory_xact_lock(7026300002);
  for month in select generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '3 months', interval '1 month')::date loop
    if to_regclass(format('loci.audit_%s', to_char(month, 'YYYYMM'))) is null then
      execute format('create table loci.audit_%s partition of loci.audit for values from (%L) to (%L)',
        to_char(month, 'YYYYMM'), month, (month + interval '1 month')::date);
      execute format('alter table loci.audit_%s enable row level security', to_char(month, 'YYYYMM'));
      execute format('alter table loci.audit_%s force row level security', to_char(month, 'YYYYMM'));
      execute format('create policy one_chain on loci.audit_%s using (chain = nullif(current_setting(''loci.instance'', true), ''''))', to_char(month, 'YYYYMM'));
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

CREATE TABLE loci.audit (
    chain text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    request_id text,
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint,
    hash text,
    prev_hash text
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY loci.audit FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.audit_202611 (
    chain text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    request_id text,
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint,
    hash text,
    prev_hash text
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
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint,
    hash text,
    prev_hash text
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
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint,
    hash text,
    prev_hash text
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
    database text,
    detail jsonb NOT NULL,
    digest text NOT NULL,
    seq bigint,
    hash text,
    prev_hash text
);

ALTER TABLE ONLY loci.audit_202702 FORCE ROW LEVEL SECURITY;

CREATE TABLE loci.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    serves integer NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE loci.subservices (
    name text NOT NULL,
    enabled boolean NOT NULL,
    since timestamp with time zone NOT NULL,
    changed_by text,
    reason text,
    auto_revert_at timestamp with time zone
);

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202611 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202612 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202701 FOR VALUES FROM ('2027-01-01 00:00:00+00') TO ('2027-02-01 00:00:00+00');

ALTER TABLE ONLY loci.audit ATTACH PARTITION loci.audit_202702 FOR VALUES FROM ('2027-02-01 00:00:00+00') TO ('2027-03-01 00:00:00+00');

ALTER TABLE ONLY loci.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, id, at);

ALTER TABLE ONLY loci.audit_202611
    ADD CONSTRAINT audit_202611_pkey PRIMARY KEY (chain, id, at);

ALTER TABLE ONLY loci.audit_202612
    ADD CONSTRAINT audit_202612_pkey PRIMARY KEY (chain, id, at);

ALTER TABLE ONLY loci.audit_202701
    ADD CONSTRAINT audit_202701_pkey PRIMARY KEY (chain, id, at);

ALTER TABLE ONLY loci.audit_202702
    ADD CONSTRAINT audit_202702_pkey PRIMARY KEY (chain, id, at);

ALTER TABLE ONLY loci.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY loci.subservices
    ADD CONSTRAINT subservices_pkey PRIMARY KEY (name);

CREATE INDEX audit_unsealed ON ONLY loci.audit USING btree (chain, at) WHERE (seq IS NULL);

CREATE INDEX audit_202611_chain_at_idx ON loci.audit_202611 USING btree (chain, at) WHERE (seq IS NULL);

CREATE UNIQUE INDEX audit_sealed ON ONLY loci.audit USING btree (chain, seq, at);

CREATE UNIQUE INDEX audit_202611_chain_seq_at_idx ON loci.audit_202611 USING btree (chain, seq, at);

CREATE INDEX audit_202612_chain_at_idx ON loci.audit_202612 USING btree (chain, at) WHERE (seq IS NULL);

CREATE UNIQUE INDEX audit_202612_chain_seq_at_idx ON loci.audit_202612 USING btree (chain, seq, at);

CREATE INDEX audit_202701_chain_at_idx ON loci.audit_202701 USING btree (chain, at) WHERE (seq IS NULL);

CREATE UNIQUE INDEX audit_202701_chain_seq_at_idx ON loci.audit_202701 USING btree (chain, seq, at);

CREATE INDEX audit_202702_chain_at_idx ON loci.audit_202702 USING btree (chain, at) WHERE (seq IS NULL);

CREATE UNIQUE INDEX audit_202702_chain_seq_at_idx ON loci.audit_202702 USING btree (chain, seq, at);

ALTER INDEX loci.audit_unsealed ATTACH PARTITION loci.audit_202611_chain_at_idx;

ALTER INDEX loci.audit_sealed ATTACH PARTITION loci.audit_202611_chain_seq_at_idx;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202611_pkey;

ALTER INDEX loci.audit_unsealed ATTACH PARTITION loci.audit_202612_chain_at_idx;

ALTER INDEX loci.audit_sealed ATTACH PARTITION loci.audit_202612_chain_seq_at_idx;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202612_pkey;

ALTER INDEX loci.audit_unsealed ATTACH PARTITION loci.audit_202701_chain_at_idx;

ALTER INDEX loci.audit_sealed ATTACH PARTITION loci.audit_202701_chain_seq_at_idx;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202701_pkey;

ALTER INDEX loci.audit_unsealed ATTACH PARTITION loci.audit_202702_chain_at_idx;

ALTER INDEX loci.audit_sealed ATTACH PARTITION loci.audit_202702_chain_seq_at_idx;

ALTER INDEX loci.audit_pkey ATTACH PARTITION loci.audit_202702_pkey;

ALTER TABLE loci.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202611 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202612 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202701 ENABLE ROW LEVEL SECURITY;

ALTER TABLE loci.audit_202702 ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_chain ON loci.audit USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text))) WITH CHECK ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202611 USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202612 USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202701 USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

CREATE POLICY one_chain ON loci.audit_202702 USING ((chain = NULLIF(current_setting('loci.instance'::text, true), ''::text)));

GRANT USAGE ON SCHEMA loci TO loci_app;

REVOKE ALL ON FUNCTION loci.keep_audit_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION loci.keep_audit_partitions() TO loci_app;

GRANT SELECT,INSERT ON TABLE loci.audit TO loci_app;

GRANT UPDATE(seq) ON TABLE loci.audit TO loci_app;

GRANT UPDATE(hash) ON TABLE loci.audit TO loci_app;

GRANT UPDATE(prev_hash) ON TABLE loci.audit TO loci_app;

GRANT SELECT ON TABLE loci.migrations TO loci_app;

GRANT SELECT,UPDATE ON TABLE loci.subservices TO loci_app;
