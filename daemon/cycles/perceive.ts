// The first phase: what came in is settled one by one, in its order. A known event and a forgotten value are refused,
// equal content is a presentation of what is there, everything else becomes a record; under a key or with `supersedes`
// it closes the record that held before.

import type { RecordWrite } from '@loci/contract/memory.ts'
import type { RecordText } from '../memory/analysis/item.ts'
import { presentedAt } from '../memory/records.ts'
import { type Presentations, present } from '../working-memory/activation.ts'
import { type Ledger, openLedger } from './ledger.ts'
import type { CycleInput, CycleResult, KnownRecord, Observation, Slot } from './shapes.ts'

/** A slot as the cycle goes on with it: a copy, changed here. */
export interface Held {
  slot: Slot
  /** The observation whose content it took. */
  merged: Fresh | null
  isTouched: boolean
}

/** An observation that becomes a record. */
export interface Fresh {
  /** Its place in the input. */
  at: number
  /** In this cycle's search alone. */
  seq: number
  observation: Observation
  occurredAt: number
  dueAt: number | null
  seen: Presentations
  isTouched: boolean
}

/** A stored record without a slot that was heard again. */
export interface Heard {
  record: KnownRecord
  seen: Presentations
}

export interface Settled {
  ledger: Ledger
  held: Held[]
  /** In the order of the input; those that a later one closed are not among them. */
  fresh: Fresh[]
  heard: Map<number, Heard>
  /** As the analyser takes all that is stored, closed or not. */
  texts: RecordText[]
  rows: Pick<CycleResult['rows'], 'store' | 'again' | 'close'>
  /** Numbers of stored records that were closed. */
  closed: number[]
}

export function settle(input: CycleInput): Settled {
  const { now } = input
  const settled: Settled = {
    ledger: openLedger(),
    held: input.document.slots.map((slot) => ({ slot, merged: null, isTouched: false })),
    ...{ fresh: [], heard: new Map(), texts: [], rows: { store: [], again: [], close: [] }, closed: [] },
  }
  const said = { events: new Set<string>(), equal: new Map<string, Fresh>(), keys: new Map<string, Fresh>() }
  const positions = new Map<number, number>()
  for (const [at, observation] of input.observations.entries()) {
    const { id, write, known } = observation
    const event = write.sourceEventId
    if (known.isDuplicate || (event !== undefined && said.events.has(event))) {
      settled.ledger.rejected(id, 'duplicate', 'A record of its source event is there.')
      continue
    }
    if (known.isForgotten) {
      settled.ledger.rejected(id, 'forgotten', 'Its value was deleted and is not to be learned again.')
      continue
    }
    if (event !== undefined) said.events.add(event)
    const same = sameOf(write)
    const occurredAt = presentedAt(write.occurredAt, now)
    const former = write.key === undefined ? undefined : said.keys.get(write.key)
    // Under a key only what holds there can be the same: else the key would keep an old fact, or have none.
    const [stored, heard] = write.key === undefined ? [known.equal, said.equal.get(same)] : [known.current, former]
    const equal = stored && sameOf(stored) === same ? stored : null
    const again = heard && sameOf(heard.observation.write) === same ? heard : undefined
    const heardAgain = write.supersedes === undefined ? reinforce(settled, equal, again, occurredAt) : null
    if (heardAgain !== null) {
      settled.rows.again.push({ at, id: heardAgain })
      continue
    }
    const fresh: Fresh = {
      ...{ at, seq: input.seq + 1 + settled.rows.store.length, observation, occurredAt },
      dueAt: write.dueAt === undefined ? null : Date.parse(write.dueAt),
      ...{ seen: { n: 1, first: occurredAt, recent: [occurredAt] }, isTouched: false },
    }
    settled.texts.push(textOf(fresh, positions))
    settled.rows.store.push(at)
    settled.fresh.push(fresh)
    if (write.key !== undefined) mergeInto(settled, fresh, write.key, input)
    closeFormer(settled, fresh, former)
    said.equal.set(same, fresh)
    if (write.key !== undefined) said.keys.set(write.key, fresh)
  }
  expire(settled, now)
  return settled
}

/** What two statements must have in common to be equal. */
function sameOf({ content, actor, contextId, kind }: RecordWrite | KnownRecord): string {
  return JSON.stringify([content, actor ?? null, contextId ?? null, kind ?? 'observation'])
}

/** The record that says the same, if one does: then it is a presentation of that, and no record. */
function reinforce(
  settled: Settled,
  equal: KnownRecord | null,
  said: Fresh | undefined,
  at: number,
): KnownRecord['id'] | null {
  if (said !== undefined && settled.fresh.includes(said)) {
    said.seen = present(said.seen, at)
    said.isTouched = true
    const holder = settled.held.find(({ merged }) => merged === said)
    if (holder) holder.slot = { ...holder.slot, seen: present(holder.slot.seen, at) }
    settled.ledger.reinforced({ kind: 'record', key: said.observation.id, version: null }, said.observation.id)
    return said.observation.id
  }
  if (equal === null || settled.closed.includes(equal.seq)) return null
  const held = settled.held.find(({ slot }) => slot.record?.seq === equal.seq)
  if (held) {
    held.slot = { ...held.slot, seen: present(held.slot.seen, at) }
    held.isTouched = true
    settled.ledger.reinforced({ kind: 'slot', key: held.slot.key, version: held.slot.version }, equal.id)
  } else {
    const seen = settled.heard.get(equal.seq)?.seen ?? equal.seen ?? onceAt(equal.occurredAt)
    settled.heard.set(equal.seq, { record: equal, seen: present(seen, at) })
    settled.ledger.reinforced({ kind: 'record', key: equal.id, version: null }, equal.id)
  }
  return equal.id
}

export function onceAt(at: number): Presentations {
  return { n: 1, first: at, recent: [at] }
}

/** When a slot that takes this in ends: the sender's time, or that of slots, whichever is over first. */
export function endOf(
  { ttlMs }: Pick<RecordWrite, 'ttlMs'>,
  { now, config: { slotTtlMs } }: CycleInput,
): number | null {
  const ends = [ttlMs, slotTtlMs].flatMap((ms) => (typeof ms === 'number' ? [now + ms] : []))
  return ends.length === 0 ? null : Math.min(...ends)
}

/** The slot of its key takes its content, and its time with it: one fact, one slot. */
function mergeInto(settled: Settled, fresh: Fresh, key: string, input: CycleInput): void {
  const held = settled.held.find(({ slot }) => slot.key === key)
  if (!held) return
  const { observation, occurredAt, dueAt } = fresh
  const { id, write } = observation
  settled.ledger.merged(held.slot, id)
  held.slot = {
    ...held.slot,
    ...{ value: write.content, hint: write.salience ?? 0, seen: present(held.slot.seen, occurredAt) },
    ...{ touchedCycle: input.number, expiresAt: endOf(write, input) },
    record: { id, seq: fresh.seq, actor: write.actor ?? null, occurredAt, dueAt, presented: 1 },
  }
  held.merged = fresh
  held.isTouched = true
}

/** What it supersedes, and what held under its key; `former`: what this cycle stored under the key before. */
function closeFormer(settled: Settled, fresh: Fresh, former: Fresh | undefined): void {
  const { id, write, known } = fresh.observation
  const named = settled.fresh.find(({ observation }) => observation.id === write.supersedes)
  for (const said of new Set([former, named])) {
    if (said === undefined || said === fresh || !settled.fresh.includes(said)) continue
    settled.fresh.splice(settled.fresh.indexOf(said), 1)
    settled.rows.close.push({ id: said.observation.id, seq: null, by: id })
    settled.ledger.storedClosed(said.observation.id, id)
    leaveSlot(settled, ({ slot }) => slot.record?.id === said.observation.id, id)
  }
  for (const record of new Set([known.superseded, known.current])) {
    if (record === null || settled.closed.includes(record.seq)) continue
    settled.closed.push(record.seq)
    settled.heard.delete(record.seq)
    settled.rows.close.push({ id: record.id, seq: record.seq, by: id })
    leaveSlot(settled, ({ slot }) => slot.record?.seq === record.seq, id)
  }
}

/** A pinned slot stays: whoever pinned it decides. */
function leaveSlot(settled: Settled, isIt: (held: Held) => boolean, by: string): void {
  const held = settled.held.find(isIt)
  if (!held || held.slot.pinned) return
  settled.held.splice(settled.held.indexOf(held), 1)
  settled.ledger.left(held.slot, 'superseded', `Record ${by} took its place.`, by)
}

function expire(settled: Settled, now: number): void {
  const over = settled.held.filter(({ slot: { expiresAt } }) => expiresAt !== null && expiresAt <= now)
  for (const { slot } of over) {
    const reason = `Its time was over at ${new Date(slot.expiresAt as number).toISOString()}.`
    settled.ledger.left(slot, 'expired', reason, null)
  }
  settled.held = settled.held.filter((held) => !over.includes(held))
}

/** The context's next positions go to its observations in their order. */
function textOf({ seq, observation, occurredAt }: Fresh, positions: Map<number, number>): RecordText {
  const { write, known } = observation
  const { context } = known.place
  const position = positions.get(context) ?? known.place.position
  positions.set(context, position + 1)
  return {
    ...{ seq, context, position, actor: write.actor ?? null, occurredAt, content: write.content },
    ...{ media: write.media ?? null, kind: write.kind ?? 'observation', tags: write.tags ?? [] },
    isHinted: (write.salience ?? 0) > 0,
    hasContextId: write.contextId !== undefined,
  }
}
