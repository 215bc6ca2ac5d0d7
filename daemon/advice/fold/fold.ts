// The fold: the outcomes of a database, in the order of their seq, become a state. No clock and no chance, so every
// replica that has read as far has the same state, whichever snapshot it began with.
//
// What an outcome adds is weighed once, by the state before it, and kept in the ledger. A retraction takes back exactly
// that, decayed to where each counter stands; nothing is weighed again and no time passes. Counters are linear in what
// was added, so it is as if the outcome had passed as time and added nothing. A retraction that comes before its
// outcome is remembered in the ledger. Repeated, or of what added nothing, it does nothing.

import {
  ENTRIES_MAX,
  HEALTH_SPARE,
  POOL_HALF_LIFE,
  RELIABILITY_HALF_LIFE,
  TALLIES_MAX,
  TAUGHT_ALL,
  TAUGHT_MAX,
  TAUGHT_YOUNG,
  TOOLS_MAX,
} from './parameters.ts'
import {
  type AdviceState,
  beliefOf,
  type Cell,
  cellKeys,
  half,
  healthDecay,
  healthOf,
  learnPair,
  learnTerm,
  requireTool,
  type Tool,
} from './state.ts'
import { textScores } from './text.ts'
import type { Words } from './words.ts'

/** What an outcome is worth. `denied` and `cancelled` say nothing of the tool: they add nothing and take no time. */
const VALUES: Readonly<Record<string, number>> = { success: 1, partial: 0.5, failure: 0 }

export interface Told {
  id: string
  /** Who told it. */
  partner: string
  taskClass: string | null
  /** A key of the scope, not the scope. */
  scope: string | null
  /** Looked at only where it teaches or a failure is weighed by it: it may be analysed when it is looked at. */
  intent: Words | null
  tools: readonly { tool: string; outcome: string }[]
  /** The projection that it retracts or supersedes: taken back before its own outcomes are added. */
  takesBack: string | null
  /** What it added in an earlier fold: numbers and weights are taken over, never computed again. */
  weights?: readonly Weights[]
}

/** What one outcome added: its number, its number among the tool's, and its weights. */
export interface Weights {
  /** Place among the projection's tools. */
  place: number
  tool: string
  t: number
  u: number
  attempt: number
  expected: number
}

/** By id of the projection. `told` is null while only its retraction has come. */
export interface Entry {
  told: Told | null
  weights: readonly Weights[]
  isTakenBack: boolean
}
export type Ledger = Map<string, Entry>

export function apply(state: AdviceState, told: Told, ledger: Ledger): void {
  if (told.takesBack !== null) takeBack(state, told.takesBack, ledger)
  const isTakenBack = ledger.get(told.id)?.isTakenBack ?? false
  const weights: Weights[] = []
  // Once for all of its outcomes: for each of 64 among 8,000 tools it took 64 ms.
  let shares: Shares | undefined
  const fitOf = (k: number): number => {
    if (told.intent === null) return 1
    shares ??= sharesOf(textScores(state, told.intent, null))
    return Math.min(0.98, Math.max(0.02, Math.exp((shares.scores[k] ?? 0) - shares.best) / shares.sum))
  }
  for (const [place, { tool: name, outcome }] of told.tools.entries()) {
    const value = VALUES[outcome]
    if (value === undefined || (state.tools.length >= TOOLS_MAX && !state.byName.has(name))) continue
    const k = requireTool(state, name)
    const tool = state.tools[k] as Tool
    const known = told.weights?.find((each) => each.place === place)
    const { attempt, expected } = known ?? weigh(state, tool, told, value, () => fitOf(k))
    state.t = known?.t ?? state.t + 1
    tool.u = known?.u ?? tool.u + 1
    const added = { place, tool: name, t: state.t, u: tool.u, attempt, expected }
    // When its retraction came first it takes its number and adds nothing.
    if (!isTakenBack) add(state, k, tool, told, outcome, added)
    state.changed.add(k)
    weights.push(added)
  }
  state.isFull.words ||= state.terms.entries + state.pairs.entries >= ENTRIES_MAX
  state.isFull.tallies ||= state.tallies >= TALLIES_MAX
  ledger.set(told.id, { told, weights, isTakenBack })
}

/** Time that passed: an outcome that adds nothing any more and has left. Numbers only rise. */
export function pass(state: AdviceState, { tool: name, t, u }: { tool: string; t: number; u: number }): void {
  if (state.tools.length >= TOOLS_MAX && !state.byName.has(name)) return
  const k = requireTool(state, name)
  const tool = state.tools[k] as Tool
  state.t = Math.max(state.t, t)
  tool.u = Math.max(tool.u, u)
  state.changed.add(k)
}

/**
 * A failure is shared between a tool that was chosen for a task that it does not fit, and one that does not work: `fit`
 * is how likely the text alone would have chosen it. A tool that is down already is not blamed in full.
 */
function weigh(state: AdviceState, tool: Tool, told: Told, value: number, fitOf: () => number) {
  const { m } = beliefOf(state, tool, told.taskClass, told.scope)
  if (value === 1) return { attempt: 1, expected: m }
  const health = healthOf(state, tool)
  const fit = fitOf()
  const blame = ((fit * (1 - m * health)) / (1 - fit * m * health)) * (health > HEALTH_SPARE ? 1 : health)
  return { attempt: value + (1 - value) * blame, expected: m * (value + (1 - value) * fit) }
}

interface Shares {
  scores: Float64Array
  best: number
  sum: number
}

function sharesOf(scores: Float64Array): Shares {
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < scores.length; at++) best = Math.max(best, scores[at] as number)
  // Most tools share no word with the intent.
  const none = Math.exp(-best)
  let sum = 0
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] as number
    sum += score === 0 ? none : Math.exp(score - best)
  }
  return { scores, best, sum }
}

function add(state: AdviceState, k: number, tool: Tool, told: Told, outcome: string, weights: Weights): void {
  const { t, u, attempt, expected } = weights
  const value = VALUES[outcome] ?? 0
  for (const counter of [tool.reliability, ...requireCells(state, tool, told)]) {
    const decay = half(t - counter.t, RELIABILITY_HALF_LIFE)
    counter.a = counter.a * decay + value
    counter.n = counter.n * decay + attempt
    counter.t = t
  }
  const decay = healthDecay(t - tool.health.t, u - tool.health.s)
  tool.health = { o: tool.health.o * decay + value, e: tool.health.e * decay + expected, t, s: u }
  const passed = half(t - state.pool.t, POOL_HALF_LIFE)
  state.pool = { a: state.pool.a * passed + value, n: state.pool.n * passed + 1, t }
  tally(state, tool, told, outcome, 1)
  if (teaches(weights)) learn(state, k, tool, told, value)
  state.successes += value
}

function takeBack(state: AdviceState, id: string, ledger: Ledger): void {
  const entry = ledger.get(id)
  if (entry?.isTakenBack) return
  ledger.set(id, { told: entry?.told ?? null, weights: entry?.weights ?? [], isTakenBack: true })
  if (!entry?.told) return
  for (const weights of entry.weights) {
    const k = state.byName.get(weights.tool)
    // One beyond TOOLS_MAX, weighed before there was that bound.
    if (k === undefined) continue
    subtract(state, k, state.tools[k] as Tool, entry.told, weights)
    state.changed.add(k)
  }
}

function subtract(state: AdviceState, k: number, tool: Tool, told: Told, weights: Weights): void {
  const { place, t, u, attempt, expected } = weights
  const outcome = told.tools[place]?.outcome ?? ''
  const value = VALUES[outcome] ?? 0
  for (const counter of [tool.reliability, ...requireCells(state, tool, told)]) {
    const decay = half(counter.t - t, RELIABILITY_HALF_LIFE)
    counter.a -= value * decay
    counter.n -= attempt * decay
  }
  const decay = healthDecay(tool.health.t - t, tool.health.s - u)
  tool.health.o -= value * decay
  tool.health.e -= expected * decay
  const passed = half(state.pool.t - t, POOL_HALF_LIFE)
  state.pool.a -= value * passed
  state.pool.n -= passed
  tally(state, tool, told, outcome, -1)
  if (teaches(weights)) learn(state, k, tool, told, -value)
  state.successes -= value
}

/** Where the state is full, those that have a tally of the partner. */
function requireCells(state: AdviceState, tool: Tool, { taskClass, scope, partner }: Told): Cell[] {
  return cellKeys(taskClass, scope).flatMap((key) => {
    const known = tool.cells.get(key)
    if (state.isFull.tallies) return known?.tallies.has(partner) ? [known] : []
    const cell = known ?? { a: 0, n: 0, t: 0, tallies: new Map() }
    tool.cells.set(key, cell)
    return [cell]
  })
}

/** The last outcome that is taken back takes the cell with it, and what rounding left there. */
function tally(state: AdviceState, tool: Tool, { partner, taskClass, scope }: Told, outcome: string, by: number): void {
  for (const key of cellKeys(taskClass, scope)) {
    const tallies = tool.cells.get(key)?.tallies
    if (tallies === undefined || (state.isFull.tallies && !tallies.has(partner))) continue
    const { attempts, successes, failures } = tallies.get(partner) ?? { attempts: 0, successes: 0, failures: 0 }
    const sum = {
      attempts: attempts + by,
      successes: successes + (outcome === 'success' ? by : 0),
      failures: failures + (outcome === 'failure' ? by : 0),
    }
    state.tallies -= tallies.size
    if (sum.attempts > 0) tallies.set(partner, sum)
    else tallies.delete(partner)
    state.tallies += tallies.size
    if (tallies.size === 0) tool.cells.delete(key)
  }
}

function learn(state: AdviceState, k: number, tool: Tool, told: Told, value: number): void {
  if (value === 0) return
  const { intent } = told
  const each = eachOf(told)
  for (const { key } of intent?.terms.slice(0, each) ?? []) learnTerm(state, k, tool, key, value)
  for (const pair of intent?.pairs.slice(0, each) ?? []) learnPair(state, k, tool, pair, value)
}

/** By its numbers alone, so what it taught is known when it is taken back. Stirred: tools may come in turns. */
function teaches({ t, u }: Weights): boolean {
  if (t <= TAUGHT_ALL || u <= TAUGHT_YOUNG) return true
  const doublings = 32 - Math.clz32((t - 1) / TAUGHT_ALL)
  return Math.imul(t, 0x9e3779b1) >>> (31 - doublings) === 0
}

/** Of the intent, the first so many terms and pairs are taught: all of them where it tells of four tools or fewer. */
function eachOf({ tools }: Told): number {
  return Math.floor(TAUGHT_MAX / tools.length)
}
