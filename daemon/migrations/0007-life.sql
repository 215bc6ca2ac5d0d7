-- serves: 0004

alter table loci.cell
  -- Of the database in which the feed was last read to its end, as libs/postgres/life.ts names it. Another one now: this is a restored
  -- copy, and what it says of instances, keys and revocations is of an earlier time. Null: the feed was never read to its end.
  add column life text;

update loci.cell set life = (
  select s.system_identifier::text || '.' || ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int || '.' || d.oid::text
  from pg_control_system() s, pg_database d where d.datname = current_database()
) where feed_epoch is not null;
grant update (life) on loci.cell to loci_app;
