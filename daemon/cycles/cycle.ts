// The cognitive cycle: perceive, cue, recall, compete, broadcast, learn. A pure function in two halves,
// between which the index is asked; no clock, no chance but the seeded one, cut by counts and never by time.
//
//   const perceived = perceive(input)                          // what came in is settled, the cue is made
//   const answer = await index.find(…perceived.ask)            // a search as of input.seq, with what came in
//   const records = await read(recordsFor(perceived, answer))  // what was found and is not at hand, by number
//   const result = decide(perceived, answer, records)          // the document after it, decisions, rows
//
// The same input, answer and records give the same result, byte for byte; nothing that is handed in is changed. So a
// stored state and startedAt give the stored decisions again, and a dry run decides as the run.

import type { SearchOptions } from '../memory/index/search.ts'
import { contentOf } from '../working-memory/slots.ts'
import { byNewest, compete } from './compete.ts'
import { cutPool } from './echo.ts'
import { baseOf, type Candidate, createJudge } from './judge.ts'
import { broadcast, createIds, learn, placeSlots } from './learn.ts'
import { openLedger } from './ledger.ts'
import { onceAt, type Settled, settle } from './perceive.ts'
import type {
  CycleConfig,
  CycleInput,
  CycleResult,
  KnownRecord,
  Phase,
  RecallAnswer,
  RecallAsk,
  Recalled,
} from './shapes.ts'

export interface Perceived {
  input: CycleInput
  ask: RecallAsk
  settled: Settled
}

/** Called at the end of a phase, to measure it; what it does decides nothing. */
type Mark = (phase: Phase) => void

/** Candidates at most, whatever is configured: four for each slot where there are as many as there can be. */
const POOL_MAX = 1_024

/** How many candidates there are beside what is held and what came in. */
export function poolSize({ candidateFactor, capacity }: Pick<CycleConfig, 'candidateFactor' | 'capacity'>): number {
  return Math.min(Math.ceil(candidateFactor * capacity), POOL_MAX)
}

/** More than the pool takes: how old a record is, which the index does not rank by, moves it by less than three. */
const RECALL_MORE = 2

export function perceive(input: CycleInput, mark: Mark = () => {}): Perceived {
  const { config, focus, document, now, due } = input
  const settled = settle(input)
  mark('perceive')
  const standing = document.focus && now - document.focus.at < config.focusTtlMs ? [document.focus.text] : []
  const held = settled.held.flatMap(({ slot }) => slot.record?.seq ?? [])
  const fresh = settled.fresh.map(({ seq }) => seq)
  const closedFresh = settled.texts.flatMap(({ seq }) => (fresh.includes(seq) ? [] : [seq]))
  const without = new Set([...settled.closed, ...closedFresh])
  const options: SearchOptions = {
    limit: poolSize(config) * RECALL_MORE,
    // What is held, came in, was heard again or is due is weighed whatever the cue.
    always: [...new Set([...held, ...fresh, ...settled.heard.keys(), ...due.map(({ seq }) => seq)])],
    ...(without.size > 0 ? { filter: { without } } : {}),
    // Unasked, only what shares enough words comes to mind; or the best context alone would fill the slots with talk.
    ownMin: focus === null ? config.spontaneousShare : 0,
    ...{
      termsMax: config.maxCueTerms,
      knownTermsOnly: true,
      newestFirst: true,
      attends: true,
      weights: config.weights,
    },
  }
  return { input, ask: { focus, words: focus === null ? standing : [], fresh: settled.texts, options }, settled }
}

/**
 * Numbers of the records that decide() is handed: what was found, is neither held, due nor of this cycle, and can reach
 * what the focus asks for if it was presented four times just now. A record below that score cannot change the result:
 * whatever it would push down has a lower score still.
 */
export function recordsFor({ input, ask }: Perceived, { ranked }: RecallAnswer): number[] {
  const atHand = new Set(ask.options.always)
  const least = leastScore(input, ranked)
  return ranked.flatMap(({ seq, score }) => (score >= least && seq <= input.seq && !atHand.has(seq) ? [seq] : []))
}

const DAY_MS = 86_400_000
/** Of a sender, either way. */
const HINT_MAX = 2

/** What the index must give a candidate at least, so that it can reach the threshold below the best. */
function leastScore({ document, focus, config, now }: CycleInput, ranked: readonly Recalled[]): number {
  const { relativeThreshold, policy = 'activation', weights, noise } = config
  if (focus === null || relativeThreshold === null || policy !== 'activation' || noise > 0) return -Infinity
  const pinned = new Set(document.slots.flatMap(({ pinned, record }) => (pinned && record ? [record.seq] : [])))
  const hint = weights.hint * HINT_MAX
  let best = -Infinity
  for (const { seq, score, day } of ranked) {
    if (pinned.has(seq)) continue
    best = Math.max(best, score + weights.base * baseOf(onceAt(day * DAY_MS), now, config))
  }
  const most = weights.base * baseOf({ n: 4, first: now, recent: [now, now, now, now] }, now, config)
  return best - hint - relativeThreshold - most - hint
}

/** Yields where others may be served. */
export function* decide(
  { input, ask, settled: before }: Perceived,
  answer: RecallAnswer,
  records: ReadonlyMap<number, KnownRecord>,
  mark: Mark = () => {},
): Generator<void, CycleResult> {
  const { config, document, focus, now, observations } = input
  const settled = { ...before, held: [...before.held], ledger: openLedger(before.ledger) }
  const candidates = weigh(input, settled, answer, records)
  markSame(candidates)
  candidates.sort((one, other) => other.score - one.score || byNewest(one, other))
  const isMust = ({ held, fresh, id }: Candidate) => held !== null || fresh !== null || isHeard(settled, id)
  yield
  const pool = yield* cutPool(candidates, isMust, poolSize(config), config)
  mark('recall')
  const outcome = compete(pool, input)
  mark('compete')
  yield
  const ids = createIds(input)
  const placed = placeSlots(input, settled, outcome, ids)
  const said = broadcast(placed, input)
  mark('broadcast')
  yield
  const { slots, rows } = learn(input, settled, outcome, placed, ids)
  mark('learn')
  return {
    ...{ slots, focus: focus === null ? document.focus : { text: focus, at: now }, broadcast: said },
    threshold: outcome.threshold,
    decisions: settled.ledger.decisions,
    rows: { ...settled.rows, ...rows, evict: settled.ledger.evict },
    phases: [
      { name: 'perceive', in: observations.length, out: settled.rows.store.length },
      { name: 'cue', in: focus === null ? ask.fresh.length + ask.words.length : 1, out: answer.terms.length },
      { name: 'recall', in: answer.ranked.length, out: pool.length },
      { name: 'compete', in: pool.length, out: placed.length },
      { name: 'broadcast', in: placed.length, out: said.length },
      { name: 'learn', in: outcome.dropped.length, out: rows.consolidate.length + rows.present.length },
    ],
  }
}

function isHeard({ heard }: Settled, id: string): boolean {
  for (const { record } of heard.values()) if (record.id === id) return true
  return false
}

/**
 * What says the same as a slot that somebody put. Of what cycles brought, equal words of two speakers or two occasions
 * are two memories.
 */
function markSame(candidates: readonly Candidate[]): void {
  const put = candidates.flatMap(({ held }) => (held?.slot.isPut ? [held.slot] : []))
  if (put.length === 0) return
  const keys = new Map(put.map(({ key, value }) => [sayingOf(contentOf(value)), key]))
  for (const one of candidates)
    if (!one.held?.slot.isPut && !one.held?.slot.pinned) one.sameAs = keys.get(sayingOf(one.content)) ?? null
}

/** Spaces and the size of letters say nothing. */
function sayingOf(content: string): string {
  return content.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()
}

/** Every candidate with its score: what is held, what came in, what was heard again, what is due and what was found. */
function weigh(
  input: CycleInput,
  settled: Settled,
  answer: RecallAnswer,
  records: ReadonlyMap<number, KnownRecord>,
): Candidate[] {
  const judge = createJudge(input, answer)
  const found = new Map(answer.ranked.map((one) => [one.seq, one]))
  const take = (seq: number): Recalled | undefined => {
    const one = found.get(seq)
    found.delete(seq)
    return one
  }
  const candidates: Candidate[] = []
  for (const held of [...settled.held]) {
    const { record, pinned } = held.slot
    const one = record === null ? undefined : take(record.seq)
    if (one) candidates.push(judge.heldOne(held, one))
    else if (record === null || pinned) candidates.push(judge.looseOne(held))
    else {
      // Its record was closed or archived since: a fact that no longer holds is not kept in mind.
      settled.held.splice(settled.held.indexOf(held), 1)
      settled.ledger.left(held.slot, 'superseded', 'Its record no longer holds.', null)
    }
  }
  for (const fresh of settled.fresh) {
    const one = take(fresh.seq)
    if (one) candidates.push(judge.freshOne(fresh, one))
  }
  for (const [seq, heard] of settled.heard) {
    const one = take(seq)
    if (one) candidates.push(judge.heardOne(heard, one))
  }
  const others = new Map([...records, ...input.due.map((record) => [record.seq, record] as const)])
  for (const [seq, one] of found) {
    const record = others.get(seq)
    if (record) candidates.push(judge.recalledOne(record, one))
  }
  return candidates
}
