-- serves: 0006

-- When a token or a partner credential was last used in this cell. Replicas write it, the one with the lease reports it to management:
-- told_at is when it last did.
create table loci.credential_uses (
  credential text primary key,
  at timestamptz not null,
  told_at timestamptz
);
comment on table loci.credential_uses is 'without row-level security: ids of credentials and moments, forgotten after a day';
grant select, insert, update, delete on loci.credential_uses to loci_app;
