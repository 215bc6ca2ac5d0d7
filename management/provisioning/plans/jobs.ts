// A service that rests is not reconciled, so limits that changed in plans.json would never reach it. A process that
// starts with other limits than were published last makes every service due, a part at a time; what is published
// already is not published again. After an hour all are made due once more: while releases are mixed, a process of the
// former one may have reconciled some by its own limits.

import { createHash } from 'node:crypto'
import type { Job } from '@loci/chassis/jobs.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { limitsOf, PLAN_NAMES } from '../../plans.ts'
import { announceLimits, putLimitsDue } from './store.ts'

const EVERY_MS = 5_000
/** Fifty a second. */
const PART = { max: 500, everyMs: 20 }

export function planJobs(pool: Pool): Job[] {
  const digest = limitsDigest()
  let isAnnounced = false
  return [
    {
      name: 'limits of plans',
      everyMs: EVERY_MS,
      atStart: true,
      failure: 'making services due after a change of plans.json failed; retrying',
      async run() {
        // Once: two releases that run together must not take turns.
        if (!isAnnounced) await announceLimits(pool, digest)
        isAnnounced = true
        return (await putLimitsDue(pool, { digest, ...PART })) ? undefined : 'done'
      },
    },
  ]
}

function limitsDigest(): string {
  const limits = PLAN_NAMES.map((plan) => [plan, limitsOf(plan)])
  return createHash('sha256').update(JSON.stringify(limits)).digest('hex')
}
