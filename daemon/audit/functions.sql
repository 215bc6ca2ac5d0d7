-- Partitions are made ahead of time by the daemons, which own nothing, through this one function.
create or replace function loci.keep_audit_partitions() returns void
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

create or replace function loci.audit_append(p_chain text, p_id text, p_at timestamptz, p_actor text, p_action text, p_subject text, p_outcome text, p_request_id text, p_database text, p_detail jsonb, p_digest text)
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

-- The month of today must exist before anything is appended, also by a command.
select loci.keep_audit_partitions();
