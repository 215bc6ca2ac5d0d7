// Which tool next: the score of a tool is the log of how well the intent fits it, times how reliable it is in this
// task, times its health. Every part is at most 0 and they add up to the score.

import { drawBeta, randomFrom, spreadOf } from './beta.ts'
import type { Catalogue } from './catalogue.ts'
import { hashText } from './hash.ts'
import { type AdviceState, type Belief, beliefOf, healthOf, meanOfAll } from './state.ts'
import { textScores } from './text.ts'
import type { Words } from './words.ts'

export interface Ask {
  intent: Words | null
  taskClass: string
  /** A key of the scope, as in what is folded. */
  scope: string | null
  /** Of the draws: the request's own, so that the same request has the same answer. */
  seed: string
  explore: number
  limit: number
}

export interface Ranked {
  name: string
  score: number
  parts: { text: number; reliability: number; explore: number; health: number }
  confidence: { lower95: number; upper95: number; effective: { successes: number; failures: number } }
}

/** `isAllowed` leaves tools out before shares are given: what is denied takes nothing from the others. */
export function rank(
  state: AdviceState,
  catalogue: Catalogue,
  ask: Ask,
  isAllowed?: (name: string) => boolean,
): Ranked[] {
  const { asked } = catalogue
  const allowed = isAllowed ? asked.filter((k) => isAllowed(catalogue.names[k] ?? '')) : asked
  if (allowed.length === 0) return []
  const scores = ask.intent === null ? new Float64Array(catalogue.size) : textScores(state, ask.intent, catalogue)
  let best = Number.NEGATIVE_INFINITY
  for (const k of allowed) best = Math.max(best, scores[k] as number)
  let sum = 0
  for (const k of allowed) sum += Math.exp((scores[k] as number) - best)
  const shift = best + Math.log(sum)
  const drawn = { ofAll: meanOfAll(state), seed: hashText(`${ask.seed}\0`) }
  const judged: Judged[] = []
  const most = new Best(ask.limit)
  // The other parts are at most 0, so a tool scores at most its text. Judge by falling text, until enough tools beat
  // all that are left: the same answer as judging each.
  const { order, ends } = byGap(allowed, scores, best)
  let from = 0
  for (const [step, end] of ends.entries()) {
    for (; from < end; from++) {
      const k = order[from] as number
      const one = judge(state, ask, drawn, k, catalogue.names[k] ?? '', (scores[k] as number) - shift)
      judged.push(one)
      most.take(one.score)
    }
    if (most.least > best - (step + 1) / STEPS - shift) break
  }
  judged.sort((x, y) => y.score - x.score || (x.name < y.name ? -1 : 1))
  return judged.slice(0, ask.limit).map(told)
}

/** Tools by how far their text is behind the best: steps of a quarter, and all that is further behind in the last. */
const STEPS = 4
const STEPS_MAX = 160

function byGap(
  allowed: readonly number[],
  scores: Float64Array,
  best: number,
): { order: Int32Array; ends: Int32Array } {
  const steps = new Uint8Array(allowed.length)
  const ends = new Int32Array(STEPS_MAX)
  for (let at = 0; at < allowed.length; at++) {
    const step = Math.min(STEPS_MAX - 1, Math.floor((best - (scores[allowed[at] as number] as number)) * STEPS))
    steps[at] = step
    ends[step] = (ends[step] as number) + 1
  }
  for (let step = 1; step < STEPS_MAX; step++) ends[step] = (ends[step] as number) + (ends[step - 1] as number)
  const order = new Int32Array(allowed.length)
  const next = ends.slice()
  for (let at = allowed.length - 1; at >= 0; at--) {
    const step = steps[at] as number
    next[step] = (next[step] as number) - 1
    order[next[step] as number] = allowed[at] as number
  }
  return { order, ends }
}

/** The highest scores so far, as many as are asked for. */
class Best {
  readonly #scores: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  /** -Infinity while there are fewer. */
  get least(): number {
    return this.#scores.length < this.#limit ? Number.NEGATIVE_INFINITY : (this.#scores[0] as number)
  }

  take(score: number): void {
    if (score <= this.least) return
    if (this.#scores.length === this.#limit) this.#scores.shift()
    let at = this.#scores.length
    while (at > 0 && (this.#scores[at - 1] as number) > score) at--
    this.#scores.splice(at, 0, score)
  }
}

type Judged = Omit<Ranked, 'confidence'> & { belief: Belief }

function judge(
  state: AdviceState,
  ask: Ask,
  { ofAll, seed }: { ofAll: number; seed: number },
  k: number,
  name: string,
  text: number,
): Judged {
  const tool = state.tools[k]
  const belief = beliefOf(state, tool, ask.taskClass, ask.scope, ofAll)
  const reliability = Math.log(belief.m)
  let explore = 0
  if (ask.explore > 0) {
    const sample = drawBeta(belief.a + 0.1, belief.b + 0.1, randomFrom(hashText(name, seed)))
    const moved = belief.m + ask.explore * (sample - belief.m)
    explore = Math.log(Math.min(0.999, Math.max(0.001, moved))) - reliability
  }
  const health = Math.log(healthOf(state, tool))
  const score = text + reliability + explore + health
  return { name, score, parts: { text, reliability, explore, health }, belief }
}

/**
 * Half an outcome of each kind, as Jeffreys has it: where nothing ever failed, what is believed before a level says
 * that nothing ever will, and no number of successes can show that.
 */
const UNSEEN = 0.5

/**
 * Six decimals: what a replica on another machine might compute otherwise is not told. The score is the sum of the
 * parts as they are told, so whoever adds them up by hand finds it.
 */
function told({ name, parts, belief }: Judged): Ranked {
  const [successes, failures] = [rounded(belief.a + UNSEEN), rounded(belief.b + UNSEEN)]
  const { lower95, upper95 } = spreadOf(successes, failures)
  const [text, reliability] = [rounded(parts.text), rounded(parts.reliability)]
  const [explore, health] = [rounded(parts.explore), rounded(parts.health)]
  return {
    name,
    score: rounded(text + reliability + explore + health),
    parts: { text, reliability, explore, health },
    confidence: { lower95: rounded(lower95), upper95: rounded(upper95), effective: { successes, failures } },
  }
}

function rounded(value: number): number {
  // Never -0: it is written as 0 and would not be equal to what was read.
  return Math.round(value * 1e6) / 1e6 || 0
}
