// After a restore the records that were erased since the backup are back, and their tombstones are gone. Management has
// kept the deletion ledger: before the cell serves, each of its rows is done again. The tombstone comes first, so that
// nothing learns the value while its records are erased; then everything goes that has the value and a number up to
// that of the row. What has a higher one was stored again by an override, and stays. A row of a whole database takes
// everything of it whose life ended with that row's number, to the last row, before what was erased in the next life.

import type { Pool } from '@loci/postgres/pool.ts'
import type { Forget } from '../../databases/erasure.ts'
import type { InstanceKeys } from '../../databases/instance-keys.ts'
import { macsOf } from '../../databases/macs.ts'
import type { Due } from '../../databases/store.ts'
import { erasingEverywhere } from '../erasing.ts'
import type { RecallIndex } from '../index/recall-index.ts'
import { erase } from '../upkeep/indexing.ts'
import type { ErasedValue } from '../upkeep/store.ts'
import { type LedgerValue, replayTombstones } from './store.ts'

interface ReplayOptions {
  pool: Pool
  index: RecallIndex
  keys: InstanceKeys
  forgets: Forget[]
  /** Erases a database whose life ended with that row; false where it is of a later life. */
  replayWhole(place: Due, row: LedgerValue): Promise<boolean>
}

/** Databases side by side. */
const WIDTH = 4

/** Replays a page of the ledger; answers how many values and databases were found again and erased. */
export function replayingErasures(options: ReplayOptions): (rows: LedgerValue[]) => Promise<number> {
  return async (rows) => {
    const databases = [...Map.groupBy(rows, ({ instanceId, database }) => `${instanceId}/${database}`).values()]
    let erased = 0
    const lane = async () => {
      for (let own = databases.shift(); own; own = databases.shift()) erased += await replayIn(options, own)
    }
    await Promise.all(Array.from({ length: WIDTH }, lane))
    return erased
  }
}

async function replayIn(options: ReplayOptions, rows: LedgerValue[]): Promise<number> {
  const [{ instanceId, database }] = rows as [LedgerValue]
  const place = { instanceId, database }
  const whole = rows.find(({ valueMac }) => valueMac === '')
  let erased = whole && (await options.replayWhole(place, whole)) ? 1 : 0
  const values = rows.filter(({ valueMac, seq }) => valueMac !== '' && seq > (whole?.seq ?? -1))
  if (values.length === 0) return erased
  for (const value of await replayTombstones(options.pool, place, values))
    if (await replayValue(options, place, value)) erased += 1
  return erased
}

async function replayValue({ pool, index, keys, forgets }: ReplayOptions, place: Due, value: ErasedValue) {
  const macs = macsOf(await keys.of(place.instanceId))
  const entry = { actor: 'management', subject: value.mac.toString('base64url') }
  const done = await erase(pool, index, place, { value }, erasingEverywhere({ place, macs, forgets, entry, value }))
  return done.some(({ receipt }) => receipt !== null)
}
