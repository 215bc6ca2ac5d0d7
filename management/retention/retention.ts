// What is kept for a time and then removed. Partitions (events 7 days, audit 400 days) are dropped by their own
// features; here is what is removed row by row:
//   answers for repeats          24 hours
//   operations that are over     7 days
//   tokens that have expired     7 days after their end
//   grants of OAuth              7 days after their end
//   usage                        by the minute 2 days, by the hour 90 days, then by the day; marks 400 days
//   config of deleted services   at once
// Organizations take turns, a part of them each minute, so that each has its turn within the hour; row-level security
// stays closed.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import {
  countOrganizations,
  dropDeletedConfigs,
  listOrganizationIds,
  removeAnswers,
  removeGrants,
  removeOperations,
  removeRolledMarks,
  removeTokens,
  rollUpUsage,
} from './store.ts'

const DAY_MS = 86_400_000
const ROWS_MAX = 1_000
const EVERY_MS = 60_000
const ROUND_MINUTES = 60
const TURN_MIN = 100
const TURN_MAX = 5_000

export interface Retention {
  job: Job
  /** The next part of the organizations. */
  turn(now?: Date, signal?: AbortSignal): Promise<void>
}

export function createRetention(pool: Pool, log: Log): Retention {
  let after = ''
  const retention: Retention = {
    job: { name: 'retention', everyMs: EVERY_MS, run: (signal) => retention.turn(new Date(), signal) },
    async turn(now = new Date(), signal) {
      const part = Math.ceil((await countOrganizations(pool)) / ROUND_MINUTES)
      const limit = Math.min(TURN_MAX, Math.max(TURN_MIN, part))
      const ids = await listOrganizationIds(pool, { after, limit })
      after = ids.length < limit ? '' : (ids.at(-1) as string)
      for (const id of ids) {
        if (signal?.aborted) return
        // One organization in trouble must not keep the others from their turn.
        await keepFor(pool, id, now).catch((error) =>
          log.error(
            { error, reason: `organization ${id}` },
            'old rows of an organization were not removed; tried again within the hour',
          ),
        )
      }
    },
  }
  return retention
}

/** Until nothing of it is over its time, a commit for each thousand rows. */
async function keepFor(pool: Pool, organizationId: string, now: Date): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS)
  const chores: ((sql: Sql) => Promise<number>)[] = [
    (sql) => removeAnswers(sql, organizationId, before(1), ROWS_MAX),
    (sql) => removeOperations(sql, organizationId, before(7), ROWS_MAX),
    (sql) => removeTokens(sql, organizationId, before(7), ROWS_MAX),
    (sql) => removeGrants(sql, organizationId, before(7), ROWS_MAX),
    (sql) => {
      const hours = { unit: 'hour' as const, from: ['hour', 'day'], before: wholeHour(before(2)), limit: ROWS_MAX }
      return rollUpUsage(sql, organizationId, hours)
    },
    (sql) => {
      const days = { unit: 'day' as const, from: ['day'], before: wholeDay(before(90)), limit: ROWS_MAX }
      return rollUpUsage(sql, organizationId, days)
    },
    (sql) => removeRolledMarks(sql, organizationId, before(400), ROWS_MAX),
    async (sql) => {
      await dropDeletedConfigs(sql, organizationId)
      return 0
    },
  ]
  for (const chore of chores) {
    const once = () =>
      transaction(pool, async (sql) => {
        await useOrganization(sql, organizationId)
        return chore(sql)
      })
    while ((await once()) >= ROWS_MAX);
  }
}

function wholeHour(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000)
}

function wholeDay(at: Date): Date {
  return new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS)
}
