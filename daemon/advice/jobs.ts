import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import type { AdviceStates } from './states.ts'

/** The handler of due work `advice`. */
export function savingAdvice({ states, pool }: { states: AdviceStates; pool: Pool }) {
  return (_: Sql, due: Due): Promise<void> => states.save(pool, due)
}
