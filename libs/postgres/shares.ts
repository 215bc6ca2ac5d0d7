// The connections of a pool, shared by caller. The limiter has more slots than there are connections, so a caller with
// its share of the slots could hold every connection: 32 keyed batches of one instance each wait for the row of that
// instance in a transaction of their own.

import { current, resume } from '@loci/meter/meter.ts'
import { createShare } from '@loci/meter/share.ts'
import type { Client, Pool, Statement } from './pool.ts'

export interface PoolShares {
  /** The pool, of whose connections this caller has at most its share; beyond it calls wait for one of its own. */
  of(caller: string): Pool
  /**
   * `work` while the caller holds one of its share without using it: for work that is more than its statements. It is
   * given back a tick after, when the answer of `work` is written and charged, and the next one finds what it cost.
   */
  inTurn<Result>(caller: string, work: () => Promise<Result>): Promise<Result>
}

/** A quarter of the connections, as of the slots, but at least four: less would slow a lone caller down. */
const SHARE = 4
const EACH_MIN = 4
/**
 * As long as a request waits for a slot (limiter.ts). With 1,250 ms a free instance that sent its burst of 40 lists at
 * once was refused 27 of them on a machine with twenty times its work: four connections, a tenth of a second each.
 */
const WAIT_MS = 2_500

/** `refusal` is thrown when none of the caller's own became free in time: nothing was sent. */
export function sharePool(
  pool: Pool,
  {
    connectionsMax,
    refusal,
    each = Math.max(EACH_MIN, Math.floor(connectionsMax / SHARE)),
    statementMs = 0,
    // Whoever may use one for longer is waited for longer.
    waitMs = Math.max(WAIT_MS, statementMs / 2),
    shareOf = (caller) => caller,
  }: {
    connectionsMax: number
    refusal(): Error
    each?: number
    statementMs?: number
    waitMs?: number
    /** Whose share it is: several callers may have one together. */
    shareOf?(caller: string): string
  },
): PoolShares {
  const { enter, leave } = createShare({ each: () => each, waitMs, refusal })

  async function clientOf(caller: string): Promise<Client> {
    await enter(caller)
    let isLent = true
    const lent = await pool.client().catch((error) => {
      leave(caller)
      throw error
    })
    return {
      ...lent,
      release(broken) {
        lent.release(broken)
        if (isLent) leave(caller)
        isLent = false
      },
    }
  }

  async function once<Row extends object>(caller: string, statement: Statement) {
    const client = await clientOf(caller)
    try {
      return await client.query<Row>(statement)
    } finally {
      client.release()
    }
  }

  return {
    async inTurn(caller, work) {
      const share = shareOf(caller)
      await enter(share)
      try {
        resume()
        // What others of the caller have cost meanwhile may be beyond its burst.
        current()?.payer?.requireRoom()
        return await work()
      } finally {
        setImmediate(leave, share)
      }
    },
    of(caller) {
      const share = shareOf(caller)
      return {
        ...pool,
        client: () => clientOf(share),
        query: <Row extends object>(statement: Statement) =>
          once<Row>(share, statement).catch(async (error) => {
            if (await pool.hasMended(error)) return once<Row>(share, statement)
            throw error
          }),
      }
    },
  }
}
