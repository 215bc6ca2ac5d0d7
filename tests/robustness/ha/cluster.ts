// A PostgreSQL of three machines as deploy/patroni makes it: Patroni on each, PgBouncer beside it.

import { execFile } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { runSql } from '../../world/sql.ts'
import { addressOf, deployed, type Machines, NUMBERS, PGBOUNCER_PASSWORD, signal } from './machines.ts'
import type { Software } from './software.ts'

const HEALTHY_MS_MAX = 300_000

export interface ClusterOptions {
  machines: Machines
  software: Software
  /** Patroni's scope; its name in the test. */
  scope: string
  /** Added to the ports of deploy/patroni, for a second one on the same machines. */
  shift: number
  database: string
  /** Logins that programs come with, and passwords. */
  logins: Record<string, string>
  isSynchronous?: boolean
}

export interface Member {
  machine: number
  role: string
  state: string
  timeline: number
}

export interface Cluster {
  scope: string
  /** Through PgBouncer, or to PostgreSQL itself; all three servers. */
  url(role: string, password: string, database: string, via: 'pgbouncer' | 'postgres'): string
  adminUrl(database?: string): string
  members(): Promise<Member[]>
  /** The machine that leads, when all three are there and a standby is synchronous. */
  healthy(): Promise<number>
  /** Another leader than this one; how long that took. */
  another(than: number): Promise<{ machine: number; ms: number }>
  untilNobodyLeads(): Promise<void>
  /** kill -9 of Patroni, PostgreSQL and PgBouncer on the machine. */
  kill(machine: number): void
  start(machine: number): void
  switchover(from: number, to: number): Promise<void>
  /** One more on the machine, of another file. */
  startPgbouncer(machine: number, change: (text: string) => string): void
}

const ADMIN = { role: 'postgres', password: 'change-me-superuser' }

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { machines, software, scope, shift, database, logins, isSynchronous = true } = options
  const [port, rest, bouncer] = [5432 + shift, 8008 + shift, 6432 + shift]
  const own = (text: string) =>
    text
      .replaceAll(/\/run$|\/run(?=[\s/])/gm, `/run/${scope}`)
      .replaceAll('/data/postgres', `/data/${scope}`)
      .replaceAll(/\b(5432|8008|6432)\b/g, (known) => String(Number(known) + shift))
  // There is no /dev/watchdog in here; what that would add is told by docs/operations/high-availability.md.
  const changed = (text: string) =>
    own(text)
      .replace('mode: required', "mode: 'off'")
      .replaceAll(/^(\s+synchronous_mode\w*:) true$/gm, `$1 ${isSynchronous}`)
  const places = NUMBERS.map((machine) => {
    const settings = machines.settings(machine)
    const env = Object.fromEntries(
      Object.entries(settings)
        .filter(([name]) => name.startsWith('PATRONI_'))
        .map(([name, value]) => [name, /_CONNECT_ADDRESS$/.test(name) ? own(value) : value]),
    )
    return {
      machine,
      env: { ...env, PATRONI_SCOPE: scope },
      patroni: machines.file(machine, 'patroni.yml', changed),
      pgbouncer: machines.file(machine, 'pgbouncer.ini', own),
    }
  })
  const placeOf = (machine: number) => places[machine - 1] as (typeof places)[number]
  const pids = new Map<string, number>()
  const start = (machine: number) => {
    const { patroni, pgbouncer, env } = placeOf(machine)
    machines.folder(machine, `run/${scope}`)
    if (!machines.runs(pids.get(`patroni ${machine}`)))
      pids.set(
        `patroni ${machine}`,
        machines.start(machine, `${scope}.log`, [software.patroni, patroni], { ...env, PATH: `/usr/bin:/bin` }),
      )
    if (!machines.runs(pids.get(`pgbouncer ${machine}`)))
      pids.set(
        `pgbouncer ${machine}`,
        machines.start(machine, `${scope}-pgbouncer.log`, [software.pgbouncer, pgbouncer]),
      )
  }
  const listOf = (at: number) => NUMBERS.map((machine) => `${addressOf(machine)}:${at}`).join(',')
  const cluster: Cluster = {
    scope,
    url: (role, password, database, via) =>
      `postgres://${role}:${password}@${listOf(via === 'pgbouncer' ? bouncer : port)}/${database}`,
    adminUrl: (database = 'postgres') => cluster.url(ADMIN.role, ADMIN.password, database, 'postgres'),
    async members() {
      for (const machine of NUMBERS) {
        const answer = await fetch(`https://${addressOf(machine)}:${rest}/cluster`, {
          signal: AbortSignal.timeout(1_500),
        })
          .then((response) => response.json() as Promise<{ members: Record<string, string & number>[] }>)
          .catch(() => undefined)
        if (!answer) continue
        return answer.members.map(({ name, role, state, timeline }) => ({
          machine: Number(String(name).slice(-1)),
          ...{ role: String(role), state: String(state), timeline: Number(timeline) },
        }))
      }
      return []
    },
    async healthy() {
      for (const until = performance.now() + HEALTHY_MS_MAX; ; ) {
        const members = await cluster.members()
        const leader = members.find(({ role, state }) => role === 'leader' && state === 'running')
        const streaming = members.filter(({ state }) => state === 'streaming')
        const isSafe = !isSynchronous || members.some(({ role }) => role === 'sync_standby')
        // What etcd has of it may be older than itself.
        const isLed =
          leader && streaming.length === NUMBERS.length - 1 && isSafe && (await leads(addressOf(leader.machine), rest))
        if (isLed) return leader.machine
        if (performance.now() > until) throw new Error(`${scope} is not healthy: ${JSON.stringify(members)}`)
        await sleep(250)
      }
    },
    async another(than) {
      const startedAt = performance.now()
      for (const until = startedAt + HEALTHY_MS_MAX; ; ) {
        const leaders = await Promise.all(
          NUMBERS.filter((one) => one !== than).map((machine) =>
            leads(addressOf(machine), rest).then((is) => (is ? machine : 0)),
          ),
        )
        const machine = leaders.find((one) => one > 0)
        if (machine) return { machine, ms: Math.round(performance.now() - startedAt) }
        if (performance.now() > until)
          throw new Error(`${scope} has no new leader: ${JSON.stringify(await cluster.members())}`)
        await sleep(100)
      }
    },
    async untilNobodyLeads() {
      for (const until = performance.now() + HEALTHY_MS_MAX; ; await sleep(100)) {
        const leaders = await Promise.all(NUMBERS.map((machine) => leads(addressOf(machine), rest)))
        if (!leaders.includes(true)) return
        if (performance.now() > until) throw new Error(`${scope} still has a leader`)
      }
    },
    kill(machine) {
      for (const name of ['patroni', 'pgbouncer']) signal(pids.get(`${name} ${machine}`) as number, 'SIGKILL')
      // Of the two clusters of the machine, the server whose data directory is this one's.
      for (const pid of machines.pids(machine)) if (worksIn(pid, `/data/${scope}`)) signal(pid, 'SIGKILL')
    },
    start,
    startPgbouncer(machine, change) {
      const file = machines.file(machine, 'pgbouncer.ini', (text) => change(own(text)))
      machines.start(machine, `${scope}-further.log`, [software.pgbouncer, file])
    },
    async switchover(from, to) {
      const { patroni, env } = placeOf(from)
      const names = ['--leader', `node-${from}`, '--candidate', `node-${to}`]
      const command = ['-c', patroni, 'switchover', ...names, '--force', scope]
      await promisify(execFile)(software.patronictl, command, {
        env: { ...process.env, ...env, LANG: 'C.UTF-8' },
        timeout: 60_000,
      })
    },
  }
  for (const machine of NUMBERS) {
    start(machine)
    // The first makes the cluster, the others copy it.
    if (machine === 1) await untilLeads(addressOf(1), rest)
  }
  await cluster.healthy()
  await prepare(cluster, database, logins)
  return cluster
}

async function prepare(cluster: Cluster, database: string, logins: Record<string, string>): Promise<void> {
  const made = Object.entries({ ...logins, pgbouncer_auth: PGBOUNCER_PASSWORD }).map(
    ([name, password]) => `create role ${name} login password '${password}';`,
  )
  await runSql(cluster.adminUrl(), made.join('\n'))
  await runSql(cluster.adminUrl(), readFileSync(deployed('roles.sql'), 'utf8'))
  await runSql(cluster.adminUrl(), databaseSql(database))
}

async function leads(address: string, rest: number): Promise<boolean> {
  const asked = fetch(`https://${address}:${rest}/leader`, { signal: AbortSignal.timeout(1_500) })
  return asked.then(
    async (response) => {
      await response.body?.cancel()
      return response.status === 200
    },
    () => false,
  )
}

async function untilLeads(address: string, rest: number): Promise<void> {
  for (const until = performance.now() + HEALTHY_MS_MAX; !(await leads(address, rest)); await sleep(200))
    if (performance.now() > until) throw new Error(`${address}:${rest} does not lead`)
}

/** A server and its children work in its data directory. */
function worksIn(pid: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).endsWith(folder)
  } catch {
    return false
  }
}
