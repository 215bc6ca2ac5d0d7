// What an address asks of memory, what a hit lacks beside another, and how long a memory was true: rules without React.

import type { RecallRequest, RecallResult } from '@loci/sdk/daemon.ts'
import type { Part } from '../../parts/explanation.ts'
import type { MemorySearch } from '../../search.ts'

export type Hit = RecallResult['results'][number]
export type Named = NonNullable<RecallResult['named']>[number]
export type Nearest = NonNullable<RecallResult['nearest']>[number]

const LIMIT = 10
/** Below it recall abstains, unless it is told otherwise (docs/recall.md). */
export const ANSWERS_FROM = 0.5

/** What the filters of an address say, of a question and of the list alike. */
export type Filters = Pick<MemorySearch, 'actor' | 'kind' | 'tag' | 'context' | 'key' | 'since' | 'until'>
const FILTERS = ['actor', 'kind', 'tag', 'context', 'key', 'since', 'until'] as const

export function isFiltered(search: Filters): boolean {
  return FILTERS.some((name) => search[name] !== undefined)
}

/** Undefined where the address asks nothing. */
export function recallRequest(search: MemorySearch): RecallRequest | undefined {
  const { q, as_of, actor, kind, tag, context, key, since, until, anyway } = search
  if (q === undefined) return undefined
  return {
    query: q,
    limit: limitOf(search),
    explain: true,
    ...(anyway ? { abstain: false } : {}),
    ...(as_of ? { asOf: as_of } : {}),
    ...(actor ? { actors: [actor] } : {}),
    ...(kind ? { kinds: [kind] } : {}),
    ...(tag ? { tags: [tag] } : {}),
    ...(context ? { contextIds: [context] } : {}),
    ...(key ? { keys: [key] } : {}),
    ...(since ? { since } : {}),
    ...(until ? { until } : {}),
  }
}

export function limitOf({ limit }: Pick<MemorySearch, 'limit'>): number {
  return limit === undefined ? LIMIT : Number(limit)
}

export function listQuery({ actor, kind, tag, context, key, since, until, order }: MemorySearch) {
  return {
    ...(actor ? { actor } : {}),
    ...(kind ? { kind } : {}),
    ...(tag ? { tag } : {}),
    ...(context ? { contextId: context } : {}),
    ...(key ? { key } : {}),
    ...(since ? { since } : {}),
    ...(until ? { until } : {}),
    ...(order ? { order } : {}),
  }
}

/** For a shell: nothing in it is read as anything else. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

interface CurlOf {
  endpoint: string
  database: string | undefined
  request: RecallRequest
}

/** The same question without the console. The capability is a variable: nobody's clipboard should hold one. */
export function curlOf({ endpoint, database, request }: CurlOf): string {
  const headers = ['x-loci-capability: $LOCI_TOKEN', 'content-type: application/json']
  if (database) headers.push(`x-loci-database: ${database}`)
  return [
    `curl -s ${quoted(`${endpoint.replace(/\/$/, '')}/v1/memory/recall`)}`,
    ...headers.map((header) => `-H "${header}"`),
    `-d ${quoted(JSON.stringify(request))}`,
  ].join(' \\\n  ')
}

/** The names of what counts most, largest first. */
export function leading(parts: readonly Part[], most = 3): string[] {
  return parts
    .filter(({ contribution }) => contribution > 0)
    .toSorted((one, other) => other.contribution - one.contribution)
    .slice(0, most)
    .map(({ name }) => name)
}

export interface Lack {
  name: string
  own: number
  other: number
}

/** Where it differs from another one, what it lacks most of first. */
export function lacks(own: readonly Part[], other: readonly Part[]): Lack[] {
  const of = (parts: readonly Part[], wanted: string) =>
    parts.reduce((sum, { name, contribution }) => (name === wanted ? sum + contribution : sum), 0)
  const names = [...new Set([...other, ...own].map(({ name }) => name))]
  return names
    .map((name) => ({ name, own: of(own, name), other: of(other, name) }))
    .filter((one) => one.own !== one.other)
    .toSorted((one, two) => one.own - one.other - (two.own - two.other))
}

const STANDINGS: Readonly<Record<Named['standing'], string>> = {
  result: 'is a result',
  below: 'is below the cut',
  crowded_out: 'is crowded out',
  no_evidence: 'has nothing to do with it',
  filtered: 'is filtered out',
  superseded: 'was superseded',
  archived: 'was archived',
  later: 'came later',
  not_indexed: 'is not indexed yet',
  damaged: 'is damaged',
  missing: 'is not here',
}

/** Where a memory stands that was named, in three or four words. */
export function standingText({ standing }: Pick<Named, 'standing'>): string {
  return STANDINGS[standing] ?? standing
}

export function isRecordId(text: string): boolean {
  return /^mem_[0-9a-z]{26}$/.test(text.trim())
}

const ORDINALS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
const RULES = new Intl.PluralRules('en', { type: 'ordinal' })

/** `1st`, `22nd`. */
export function ordinal(rank: number): string {
  return `${rank}${ORDINALS[RULES.select(rank)]}`
}

const SEEN_MAX = 8

/** Values to choose from: those that were met in what is shown. */
export function seen(values: readonly (string | null)[]): string[] {
  const found = new Set(values.filter((value): value is string => value !== null && value !== ''))
  return [...found].toSorted((one, other) => one.localeCompare(other)).slice(0, SEEN_MAX)
}

/** A field of a date and time has no zone: it is meant in the zone that times are shown in. */
export function momentOf(typed: string, zone: 'local' | 'utc'): string | undefined {
  const at = new Date(zone === 'utc' ? `${typed}Z` : typed)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
