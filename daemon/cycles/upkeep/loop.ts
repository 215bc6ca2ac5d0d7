// Cycles by schedule, or because many events wait: rows of due work, which any replica claims. There is one only where
// something came in since the last cycle: whatever brings it puts the row on the list, and the commit of a cycle takes
// it off, or moves it by an interval. It stays due while the sub-service is off, the instance takes no writes or is
// over its quota, or the feed is stale: its claim ends after 5 s, and then it is asked again. What it reads is charged
// as a request's is, and while the instance is in debt it waits: else a plan's databases, each with a cycle a second,
// would work for nothing.

import { unitsOf } from '@loci/chassis/work.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../../access/authority.ts'
import type { Rates } from '../../access/rates.ts'
import type { RequireServed } from '../../access/served.ts'
import type { Due } from '../../databases/store.ts'
import type { Cycles } from '../run.ts'
import { checkDue } from './store.ts'

interface LoopOptions {
  cycles: Cycles
  isEnabled(): boolean
  findInstance(id: string): Instance | undefined | Promise<Instance | undefined>
  requireServed: RequireServed
  rates: Pick<Rates, 'charge' | 'isInDebt'>
}

/** The handler of due work `cycle`. */
export function dueCycles({ cycles, isEnabled, findInstance, requireServed, rates }: LoopOptions) {
  return async (sql: Sql, due: Due): Promise<void> => {
    if (!isEnabled()) return
    const instance = await findInstance(due.instanceId)
    if (!instance || instance.state === 'deleted') return
    requireServed(instance, 'write')
    const { isFresh, isPressed, number } = await checkDue(sql, due)
    if (!isFresh || number === null) return
    const { requests_per_second: perSecond, burst } = instance.limits
    if (rates.isInDebt(instance.id, perSecond, burst)) return
    const trigger = isPressed ? ('pressure' as const) : ('schedule' as const)
    const source = { type: 'cycle' as const, ref: trigger, actor: null, trust: 'holder' as const }
    const read = { rows: 0, bytes: 0 }
    const count = (rows: number, bytes: number) => {
      read.rows += rows
      read.bytes += bytes
    }
    try {
      const request = { instance, database: due.database, trigger, requestedBy: null, source, run: {}, count }
      await cycles.runAfter(number, request)
    } finally {
      rates.charge(instance.id, perSecond, burst, 1 + unitsOf(read.rows, read.bytes), true)
    }
  }
}
