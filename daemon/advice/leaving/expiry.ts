import type { Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../../databases/store.ts'
import { eraseExpired } from './store.ts'

/** Erasures behind one snapshot, at most: each one makes a snapshot that is folded from the beginning. */
const ROUNDS = 20

/**
 * The handler of due work `projections`: erases content whose time is over. `saveAdvice` stores what was computed from
 * outcomes before their words go: it cannot be computed again, and what came after them would be weighed otherwise than
 * by whoever had stored it before. Content goes in any case, also where that fails.
 */
export function expiringProjections(saveAdvice: (sql: Sql, due: Due) => Promise<unknown>) {
  return async (sql: Sql, due: Due): Promise<void> => {
    if ((await eraseExpired(sql, due, 'wait')) !== 'unsaved') return
    try {
      await saveAdvice(sql, due)
    } catch (error) {
      await eraseExpired(sql, due, 'lose')
      throw error
    }
    for (let round = 0; round < ROUNDS; round += 1) if ((await eraseExpired(sql, due, 'behind')) !== 'more') return
  }
}
