// Recall: the index finds the best candidates by the words of the question (the first stage, daemon/memory/index); the
// second stage reads those that can be among the best from the records, adds how recent they are and the hint, and
// leaves out what does not hold. The answer is a function of the records and the moment: the same on every replica,
// with or without a cache, and the same as if every candidate had been read.

import type { RecallRequest } from '@loci/contract/memory.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import { DAY_MS } from './analysis/days.ts'
import { foldName } from './analysis/fold.ts'
import type { Filter, Ranked } from './index/search.ts'
import { presentedAt, type RecordBody, round } from './records.ts'
import type { StoredRecord } from './store.ts'
import { ABSTAIN_BELOW, PARTS, type PartWeights } from './weights.ts'

const CANDIDATES_MAX = 200
/** As of a time: what was stored since falls only when it is read. */
const AS_OF_CANDIDATES_MAX = 1_000
/** Read at first beyond what is asked for: some of them do not hold, or are lifted less than they might be. */
const READ_MORE = 8

/** Read at once: a body has up to 60 KB, and with asOf a thousand are read. */
const READ_MAX = 64

const HOUR_MS = 3_600_000
/** Of a sender (RecordWrite). */
const HINT_MAX = 2
/** What happened less than this ago happened now. */
const NOW_MS = 60_000

/** What the index itself can leave out. */
export function filterOf({ actors, kinds, tags }: RecallRequest): Filter {
  return { ...(actors ? { actors: actors.map(foldName) } : {}), ...(kinds ? { kinds } : {}), ...(tags ? { tags } : {}) }
}

export function candidatesMax({ asOf }: RecallRequest): number {
  return asOf === undefined ? CANDIDATES_MAX : AS_OF_CANDIDATES_MAX
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
  /** Records that held at the moment that was asked about may be missing: they stand behind candidates that did not. */
  isCut: boolean
}

export interface Selection {
  /** Numbers of the records to be read next, none when the answer is decided. */
  next(): number[]
  /** What was read of them, in any order; those that cannot be an answer fall. */
  take(rows: Intact[]): void
  answer(): Recalled
}

interface SelectionOptions {
  /** The moment that is asked about. */
  now: number
  /** The database's number when the index was read. */
  seq: number
  weights: Weights
}

export function selectFrom(
  ranked: Ranked[],
  request: RecallRequest,
  { now, seq, weights }: SelectionOptions,
): Selection {
  const { limit, minScore = Number.NEGATIVE_INFINITY } = request
  // Who says how much is enough has decided.
  const enough = request.minScore === undefined ? ABSTAIN_BELOW : Number.NEGATIVE_INFINITY
  const unread = ranked
    .filter((one) => evidenceOf(one) > 0)
    .map((one) => ({ one, most: mostOf(one, now, weights) }))
    .filter(({ most }) => most >= minScore)
    .sort((one, other) => other.most - one.most || other.one.seq - one.one.seq)
  // How many hold is told by reading them: where a count of all is asked for that the index cannot know, all are read.
  const isWhole = request.asOf !== undefined || request.minScore !== undefined
  const reading = new Map<number, Ranked>()
  const hits: Hit[] = []
  let total = unread.length
  let best = 0
  /** Of what was read: those that did not hold, in whose place others may stand behind the last candidate. */
  let fallen = 0
  // Behind those stand the closest to the question, whatever they score.
  const last = ranked[candidatesMax(request) - 1]
  const beyond = last === undefined ? Number.NEGATIVE_INFINITY : mostBehind(last, now, weights)

  return {
    next() {
      const last = hits[limit - 1]?.score ?? Number.NEGATIVE_INFINITY
      let count = unread.findIndex(({ most }) => most < last)
      if (isWhole || count < 0) count = unread.length
      if (!isWhole) count = Math.min(count, hits.length === 0 ? limit + READ_MORE : 2 * hits.length)
      // Nothing more can be shown; what can still be is that the answer is no abstention.
      if (count === 0 && best < enough) count = unread.findIndex(({ one }) => evidenceOf(one) >= enough) + 1
      for (const { one } of unread.splice(0, Math.min(count, READ_MAX))) reading.set(one.seq, one)
      return [...reading.keys()]
    },
    take(rows) {
      const before = hits.length
      for (const row of rows) {
        const one = reading.get(row.seq)
        const isHeld = request.asOf === undefined ? holds(row, seq) : held(row, now)
        if (!isHeld) fallen += 1
        const body = one && isHeld ? (JSON.parse(row.body) as RecordBody) : undefined
        if (!one || !body || !isAsked(body, request)) continue
        best = Math.max(best, evidenceOf(one))
        const { score, explain } = explained(one, body, row, now, weights)
        if (score >= minScore) hits.push({ row, body, score, explain })
      }
      total -= reading.size - (hits.length - before)
      reading.clear()
      // Of equals the newer: it was said last.
      hits.sort((one, other) => other.score - one.score || other.row.seq - one.row.seq)
      hits.splice(limit)
    },
    answer() {
      const least = Math.max(hits[limit - 1]?.score ?? Number.NEGATIVE_INFINITY, minScore)
      // Of an abstention too: what its parts would be is not known of one that was not answered.
      const isOpen = beyond >= least || (last !== undefined && best < enough)
      const isCut = request.asOf !== undefined && fallen > 0 && isOpen
      if (hits.length === 0 || best < enough) return { hits: [], abstained: true, total: 0, isCut }
      return { hits: withinBudget(hits.slice(0, limit), request.tokenBudget), abstained: false, total, isCut }
    },
  }
}

/** What was ended since the index was read still holds; by number, because a clock may have been set back. */
function holds({ version, validTo, archivedAt }: Intact, seq: number): boolean {
  return version > seq || (validTo === null && archivedAt === null)
}

function held({ validFrom, validTo, archivedAt }: Intact, now: number): boolean {
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

/** Scores are rounded part by part. */
const ROUNDED = 1e-5

/** What the score of a candidate is at most. The index knows its day, and whether there is a hint. */
function mostOf({ score, day, isHinted }: Ranked, now: number, weights: Weights): number {
  const latest = Math.min((day + 1) * DAY_MS, now)
  const hint = isHinted ? weights.salience * HINT_MAX : 0
  return score + weights.base * baseLevel([latest], now) + hint + ROUNDED
}

/** What the score of one that the index did not answer any more is at most: of this very moment, with every hint. */
function mostBehind(last: Ranked, now: number, weights: Weights): number {
  return mostOf({ ...last, day: Math.floor(now / DAY_MS), isHinted: true }, now, weights)
}

/** The parts that the index knows, the sender's hint and the base level; they sum to the score as it is shown. */
function explained(one: Ranked, body: RecordBody, row: Intact, now: number, weights: Weights) {
  const presented = presentedAt(body.occurredAt, row.createdAt.getTime())
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

/** How much of its presentations is left: ln of the sum of age in hours to the power of −.5. */
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
