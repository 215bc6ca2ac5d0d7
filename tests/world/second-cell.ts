// A second cell of a world: a PostgreSQL of its own, so that it can die alone, and daemons of its own.

import { newKeyPair } from '@loci/capability/jws.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { LociProcess } from './process.ts'
import { manage } from './tenants.ts'
import { prepareDatabase, type World } from './world.ts'

export interface SecondCell {
  id: string
  postgres: Throwaway
  /** Of this cell alone; they are in the world's list too, and stop with it. */
  daemons: LociProcess[]
  startDaemon(): Promise<LociProcess>
}

/** Its PostgreSQL is for the caller to remove, after the world has stopped. */
export async function addSecondCell(world: World, { replicas = 2 } = {}): Promise<SecondCell> {
  const postgres = await startThrowaway()
  try {
    const key = newKeyPair()
    const [, { cell_id: id }] = await Promise.all([
      prepareDatabase(postgres, 'daemon'),
      manage<{ cell_id: string }>(world, [
        ...['cells', 'add', '--name', 'cell-2', '--region', 'us-east-1', '--capacity', '1000'],
        ...['--endpoint', 'http://127.0.0.1:4420', '--public-key', key.publicJwk.x],
      ]),
    ])
    const cell: SecondCell = {
      id,
      postgres,
      daemons: [],
      async startDaemon() {
        const daemon = await world.startDaemon({
          LOCI_DATABASE_URL: postgres.url('loci_daemon', 'loci_cell'),
          LOCI_CELL_ID: id,
          LOCI_CELL_KEY: JSON.stringify(key.privateJwk),
        })
        cell.daemons.push(daemon)
        return daemon
      },
    }
    await Promise.all(Array.from({ length: replicas }, () => cell.startDaemon()))
    return cell
  } catch (error) {
    await postgres.remove()
    throw error
  }
}
