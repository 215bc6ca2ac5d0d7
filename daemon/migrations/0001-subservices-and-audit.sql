-- serves: 0001

-- The switches of the cell: one row per sub-service, read by every replica twice a second. No content, no tenant.
create table loci.subservices (
  name text primary key,
  enabled boolean not null,
  since timestamptz not null,
  changed_by text,
  reason text,
  -- When the last change takes itself back.
  auto_revert_at timestamptz
);

insert into loci.subservices (name, enabled, since)
select name, true, now()
from unnest(array['kv', 'working_memory', 'cognitive', 'memory', 'projections', 'advice', 'mcp', 'events']) as name;

-- Who did what. A row belongs to one chain: 'cell' for acts of the administration, else the id of the instance. It is
-- written in the transaction of the act; the sealer gives it seq, hash and prev_hash within a second.
-- Append-only, partitioned by month and dropped whole, never row by row.
create table loci.audit (
  chain text not null,
  id text not null,
  at timestamptz not null,
  actor text not null,
  action text not null,
  subject text not null,
  outcome text not null,
  request_id text,
  database text,
  detail jsonb not null,
  digest text not null,
  seq bigint,
  hash text,
  prev_hash text,
  primary key (chain, id, at)
) partition by range (at);

create index audit_unsealed on loci.audit (chain, at) where seq is null;
create unique index audit_sealed on loci.audit (chain, seq, at);

alter table loci.audit enable row level security;
alter table loci.audit force row level security;
-- Empty, not null, is what a setting leaves behind once a transaction has used it.
create policy one_chain on loci.audit
  using (chain = nullif(current_setting('loci.instance', true), ''))
  with check (chain = nullif(current_setting('loci.instance', true), ''));

-- Partitions are made ahead of time by the daemons, which own nothing, through this one function.
create function loci.keep_audit_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
$$;
revoke all on function loci.keep_audit_partitions() from public;
grant execute on function loci.keep_audit_partitions() to loci_app;
select loci.keep_audit_partitions();

grant usage on schema loci to loci_app;
grant select, update on loci.subservices to loci_app;
grant select, insert on loci.audit to loci_app;
grant update (seq, hash, prev_hash) on loci.audit to loci_app;
