// Recall: the index finds the best candidates by the words of the question (the first stage, daemon/memory/index); the
// second stage reads those that can be among the best from the records, adds how recent they are and the hint, and
// leaves out what does not hold. The answer is a function of the records and the moment: the same on every replica,
// with or without a cache, and the same as if every candidate had been read.

import type { RecallRequest } from '@loci/contract/memory.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import { DAY_MS } from './analysis/days.ts'
import { foldName } from './analysis/fold.ts'
import { canonical, type Facets } from './facets.ts'
import type { Filter } from './index/filter.ts'
import type { Ranked } from './index/search.ts'
import type { Continued } from './recall-cursor.ts'
import { presentedAt, type RecordBody, round } from './records.ts'
import { ENOUGH, HIT } from './relevance.ts'
import type { StoredRecord } from './store.ts'
import { PARTS, type PartWeights } from './weights.ts'

const CANDIDATES_MAX = 200
/** As of a time: what was stored since falls only when it is read. */
const AS_OF_CANDIDATES_MAX = 1_000
/** Read at first beyond what is asked for: some of them do not hold, or are lifted less than they might be. */
const READ_MORE = 8

/** Named where a recall abstains. */
const NEAREST_MAX = 3

/** Read at once: a body has up to 60 KB, and with asOf a thousand are read. */
const READ_MAX = 64

const HOUR_MS = 3_600_000
/** Of a sender (RecordWrite). */
const HINT_MAX = 2
/** What happened less than this ago happened now. */
const NOW_MS = 60_000

/** What the index itself can leave out. */
/** What a recall or a list may be narrowed by. */
export type Narrowing = Pick<
  RecallRequest,
  'actors' | 'kinds' | 'tags' | 'contextIds' | 'keys' | 'metadata' | 'since' | 'until'
>

export function filterOf(request: Narrowing, facets: Facets | null): Filter | undefined {
  const { actors, kinds, tags, since, until } = request
  const filter: Filter = {
    ...(actors ? { actors: actors.map(foldName) } : {}),
    ...(kinds ? { kinds } : {}),
    ...(tags ? { tags } : {}),
    ...(since === undefined ? {} : { since: Date.parse(since) }),
    ...(until === undefined ? {} : { until: Date.parse(until) }),
    ...(facets ? facetFilterOf(request, facets) : {}),
  }
  return Object.keys(filter).length === 0 ? undefined : filter
}

function facetFilterOf({ contextIds, keys, metadata }: Narrowing, facets: Facets): Filter {
  return {
    ...(contextIds ? { contexts: contextIds.map(facets.context) } : {}),
    ...(keys ? { keys: keys.map(facets.key) } : {}),
    ...(metadata ? { members: facets.members(metadata) } : {}),
  }
}

/** Whether a search for this needs the instance's key. */
export function hasFacets({ contextIds, keys, metadata }: Narrowing): boolean {
  return contextIds !== undefined || keys !== undefined || metadata !== undefined
}

export function isNarrowed({ kinds, tags, actors, since, until, asOf, ...request }: RecallRequest): boolean {
  return hasFacets(request) || [kinds, tags, actors, since, until, asOf].some((one) => one !== undefined)
}

export function candidatesMax({ asOf }: RecallRequest): number {
  return asOf === undefined ? CANDIDATES_MAX : AS_OF_CANDIDATES_MAX
}

type Weights = PartWeights & { base: number }

type Intact = Extract<StoredRecord, { intact: true }>

/** What the index of one database answered, and when. */
export interface Source {
  ranked: Ranked[]
  /** The moment that is asked about. */
  now: number
  /** The database's number when the index was read. */
  seq: number
  weights: Weights
  /** What the pages before have shown of it, and its number then. */
  before?: Continued['sources'][number] | undefined
}

export interface Hit {
  /** Which of the sources it is from. */
  source: number
  row: Intact
  body: RecordBody
  score: number
  relevance: number
  /** To who asks for it. */
  explain: Explanation | null
}

export interface Recalled {
  hits: Hit[]
  /** The relevance of the best one, of all pages. */
  best: number
  /** Whether there is another page. */
  isMore: boolean
  abstained: boolean
  /** Where it abstained: the most relevant records that hold. */
  nearest: Hit[]
  total: number
  /** Records that held at the moment that was asked about may be missing: they stand behind candidates that did not. */
  isCut: boolean
}

/** Records of one source, by number. */
export interface Wanted {
  source: number
  seqs: number[]
}

export interface Selection {
  /** The records to be read next, none when the answer is decided. */
  next(): Wanted[]
  /** What was read of them, in any order; those that cannot be an answer fall. */
  take(source: number, rows: Intact[]): void
  answer(): Recalled
}

interface Candidate {
  one: Ranked
  source: number
  /** What its score is at most. */
  most: number
}

/**
 * By default a recall abstains unless a record is an answer more likely than not, and shows beside it what has at least
 * half of its relevance. An explicit minScore or minRelevance, or `abstain: false`, replaces this.
 */
export function barsOf({ abstain, minScore, minRelevance }: RecallRequest) {
  const isDecided = !abstain || minScore !== undefined || minRelevance !== undefined
  const least = minRelevance ?? 0
  return {
    isDecided,
    enough: isDecided ? least : ENOUGH,
    leastBeside: (best: number) => (isDecided ? least : Math.max(HIT.least, HIT.share * best)),
  }
}

/** `bestBefore`: the relevance of the best record where this is not the first page. */
export function selectFrom(sources: readonly Source[], request: RecallRequest, bestBefore?: number): Selection {
  const { limit, minScore = Number.NEGATIVE_INFINITY } = request
  const { isDecided, enough, leastBeside } = barsOf(request)
  // By relevance: whether to abstain, and what may be shown, depends on the most relevant record that holds.
  const unread: Candidate[] = []
  let shownBefore = 0
  for (const [source, { ranked, now, weights, before }] of sources.entries()) {
    shownBefore += before?.shown.size ?? 0
    for (const one of ranked) {
      if (before && (one.seq > before.seq || before.shown.has(one.seq))) continue
      const most = mostOf(one, now, weights)
      if (one.hasEvidence && most >= minScore) unread.push({ one, source, most })
    }
  }
  unread.sort((a, b) => b.one.relevance - a.one.relevance || b.most - a.most || b.one.seq - a.one.seq)
  // How many hold is told by reading them: where a count of all is asked for that the index cannot know, all are read.
  const isWhole = request.asOf !== undefined || request.minScore !== undefined
  const reading = new Map<string, Candidate>()
  /** Those that hold: of what was read, and once the best is known only so many as can be shown. */
  let hits: Hit[] = []
  let passedOver = 0
  let best = bestBefore ?? 0
  /** Of what was read: those that did not hold, in whose place others may stand behind the last candidate. */
  let fallen = 0

  function next(): Wanted[] {
    const most = Math.max(best, unread[0]?.one.relevance ?? 0)
    const chosen = isWhole ? unread.slice() : most < enough ? nearestUnread() : unreadBeside(most)
    for (const candidate of chosen.slice(0, READ_MAX)) {
      unread.splice(unread.indexOf(candidate), 1)
      reading.set(keyOf(candidate.source, candidate.one.seq), candidate)
    }
    return wantedOf(reading.values())
  }

  /** An abstention: those that are told as the nearest. */
  function nearestUnread(): Candidate[] {
    return unread.filter(({ one }) => one.relevance > 0).slice(0, Math.max(0, NEAREST_MAX - hits.length))
  }

  /**
   * Those that can be shown beside one of that relevance and are not behind what is shown already; and the most
   * relevant one, which decides whether anything is shown, and how little is enough.
   */
  function unreadBeside(most: number): Candidate[] {
    const last = hits[limit - 1]?.score ?? Number.NEGATIVE_INFINITY
    const least = leastBeside(most)
    const end = unread.findIndex(({ one }) => one.relevance < least)
    const able = (end < 0 ? unread : unread.slice(0, end)).filter((candidate) => candidate.most >= last)
    able.sort((a, b) => b.most - a.most || b.one.seq - a.one.seq)
    const chosen = able.slice(0, hits.length === 0 ? limit + READ_MORE : 2 * hits.length)
    const [first] = unread
    const isOpen = !isDecided && first !== undefined && best < most && !chosen.includes(first)
    return isOpen ? [first, ...chosen] : chosen
  }

  function take(source: number, rows: Intact[]): void {
    const { now, seq, weights } = sources[source] as Source
    for (const row of rows) {
      const one = reading.get(keyOf(source, row.seq))?.one
      const isHeld = request.asOf === undefined ? holds(row, seq) : held(row, now)
      if (!isHeld) fallen += 1
      const body = one && isHeld ? (JSON.parse(row.body) as RecordBody) : undefined
      if (!one || !body || !isAsked(row, body, request)) continue
      best = Math.max(best, one.relevance)
      const { score, explain } = scored(one, body, row, now, weights, request.explain)
      if (score >= minScore) hits.push({ source, row, body, score, relevance: one.relevance, explain })
    }
    for (const key of reading.keys()) if (key.startsWith(`${source} `)) reading.delete(key)
    // Of equals the newer: it was said last.
    hits.sort((a, b) => b.score - a.score || b.row.seq - a.row.seq)
    if (isWhole || best < enough || reading.size > 0) return
    // All that was read had enough beside the best there might be, so it has enough beside the best there is.
    const shown = hits.filter(({ relevance }) => relevance >= leastBeside(best))
    hits = shown.slice(0, limit)
    passedOver += shown.length - hits.length
  }

  function answer(): Recalled {
    const least = leastBeside(best)
    const shown = hits.filter(({ relevance }) => relevance >= least)
    const isCut = request.asOf !== undefined && fallen > 0 && isOpen(shown)
    if (request.abstain && bestBefore === undefined && (best < enough || shown.length === 0)) {
      const nearest = hits.toSorted((a, b) => b.relevance - a.relevance || b.score - a.score).slice(0, NEAREST_MAX)
      const told = nearest.filter((hit) => hit.relevance > 0)
      return { hits: [], best, isMore: false, abstained: true, nearest: told, total: 0, isCut }
    }
    const left = shown.length + passedOver + unread.filter(({ one }) => one.relevance >= leastBeside(best)).length
    const page = withinBudget(shown.slice(0, limit), request.tokenBudget)
    // A page that shows nothing is the last: what does not fit its budget would not fit the next one's.
    const isMore = page.length > 0 && page.length < left
    return { hits: page, best, isMore, abstained: false, nearest: [], total: shownBefore + left, isCut }
  }

  /** Whether one that a full list of candidates left out could be among these. */
  function isOpen(shown: readonly Hit[]): boolean {
    const least = Math.max(shown[limit - 1]?.score ?? Number.NEGATIVE_INFINITY, minScore)
    return sources.some(({ ranked, now, weights }) => {
      // Behind those stand the closest to the question, whatever they score.
      const last = ranked[candidatesMax(request) - 1]
      // Of an abstention too: what its relevance would be is not known of one that was not answered.
      return last !== undefined && (mostBehind(last, now, weights) >= least || best < enough)
    })
  }

  return { next, take, answer }
}

function keyOf(source: number, seq: number): string {
  return `${source} ${seq}`
}

function wantedOf(candidates: Iterable<Candidate>): Wanted[] {
  return [...Map.groupBy(candidates, ({ source }) => source)].map(([source, own]) => ({
    source,
    seqs: own.map(({ one }) => one.seq),
  }))
}

/** What was ended since the index was read still holds; by number, because a clock may have been set back. */
export function holds({ version, validTo, archivedAt }: Intact, seq: number): boolean {
  return version > seq || (validTo === null && archivedAt === null)
}

export function held({ validFrom, validTo, archivedAt }: Intact, now: number): boolean {
  const isOver = (time: Date | null) => time !== null && time.getTime() <= now
  return validFrom.getTime() <= now && !isOver(validTo) && !isOver(archivedAt)
}

/** What passed by a hash in the index is compared with what it is made of. Actors are compared by the index alone. */
export function isAsked(row: Intact, body: RecordBody, { actors, ...request }: Narrowing): boolean {
  return filtersAgainst(row, body, request).length === 0
}

/** Which fields of the request leave a record out. */
export function filtersAgainst({ key, createdAt }: Intact, body: RecordBody, request: Narrowing): string[] {
  const { actors, kinds, tags, contextIds, keys, metadata, since, until } = request
  const at = body.occurredAt === null ? createdAt.getTime() : Date.parse(body.occurredAt)
  const passes = {
    actors: !actors || (body.actor !== null && actors.map(foldName).includes(foldName(body.actor))),
    kinds: !kinds || kinds.includes(body.kind),
    tags: !tags || tags.every((tag) => body.tags.includes(tag)),
    contextIds: !contextIds || (body.contextId !== null && contextIds.includes(body.contextId)),
    keys: !keys || (key !== null && keys.includes(key)),
    metadata: !metadata || hasMembers(body.metadata, metadata),
    since: since === undefined || at >= Date.parse(since),
    until: until === undefined || at <= Date.parse(until),
  }
  return Object.entries(passes).flatMap(([name, isPassed]) => (isPassed ? [] : [name]))
}

function hasMembers(own: RecordBody['metadata'], wanted: Record<string, unknown>): boolean {
  if (own === null) return Object.keys(wanted).length === 0
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(own, name) && canonical(own[name]) === canonical(value),
  )
}

/** Scores are rounded part by part. */
const ROUNDED = 1e-5

/** What the score of a candidate is at most. The index knows its day, and whether there is a hint. */
function mostOf({ score, day, isHinted }: Ranked, now: number, weights: Weights): number {
  return mostAt(score, Math.min((day + 1) * DAY_MS, now), isHinted, now, weights)
}

/** What the score of one that the index did not answer any more is at most: of this very moment, with every hint. */
function mostBehind({ score }: Ranked, now: number, weights: Weights): number {
  const today = Math.floor(now / DAY_MS)
  return mostAt(score, Math.min((today + 1) * DAY_MS, now), true, now, weights)
}

function mostAt(score: number, latest: number, isHinted: boolean, now: number, weights: Weights): number {
  const hint = isHinted ? weights.salience * HINT_MAX : 0
  return score + weights.base * baseLevel(latest, now) + hint + ROUNDED
}

/**
 * The score as it is shown: the parts that the index knows, the sender's hint and the base level, each rounded. What
 * they are is made for who asks: of every record that is read it would be much of what a recall leaves to collect.
 */
export function scored(one: Ranked, body: RecordBody, row: Intact, now: number, weights: Weights, explains: boolean) {
  const presented = presentedAt(body.occurredAt, row.createdAt.getTime())
  const contributions = one.parts.map(round)
  contributions.push(round(weights.salience * body.salienceHint), round(weights.base * baseLevel(presented, now)))
  const score = round(contributions.reduce((sum, contribution) => sum + contribution, 0))
  return { score, explain: explains ? { score, parts: explained(contributions, weights) } : null }
}

const NAMES = [...PARTS, 'hint', 'base'] as const

function explained(contributions: readonly number[], weights: Weights): Explanation['parts'] {
  return NAMES.flatMap((name, at) => {
    const contribution = contributions[at] as number
    const weight = name === 'hint' ? weights.salience : weights[name]
    return contribution === 0 ? [] : [{ name, value: round(contribution / weight), weight, contribution }]
  })
}

/** How much of its presentation is left: ln of its age in hours to the power of −.5. */
function baseLevel(presentedAt: number, now: number): number {
  return Math.log((Math.max(now - presentedAt, NOW_MS) / HOUR_MS) ** -0.5)
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
