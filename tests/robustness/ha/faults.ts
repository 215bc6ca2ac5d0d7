// What happens to the machine that leads, and how long it takes until another one does.

import { setTimeout as sleep } from 'node:timers/promises'
import { runSql } from '../../world/sql.ts'
import type { Cluster } from './cluster.ts'
import { type Machines, NUMBERS } from './machines.ts'

export type Fault = 'kill' | 'pause' | 'cut' | 'disk' | 'etcd' | 'switchover'

/** Breaks, waits for another leader, mends, and waits until all three are there again. */
export async function inflict(fault: Fault, cluster: Cluster, others: Cluster[], machines: Machines): Promise<number> {
  const leader = await cluster.healthy()
  const all = [cluster, ...others]
  if (fault === 'switchover') {
    const standby = (await cluster.members()).find(({ role }) => role === 'sync_standby')
    if (!standby) throw new Error(`${cluster.scope} has no synchronous standby`)
    const startedAt = performance.now()
    await cluster.switchover(leader, standby.machine)
    await cluster.another(leader)
    const ms = Math.round(performance.now() - startedAt)
    await cluster.healthy()
    return ms
  }
  if (fault === 'etcd') return withoutEtcd(cluster, all, machines, leader)
  const mend = breaking(fault, cluster, machines, leader)
  const full = fault === 'disk' ? writeUntilFull(cluster) : undefined
  const { ms } = await cluster.another(leader)
  full?.abort()
  mend()
  for (const one of all) await one.healthy()
  return ms
}

function breaking(fault: Fault, cluster: Cluster, machines: Machines, leader: number): () => void {
  if (fault === 'pause') return machines.pause(leader)
  if (fault === 'cut') return machines.cut(leader)
  if (fault === 'disk') {
    const free = machines.fillDisk(leader)
    return () => {
      free()
      // What ended for want of room, its supervisor would start again.
      machines.startEtcd(leader)
      cluster.start(leader)
    }
  }
  cluster.kill(leader)
  return () => cluster.start(leader)
}

/** New files of WAL: a full disk is met by who needs room. */
function writeUntilFull(cluster: Cluster): AbortController {
  const stop = new AbortController()
  const run = async () => {
    while (!stop.signal.aborted) {
      await runSql(cluster.adminUrl(), 'select pg_switch_wal() from pg_logical_emit_message(false, $1, $1)', [
        'full',
      ]).catch(() => {})
      await sleep(100)
    }
  }
  void run()
  return stop
}

/** Two of three are gone: nobody may lead, until they are back. */
async function withoutEtcd(cluster: Cluster, all: Cluster[], machines: Machines, leader: number): Promise<number> {
  const gone = NUMBERS.filter((machine) => machine !== leader)
  for (const machine of gone) machines.stopEtcd(machine)
  await cluster.untilNobodyLeads()
  const startedAt = performance.now()
  for (const machine of gone) machines.startEtcd(machine)
  for (const one of all) await one.healthy()
  return Math.round(performance.now() - startedAt)
}
