// The cognitive cycle (COGNITION 5.2): perceive, cue, recall, compete, broadcast, learn. A pure function in two halves,
// between which the index is asked; no clock, no chance but the seeded one, cut by counts and never by time.
//
//   const perceived = perceive(input)                          // what came in is settled, the cue is made
//   const answer = await index.recall(perceived.ask)           // a search as of input.seq, with what came in
//   const records = await read(recordsFor(perceived, answer))  // what was found and is not at hand
//   const result = decide(perceived, answer, records)          // the document after it, decisions, rows
//
// The same input, answer and records give the same result, byte for byte; nothing that is handed in is changed. So a
// stored state and startedAt give the stored decisions again, and a dry run decides as the run.
//
// First body: duplicates and forgotten values are rejected, everything else is stored; the newest have the slots.

import type {
  CycleInput,
  CycleResult,
  Decision,
  KnownRecord,
  NextSlot,
  Observation,
  RecallAnswer,
  RecallAsk,
} from './shapes.ts'

export interface Perceived {
  input: CycleInput
  ask: RecallAsk
  decisions: Decision[]
  /** Observations that become records, by their place in the input. */
  store: number[]
}

export function perceive(input: CycleInput): Perceived {
  const { observations, config, focus, seq, due, document } = input
  const decisions: Decision[] = []
  const store: number[] = []
  for (const [at, { id, known }] of observations.entries()) {
    if (!known.isDuplicate && !known.isForgotten) store.push(at)
    else decisions.push(rejected(id, known.isDuplicate ? 'duplicate' : 'forgotten', decisions.length))
  }
  const fresh = store.map((at, position) => {
    const { write, known } = observations[at] as Observation
    const occurredAt = write.occurredAt === undefined ? input.now : Date.parse(write.occurredAt)
    return { ...known.place, seq: seq + 1 + position, actor: write.actor ?? null, occurredAt, content: write.content }
  })
  const held = document.slots.flatMap(({ record }) => record?.seq ?? [])
  const ask: RecallAsk = {
    ...{ focus, words: fresh.map(({ content }) => content), fresh, without: [] },
    always: [...held, ...due.map((record) => record.seq), ...fresh.map((item) => item.seq)],
    limit: config.capacity * config.candidateFactor,
    ownMin: focus === null ? config.spontaneousShare : 0,
    termsMax: config.maxCueTerms,
  }
  return { input, ask, decisions, store }
}

/** Numbers of the records that decide() must be handed: what was found and is neither held, due nor of this cycle. */
export function recordsFor({ input, ask }: Perceived, { ranked }: RecallAnswer): number[] {
  const atHand = new Set(ask.always)
  return ranked.flatMap(({ seq }) => (seq <= input.seq && !atHand.has(seq) ? [seq] : []))
}

export function decide(
  { input, decisions, store }: Perceived,
  answer: RecallAnswer,
  records: ReadonlyMap<number, KnownRecord>,
): CycleResult {
  const { document, config, number, now } = input
  const explain = { score: 0, parts: [] }
  const held: NextSlot[] = document.slots.map((slot) => ({ ...slot, explain, from: 'slot' }))
  const fresh = store.map((at): NextSlot => {
    const { id, write } = input.observations[at] as Observation
    const occurredAt = write.occurredAt === undefined ? now : Date.parse(write.occurredAt)
    return {
      ...{ id, key: write.key ?? id, version: null, value: write.content, pinned: false, ephemeral: false, surface: 0 },
      ...{ hint: write.salience ?? 0, seen: { n: 1, first: occurredAt, recent: [occurredAt] }, touchedCycle: number },
      ...{ sizeBytes: Buffer.byteLength(write.content), createdAt: now, expiresAt: null, admittedCycle: number },
      ...{ accessCount: 0, lastAccessedAt: null, explain, from: { observation: at } },
      record: { id, seq: null, actor: write.actor ?? null, occurredAt, dueAt: null },
    }
  })
  const slots = [...fresh, ...held].slice(0, config.capacity)
  return {
    ...{ slots, focus: document.focus, decisions, broadcast: [] },
    rows: { store, consolidate: [], close: [], present: [], evict: [] },
    phases: [{ name: 'recall', in: answer.ranked.length, out: records.size }],
  }
}

function rejected(id: string, reasonCode: 'duplicate' | 'forgotten', seq: number): Decision {
  return {
    ...{
      seq,
      action: 'rejected',
      subject: { kind: 'record', key: id, version: null },
      reasonCode,
      score: 0,
      parts: [],
    },
    ...{ reason: '', displacedBy: null, evidenceRefs: [], rule: reasonCode },
  }
}
