-- serves: 0003
-- functions: b91f0958f33c3d77b3b2d1d5ae3553d14bf045442f915e3c4ff65dfeacda2724

-- What happened in an instance, for whoever follows it: names and ids, no content. Partitions of six hours, kept for
-- 24. `at` never falls from one seq to the next.
create table loci.events (
  instance_id text not null,
  seq bigint not null,
  at timestamptz not null,
  type text not null,
  database text not null,
  domain text not null,
  -- json, not jsonb: it is never searched, and is sent as it is stored.
  data json not null,
  primary key (instance_id, seq, at)
) partition by range (at);
alter table loci.events enable row level security;
alter table loci.events force row level security;
create policy one_instance on loci.events
  using (instance_id = nullif(current_setting('loci.instance', true), ''))
  with check (instance_id = nullif(current_setting('loci.instance', true), ''));

-- The number and the time of the last event of each instance. Half of each page is left free: it is updated in place.
create table loci.event_heads (
  instance_id text primary key,
  seq bigint not null,
  at timestamptz not null
) with (fillfactor = 50);
comment on table loci.event_heads is 'without row-level security: one query asks for many instances; ids and numbers only';

grant select, insert, delete on loci.events to loci_app;
grant select, insert, update, delete on loci.event_heads to loci_app;
