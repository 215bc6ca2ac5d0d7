// What the outcomes of a database add up to. Counters decay by halves; each stands at the time of its last change and
// is read decayed to the state's time. Time `t` is the number of the outcome, `u` the same per tool: no clock.

import { createHash } from 'node:crypto'
import { Counts } from './counts.ts'
import {
  HEALTH_HALF_LIFE,
  HEALTH_PRIOR,
  HEALTH_RELAX,
  LEVEL_PRIOR,
  NAME_WEIGHT,
  POOL_HALF_LIFE,
  RELIABILITY_HALF_LIFE,
  TOOL_PRIOR,
} from './parameters.ts'
import { Postings } from './postings.ts'
import { wordsOfName } from './words.ts'

/** Successes `a` of attempts `n`, as they stood at `t`. */
export interface Counter {
  a: number
  n: number
  t: number
}

/** What one partner told, in whole numbers that never decay. */
export interface Tally {
  attempts: number
  successes: number
  failures: number
}

/** Outcomes of a tool in a task class, or in a class and scope. Gone when the last of them is taken back. */
export interface Cell extends Counter {
  tallies: Map<string, Tally>
}

/** Successes `o` and what was expected of them `e`, as they stood at `t` and at the tool's use `s`. */
export interface Health {
  o: number
  e: number
  t: number
  s: number
}

export interface Tool {
  name: string
  /** How many outcomes it had. */
  u: number
  reliability: Counter
  health: Health
  cells: Map<string, Cell>
  /** What intents of its successes had, by key of the term and by pair: the name is not in it. */
  terms: Counts
  pairs: Counts
}

export interface AdviceState {
  /** Outcomes so far. */
  t: number
  /** Their values' sum. */
  successes: number
  /** Every outcome of the database: the prior of a tool nobody told of. */
  pool: Counter
  /** In the order of their first outcome. */
  tools: Tool[]
  byName: Map<string, number>
  /** Tools that changed since the last snapshot. */
  changed: Set<number>
  /** Derived from the tools: which of them have a term, names included, or a pair. */
  terms: Postings
  pairs: Postings
  /** Of each tool, all its words, the name's weight included; and the sum of these. */
  lengths: number[]
  length: number
  /** How many tallies the cells of all tools have. */
  tallies: number
  /**
   * Once there were as many as may be, no entry of words, or no tally, is made any more, not even in the place of one
   * that was taken back: what is there was there when it became full, so a retraction finds exactly what was added.
   */
  isFull: { words: boolean; tallies: boolean }
}

export function emptyState(): AdviceState {
  return {
    ...{ t: 0, successes: 0, pool: { a: 0, n: 0, t: 0 }, lengths: [], length: 0, tallies: 0 },
    ...{ tools: [], byName: new Map(), changed: new Set(), terms: new Postings(), pairs: new Postings() },
    isFull: { words: false, tallies: false },
  }
}

export function requireTool(state: AdviceState, name: string): number {
  const known = state.byName.get(name)
  if (known !== undefined) return known
  const k = state.tools.length
  const tool: Tool = {
    ...{ name, u: 0, reliability: { a: 0, n: 0, t: 0 }, health: { o: 0, e: 0, t: 0, s: 0 } },
    ...{ cells: new Map(), terms: new Counts(), pairs: new Counts() },
  }
  state.byName.set(name, k)
  state.tools.push(tool)
  state.lengths.push(0)
  for (const { key, count } of wordsOfName(name).terms) indexTerm(state, k, key, count * NAME_WEIGHT)
  state.changed.add(k)
  return k
}

/** Which tools have it: what can be derived from their counts. */
export function indexTerm(state: AdviceState, k: number, key: number, by: number): void {
  state.terms.add(key, k, by)
  state.lengths[k] = (state.lengths[k] as number) + by
  state.length += by
}

/** Counts are multiples of a half, so what is taken back leaves nothing behind. */
export function learnTerm(state: AdviceState, k: number, tool: Tool, key: number, by: number): void {
  if (state.isFull.words && !tool.terms.has(key)) return
  indexTerm(state, k, key, by)
  tool.terms.add(key, by)
}

export function learnPair(state: AdviceState, k: number, tool: Tool, pair: number, by: number): void {
  if (state.isFull.words && !tool.pairs.has(pair)) return
  state.pairs.add(pair, k, by)
  tool.pairs.add(pair, by)
}

/** The cells of a tool that an outcome belongs to. NUL stands in no body, so no class is another's class and scope. */
export function cellKeys(taskClass: string | null, scope: string | null): string[] {
  return taskClass === null ? [] : [classKey(taskClass), scopedKey(taskClass, scope)]
}

/** A tally is to take a bounded number of bytes, and a class may have 256 characters. */
const CLASS_KEY_MAX = 64
let longClass = { taskClass: '', key: '' }

/** The last one is kept: a rank asks for the same one for each tool. */
function classKey(taskClass: string): string {
  if (taskClass.length <= CLASS_KEY_MAX) return taskClass
  if (longClass.taskClass !== taskClass)
    longClass = { taskClass, key: createHash('sha256').update(taskClass).digest('base64url') }
  return longClass.key
}

/** Outcomes without a scope have a cell of their own: they match a request of every scope. */
function scopedKey(taskClass: string, scope: string | null): string {
  return `${classKey(taskClass)}\0${scope ?? ''}`
}

export function half(passed: number, life: number): number {
  return 0.5 ** (passed / life)
}

export function healthDecay(t: number, u: number): number {
  return half(t, HEALTH_HALF_LIFE * HEALTH_RELAX) * half(u, HEALTH_HALF_LIFE)
}

/** What is believed of a tool in a task: Beta(a, b) with mean m. */
export interface Belief {
  a: number
  b: number
  m: number
}

/**
 * Each level is the prior of the next: all tools, the tool, the tool in this class, and in this scope where there is
 * one. A level that has no key is left out; one without outcomes says nothing and is as unsure as its prior.
 */
export function beliefOf(
  state: AdviceState,
  tool: Tool | undefined,
  taskClass: string | null,
  scope: string | null,
  ofAll = meanOfAll(state),
): Belief {
  let belief = narrowed(state.t, ofAll, TOOL_PRIOR, tool?.reliability)
  if (taskClass === null) return belief
  belief = narrowed(state.t, belief.m, LEVEL_PRIOR, tool?.cells.get(classKey(taskClass)))
  if (scope === null) return belief
  return narrowed(state.t, belief.m, LEVEL_PRIOR, tool?.cells.get(scopedKey(taskClass, scope)))
}

/** What is believed of a tool nobody told of. The same for every tool: a rank computes it once. */
export function meanOfAll({ t, pool }: AdviceState): number {
  const passed = half(t - pool.t, POOL_HALF_LIFE)
  return (Math.max(0, pool.a * passed) + 3) / (Math.max(0, pool.n * passed) + 4)
}

function narrowed(now: number, prior: number, strength: number, counter: Counter | undefined): Belief {
  if (counter === undefined) return { a: strength * prior, b: strength * (1 - prior), m: prior }
  const decay = half(now - counter.t, RELIABILITY_HALF_LIFE)
  const attempts = Math.max(0, counter.n * decay)
  const successes = Math.min(attempts, Math.max(0, counter.a * decay))
  const a = successes + strength * prior
  const b = attempts - successes + strength * (1 - prior)
  return { a, b, m: a / (a + b) }
}

/** 1 while it succeeds as expected; less when it fails more than that. It relaxes with the outcomes that pass. */
export function healthOf(state: AdviceState, tool: Tool | undefined): number {
  if (tool === undefined) return 1
  const { o, e, t, s } = tool.health
  const decay = healthDecay(state.t - t, tool.u - s)
  return Math.min(1, (Math.max(0, o * decay) + HEALTH_PRIOR) / (Math.max(0, e * decay) + HEALTH_PRIOR))
}
