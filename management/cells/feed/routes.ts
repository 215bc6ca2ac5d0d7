import { type Access, type Route, route } from '@loci/chassis/route.ts'
import type { Waiting } from '@loci/chassis/waiting.ts'
import { feedQuery, feedResponse } from '@loci/contract/feed.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../../access/cell.ts'
import { noteHeard, readFeed } from '../../acts/feed/store.ts'
import { listSwitchCommands } from '../../acts/switches/store.ts'

interface FeedOptions {
  cell: Access<CellCaller>
  pool: Pool
  waiting: Waiting
  /** Notes which replica calls as the cell. */
  alarms: { noteCaller(caller: CellCaller): Promise<void> }
}

export function feedRoutes({ cell, pool, waiting, alarms }: FeedOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/cell/v1/feed',
        access: cell,
        tag: 'cells',
        deadline: 'longPoll',
        summary: 'Read the changes that the cell has not applied yet.',
        details: 'Instances, keys, revocations, partner credentials.',
        query: feedQuery,
        ignoresUnknownNames: true,
        answers: { 200: feedResponse },
        errors: ['STORE_UNAVAILABLE'],
        failureMessage: 'The feed could not be read.',
      },
      async ({ caller, query, signal, log, requestId, yieldSlot }) => {
        await alarms.noteCaller(caller)
        const asked = { cellId: caller.cellId, after: query.after, urgent: query.urgent, epoch: query.epoch }
        const page = await readWithSwitches(pool, asked)
        // A database that only reads (a fail-over under way) still has a feed to give.
        if (!page.full)
          await noteHeard(pool, caller.cellId, page.epoch, query.after).catch((error) =>
            log.warn(
              { requestId, component: 'cells', reason: caller.cellId, error },
              'feed position and heard_at of a cell were not saved; the cell still got its feed. Is the control database read-only (fail-over)?',
            ),
          )
        if (page.full || page.items.length > 0 || page.switches || query.wait === 0) return page
        yieldSlot()
        // `next` and not `after`: the end may have moved past items that are gone by now.
        await waiting.wait(caller.cellId, page.next, query.wait * 1_000, signal)
        return readWithSwitches(pool, { ...asked, after: page.next, urgent: page.urgent })
      },
    ),
  ]
}

/** Behind the page, up to its end: what is asked meanwhile has a later number, and comes with the next one. */
async function readWithSwitches(pool: Pool, asked: Parameters<typeof readFeed>[1]) {
  const page = await readFeed(pool, asked)
  const place = { after: page.full ? 0 : asked.after, through: page.next }
  const switches = await listSwitchCommands(pool, asked.cellId, place)
  return { ...page, ...(switches.length > 0 ? { switches } : {}) }
}
