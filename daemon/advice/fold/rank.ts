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
  confidence: { lower95: number; upper95: number }
}

/** `isAllowed` leaves tools out before shares are given: what is denied takes nothing from the others. */
export function rank(
  state: AdviceState,
  catalogue: Catalogue,
  ask: Ask,
  isAllowed: (name: string) => boolean = () => true,
): Ranked[] {
  const allowed = catalogue.asked.filter((k) => isAllowed(catalogue.names[k] ?? ''))
  if (allowed.length === 0) return []
  const scores = ask.intent === null ? new Float64Array(catalogue.size) : textScores(state, ask.intent, catalogue)
  let best = Number.NEGATIVE_INFINITY
  let worst = Number.POSITIVE_INFINITY
  for (const k of allowed) {
    best = Math.max(best, scores[k] as number)
    worst = Math.min(worst, scores[k] as number)
  }
  let sum = 0
  for (const k of allowed) sum += Math.exp((scores[k] as number) - best)
  const shift = best + Math.log(sum)
  const judged: Judged[] = []
  const drawn = { ofAll: meanOfAll(state), seed: hashText(`${ask.seed}\0`) }
  // The other parts are at most 0, so a tool scores at most its text. Judge by falling text, until enough tools beat
  // all that are left: the same answer as judging each, in a third of the time at 4,000 tools.
  for (let from = 0, to = 4; ; from = to, to *= 2) {
    for (const k of allowed) {
      const gap = best - (scores[k] as number)
      if (gap >= from && gap < to)
        judged.push(judge(state, ask, drawn, k, catalogue.names[k] ?? '', (scores[k] as number) - shift))
    }
    const left = best - to - shift
    if (best - worst < to || judged.filter(({ score }) => score > left).length >= ask.limit) break
  }
  judged.sort((x, y) => y.score - x.score || (x.name < y.name ? -1 : 1))
  return judged.slice(0, ask.limit).map(told)
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

/** Six decimals: what a replica on another machine might compute otherwise is not told. */
function told({ name, score, parts, belief }: Judged): Ranked {
  const { lower95, upper95 } = spreadOf(belief.a, belief.b)
  return {
    name,
    score: rounded(score),
    parts: {
      text: rounded(parts.text),
      reliability: rounded(parts.reliability),
      explore: rounded(parts.explore),
      health: rounded(parts.health),
    },
    confidence: { lower95: rounded(lower95), upper95: rounded(upper95) },
  }
}

function rounded(value: number): number {
  // Never -0: it is written as 0 and would not be equal to what was read.
  return Math.round(value * 1e6) / 1e6 || 0
}
