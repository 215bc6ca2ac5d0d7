// "Why is this one not among them?": where records stand for a question that were named with it. What is answered of
// them is made of the same search, bars and order as the results, and changes none of these.

import type { NamedRecord, RecallRequest } from '@loci/contract/memory.ts'
import type { Ranked } from './index/search.ts'
import { barsOf, filtersAgainst, held, holds, type Recalled, type Source, scored } from './recall.ts'
import type { RecordBody } from './records.ts'
import type { StoredRecord } from './store.ts'

/** A record as it was read by its id, before the search; undefined where there is none. */
export interface Wanted {
  id: string
  /** Which of the sources has it; undefined for none. */
  source: number | undefined
  row: StoredRecord | undefined
}

/** What the search said of it. */
interface Found {
  one: Ranked | undefined
  /** Whether it is among the candidates; others were looked for by their number. */
  isCandidate: boolean
  rank: number | null
  /** How many have one. */
  among: number
}

type Judged = Omit<NamedRecord, 'database' | 'explain'> & {
  explain: NonNullable<ReturnType<typeof scored>['explain']> | null
  body: RecordBody | null
}

const NOTHING = {
  ...{ filteredBy: [], rank: null, among: null, relevance: null, needs: null, score: null },
  ...{ content: null, explain: null, body: null },
}

export function judged(
  { id, row }: Wanted,
  { one, isCandidate, rank, among }: Found,
  source: Source | undefined,
  request: RecallRequest,
  recalled: Recalled,
): Judged {
  const told = (standing: NamedRecord['standing'], reason: string) => ({ id, standing, reason })
  if (!row || !source) return { ...NOTHING, ...told('missing', REASONS.missing) }
  if (!row.intact) return { ...NOTHING, ...told('damaged', REASONS.damaged) }
  const { now, seq, weights } = source
  const body = JSON.parse(row.body) as RecordBody
  const known = { ...NOTHING, content: body.content, body }
  if (request.asOf !== undefined && row.validFrom.getTime() > now) return { ...known, ...told('later', REASONS.later) }
  if (request.asOf === undefined ? !holds(row, seq) : !held(row, now)) {
    const isSuperseded = row.validTo !== null
    return {
      ...known,
      ...told(isSuperseded ? 'superseded' : 'archived', isSuperseded ? REASONS.superseded : REASONS.archived),
    }
  }
  if (!one) return { ...known, ...told('not_indexed', REASONS.not_indexed) }
  const { score, explain } = scored(one, body, row, now, weights, true)
  const relevance = rounded(one.relevance)
  const { enough, leastBeside } = barsOf(request)
  const needs = recalled.best < enough ? enough : leastBeside(recalled.best)
  const numbers = { ...known, rank, among: rank && among, relevance, needs: rounded(needs), score, explain }
  const filteredBy = filtersAgainst(row, body, request)
  if (filteredBy.length > 0)
    return { ...numbers, filteredBy, ...told('filtered', `It is left out by ${filteredBy.join(', ')}.`) }
  if (!one.hasEvidence) return { ...numbers, ...told('no_evidence', REASONS.no_evidence) }
  if (!isCandidate) return { ...numbers, ...told('crowded_out', REASONS.crowded_out) }
  if (recalled.abstained || one.relevance < needs)
    return { ...numbers, ...told('below', belowReason(relevance, needs, recalled.abstained)) }
  if (score < (request.minScore ?? Number.NEGATIVE_INFINITY))
    return { ...numbers, ...told('below', `Its score is below ${request.minScore}, which was asked for.`) }
  return { ...numbers, ...told('result', 'It is a result, on this page or a later one.') }
}

const REASONS = {
  missing: 'It was erased, its time is over, or it never was in this database.',
  damaged: 'It does not fit its digest, and is kept out of every answer.',
  later: 'It was stored after the time that was asked about.',
  superseded: 'Another memory has taken its place.',
  archived: 'It was archived.',
  not_indexed: 'It was written, or ended, while this was answered: ask again.',
  no_evidence: 'Neither its words nor what they mean have to do with the question.',
  crowded_out: 'The best candidates are in front of it, or several near copies of it by the same actor.',
} as const

function belowReason(relevance: number, needs: number, isAbstention: boolean): string {
  const numbers = `Its relevance is ${relevance.toFixed(2)}`
  if (relevance >= needs) return `${numbers}, which is enough, and nothing was answered because of the score.`
  return isAbstention
    ? `${numbers}; at least ${needs.toFixed(2)} is an answer, and nothing has that.`
    : `${numbers}; a result beside the best one has at least ${needs.toFixed(2)}.`
}

function rounded(relevance: number): number {
  return Math.round(relevance * 10_000) / 10_000
}
