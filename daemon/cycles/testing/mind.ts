// A database in memory, for tests and evaluations of the cycle alone: it has what the store reads for a cycle, asks the
// daemon's own engine, and does with the rows what the commit does.

import { atOnce } from '@loci/chassis/testing/at-once.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Language, RecordText } from '../../memory/analysis/item.ts'
import { buildFrom, createEngine, type Engine } from '../../memory/index/engine.ts'
import { PART_WEIGHTS } from '../../memory/weights.ts'
import { present } from '../../working-memory/activation.ts'
import { surfaceOf } from '../../working-memory/salience.ts'
import { decide, perceive, recordsFor } from '../cycle.ts'
import { isDue } from '../judge.ts'
import type { CycleConfig, CycleInput, CycleResult, Focus, KnownRecord, Observation, Phase, Slot } from '../shapes.ts'

export const SHIPPED: CycleConfig = {
  ...{ capacity: 25, consolidateAfterCycles: 2, relativeThreshold: 5, stickiness: 1, stickinessHalfLifeCycles: 3 },
  ...{ candidateFactor: 4, slotTtlMs: null, matchShare: 0.25, spontaneousShare: 0.25, echo: { weight: 2, share: 0.8 } },
  ...{ due: { weight: 4, leadMs: 3_600_000, graceMs: 3_600_000 }, focusTtlMs: 1_800_000 },
  weights: { ...PART_WEIGHTS, base: 0.5, hint: 0.5 },
  ...{ decay: 0.5, baseRecent: 4, maxCueTerms: 16, noise: 0 },
}

export type Said = RecordWrite & { id: string }

interface Stored {
  record: KnownRecord
  text: RecordText
  sourceEventId: string | null
  isClosed: boolean
}

/** Plain data: what a store would keep. */
export interface MindState {
  cycle: number
  seq: number
  stored: Stored[]
  slots: Slot[]
  focus: Focus | null
  places: Places
  forgotten: string[]
}

/** Where the next record of each context stands, and of the open one, which a gap closes. */
interface Places {
  named: Record<string, { context: number; position: number }>
  open: { context: number; position: number; at: number } | null
  count: number
}

/** Called when a cycle starts and at the end of its phases; `search`: the index has answered. */
export type Mark = (phase: 'start' | 'search' | Phase) => void

export interface Ran {
  input: CycleInput
  result: CycleResult
  /** Decided again from what was perceived and answered, with every record that was found. */
  again: () => CycleResult
}

const OPEN_GAP_MS = 1_800_000
const SEGMENT_ROWS = 128
const LANGUAGE: Language = 'auto'
const SLOTS_CONTEXT = 'slots'

export class Mind {
  state: MindState = {
    ...{ cycle: 0, seq: 0, stored: [], slots: [], focus: null, places: { named: {}, open: null, count: 0 } },
    forgotten: [],
  }
  readonly #config: CycleConfig
  readonly #engine: Engine = createEngine()
  /** Of how many rows there are segments, and which of the rest the engine has. */
  #segments: { id: string; bytes: Uint8Array }[] = []
  #indexed = 0
  #sent = new Set<number>()
  readonly #stored = new Map<number, Stored>()

  constructor(config: Partial<CycleConfig> = {}, state?: MindState) {
    this.#config = { ...SHIPPED, ...config }
    if (state) this.state = structuredClone(state)
    for (const stored of this.state.stored) this.#stored.set(stored.record.seq, stored)
  }

  /** What a cycle would be, which leaves nothing behind. */
  compute(now: number, focus: string | null, said: readonly Said[], mark?: Mark): Ran {
    const input = this.#inputFor(now, focus, said)
    mark?.('start')
    const perceived = perceive(input, mark)
    const { ask } = perceived
    const answer = this.#engine.search({
      ...this.#rows(),
      ...{ query: ask.focus, words: ask.words, fresh: ask.fresh, options: ask.options },
    })
    mark?.('search')
    const decideFrom = (seqs: readonly number[], onEnd?: Mark) =>
      atOnce(decide(perceived, answer, new Map(seqs.map((seq) => [seq, this.#bySeq(seq).record])), onEnd))
    const stored = answer.ranked.flatMap(({ seq }) => (this.#stored.has(seq) ? [seq] : []))
    const result = decideFrom(recordsFor(perceived, answer), mark)
    return { input, result, again: () => decideFrom(stored) }
  }

  run(now: number, focus: string | null, said: readonly Said[], mark?: Mark): Ran {
    const ran = this.compute(now, focus, said, mark)
    this.#commit(ran)
    return ran
  }

  /** Records that no cycle took in. */
  remember(said: readonly Said[], now: number): void {
    for (const { id, ...write } of said) {
      const occurredAt = write.occurredAt === undefined ? now : Date.parse(write.occurredAt)
      const place = placeOf(this.state.places, write.contextId, occurredAt)
      this.#store(id, { ...write, kind: write.kind ?? 'observation' }, occurredAt, place, now)
    }
  }

  put(
    { key, value, pinned = false, isPut = true }: { key: string; value: unknown; pinned?: boolean; isPut?: boolean },
    now: number,
  ): void {
    const { state } = this
    const old = state.slots.find((slot) => slot.key === key)
    state.seq += 1
    const slot: Slot = {
      ...{ id: old?.id ?? `slt_${key}`, key, version: state.seq, value, pinned, ephemeral: false, expiresAt: null },
      ...{ sizeBytes: JSON.stringify(value).length, createdAt: old?.createdAt ?? now, admittedCycle: state.cycle },
      ...{ isPut, accessCount: 0, lastAccessedAt: null, record: null, surface: surfaceOf(value), hint: 0 },
      ...{ seen: present(old?.seen, now), touchedCycle: state.cycle },
    }
    state.slots = [...state.slots.filter((one) => one.key !== key), slot]
  }

  #inputFor(now: number, focus: string | null, said: readonly Said[]): CycleInput {
    const { state } = this
    const config = this.#config
    const places = structuredClone(state.places)
    const due = this.#living().filter(({ record }) => isDue(record.dueAt, now, config))
    const held = new Set(state.slots.flatMap(({ record }) => record?.seq ?? []))
    return {
      ...{ number: state.cycle + 1, now, seed: `seed ${state.cycle + 1}`, focus, config, seq: state.seq },
      observations: said.map((one) => this.#observe(one, now, places)),
      document: { slots: state.slots, focus: state.focus },
      due: due.filter(({ record }) => !held.has(record.seq)).map(({ record }) => record),
    }
  }

  #observe({ id, ...write }: Said, now: number, places: Places): Observation {
    const { state } = this
    const living = this.#living()
    const find = (isIt: (record: KnownRecord) => boolean) =>
      living.findLast(({ record }) => isIt(record))?.record ?? null
    return {
      ...{ id, write },
      known: {
        isDuplicate: state.stored.some(
          ({ sourceEventId }) => write.sourceEventId !== undefined && sourceEventId === write.sourceEventId,
        ),
        isForgotten: state.forgotten.includes(write.content),
        equal: find(
          ({ content, actor, contextId, kind }) =>
            content === write.content &&
            actor === (write.actor ?? null) &&
            contextId === (write.contextId ?? null) &&
            kind === (write.kind ?? 'observation'),
        ),
        current: write.key === undefined ? null : find(({ key }) => key === write.key),
        superseded: write.supersedes === undefined ? null : find((record) => record.id === write.supersedes),
        place: placeOf(places, write.contextId, write.occurredAt === undefined ? now : Date.parse(write.occurredAt)),
      },
    }
  }

  #commit({ input, result }: Ran): void {
    const { state } = this
    const { rows } = result
    const seqs = new Map<string, number>()
    for (const at of rows.store) {
      const { id, write } = input.observations[at] as Observation
      const occurredAt = write.occurredAt === undefined ? input.now : Date.parse(write.occurredAt)
      const place = placeOf(this.state.places, write.contextId, occurredAt)
      seqs.set(id, this.#store(id, { ...write, kind: write.kind ?? 'observation' }, occurredAt, place, input.now))
    }
    for (const { id, slot, content, seen } of rows.consolidate) {
      for (const { record } of this.#living()) if (record.key === slot.key) this.#close(record.seq)
      const write = { content, key: slot.key, contextId: SLOTS_CONTEXT, kind: 'slot' }
      seqs.set(
        id,
        this.#store(id, write, slot.createdAt, placeOf(this.state.places, SLOTS_CONTEXT, slot.createdAt), input.now),
      )
      if (seen.n > 1) this.#bySeq(seqs.get(id) as number).record.seen = seen
    }
    for (const { id, seq } of rows.close) this.#close(seq ?? (seqs.get(id) as number))
    for (const { id, seq, seen } of rows.present) this.#bySeq(seq ?? (seqs.get(id) as number)).record.seen = seen
    state.slots = result.slots.map(({ explain, from, ...slot }) => {
      if (slot.version === null) state.seq += 1
      const { record } = slot
      return {
        ...slot,
        version: slot.version ?? state.seq,
        record: record && { ...record, seq: record.seq ?? (seqs.get(record.id) as number) },
      }
    })
    state.focus = result.focus
    state.cycle = input.number
  }

  #store(
    id: string,
    write: RecordWrite & { kind: string },
    occurredAt: number,
    place: { context: number; position: number },
    now: number,
  ): number {
    const { state } = this
    state.seq += 1
    const { seq } = state
    const { key = null, content, actor = null, contextId = null, kind, salience: hint = 0, media = null } = write
    const dueAt = write.dueAt === undefined ? null : Date.parse(write.dueAt)
    const expiresAt = write.ttlMs === undefined ? null : now + write.ttlMs
    const stored: Stored = {
      record: { id, seq, key, content, kind, actor, contextId, occurredAt, hint, dueAt, expiresAt, seen: null },
      text: {
        seq,
        ...place,
        actor,
        occurredAt,
        content,
        media,
        kind,
        tags: write.tags ?? [],
        isHinted: hint > 0,
        hasContextId: contextId !== null,
      },
      sourceEventId: write.sourceEventId ?? null,
      isClosed: false,
    }
    state.stored.push(stored)
    this.#stored.set(seq, stored)
    place.position += 1
    return seq
  }

  #close(seq: number): void {
    this.#bySeq(seq).isClosed = true
  }

  #living(): Stored[] {
    return this.state.stored.filter(({ isClosed }) => !isClosed)
  }

  #bySeq(seq: number): Stored {
    const found = this.#stored.get(seq)
    if (!found) throw new Error(`there is no record ${seq}`)
    return found
  }

  /** As the store keeps them: whole segments, a tail behind them, and what was closed since masked. */
  #rows() {
    const { stored } = this.state
    const bodies: { id: string; bytes: Uint8Array }[] = []
    while (stored.length - this.#indexed >= SEGMENT_ROWS) {
      const rows = stored.slice(this.#indexed, this.#indexed + SEGMENT_ROWS).map(({ text }) => text)
      bodies.push({ id: String(this.#indexed), bytes: buildFrom(rows, LANGUAGE) })
      this.#indexed += SEGMENT_ROWS
    }
    this.#segments.push(...bodies)
    const masked = stored.slice(0, this.#indexed).flatMap(({ record, isClosed }) => (isClosed ? [record.seq] : []))
    const tail = stored.slice(this.#indexed).filter(({ isClosed }) => !isClosed)
    const texts = tail.flatMap(({ text }) => (this.#sent.has(text.seq) ? [] : [text]))
    const tailSeqs = tail.map(({ record }) => record.seq)
    this.#sent = new Set(tailSeqs)
    const segmentIds = this.#segments.map(({ id }) => id)
    return { key: 'mind', language: LANGUAGE, segmentIds, bodies, masked, tailSeqs, texts }
  }
}

function placeOf(places: Places, contextId: string | undefined, at: number): { context: number; position: number } {
  if (contextId === undefined) {
    const isClosed = !places.open || Math.abs(at - places.open.at) > OPEN_GAP_MS
    if (isClosed) places.count += 1
    if (!places.open || isClosed) places.open = { context: places.count, position: 0, at }
    places.open.at = at
    return places.open
  }
  const known = places.named[contextId]
  if (known) return known
  places.count += 1
  const made = { context: places.count, position: 0 }
  places.named[contextId] = made
  return made
}
