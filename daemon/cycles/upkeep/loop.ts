// Cycles by schedule, or because many events wait: rows of due work, which any replica claims. There is one only where
// something came in since the last cycle: whatever brings it puts the row on the list, and the commit of a cycle takes
// it off, or moves it by an interval. It stays due while the sub-service is off, the instance takes no writes or is
// over its quota, or the feed is stale: its claim ends after 5 s, and then it is asked again. What it reads is charged
// as a request's is, and while the instance is in debt it waits: else a plan's databases, each with a cycle a second,
// would work for nothing. What cannot be committed is not begun, or only once a minute, where the instance has room and
// not for all of it: its reads would be refused for the sake of cycles that come to nothing.

import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../../access/authority.ts'
import type { Rates } from '../../access/rates.ts'
import type { RequireServed } from '../../access/served.ts'
import type { Quota } from '../../databases/quota.ts'
import type { Due } from '../../databases/store.ts'
import type { Cycles } from '../run.ts'
import { checkDue } from './store.ts'

interface LoopOptions {
  cycles: Cycles
  isEnabled(): boolean
  findInstance(id: string): Instance | undefined | Promise<Instance | undefined>
  requireServed: RequireServed
  rates: Pick<Rates, 'isInDebt'>
  quota: Pick<Quota, 'requireRoom'>
}

const REFUSED_MS = 60_000
const REFUSED_MAX = 20_000

/** The handler of due work `cycle`. */
export function dueCycles({ cycles, isEnabled, findInstance, requireServed, rates, quota }: LoopOptions) {
  /** By instance, when the quota refused a cycle that had been read for. */
  const refused = createCache<number>(REFUSED_MAX)
  return async (sql: Sql, due: Due): Promise<void> => {
    if (!isEnabled()) return
    const instance = await findInstance(due.instanceId)
    if (!instance || instance.state === 'deleted') return
    requireServed(instance, 'write')
    const { isFresh, isPressed, number } = await checkDue(sql, due)
    if (!isFresh || number === null) return
    if (rates.isInDebt(instance)) return
    if (performance.now() - (refused.find(instance.id) ?? Number.NEGATIVE_INFINITY) < REFUSED_MS) return
    await quota.requireRoom(instance, { records: 0, bytes: 0 }, sql)
    const trigger = isPressed ? ('pressure' as const) : ('schedule' as const)
    const source = { type: 'cycle' as const, ref: trigger, actor: null, trust: 'holder' as const }
    try {
      const request = { instance, database: due.database, trigger, requestedBy: null, source, run: {} }
      await cycles.runAfter(number, request)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'QUOTA_EXCEEDED') refused.keep(instance.id, performance.now())
      throw error
    }
  }
}
