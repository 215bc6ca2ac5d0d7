-- The audit chains of a program. Included by a migration of each, and like that never edited after a release.

create table loci.audit (
  chain text not null,
  id text not null,
  at timestamptz not null,
  actor text not null,
  action text not null,
  subject text not null,
  outcome text not null,
  request_id text,
  detail jsonb not null,
  digest text not null,
  seq bigint not null,
  prev_hash text,
  hash text not null,
  primary key (chain, seq, at)
) partition by range (at);
alter table loci.audit enable row level security;
alter table loci.audit force row level security;
create policy one_chain on loci.audit
  using (chain = nullif(current_setting('loci.chain', true), ''))
  with check (chain = nullif(current_setting('loci.chain', true), ''));

create table loci.audit_chains (
  chain text primary key,
  seq bigint not null,
  hash text
);
comment on table loci.audit_chains is 'without row-level security: the head of each chain, ids and hashes only';
