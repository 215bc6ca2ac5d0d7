// What `loci backup check` asks PostgreSQL for, as its administrator.

import { openPool, type Pool } from '@loci/postgres/pool.ts'

export interface Server {
  mode: string
  command: string
  timeoutS: number
  failedWal: string | null
  isFailing: boolean
  archivedS: number | null
  isBehind: boolean
  checksums: string
  isStandby: boolean
}

export interface Unreported {
  count: number
  oldestS: number | null
}

export function openServer(url: string): Pool {
  return openPool({
    url,
    applicationName: 'loci-backup',
    connectionsMax: 1,
    connectMs: 10_000,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
}

export async function readServer(pool: Pool): Promise<Server> {
  const { rows } = await pool.query<Server>({
    text: `select current_setting('archive_mode') as mode, current_setting('archive_command') as command,
        (select setting::int from pg_settings where name = 'archive_timeout') as "timeoutS", last_failed_wal as "failedWal",
        coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as "isFailing",
        extract(epoch from clock_timestamp() - last_archived_time)::float8 as "archivedS",
        case when pg_is_in_recovery() then false
          else coalesce(left(last_archived_wal, 24) < pg_walfile_name(pg_current_wal_insert_lsn() - 1), true) end as "isBehind",
        current_setting('data_checksums') as checksums, pg_is_in_recovery() as "isStandby"
      from pg_stat_archiver`,
  })
  return rows[0] as Server
}

/** Erasures that management has not acknowledged; undefined in a database that is no cell's. */
export async function countUnreported(pool: Pool): Promise<Unreported | undefined> {
  const { rows: tables } = await pool.query<{ isCell: boolean }>({
    text: `select to_regclass('loci.cell') is not null as "isCell"`,
  })
  if (!tables[0]?.isCell) return undefined
  const { rows } = await pool.query<Unreported>({
    text: `select count(*)::int as count, extract(epoch from clock_timestamp() - min(at))::float8 as "oldestS"
      from loci.deletions where reported_at is null`,
  })
  return rows[0]
}
