// The life of one memory: what it took the place of, when it was said, where it is in mind, and what cycles decided of
// it when it came and went.
//
// No index leads from a memory to the cycles that named it. What there is are moments: when it was stored, when it was
// said again, and the stays of slots that say what it says. The cycles of these are read, and no others: those that
// kept it in mind meanwhile decided nothing new.

import { timeOfId } from '@loci/contract/ids.ts'
import type { RecordTrace } from '@loci/contract/timeline.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Macs } from '../../../databases/macs.ts'
import type { Due } from '../../../databases/store.ts'
import { presentedAt } from '../../../memory/records.ts'
import type { Presentations } from '../../../working-memory/activation.ts'
import { timeOf } from '../stays.ts'
import { readLedgers, readMind } from '../store.ts'
import { findCycles, listStaysOf, readTraced } from './store.ts'

/** Versions of slots that are looked at, and stays whose cycles are read. */
const VERSIONS_MAX = 256
const STAYS_MAX = 8

/** Undefined: there is no such memory. */
export async function readTrace(
  pool: Pool,
  place: Due,
  { id, macs, rest, isMind }: { id: string; macs: Macs; rest(): Promise<void>; isMind: boolean },
): Promise<RecordTrace | 'damaged' | undefined> {
  const record = await readTraced(pool, place, id)
  if (record === undefined || record === 'damaged') return record
  const once = presentedAt(record.occurredAt, record.createdAt)
  const { supersedes, supersededBy, presented } = record
  const said = presented ?? { n: 1, first: once, recent: [once] }
  const told = { supersedes, supersededBy }
  if (!isMind) return { ...told, presentations: presentationsOf(said), slot: null, decisions: null, complete: false }
  const mac = macs.value(record.content)
  const versions = await listStaysOf(pool, place, { mac, limit: VERSIONS_MAX, ends: STAYS_MAX })
  await rest()
  const mind = await readMind(pool, place)
  const slot = mind?.slots.find(({ said }) => said?.recordId === id)
  // What a slot has seen is written to its memory when it leaves.
  const seen = slot?.said?.seen ?? said
  const all = versions.filter(({ recordId }) => recordId === null || recordId === id)
  const stays = all.slice(0, STAYS_MAX)
  const times = [record.createdAt, ...seen.recent, ...stays.flatMap(({ endedAt }) => endedAt ?? [])]
  const cycles = await findCycles(pool, place, {
    seqs: [...new Set(stays.map(({ admittedCycle }) => admittedCycle))],
    times: [...new Set([...times, timeOfId(id)])],
  })
  await rest()
  const ledgers = await readLedgers(pool, place, cycles)
  return {
    ...told,
    presentations: presentationsOf(seen),
    slot:
      slot?.said && slot.key !== null
        ? {
            key: slot.key,
            since: timeOf(slot.said.createdAt),
            activation: slot.said.activation,
            pinned: slot.said.pinned,
          }
        : null,
    decisions: cycles.flatMap(({ seq, startedAt }, at) => {
      const ledger = ledgers[at]
      if (typeof ledger !== 'object') return []
      return ledger.decisions
        .filter(
          ({ action, subject, evidenceRefs }) => action !== 'kept' && (subject.key === id || evidenceRefs.includes(id)),
        )
        .map(({ action, reasonCode, reason, score }) => ({
          ...{ cycleSeq: seq, at: startedAt.toISOString(), action, reasonCode, reason, score },
        }))
    }),
    complete:
      all.length <= STAYS_MAX &&
      versions.length < VERSIONS_MAX &&
      ledgers.every((ledger) => typeof ledger === 'object') &&
      seen.n <= seen.recent.length,
  }
}

function presentationsOf({ n, first, recent }: Presentations): RecordTrace['presentations'] {
  return { n, first: timeOf(first), last: timeOf(Math.max(...recent, first)) }
}
