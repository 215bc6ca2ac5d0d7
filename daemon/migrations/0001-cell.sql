-- serves: 0001

create table loci.subservices (
  name text primary key,
  enabled boolean not null,
  since timestamptz not null,
  changed_by text,
  reason text,
  -- When the last change is undone by itself.
  auto_revert_at timestamptz
);
comment on table loci.subservices is 'without row-level security: switches of the cell, no tenant';
insert into loci.subservices (name, enabled, since)
select name, true, now()
from unnest(array['kv', 'working_memory', 'cognitive', 'memory', 'projections', 'advice', 'mcp', 'events']) as name;

-- One row. change_seq numbers the changes of instances, keys, revocations and partner credentials; who raises it holds
-- the row until commit, so a replica that has read up to N cannot miss a change below N.
create table loci.cell (
  only_row boolean primary key default true check (only_row),
  change_seq bigint not null default 0,
  feed_epoch text,
  feed_after bigint not null default 0,
  feed_heard_at timestamptz,
  -- The replica that applies the feed, reports and erases. The fence rises with every holder.
  lease_holder text,
  lease_until timestamptz,
  lease_fence bigint not null default 0,
  -- The database in which the feed was last read to its end (libs/postgres/life.ts); another one now: a restored copy.
  life text,
  -- Of the deletion ledger, by management's numbers: what it has acknowledged; the most that it can have been sent; and
  -- since when it has another epoch, so that everything is sent again.
  ledger_acked bigint not null default 0,
  ledger_sent bigint not null default 0,
  ledger_again timestamptz
);
insert into loci.cell default values;
comment on table loci.cell is 'without row-level security: one row, no tenant';

create table loci.signing_keys (
  kid text primary key,
  x text not null,
  state text not null check (state in ('active', 'retiring', 'removed')),
  retire_at timestamptz,
  change_seq bigint not null
);
comment on table loci.signing_keys is 'without row-level security: public keys of management';

create table loci.revocations (
  kind text not null check (kind in ('jti', 'org', 'ten', 'svc', 'sub')),
  -- '*' when the administration of the cell revoked a jti of any instance.
  svc text not null,
  value text not null,
  not_before timestamptz,
  -- No token that it covers is valid after this.
  expires_at timestamptz not null,
  origin text not null check (origin in ('management', 'cell')),
  audit_id text,
  -- When one made in the cell was reported to management.
  reported_at timestamptz,
  change_seq bigint not null,
  -- By the clock of management; null when it did not say.
  revoked_at timestamptz,
  -- Staff of management have taken it back: it refuses nothing, and stays until it would have expired.
  withdrawn boolean not null default false,
  -- Its not_before went back to management's own, when the cell's was taken back.
  restated boolean not null default false,
  primary key (kind, svc, value)
);
create index revocations_changed on loci.revocations (change_seq);
create index revocations_unreported on loci.revocations (change_seq) where origin = 'cell' and reported_at is null;
comment on table loci.revocations is 'without row-level security: checked before the caller is known; ids only';

create table loci.credential_uses (
  credential text primary key,
  at timestamptz not null,
  -- When it was last reported to management.
  told_at timestamptz
);
comment on table loci.credential_uses is 'without row-level security: ids of credentials and moments, forgotten after a day';

-- The last batch of counts that each replica has added to usage_minutes: one that is sent again is counted once.
create table loci.usage_flushes (
  replica text primary key,
  flush bigint not null,
  at timestamptz not null
);
comment on table loci.usage_flushes is 'without row-level security: numbers of the replicas, no tenant';

create table loci.sealing_checks (
  id text primary key,
  value bytea not null,
  first_seen_at timestamptz not null default clock_timestamp()
);
comment on table loci.sealing_checks is 'without row-level security: check values of sealing keys, no tenant';

-- chain: 'cell', or the id of an instance.
-- include: ../../libs/acts/audit/tables.sql

grant usage on schema loci to loci_app;
grant select, update on loci.subservices to loci_app;
grant select, insert on loci.audit, loci.sealing_checks to loci_app;
grant select, insert, update on loci.audit_chains, loci.signing_keys to loci_app;
grant select, insert, update, delete on loci.revocations, loci.credential_uses, loci.usage_flushes to loci_app;
grant select on loci.cell to loci_app;
grant update (change_seq, feed_epoch, feed_after, feed_heard_at, lease_holder, lease_until, lease_fence, life, ledger_acked, ledger_sent, ledger_again) on loci.cell to loci_app;
