// What kv/health says of the store: a probe that really writes, commits and reads back, and what the server says of
// itself.

import { randomUUID } from 'node:crypto'
import { covers } from '@loci/capability/keyspaces.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import { isUnavailable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller } from '../../access/capability-access.ts'
import { listDatabases, listReplication, readFacts, runProbe } from './store.ts'

/** Named in one answer; an instance of the largest plan may have more. */
const DATABASES_MAX = 10_000
const READ_ONLY = '25006'
const NO_PROBE = { writeMs: null, commitMs: null, readMs: null }

/**
 * A store that does not answer is no report: that flies on and becomes 503. Whoever asks while a probe of the instance
 * is on its way shares the next one: probes write one row and would wait for each other, each with a connection. On a
 * server 300 ms away ten of them ran into the limit of a statement, and other requests found no connection.
 */
export function createKvHealth(pool: Pool) {
  const reports = createBatches<undefined, Awaited<ReturnType<typeof reportOn>>>({
    async run(instanceId, asked) {
      const report = await reportOn(pool, instanceId)
      return asked.map(() => report)
    },
    runningMax: 1,
    batchMax: Number.POSITIVE_INFINITY,
  })
  return async ({ instance, ks }: Caller) => {
    const { databases, ...report } = await reports.add(instance.id, undefined)
    return { ...report, databases: databases.filter(({ name }) => covers(ks, 'kv', name)) }
  }
}

async function reportOn(pool: Pool, instanceId: string) {
  const startedAt = performance.now()
  const facts = await readFacts(pool)
  const probe = await probeOf(pool, instanceId, facts.isReadOnly)
  const databases = await listDatabases(pool, instanceId, DATABASES_MAX)
  const isSafe =
    facts.fsync === 'on' && ['on', 'remote_apply'].includes(facts.synchronousCommit) && facts.dataChecksums === 'on'
  return {
    status: probe.hasFailed ? 'failed' : facts.isReadOnly || probe.isReadOnly || !isSafe ? 'degraded' : 'ok',
    engine: 'postgresql',
    engineVersion: facts.engineVersion,
    schemaVersion: facts.schemaVersion,
    probe: probe.times,
    durability: { fsync: facts.fsync, synchronousCommit: facts.synchronousCommit, dataChecksums: facts.dataChecksums },
    replication: await listReplication(pool),
    databases,
    latencyMs: Math.round((performance.now() - startedAt) * 100) / 100,
    checkedAt: new Date().toISOString(),
  }
}

async function probeOf(pool: Pool, instanceId: string, isReadOnly: boolean) {
  if (isReadOnly) return { times: NO_PROBE, isReadOnly, hasFailed: false }
  try {
    const { isFound, ...times } = await runProbe(pool, instanceId, randomUUID())
    return { times, isReadOnly, hasFailed: !isFound }
  } catch (error) {
    // It may have become read-only since it was asked.
    if (sqlState(error) === READ_ONLY) return { times: NO_PROBE, isReadOnly: true, hasFailed: false }
    if (isUnavailable(error) || sqlState(error) === undefined) throw error
    // The server answers and would not take the probe: a full disk, a damaged page.
    return { times: NO_PROBE, isReadOnly, hasFailed: true }
  }
}
