// What an erasure does in every feature that holds content of records, in its transaction: by DELETE, and when the
// deletion ledger is replayed after a restore.

import { appendAudit } from '@loci/acts/audit/store.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Checked, Forget, Forgotten } from '../databases/erasure.ts'
import type { Macs } from '../databases/macs.ts'
import type { Due } from '../databases/store.ts'
import { appendEvents } from '../events/store.ts'
import type { Erased, ErasedValue } from './upkeep/store.ts'

export interface Erasure {
  place: Due
  macs: Macs
  /** Of the features that hold content of records. */
  forgets: Forget[]
  /** Of the audit. */
  entry: { actor: string; requestId?: string; subject: string }
  /** When it is replayed. */
  value?: ErasedValue
}

export interface ErasedEverywhere extends Erased {
  checked: Checked[]
  /** The id of its audit entry; null: nothing was there to erase. */
  receipt: string | null
}

/** To be run in the transaction that has erased the records. `thinned`: what features erased before it. */
export function erasingEverywhere({ place, macs, forgets, entry, value }: Erasure) {
  return async (sql: Sql, erased: Erased, thinned: readonly Checked[]): Promise<ErasedEverywhere> => {
    const forgotten = forgottenOf(place, erased, macs, value)
    const checked = [
      { place: 'records', found: erased.erased, erased: erased.erased },
      { place: 'segments', found: erased.segments, erased: erased.segments },
    ]
    const events = [...erased.events]
    for (const forget of forgets) {
      const done = await forget(sql, forgotten)
      checked.push(...done.checked)
      events.push(...done.events)
    }
    for (const { place: name, found, erased: count } of thinned)
      for (const one of checked.filter((line) => line.place === name)) {
        one.found += found
        one.erased += count
      }
    if (value && checked.every(({ erased: count }) => count === 0)) return { ...erased, checked, receipt: null }
    const counts = Object.fromEntries(checked.map(({ place: name, erased: count }) => [name, count]))
    const { instanceId, database } = place
    const detail = { database, ...counts }
    const receipt = await appendAudit(sql, { ...entry, chain: instanceId, action: 'memory.erase', detail })
    await appendEvents(sql, instanceId, events)
    return { ...erased, checked, receipt }
  }
}

function forgottenOf(place: Due, erased: Erased, macs: Macs, value: ErasedValue | undefined): Forgotten {
  const { ids, stored } = erased
  const tombstone = value?.mac ?? erased.tombstone
  const mac = tombstone?.toString('hex')
  return {
    ...{ ...place, ids, storedAt: stored, mac: tombstone },
    ...(value ? { until: { seq: value.through, at: value.at } } : {}),
    isValue: (text) => macs.value(text) === mac,
  }
}
