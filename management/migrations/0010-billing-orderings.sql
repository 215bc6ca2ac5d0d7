-- serves: 0010

-- Billing by three orderings (CONTRACT 4.1). `using` and not `update`: row-level security, which is forced on the owner too, would
-- hide every row from an update.

alter table loci.tenants rename column gate to access;
alter table loci.tenants drop constraint tenants_gate_check, alter column access drop default;
alter table loci.tenants
  alter column access type text using case access
    when 'open' then 'full' when 'writes_refused' then 'read_only' when 'off' then 'none' else access end,
  -- `plan` is what the tenant is entitled to.
  add column billed_plan text check (billed_plan in ('free', 'starter', 'pro', 'enterprise')),
  add column customer_id text;
alter table loci.tenants
  alter column access set default 'full',
  add constraint tenants_access_check check (access in ('full', 'read_only', 'none', 'delete'));

alter table loci.billing_events drop constraint billing_events_effect_check;
alter table loci.billing_events
  alter column effect type text using case effect when 'shadowed' then 'unordered' else effect end,
  -- As it was sent.
  add column metadata jsonb,
  -- The subscription that the event counts for: the one it names, or the open one that was found when it arrived; '' = unnamed.
  add column counts_for text;
alter table loci.billing_events
  alter column counts_for type text using subscription_id,
  add constraint billing_events_effect_check check (effect in ('applied', 'superseded', 'unordered', 'parked', 'dead'));
alter table loci.billing_events alter column counts_for set not null;
