/**
 * SQL for the timeline that a primary writes on, from the name of the WAL file because the control file learns it only
 * at the next checkpoint; null on a standby.
 */
export const PRIMARY_TIMELINE = `case when not pg_is_in_recovery()
      then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end`

/**
 * SQL for what names the life of the database that it is asked in. Another one whenever its contents may have gone
 * back: another server (system identifier), a fail-over or a restore to a point in time (timeline), a dump or a
 * copy read into another database (oid).
 */
export const DATABASE_LIFE = `(select s.system_identifier::text || '.' || coalesce(${PRIMARY_TIMELINE}, (select timeline_id from pg_control_checkpoint()))
    || '.' || d.oid::text
  from pg_control_system() s, pg_database d where d.datname = current_database())`
