import type { Job } from '@loci/chassis/jobs.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Sessions } from './sessions.ts'
import { pruneSessions } from './store.ts'

const PRUNED_MAX = 500

export function sessionJobs(pool: Pool, sessions: Sessions | undefined, endCapabilities: () => Promise<void>): Job[] {
  const failure = 'revocation of refresh tokens at the sign-in provider failed; retrying'
  return [
    {
      name: 'proxy',
      everyMs: 2_000,
      failure: 'revocation of capabilities of ended sessions failed; retrying',
      run: () => endCapabilities(),
    },
    {
      name: 'sessions',
      everyMs: 60_000,
      run: async () => ((await pruneSessions(pool, PRUNED_MAX)) >= PRUNED_MAX ? 'again' : undefined),
    },
    ...(sessions
      ? [
          {
            name: 'sign-out',
            everyMs: 5_000,
            failure,
            run: async () => ((await sessions.revokeDue()) ? 'again' : undefined),
          } satisfies Job,
        ]
      : []),
  ]
}
