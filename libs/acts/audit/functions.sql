-- The audit of both programs. Row-level security shows the chain that the setting loci.chain names, and none without
-- it.

-- Makes the partitions of the months ahead and drops those that are older than 400 days: the programs, which own
-- nothing, change tables through this one function. Called at each start, by upkeep and when one is missing. Locks: an
-- advisory lock of its own. A partition is attached, not made as one, because that waits for nobody who writes or
-- reads; one that cannot be dropped within 200 ms, under a backup, is left for the next time.
create or replace function loci.keep_audit_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  v_month date;
  v_name text;
begin
  perform pg_advisory_xact_lock(7026300002);
  for v_month in
    select generate_series(date_trunc('month', now()) - interval '1 month', date_trunc('month', now()) + interval '3 months',
      interval '1 month')::date
  loop
    v_name := format('audit_%s', to_char(v_month, 'YYYYMM'));
    if to_regclass('loci.' || v_name) is null then
      execute format('create table loci.%I (like loci.audit including all)', v_name);
      execute format('alter table loci.%I enable row level security', v_name);
      execute format('alter table loci.%I force row level security', v_name);
      execute format('create policy one_chain on loci.%I using (chain = nullif(current_setting(''loci.chain'', true), ''''))', v_name);
      execute format('alter table loci.audit attach partition loci.%I for values from (%L) to (%L)',
        v_name, v_month, (v_month + interval '1 month')::date);
    end if;
  end loop;
  -- A month goes when its last day is older.
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'loci.audit'::regclass and c.relname ~ '^audit_\d{6}$'
      and to_date(substr(c.relname, 7), 'YYYYMM') + interval '1 month' < now() - interval '400 days'
  loop
    begin
      execute format('drop table loci.%I', v_name);
    exception when lock_not_available then
      raise warning 'loci.% is in use and is dropped later', v_name;
    end;
  end loop;
end
$$;
revoke all on function loci.keep_audit_partitions() from public;
grant execute on function loci.keep_audit_partitions() to loci_app;

-- Appends an entry to its chain. Called by appendAudit(), late in the transaction of the act. Locks: the head of the
-- chain, to the end of the transaction, so that entries are linked in the order of their commits. Cost: one insert and
-- one update.
create or replace function loci.audit_append(p_chain text, p_id text, p_at timestamptz, p_actor text, p_action text, p_subject text,
  p_outcome text, p_request_id text, p_detail jsonb, p_digest text)
returns void language plpgsql as $$
declare
  v_head loci.audit_chains;
  v_hash text;
  v_chain text := coalesce(current_setting('loci.chain', true), '');
begin
  insert into loci.audit_chains (chain, seq, hash) values (p_chain, 0, null) on conflict do nothing;
  select * into v_head from loci.audit_chains h where h.chain = p_chain for update;
  v_hash := encode(sha256(convert_to(
    coalesce(v_head.hash, '') || E'\x1f' || (v_head.seq + 1) || E'\x1f' || p_digest, 'UTF8')), 'hex');
  perform set_config('loci.chain', p_chain, true);
  insert into loci.audit (chain, id, at, actor, action, subject, outcome, request_id, detail, digest, seq, prev_hash, hash)
    values (p_chain, p_id, p_at, p_actor, p_action, p_subject, p_outcome, p_request_id, p_detail, p_digest,
      v_head.seq + 1, v_head.hash, v_hash);
  -- The rest of the transaction sees no more than before.
  perform set_config('loci.chain', v_chain, true);
  update loci.audit_chains h set seq = v_head.seq + 1, hash = v_hash where h.chain = p_chain;
end
$$;

-- The month of today must exist before anything is appended, also by a command.
select loci.keep_audit_partitions();
