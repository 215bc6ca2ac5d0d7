// pgBackRest as deploy/pgbackrest has it, for a PostgreSQL of a test.

import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../../world/sql.ts'

const DEPLOYED = fileURLToPath(new URL('../../../deploy/pgbackrest/pgbackrest.conf', import.meta.url))

export interface Backups {
  /** The file that a machine has at /etc/pgbackrest.conf. */
  config: string
  stanza: string
  /** The words of every command so far, but the first two. */
  ran: string[]
  run(...words: string[]): Promise<string>
  /** The settings of docs/operations/backups.md; `archive` is another command than pgBackRest's. */
  archive(command?: string): Promise<void>
  /** Until what was written before is in the repository, without asking for a new file; how long that took. */
  untilArchived(): Promise<number>
  /** Everything of the data directory goes, and comes back as it was at the moment. */
  restore(...words: string[]): Promise<number>
  /** The same beside it, as another server, which archives nothing. */
  restoreInto(side: Throwaway, ...words: string[]): Promise<number>
}

/** The settings that only a start reads. */
export const ARCHIVING = { archive_mode: 'on', archive_command: '/bin/false', archive_timeout: '30s' }

export function backupsOf(server: Throwaway, stanza: string, directory: string): Backups {
  const { uid, gid } = statSync(server.dataDirectory)
  const place = join(directory, stanza)
  const repository = join(place, 'repository')
  for (const path of [place, repository, join(place, 'lock')]) {
    mkdirSync(path, { mode: 0o700 })
    chownSync(path, uid, gid)
  }
  const config = join(place, 'pgbackrest.conf')
  const text = readFileSync(DEPLOYED, 'utf8')
    .replace('[cell-1]', `[${stanza}]`)
    .replace('/var/lib/pgbackrest', repository)
    .replace('/var/lib/postgresql/15/loci', server.dataDirectory)
    .replace('/run/postgresql', server.socketDirectory)
    .replace('pg1-port=5432', `pg1-port=${server.port}\npg1-user=postgres`)
    .replace('[global]', `[global]\nlock-path=${join(place, 'lock')}`)
  writeFileSync(config, text, { mode: 0o600 })
  chownSync(config, uid, gid)
  const backups: Backups = {
    config,
    stanza,
    ran: [],
    async run(...words) {
      backups.ran.push(words.join(' '))
      const all = [`--config=${config}`, `--stanza=${stanza}`, ...words]
      try {
        const { stdout } = await promisify(execFile)('pgbackrest', all, { uid, gid, cwd: place, maxBuffer: 2 ** 26 })
        return stdout
      } catch (error) {
        const { stdout, stderr } = error as { stdout?: string; stderr?: string }
        throw new Error(`pgbackrest ${words.join(' ')}: ${stdout}${stderr}`, { cause: error })
      }
    },
    async archive(command = `pgbackrest --config=${config} --stanza=${stanza} archive-push %p`) {
      await runSql(server.adminUrl(), `alter system set archive_command = '${command}'`)
      await runSql(server.adminUrl(), 'select pg_reload_conf()')
    },
    async untilArchived() {
      const startedAt = performance.now()
      const [now] = await runSql<{ file: string }>(
        server.adminUrl(),
        'select pg_walfile_name(pg_current_wal_lsn()) as file',
      )
      for (;;) {
        const [archiver] = await runSql<{ last: string | null }>(
          server.adminUrl(),
          'select last_archived_wal as last from pg_stat_archiver',
        )
        // Of one timeline, so that names are in order.
        if ((archiver?.last ?? '').slice(0, 24) >= (now?.file as string))
          return Math.round(performance.now() - startedAt)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    },
    async restore(...words) {
      rmSync(server.dataDirectory, { recursive: true, force: true })
      mkdirSync(server.dataDirectory, { mode: 0o700 })
      chownSync(server.dataDirectory, uid, gid)
      const startedAt = performance.now()
      await backups.run(...words, 'restore')
      await server.start()
      return Math.round(performance.now() - startedAt)
    },
    async restoreInto(side, ...words) {
      await side.stop()
      const settings = readFileSync(join(side.dataDirectory, 'throwaway.conf'))
      rmSync(side.dataDirectory, { recursive: true, force: true })
      mkdirSync(side.dataDirectory, { mode: 0o700 })
      chownSync(side.dataDirectory, uid, gid)
      const startedAt = performance.now()
      await backups.run(`--pg1-path=${side.dataDirectory}`, '--archive-mode=off', ...words, 'restore')
      // Its port and its socket are its own.
      writeFileSync(join(side.dataDirectory, 'throwaway.conf'), settings)
      await side.start()
      return Math.round(performance.now() - startedAt)
    },
  }
  return backups
}
