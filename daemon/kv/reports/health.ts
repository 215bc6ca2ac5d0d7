// What kv/health says of the store: a probe that really writes, commits and reads back, and what the server says of
// itself.

import { randomUUID } from 'node:crypto'
import { covers } from '@loci/capability/keyspaces.ts'
import { phraseOf } from '@loci/chassis/store-health.ts'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { storeTroubleOf } from '@loci/contract/store-trouble.ts'
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
 * A store that does not answer is `failed`, with what is wrong in `detail`. Whoever asks while a probe of the instance
 * is on its way shares the next one: probes write one row and would wait for each other, each with a connection. On a
 * server 300 ms away ten of them ran into the limit of a statement, and other requests found no connection.
 */
export function createKvHealth(pool: Pool) {
  const reports = createBatches<undefined, Report>({
    async run(instanceId, asked) {
      const startedAt = performance.now()
      const report = await reportOn(pool, instanceId).catch((error) => failedReport(error, startedAt))
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

type Report = Awaited<ReturnType<typeof reportOn>> | ReturnType<typeof failedReport>

/** What can be said without the store. */
function failedReport(error: unknown, startedAt: number) {
  const reason = error instanceof CommitUnknownError ? error.cause : error
  if (reason === error && !storeTroubleOf(error)) throw error
  return {
    status: 'failed',
    detail: `PostgreSQL: ${phraseOf(reason)}`,
    engine: 'postgresql',
    engineVersion: null,
    schemaVersion: null,
    probe: NO_PROBE,
    durability: { fsync: null, synchronousCommit: null, dataChecksums: null },
    replication: [],
    databases: [],
    ...timesOf(startedAt),
  }
}

function timesOf(startedAt: number) {
  return {
    latencyMs: Math.round((performance.now() - startedAt) * 100) / 100,
    checkedAt: new Date().toISOString(),
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
    ...(probe.detail ? { detail: `PostgreSQL: ${probe.detail}` } : {}),
    status: probe.hasFailed ? 'failed' : facts.isReadOnly || probe.isReadOnly || !isSafe ? 'degraded' : 'ok',
    engine: 'postgresql',
    engineVersion: facts.engineVersion,
    schemaVersion: facts.schemaVersion,
    probe: probe.times,
    durability: { fsync: facts.fsync, synchronousCommit: facts.synchronousCommit, dataChecksums: facts.dataChecksums },
    replication: await listReplication(pool),
    databases,
    ...timesOf(startedAt),
  }
}

interface Probed {
  times: { writeMs: number | null; commitMs: number | null; readMs: number | null }
  isReadOnly: boolean
  hasFailed: boolean
  detail?: string
}

async function probeOf(pool: Pool, instanceId: string, isReadOnly: boolean): Promise<Probed> {
  if (isReadOnly) return { times: NO_PROBE, isReadOnly, hasFailed: false }
  try {
    const { isFound, ...times } = await runProbe(pool, instanceId, randomUUID())
    return { times, isReadOnly, hasFailed: !isFound }
  } catch (error) {
    // It may have become read-only since it was asked.
    if (sqlState(error) === READ_ONLY) return { times: NO_PROBE, isReadOnly: true, hasFailed: false }
    if (isUnavailable(error) || sqlState(error) === undefined) throw error
    // The server answers and would not take the probe: a full disk, a damaged page.
    const detail = storeTroubleOf(error) ? phraseOf(error) : 'it did not take the probe; its own log says why'
    return { times: NO_PROBE, isReadOnly, hasFailed: true, detail }
  }
}
