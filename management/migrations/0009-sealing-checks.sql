-- serves: 0006

-- Which sealing keys the replicas of this database use, by a value that is derived from each and tells nothing about it.
create table loci.sealing_checks (
  id text primary key,
  value bytea not null,
  first_seen_at timestamptz not null default clock_timestamp()
);
comment on table loci.sealing_checks is 'without row-level security: check values of sealing keys, no tenant';
grant select, insert on loci.sealing_checks to loci_app;
