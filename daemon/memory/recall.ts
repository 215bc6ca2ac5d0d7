// Recall: the index finds the best candidates by the words of the question (the first stage, daemon/memory/index); the
// second stage reads them from the records, adds how recent they are, and leaves out what was not asked for. The
// answer is a function of the records and the moment: the same on every replica, with or without a cache.

import type { RecallRequest } from '@loci/contract/memory.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import { foldName } from './analysis/fold.ts'
import type { Filter, Ranked } from './index/search.ts'
import { type RecordBody, round } from './records.ts'
import type { StoredRecord } from './store.ts'
import { ABSTAIN_BELOW, PARTS, type PartWeights } from './weights.ts'

/** Read by number in the second stage. With a filter that the index does not know, more: most of them fall. */
const CANDIDATES_MAX = 200
const FILTERED_CANDIDATES_MAX = 1_000

const HOUR_MS = 3_600_000
/** What happened less than this ago happened now. */
const NOW_MS = 60_000

/** What the index itself can leave out. */
export function filterOf({ actors }: RecallRequest): Filter | undefined {
  return actors && { actors: actors.map(foldName) }
}

export function candidatesMax({ kinds, tags, asOf, limit }: RecallRequest): number {
  return kinds || tags || asOf ? FILTERED_CANDIDATES_MAX : Math.max(CANDIDATES_MAX, limit)
}

type Weights = PartWeights & { base: number }

type Intact = Extract<StoredRecord, { intact: true }>

interface Hit {
  row: Intact
  body: RecordBody
  score: number
  explain: Explanation
}

export interface Recalled {
  hits: Hit[]
  abstained: boolean
  total: number
}

/** `now`: the moment that is asked about. Rows in any order; those that cannot be an answer fall. */
export function recall(
  ranked: Ranked[],
  rows: Intact[],
  request: RecallRequest,
  { now, weights }: { now: number; weights: Weights },
): Recalled {
  const bySeq = new Map(rows.map((row) => [row.seq, row]))
  let best = 0
  const hits = ranked.flatMap((one) => {
    const row = bySeq.get(one.seq)
    const body = row && holds(row, now) ? (JSON.parse(row.body) as RecordBody) : undefined
    if (!row || !body || !isAsked(body, request) || evidenceOf(one) <= 0) return []
    best = Math.max(best, evidenceOf(one))
    const { score, explain } = explained(one, body, row, now, weights)
    return score < (request.minScore ?? Number.NEGATIVE_INFINITY) ? [] : [{ row, body, score, explain }]
  })
  // Who says how much is enough has decided.
  if (hits.length === 0 || (best < ABSTAIN_BELOW && request.minScore === undefined))
    return { hits: [], abstained: true, total: 0 }
  // Of equals the newer: it was said last.
  hits.sort((one, other) => other.score - one.score || other.row.seq - one.row.seq)
  const shown = withinBudget(hits.slice(0, request.limit), request.tokenBudget)
  return { hits: shown, abstained: false, total: hits.length }
}

function holds({ validFrom, validTo, archivedAt }: Intact, now: number): boolean {
  const isOver = (time: Date | null) => time !== null && time.getTime() <= now
  return validFrom.getTime() <= now && !isOver(validTo) && !isOver(archivedAt)
}

function isAsked({ kind, tags }: RecordBody, { kinds, tags: wanted }: RecallRequest): boolean {
  return (!kinds || kinds.includes(kind)) && (!wanted || wanted.every((tag) => tags.includes(tag)))
}

/** What the question has to do with it: everything but what it is worth in itself. */
function evidenceOf({ score, parts }: Ranked): number {
  return score - (parts[PARTS.indexOf('salience')] as number)
}

/** The parts that the index knows, the sender's hint and the base level; they sum to the score as it is shown. */
function explained(one: Ranked, body: RecordBody, row: Intact, now: number, weights: Weights) {
  const presented = body.occurredAt === null ? row.createdAt.getTime() : Date.parse(body.occurredAt)
  const values = PARTS.map((name, at) => ({
    name,
    weight: weights[name],
    contribution: round(one.parts[at] as number),
  }))
  const base = { name: 'base', weight: weights.base, contribution: round(weights.base * baseLevel([presented], now)) }
  const hint = { name: 'hint', weight: weights.salience, contribution: round(weights.salience * body.salienceHint) }
  const parts = [...values, hint, base]
    .filter(({ contribution }) => contribution !== 0)
    .map(({ name, weight, contribution }) => ({ name, value: round(contribution / weight), weight, contribution }))
  const score = round(parts.reduce((sum, { contribution }) => sum + contribution, 0))
  return { score, explain: { score, parts } }
}

/** How much of its presentations is left (COGNITION 5.1): ln of the sum of age in hours to the power of −.5. */
function baseLevel(presentedAt: number[], now: number): number {
  const ages = presentedAt.map((at) => Math.max(now - at, NOW_MS) / HOUR_MS)
  return Math.log(ages.reduce((sum, hours) => sum + hours ** -0.5, 0))
}

/** A token is four bytes of UTF-8, rounded up for each; the first that does not fit ends the list. */
function withinBudget(hits: Hit[], tokenBudget: number | undefined): Hit[] {
  if (tokenBudget === undefined) return hits
  let left = tokenBudget
  const end = hits.findIndex(({ body }) => {
    left -= Math.ceil(Buffer.byteLength(body.content) / 4)
    return left < 0
  })
  return end < 0 ? hits : hits.slice(0, end)
}
