// What a cognitive cycle is computed from and what it answers (cycle.ts): plain data, times in milliseconds.

import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import type { RecordText } from '../memory/analysis/item.ts'
import type { SearchOptions } from '../memory/index/search.ts'
import type { PartWeights } from '../memory/weights.ts'
import type { Judged, Presentations } from '../working-memory/activation.ts'
import type { Policy } from '../working-memory/config.ts'

/** The configuration as far as a cycle reads it: the working memory's keys, then the cognitive ones. */
export interface CycleConfig {
  capacity: number
  /** Who leaves when there is no room; without one: activation. */
  policy?: Policy
  consolidateAfterCycles: number
  /** Null: none. */
  relativeThreshold: number | null
  stickiness: number
  stickinessHalfLifeCycles: number
  candidateFactor: number
  /** For new slots whose record has no time of its own. */
  slotTtlMs: number | null
  matchShare: number
  spontaneousShare: number
  echo: { weight: number; share: number }
  due: { weight: number; leadMs: number; graceMs: number }
  focusTtlMs: number
  weights: PartWeights & { base: number; hint: number }
  decay: number
  baseRecent: number
  maxCueTerms: number
  noise: number
}

/** A slot as the document has it. */
export interface Slot extends Judged {
  id: string
  key: string
  /** The database's number of its last write. */
  version: number
  value: unknown
  pinned: boolean
  /** Somebody wrote it, and no cycle brought it: it leaves for want of room alone, and after what cycles brought. */
  isPut: boolean
  ephemeral: boolean
  sizeBytes: number
  createdAt: number
  expiresAt: number | null
  /** The cycle that admitted it; of one that was put, the last cycle before that. */
  admittedCycle: number
  accessCount: number
  lastAccessedAt: number | null
  /** The record that it stands for; null: it was put, and no cycle has consolidated it. */
  record: SlotRecord | null
}

export interface SlotRecord {
  id: string
  seq: number
  actor: string | null
  occurredAt: number
  dueAt: number | null
  /** How many of its presentations stand with the record; those of the slot beyond them are written when it leaves. */
  presented: number
}

export interface Focus {
  text: string
  at: number
}

/** A stored record that holds. */
export interface KnownRecord {
  id: string
  seq: number
  key: string | null
  content: string
  kind: string
  actor: string | null
  contextId: string | null
  /** When it happened, else when it was stored. */
  occurredAt: number
  hint: number
  dueAt: number | null
  expiresAt: number | null
  /** Null: presented once, when it happened. */
  seen: Presentations | null
}

export interface Observation {
  /** Of the record that it becomes. */
  id: string
  write: RecordWrite
  /** What the store has about it. */
  known: {
    /** A record with its sourceEventId is there. */
    isDuplicate: boolean
    /** Its value is under a tombstone. */
    isForgotten: boolean
    /** The newest record that holds with the same content, actor, contextId and kind. */
    equal: KnownRecord | null
    /** The record that holds under its key. */
    current: KnownRecord | null
    /** The record that `supersedes` names, if it holds. */
    superseded: KnownRecord | null
    /** Where its context stands: its number, and its next position. The same for all observations of a context. */
    place: { context: number; position: number }
  }
}

export interface CycleInput {
  /** Of this cycle in its database, from 1. */
  number: number
  /** startedAt of the cycle: its only clock. */
  now: number
  /** Its only chance: ids of new slots and records, and noise. Stored with the cycle. */
  seed: string
  focus: string | null
  observations: readonly Observation[]
  /** What is held, and the focus of the last cycle that had one. */
  document: { slots: readonly Slot[]; focus: Focus | null }
  config: CycleConfig
  /** The database's number that everything here is as of: every record's is at most this. */
  seq: number
  /** Records that hold and whose dueAt is due (isDue), as many as the pool may hold. */
  due: readonly KnownRecord[]
}

/** What is asked of the index: a search over what it has as of `seq`, and over the fresh items. */
export interface RecallAsk {
  /** A question, whose names, dates and question words count; null: the terms of `words` alone. */
  focus: string | null
  /** Where there is no focus the terms of the fresh items are the cue, with those of these texts. */
  words: readonly string[]
  /** This cycle's observations; their seqs are above `seq` and are theirs in this search alone. */
  fresh: readonly RecordText[]
  options: SearchOptions
}

export interface RecallAnswer {
  ranked: readonly Recalled[]
  /** The cue's terms that count. */
  terms: readonly { term: string; idf: number }[]
  /** What shares are shares of. */
  idfTotal: number
}

export interface Recalled {
  seq: number
  /** The sum of its parts. */
  score: number
  /** When it happened, in days since 1970. */
  day: number
  /** What each of PARTS contributes: part times weight. */
  parts: readonly number[]
  /** The share of the cue's idf that its own words have; part `cue` has its neighbours' too. */
  own: number
  /** Of its words (memory/index/sketch.ts). */
  sketch: number
}

export type Action = 'admitted' | 'kept' | 'merged' | 'reinforced' | 'stored' | 'evicted' | 'consolidated' | 'rejected'

export type ReasonCode =
  | 'admitted'
  | 'matched'
  | 'reinforced'
  | 'merged'
  | 'outcompeted'
  | 'below_threshold'
  | 'over_limit'
  | 'expired'
  | 'superseded'
  | 'consolidated'
  | 'forgotten'
  | 'duplicate'

export interface Decision {
  seq: number
  action: Action
  /** A slot by its key, with the version that the cycle found (null: a new one); a record by its id. */
  subject: { kind: 'slot' | 'record'; key: string; version: number | null }
  reasonCode: ReasonCode
  reason: string
  /** 0 and no parts where nothing was weighed. */
  score: number
  parts: Explanation['parts']
  /** Id of the record that took its place. */
  displacedBy: string | null
  /** Ids of the records that it stands on. */
  evidenceRefs: readonly string[]
  /** Which rule decided: one of those in ledger.ts. */
  rule: string
}

/** A slot of the document that the cycle leaves. */
export interface NextSlot extends Omit<Slot, 'version' | 'record'> {
  /** Null: it is new or has a new value, and the commit numbers it. */
  version: number | null
  /** seq null: the record is one of this cycle's rows, and the commit numbers it. */
  record: (Omit<SlotRecord, 'seq'> & { seq: number | null }) | null
  /** score is the activation. */
  explain: Explanation
  /** Where its value and labels come from: the slot as it was, an observation by its place in the input, a record. */
  from: 'slot' | { observation: number } | { record: number }
}

/** Under a focus: the best score of what competes, and the bar: what is below it stays out or leaves. */
export interface Threshold {
  best: number
  bar: number
}

export interface CycleResult {
  /** Strongest first. */
  slots: NextSlot[]
  focus: Focus | null
  /** Null without a focus or a relative threshold, and where nothing competes. */
  threshold: Threshold | null
  decisions: Decision[]
  /** What the cycle puts forward, strongest first: keys of slots. */
  broadcast: { key: string; recordId: string | null; score: number }[]
  rows: {
    /** Observations that become records, by their place in the input, in this order. */
    store: number[]
    /** Observations that say what a record says, stored or of this cycle, by their place in the input; its id. */
    again: { at: number; id: string }[]
    /** Slots that become records: of context SLOTS_CONTEXT, said when the slot was made, closing their key's record. */
    consolidate: { id: string; slot: Slot; content: string; seen: Presentations }[]
    /** Records that hold no longer, and the record that took their place; seq null: one of this cycle's rows. */
    close: { id: string; seq: number | null; by: string }[]
    /** Presentations of records that have no slot; a record of this cycle's rows by its id alone. */
    present: { id: string; seq: number | null; seen: Presentations }[]
    /** Slots that leave, by the decision that says why. */
    evict: { slot: Slot; decision: number }[]
  }
  phases: { name: Phase; in: number; out: number }[]
}

export type Phase = 'perceive' | 'cue' | 'recall' | 'compete' | 'broadcast' | 'learn'
