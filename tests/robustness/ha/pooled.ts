// Connections through the PgBouncer of the machine that leads, open while another one becomes the leader.

import { setTimeout as sleep } from 'node:timers/promises'
import { Client, findServers } from '@loci/postgres/primary.ts'
import type { Cluster } from './cluster.ts'
import { inflict } from './faults.ts'
import { addressOf, type Machines, NUMBERS } from './machines.ts'

const PORT = 6432
const LOOSE_PORT = 7432
const EARLY_PORT = 8432

export interface Read {
  /** The answer to a connection that says that its server is no standby. */
  guarded: string
  /** The answer to a new one that says so, when the standby can be read again. */
  guardedAgain: string
  /** The answer to one that says nothing, through a PgBouncer that compares nothing. */
  loose: string
  /** The server that a new process takes for the primary, through a PgBouncer that was first asked beside a standby. */
  found: string
  /** The answer to a connection that says nothing, through that PgBouncer. */
  early: string
  /** The machine that leads by now. */
  primary: string
}

/** Each says whether it reads from a standby, or why it cannot read. */
export async function readAfterSwitchover(
  cluster: Cluster,
  machines: Machines,
  login: { user: string; password: string; database: string },
): Promise<Read> {
  const leader = await cluster.healthy()
  cluster.startPgbouncer(leader, (text) =>
    text.replace(/^track_extra_parameters.*$/m, '').replace(`listen_port = ${PORT}`, `listen_port = ${LOOSE_PORT}`),
  )
  const next = (await cluster.members()).find(({ role }) => role === 'sync_standby')?.machine as number
  cluster.startPgbouncer(next, (text) => text.replace(`listen_port = ${PORT}`, `listen_port = ${EARLY_PORT}`))
  const host = addressOf(leader)
  const guarded = await opened({ ...login, host, port: PORT }, true, 'standby false')
  const loose = await opened({ ...login, host, port: LOOSE_PORT }, false, 'standby false')
  const toEarly = { ...login, host: addressOf(next), port: EARLY_PORT }
  await (await opened(toEarly, false, 'standby true')).end()
  await inflict('switchover', cluster, [], machines)
  // It has come back as one, and can be read.
  await (await opened({ ...login, host, port: LOOSE_PORT }, false, 'standby true')).end()
  const reads = {
    guarded: await read(guarded),
    guardedAgain: await tried({ ...login, host, port: PORT }, true),
    loose: await read(loose),
    found: await found(login),
    early: await tried(toEarly, false),
    primary: `${addressOf(await cluster.healthy())}:${EARLY_PORT}`,
  }
  for (const client of [guarded, loose]) await client.end().catch(() => {})
  return reads
}

async function found({ user, password, database }: { user: string; password: string; database: string }) {
  const list = NUMBERS.map((machine) => `${addressOf(machine)}:${EARLY_PORT}`).join(',')
  const servers = findServers({ url: `postgres://${user}:${password}@${list}/${database}` })
  const leave = servers.join(() => {})
  try {
    for (const until = performance.now() + 30_000; ; await sleep(200)) {
      const error = await servers.find().then(
        () => undefined,
        (reason: Error) => reason.message,
      )
      const place = servers.proven()
      if (place) return place.name
      if (performance.now() > until) return String(error)
    }
  } finally {
    await leave()
  }
}

async function tried(to: object, isGuarded: boolean): Promise<string> {
  const client = new Client({ ...to, ssl: true }, isGuarded)
  // Without a listener the end of the connection would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await read(client)
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.end().catch(() => {})
  }
}

/** Once it has read that. */
async function opened(to: object, isGuarded: boolean, wanted: string): Promise<Client> {
  for (const until = performance.now() + 60_000; ; ) {
    const client = new Client({ ...to, ssl: true }, isGuarded)
    // Without a listener the end of the connection would end the process.
    client.on('error', () => {})
    const said = await client.connect().then(
      () => read(client),
      (error: Error) => error.message,
    )
    if (said === wanted) return client
    await client.end().catch(() => {})
    if (performance.now() > until) throw new Error(`no connection through PgBouncer: ${said}`)
    await sleep(200)
  }
}

async function read(client: Client): Promise<string> {
  try {
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    return `standby ${rows[0]?.standby}`
  } catch (error) {
    return (error as Error).message
  }
}
