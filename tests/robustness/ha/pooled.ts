// Connections through the PgBouncer of the machine that leads, open while another one becomes the leader.

import { Client } from '@loci/postgres/primary.ts'
import type { Cluster } from './cluster.ts'
import { inflict } from './faults.ts'
import { addressOf, type Machines } from './machines.ts'

const PORT = 6432
const LOOSE_PORT = 7432

export interface Read {
  /** Of a connection that says that its server is no standby. */
  guarded: string
  /** Of one that says nothing, through a PgBouncer that compares nothing. */
  loose: string
}

/** What each reads afterwards: whether it reads from a standby, or why it can not. */
export async function readAfterSwitchover(
  cluster: Cluster,
  machines: Machines,
  login: { user: string; password: string; database: string },
): Promise<Read> {
  const leader = await cluster.healthy()
  cluster.startPgbouncer(leader, (text) =>
    text.replace(/^track_extra_parameters.*$/m, '').replace(`listen_port = ${PORT}`, `listen_port = ${LOOSE_PORT}`),
  )
  const host = addressOf(leader)
  const guarded = await opened({ ...login, host, port: PORT }, true, 'standby false')
  const loose = await opened({ ...login, host, port: LOOSE_PORT }, false, 'standby false')
  await inflict('switchover', cluster, [], machines)
  // It has come back as one, and can be read.
  await (await opened({ ...login, host, port: LOOSE_PORT }, false, 'standby true')).end()
  const reads = { guarded: await read(guarded), loose: await read(loose) }
  for (const client of [guarded, loose]) await client.end().catch(() => {})
  return reads
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
    await new Promise((resolve) => setTimeout(resolve, 200))
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
