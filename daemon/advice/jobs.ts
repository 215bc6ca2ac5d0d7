import { unitsOf } from '@loci/chassis/work.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../access/authority.ts'
import type { Rates } from '../access/rates.ts'
import type { Due } from '../databases/store.ts'
import { type AdviceStates, noWork, readBy } from './states.ts'

interface SaveOptions {
  states: AdviceStates
  pool: Pool
  rates: Pick<Rates, 'charge'>
  findInstance(id: string): Instance | undefined | Promise<Instance | undefined>
}

/** The handler of due work `advice`. What it folds is charged, as to a rank: whoever told it made the work. */
export function savingAdvice({ states, pool, rates, findInstance }: SaveOptions) {
  return async (_: Sql, due: Due): Promise<void> => {
    const work = noWork()
    try {
      await states.save(pool, due, work)
    } finally {
      // Also where it could not be read to its end, or stored: what was folded was work.
      const { rows, bytes } = readBy(work)
      const units = unitsOf(rows, bytes)
      const instance = await findInstance(due.instanceId)
      if (instance) rates.charge(instance, units, true)
    }
  }
}
