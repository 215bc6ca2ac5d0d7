/**
 * SQL for what names the life of the database that it is asked in. Another one whenever its contents may have gone
 * back: another server (system identifier), a fail-over or a restore to a point in time (timeline, read from the name
 * of the WAL file because the control file learns it only at the next checkpoint), a dump or a copy read into another
 * database (oid).
 */
export const DATABASE_LIFE = `(select s.system_identifier::text || '.' || case when pg_is_in_recovery()
      then (select timeline_id from pg_control_checkpoint())
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end
    || '.' || d.oid::text
  from pg_control_system() s, pg_database d where d.datname = current_database())`
