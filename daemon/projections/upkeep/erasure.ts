// When a memory is erased its value leaves projections too: events that wait and say it, and outcomes.

import type { Forget } from '../../databases/erasure.ts'
import { forgetIn } from '../store.ts'

/** In one statement. */
const PAGE = 500

export const forgetProjections: Forget = async (sql, { instanceId, database, mac, until }) => {
  const place = { place: 'projections', found: 0, erased: 0 }
  const through = until?.seq ?? Number.MAX_SAFE_INTEGER
  for (let after: number | null = mac ? 0 : null; mac && after !== null; ) {
    const { found, erased, next } = await forgetIn(sql, { instanceId, database }, { mac, after, through, limit: PAGE })
    place.found += found
    place.erased += erased
    after = next
  }
  return { checked: [place], events: [] }
}
