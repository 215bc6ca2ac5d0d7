// A primary and a standby on loopback. The standby hears the primary through a proxy that can fall silent, and whoever
// uses the pair connects through another that leads to whichever of them is asked for.

import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openPool } from '../pool.ts'
import { PATIENT } from './database.ts'
import { startTcpProxy } from './tcp-proxy.ts'
import { startThrowaway, type Throwaway } from './throwaway.ts'

export interface Pair extends AsyncDisposable {
  primary: Throwaway
  standby: Throwaway
  /** Through the proxy. */
  url(role: string, database: string): string
  /** Nothing passes between the two any more, and neither is told. */
  cutLink(): void
  /** kill -9 of every process of the primary. */
  killPrimary(): Promise<void>
  /** The standby becomes the primary, and the proxy leads to it. */
  promote(): Promise<void>
}

/** `isSynchronous`: a commit is answered only when the standby has it on disk. */
export async function startPair({ isSynchronous }: { isSynchronous: boolean }): Promise<Pair> {
  const primary = await startThrowaway()
  const link = await startTcpProxy({ port: primary.port })
  const directory = await copyOf(primary, link.port)
  const standby = await startThrowaway({ directory })
  const target = { port: primary.port }
  const entrance = await startTcpProxy(target)
  if (isSynchronous) {
    await runSql(primary.adminUrl(), `alter system set synchronous_standby_names = 'FIRST 1 (standby)'`)
    await runSql(primary.adminUrl(), 'select pg_reload_conf()')
  }
  await untilReplicating(primary, isSynchronous ? 'sync' : 'async')
  return {
    primary,
    standby,
    url: (role, database) => `postgres://${role}@127.0.0.1:${entrance.port}/${database}`,
    cutLink: () => link.blackHole(),
    killPrimary: () => primary.crash(),
    async promote() {
      await runSql(standby.adminUrl(), 'select pg_promote(true, 30)')
      target.port = standby.port
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([link[Symbol.asyncDispose](), entrance[Symbol.asyncDispose]()])
      await standby.remove()
      await primary.remove()
    },
  }
}

/** A base backup in a directory that startThrowaway() continues. */
async function copyOf({ directory, binDirectory, dataDirectory }: Throwaway, port: number): Promise<string> {
  const copy = mkdtempSync(join(dirname(directory), 'loci-standby-'))
  const { uid, gid } = statSync(dataDirectory)
  mkdirSync(join(copy, 'data'), { mode: 0o700 })
  for (const path of [copy, join(copy, 'data')]) chownSync(path, uid, gid)
  const from = `host=127.0.0.1 port=${port} user=postgres application_name=standby`
  try {
    // Not the synchronous one: the proxy that it goes through lives in this process.
    await promisify(execFile)(
      join(binDirectory, 'pg_basebackup'),
      ['-d', from, '-D', join(copy, 'data'), '-X', 'stream', '-R', '-C', '-S', 'standby', '-c', 'fast', '--no-sync'],
      { cwd: copy, uid, gid, timeout: 60_000 },
    )
  } catch (error) {
    rmSync(copy, { recursive: true, force: true })
    throw error
  }
  return copy
}

async function untilReplicating({ adminUrl }: Throwaway, state: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const rows = await runSql<{ sync_state: string }>(
      adminUrl(),
      `select sync_state from pg_stat_replication where state = 'streaming' and application_name = 'standby'`,
    )
    if (rows[0]?.sync_state === state) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the standby did not come to replicate as ${state} within 10 s`)
}

async function runSql<Row extends object>(url: string, text: string): Promise<Row[]> {
  const pool = openPool({ url, applicationName: 'loci-test', connectionsMax: 1, ...PATIENT, onError: () => {} })
  try {
    return (await pool.query<Row>({ text })).rows
  } finally {
    await pool.close()
  }
}
