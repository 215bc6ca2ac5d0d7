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
comment on table loci.subservices is 'without row-level security: switches of the cell, no tenant';

insert into loci.subservices (name, enabled, since)
select name, true, now()
from unnest(array['kv', 'working_memory', 'cognitive', 'memory', 'projections', 'advice', 'mcp', 'events']) as name;

-- Who did what. A row belongs to one chain: 'cell' for acts of the administration, else the id of the instance. It is written and
-- linked to the one before it in the transaction of the act, under the lock of its chain's head: acts of one chain take turns,
-- acts of different chains do not know of each other. Append-only, partitioned by month and dropped whole, never row by row.
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
  seq bigint not null,
  prev_hash text,
  hash text not null,
  primary key (chain, seq, at)
) partition by range (at);

create table loci.audit_chains (
  chain text primary key,
  seq bigint not null,
  hash text
);
comment on table loci.audit_chains is 'without row-level security: the head of each chain, ids and hashes only';

alter table loci.audit enable row level security;
alter table loci.audit force row level security;
-- Empty, not null, is what a setting leaves behind once a transaction has used it.
create policy one_chain on loci.audit
  using (chain = nullif(current_setting('loci.instance', true), ''))
  with check (chain = nullif(current_setting('loci.instance', true), ''));

-- Partitions are made ahead of time by the daemons, which own nothing, through this one function.
create function loci.keep_audit_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
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
grant select, insert, update on loci.audit_chains to loci_app;

create function loci.audit_append(p_chain text, p_id text, p_at timestamptz, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_database text, p_detail jsonb, p_digest text)
returns void language plpgsql as $$
declare
  v_head loci.audit_chains;
  v_hash text;
  v_context text := coalesce(current_setting('loci.instance', true), '');
begin
  insert into loci.audit_chains (chain, seq, hash) values (p_chain, 0, null) on conflict do nothing;
  select * into v_head from loci.audit_chains h where h.chain = p_chain for update;
  v_hash := encode(sha256(convert_to(coalesce(v_head.hash, '') || E'\x1f' || (v_head.seq + 1) || E'\x1f' || p_digest, 'UTF8')), 'hex');
  perform set_config('loci.instance', p_chain, true);
  insert into loci.audit (chain, id, at, actor, action, subject, outcome, request_id, database, detail, digest, seq, prev_hash, hash)
    values (p_chain, p_id, p_at, p_actor, p_action, p_subject, p_outcome, p_request_id, p_database, p_detail, p_digest, v_head.seq + 1, v_head.hash, v_hash);
  -- The rest of the transaction goes on in the context that it had.
  perform set_config('loci.instance', v_context, true);
  update loci.audit_chains h set seq = v_head.seq + 1, hash = v_hash where h.chain = p_chain;
end
$$;
revoke all on function loci.audit_append(text, text, timestamptz, text, text, text, text, text, text, jsonb, text) from public;
grant execute on function loci.audit_append(text, text, timestamptz, text, text, text, text, text, text, jsonb, text) to loci_app;
