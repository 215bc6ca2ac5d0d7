// A load with what it costs: processor time of the daemons and of PostgreSQL, and bytes of WAL, for each request.

import { cpuTime, threadsUs } from '@loci/tests/world/cpu-time.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import type { World } from '@loci/tests/world/world.ts'
import { type LoadOptions, type LoadResult, runLoad } from './load.ts'

export interface Measured extends LoadResult {
  daemonUs: number
  /** The part of it that V8's threads used to collect garbage and to compile. */
  helpersUs: number
  postgresUs: number
  walBytes: number
}

/** Loads that run side by side, as one; throws unless every answer is a 200. */
export async function runMeasured(world: World, ...loads: LoadOptions[]): Promise<Measured> {
  let [before, after] = [await costs(world), await costs(world)]
  const taking: Promise<void>[] = []
  const results = await Promise.all(
    loads.map((load, n) =>
      runLoad(load, (at) => {
        // They begin and end within the time that a process takes to start.
        if (n > 0) return
        taking.push(
          costs(world).then((taken) => {
            if (at === 'begin') before = taken
            else after = taken
          }),
        )
      }),
    ),
  )
  await Promise.all(taking)
  for (const result of results)
    if (result.errors > 0 || result.requests !== (result.statuses['200'] ?? 0))
      throw new Error(`not every answer was a 200: ${JSON.stringify(result)}`)
  const sum = (of: (result: LoadResult) => number) => results.reduce((total, result) => total + of(result), 0)
  const worst = (of: (result: LoadResult) => number) => Math.max(...results.map(of))
  const requests = sum((one) => one.requests)
  const each = (name: keyof typeof before) => (after[name] - before[name]) / requests
  return {
    ...{ requests, statuses: { 200: requests }, errors: 0, seconds: worst(({ seconds }) => seconds) },
    ...{ perSecond: sum(({ perSecond }) => perSecond), cpu: sum(({ cpu }) => cpu) },
    ...{ p50Ms: worst(({ p50Ms }) => p50Ms), p99Ms: worst(({ p99Ms }) => p99Ms) },
    ...{
      daemonUs: each('daemonUs'),
      helpersUs: each('helpersUs'),
      postgresUs: each('postgresUs'),
      walBytes: each('walBytes'),
    },
  }
}

async function costs(world: World) {
  const cpu = cpuTime(world)
  const [row] = await runSql<{ wal: string }>(
    world.postgres.adminUrl('loci_cell'),
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal`,
  )
  const helpersUs = world.daemons.reduce((sum, { pid }) => sum + threadsUs(pid, 'V8Worker'), 0)
  return { ...cpu, helpersUs, walBytes: Number(row?.wal) }
}
