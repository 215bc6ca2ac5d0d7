// What a cycle is handed, from what was read, and what is written of what it answers. Pure.

import { createTurn } from '@loci/chassis/turn.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import type { SlotWrite } from '@loci/contract/working-memory.ts'
import type { Macs } from '../databases/macs.ts'
import { beginningOf, bodyOf, heardFrom, momentOf, presentedAt, type Source } from '../memory/records.ts'
import type { Step } from '../working-memory/document.ts'
import { contentOf, restOf, sizeOf } from '../working-memory/slots.ts'
import { observationId } from './learn.ts'
import type { CycleState, KnownRow, Lookup, RecordRow, SaidSlot } from './reads/store.ts'
import type { CycleConfig, CycleInput, CycleResult, KnownRecord, NextSlot, Observation, Slot } from './shapes.ts'
import type { NewCycle } from './store.ts'

/** A gap between two moments that closes the open context (loci.mem_place). */
const CONTEXT_GAP_MS = 1_800_000

/** What a cycle takes in: an observation that it was handed, or an event that waited. */
export interface Incoming {
  write: RecordWrite
  source: Source
  lookup: Lookup
  /** Number of the event. */
  event: number | null
}

/** An event that waits; `write` null: it says nothing. */
export interface WaitingEvent {
  seq: number
  write: RecordWrite | null
  source: Source
  /** Of what was read for it. */
  bytes: number
  /** HMAC in hex. */
  context: string
}

/** Events first, in the order in which they came: they were there before. */
export async function incomingOf(
  events: readonly WaitingEvent[],
  writes: readonly RecordWrite[],
  source: Source,
  macs: Macs,
): Promise<Incoming[]> {
  const turn = createTurn()
  const said = events.flatMap(({ seq, write, source: own, context }): Incoming[] =>
    write ? [{ write, source: own, lookup: { ...lookupOf(write, macs), context }, event: seq }] : [],
  )
  const handed: Incoming[] = []
  for (const sent of writes) {
    const write = heardFrom(sent, source)
    handed.push({ write, source, lookup: lookupOf(write, macs), event: null })
    await turn()
  }
  return [...said, ...handed]
}

function lookupOf(write: RecordWrite, macs: Macs): Lookup {
  return {
    sourceEventId: write.sourceEventId ?? null,
    value: macs.value(write.content),
    key: write.key ?? null,
    supersedes: write.supersedes ?? null,
    context: write.contextId === undefined ? null : macs.context(write.contextId),
    same: beginningOf(write),
  }
}

export function knownRecord({ id, seq, key, storedAt, expiresAt, presented, body }: RecordRow): KnownRecord {
  const { content, kind, actor, contextId, occurredAt, salienceHint: hint, dueAt, evidenceRefs } = body
  return {
    ...{ id, seq, key, content, kind, actor, contextId, hint, expiresAt, seen: presented, evidenceRefs },
    occurredAt: presentedAt(occurredAt, storedAt),
    dueAt: dueAt === null ? null : Date.parse(dueAt),
  }
}

/** What a cycle is computed from: with its seed, whatever was stored before it gives what it decided again. */
export function inputOf(
  state: CycleState,
  config: CycleConfig,
  incoming: readonly Incoming[],
  { seed, focus, unstorable }: { seed: string; focus: string | null; unstorable: ReadonlySet<string> },
): CycleInput {
  const { number, at, seq, due, focus: text, focusAt } = state
  const now = at.getTime()
  return {
    ...{ number: number + 1, now, seed, focus, config, seq, due: due.map(knownRecord) },
    observations: observationsOf(incoming, state, (n) => observationId(seed, now, n)),
    document: {
      slots: slotsOf(state, unstorable),
      focus: text === null || focusAt === null ? null : { text, at: focusAt.getTime() },
    },
  }
}

/** The observations with what the store has about each. */
function observationsOf(incoming: readonly Incoming[], state: CycleState, idOf: (at: number) => string): Observation[] {
  const places = createPlaces(state)
  return incoming.map(({ write, lookup }, at) => {
    const known = state.known[at] as KnownRow
    const current = known.current?.[0]
    return {
      id: idOf(at),
      write,
      known: {
        isDuplicate: known.isDuplicate,
        isForgotten: known.isForgotten,
        equal: known.equal && knownRecord(known.equal),
        current: current ? knownRecord(current) : null,
        superseded: known.superseded && knownRecord(known.superseded),
        place: places(write, lookup, known.context),
      },
    }
  })
}

/** Where each context stands, as loci.mem_place will find it; new ones get the numbers that it will give. */
function createPlaces({ at, contexts, openContext, openPosition, openAt }: CycleState) {
  const numbers = new Map<string, number>()
  let next = contexts
  let open =
    openContext === null ? null : { number: openContext, at: openAt?.getTime() ?? 0, position: openPosition ?? 0 }
  return ({ occurredAt }: RecordWrite, { context }: Lookup, known: KnownRow['context']) => {
    if (context !== null) {
      if (known) return { context: known[0], position: known[1] }
      const number = numbers.get(context) ?? ++next
      numbers.set(context, number)
      return { context: number, position: 0 }
    }
    const moment = momentOf(occurredAt)?.getTime() ?? at.getTime()
    if (!open || Math.abs(moment - open.at) > CONTEXT_GAP_MS) open = { number: ++next, at: moment, position: 0 }
    open.at = moment
    return { context: open.number, position: open.position }
  }
}

/** What is held, as the document has it. A damaged slot takes no part, and stays. */
function slotsOf({ slots, recordSeqs, at }: CycleState, unstorable: ReadonlySet<string>): Slot[] {
  return slots.flatMap(({ key, version, expiresAt, meta, said }, n): Slot[] => {
    if (!meta || said === null) return []
    const { value, ephemeral } = said
    const record = meta.record && { ...meta.record, seq: recordSeqs[n] as number }
    // What its record said no longer holds: its time is over.
    const isOver = record !== null && record.seq === 0
    return [
      {
        ...{ id: meta.id, key, version, value, pinned: meta.pinned && !isOver, sizeBytes: meta.sizeBytes },
        ...{ surface: meta.surface, hint: meta.hint, seen: meta.seen, touchedCycle: meta.touchedCycle },
        ...{ createdAt: meta.createdAt, admittedCycle: meta.admittedCycle, accessCount: meta.accessCount },
        ...{ lastAccessedAt: meta.lastAccessedAt, record: isOver ? null : record },
        isPut: said.source.type === 'api' && !isOver,
        ephemeral: (ephemeral ?? false) || unstorable.has(key) || isOver,
        expiresAt: isOver ? at.getTime() : expiresAt,
      },
    ]
  })
}

interface Written {
  input: CycleInput
  result: CycleResult
  state: CycleState
  /** Of the records that were read, by number. */
  rows: ReadonlyMap<number, RecordRow>
  macs: Macs
  /** As many as there are observations. */
  incoming: readonly Incoming[]
  /** Of what the cycle itself makes. */
  source: Source
  cycleId: string
}

/** What is kept of a slot beside what a cycle decides. */
type SlotText = Pick<SaidSlot, 'kind' | 'tags' | 'evidenceRefs' | 'ttlMs' | 'updatedAt' | 'source'>

/** What working memory does, in order: who leaves, then who is new or was seen. */
export function stepsOf({ input, result, state, rows, incoming, source, cycleId }: Written): Step[] {
  const { now } = input
  const residents = new Map(state.slots.map((slot) => [slot.key, slot]))
  const places = new Map(state.slots.map(({ key }, at) => [key, at]))
  const leaving = result.rows.evict.map(({ slot: { key }, decision }): Step => {
    const { reasonCode, reason, displacedBy, score, parts } = result.decisions[
      decision
    ] as (typeof result.decisions)[number]
    const code = reasonCode as 'outcompeted' | 'below_threshold' | 'over_limit' | 'superseded' | 'expired'
    const policy = code === 'outcompeted' || code === 'below_threshold' ? (input.config.policy ?? 'activation') : null
    return { op: 'remove', key, why: { reasonCode: code, reason, displacedBy, policy, explain: { score, parts } } }
  })
  const staying = [...result.slots]
    // In the order in which they were made; new ones strongest first.
    .sort((one, other) => placeOf(one) - placeOf(other))
    .flatMap((slot): Step[] => {
      const before = residents.get(slot.key)
      if (slot.from === 'slot' && before && slot.version !== null && !isChanged(slot, before.meta)) return []
      const text = textOf(slot, before?.said ?? null)
      const { record } = slot
      const meta = {
        ...{
          id: slot.id,
          pinned: slot.pinned,
          isPut: slot.isPut,
          sizeBytes: slot.sizeBytes,
          createdAt: slot.createdAt,
        },
        ...{ accessCount: slot.accessCount, lastAccessedAt: slot.lastAccessedAt, surface: slot.surface },
        ...{ hint: slot.hint, seen: slot.seen, touchedCycle: slot.touchedCycle, admittedCycle: slot.admittedCycle },
        record: record && {
          ...{ id: record.id, actor: record.actor, occurredAt: record.occurredAt },
          ...{ dueAt: record.dueAt, presented: record.presented },
        },
      }
      const isTouch = slot.version !== null && before !== undefined
      const body = {
        value: slot.value as SlotWrite['value'],
        kind: text.kind,
        tags: text.tags,
        evidenceRefs: text.evidenceRefs,
        ephemeral: slot.ephemeral,
      }
      const sized = isTouch ? meta : { ...meta, sizeBytes: sizeOf(body) }
      const rest = restOf({
        ...{ key: slot.key, body, meta: sized, ttlMs: text.ttlMs, expiresAt: slot.expiresAt, explain: slot.explain },
        updatedAt: isTouch ? Date.parse(text.updatedAt) : now,
        source: text.source,
      })
      const step = { key: slot.key, rest, meta: sized, expiresAt: slot.expiresAt }
      return [isTouch ? { op: 'touch', ...step } : { op: 'put', ...step, content: contentOf(slot.value) }]
    })
  return [...leaving, ...staying]

  function placeOf({ key }: NextSlot): number {
    return places.get(key) ?? places.size
  }

  function textOf(slot: NextSlot, said: SaidSlot | null): SlotText {
    const own = (by: Source) => ({ type: 'cycle' as const, ref: cycleId, actor: by.actor, trust: by.trust })
    if (slot.from === 'slot') return said as SaidSlot
    if ('observation' in slot.from) {
      const { write, source: by } = incoming[slot.from.observation] as Incoming
      const { kind = 'observation', tags = [], evidenceRefs = [], ttlMs = null } = write
      return { kind, tags, evidenceRefs, ttlMs, updatedAt: '', source: own(by) }
    }
    const row = rows.get(slot.from.record)
    const { kind = 'observation', tags = [], evidenceRefs = [] } = row?.body ?? {}
    return { kind, tags, evidenceRefs, ttlMs: null, updatedAt: '', source: own(source) }
  }
}

/** Whether a cycle has seen more of a slot than that it is still there. */
function isChanged(slot: NextSlot, meta: CycleState['slots'][number]['meta']): boolean {
  return (
    meta === undefined ||
    slot.touchedCycle !== meta.touchedCycle ||
    slot.accessCount !== meta.accessCount ||
    slot.seen.n !== meta.seen.n ||
    (slot.record?.id ?? null) !== (meta.record?.id ?? null)
  )
}

/** Of consolidated slots: one of their own, so that they are nobody's neighbours. */
const SLOTS_CONTEXT = 'slots'

/** The records that the cycle makes: of observations, and of slots. */
export function recordsOf({ input, result, macs, incoming, source, cycleId }: Written): NewCycle['records'] {
  const seen = new Map(result.rows.present.map(({ id, seen: own }) => [id, own]))
  const again = Map.groupBy(result.rows.again, ({ id }) => id)
  const observed = result.rows.store.map((at) => {
    const { id, known } = input.observations[at] as Observation
    const { write, source: by, lookup } = incoming[at] as Incoming
    return {
      ...lookup,
      ...{
        id,
        body: bodyOf(write, by),
        occurredAt: momentOf(write.occurredAt) ?? null,
        ttlMs: longest([at, ...(again.get(id) ?? []).map((one) => one.at)]),
      },
      supersedes: known.superseded?.id ?? null,
      presented: seen.get(id) ?? null,
    }
  })
  const consolidated = result.rows.consolidate.map(({ id, slot: { key, createdAt }, content, seen: own }) => {
    const write: RecordWrite = { content, key, contextId: SLOTS_CONTEXT, occurredAt: new Date(createdAt).toISOString() }
    const by = { type: 'cycle' as const, ref: cycleId, actor: source.actor, trust: source.trust }
    return {
      ...lookupOf(write, macs),
      ...{ id, body: bodyOf(write, by), occurredAt: new Date(createdAt), ttlMs: null },
      presented: own,
    }
  })
  return [...observed, ...consolidated]

  /** The longest time to live among observations that say the same. */
  function longest(places: number[]): number | null {
    const times = places.map((at) => incoming[at]?.write.ttlMs ?? Number.POSITIVE_INFINITY)
    const most = Math.max(...times)
    return Number.isFinite(most) ? most : null
  }
}

/** Every event that was read is taken in, also one that said nothing, or what is forgotten. */
export function eventsOf(
  events: readonly WaitingEvent[],
  { incoming, input, result }: Pick<Written, 'incoming' | 'input' | 'result'>,
): NewCycle['events'] {
  const { store, again } = result.rows
  const said = [...store.map((at) => ({ at, id: input.observations[at]?.id })), ...again]
  // One that was heard again stands for its record too, which is taken back with the last event that says it.
  const stored = new Map(said.map(({ at, id }) => [incoming[at]?.event, id]))
  return events.map(({ seq }) => ({ seq, record: stored.get(seq) ?? null }))
}

/** Presentations of records that were there before. */
export function presentedOf({ rows }: CycleResult): NewCycle['presented'] {
  return rows.present.flatMap(({ id, seq, seen }) => (seq === null ? [] : [{ id, seen }]))
}

/** The part of a row that is no text: keys, digests, indexes. */
const ROW_BYTES = 600

/** The largest number of records and bytes that the cycle can add. */
export function roomOf({ steps, records, body, decisions, focus, metadata }: NewCycle): {
  records: number
  bytes: number
} {
  const texts = [
    ...steps.flatMap((step) => (step.op === 'put' ? [step.rest, step.rest] : [])),
    ...records.map((record) => record.body),
    ...[body, decisions, focus ?? '', metadata ?? ''],
  ]
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + ROW_BYTES, 0)
  return { records: records.length, bytes }
}

export type DueWindow = CycleConfig['due']
