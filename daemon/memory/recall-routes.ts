import { covers } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { type RecallRequest, recallRequest, recallResult } from '@loci/contract/memory.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { databaseMismatch } from '../access/requirements.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import type { Due } from '../databases/store.ts'
import type { Language } from './analysis/item.ts'
import { coverageOf, reasonOf } from './coverage.ts'
import { facetsOf } from './facets.ts'
import type { RecallIndex } from './index/recall-index.ts'
import type { Ranked } from './index/search.ts'
import { judged, type Wanted } from './named.ts'
import type { Parts } from './parts/parts.ts'
import {
  barsOf,
  candidatesMax,
  filterOf,
  type Hit,
  hasFacets,
  isNarrowed,
  type Recalled,
  type Selection,
  type Source,
  selectFrom,
} from './recall.ts'
import { type Continued, continuedOf, nextCursorOf } from './recall-cursor.ts'
import { ENOUGH } from './relevance.ts'
import { damagedOf, SHARED } from './routes.ts'
import { findNumbered, findRecords, type StoredRecord, unreadable } from './store.ts'
import type { Tails } from './tails.ts'
import { languageOf, weightsOf } from './upkeep/config.ts'
import { recordTextsOf } from './upkeep/indexing.ts'
import type { IndexState } from './upkeep/store.ts'

interface RecallOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  index: RecallIndex
  parts: Parts
  tails: Tails
  keys: InstanceKeys
}

export function recallRoutes({ access, pool, shares, index, parts, tails, keys }: RecallOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/memory/recall',
        access: access.capability('memory:read', { databaseInBody: true }),
        summary: 'Recall what answers a question, best first, with the reasons.',
        details:
          'With `recordIds` the answer also says where these stand: rank, parts and relevance, also below the cut, or why they were not looked at.',
        body: recallRequest,
        answers: { 200: recallResult },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, body }) => {
        const startedAt = performance.now()
        const databases = databasesOf(caller, body)
        const continued = continuedOf(body, databases)
        if (continued && body.recordIds)
          throw new ApiError('VALIDATION_ERROR', 'recordIds: go with the first page, not with a cursor')
        // A few of an instance at once: what a recall costs is known when it is answered.
        return shares.inTurn(caller.instance.id, async () => {
          const { recalled, searched, incomplete, damaged, named } = await find(
            caller.instance.id,
            databases,
            body,
            continued,
          ).catch((error) => {
            throw isUnreadable(error) ? unreadable(error) : error
          })
          const { hits, abstained, total } = recalled
          const results = hits.map((hit) => resultOf(hit, body, searched[hit.source] as Searched))
          const page = pageOf(recalled, searched)
          const nextCursor = recalled.isMore ? nextCursorOf(body, databases, page) : null
          const asOfSeq = page.sources[0]?.seq as number
          const why = abstained ? whyOf(recalled, body, searched) : {}
          const tookMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000
          const asked = { ...why, ...(named ? { named } : {}) }
          return { results, abstained, ...asked, nextCursor, total, incomplete, asOfSeq, tookMs, ...damaged }
        })
      },
    ),
  ]

  async function find(
    instanceId: string,
    databases: readonly string[],
    request: RecallRequest,
    continued: Continued | undefined,
  ) {
    const wanted = request.recordIds ? await readNamed(instanceId, databases, request.recordIds) : []
    const found: Searched[] = []
    for (const [at, database] of databases.entries()) {
      const seqs = wanted.flatMap(({ source, row }) => (source === at && row?.intact ? [row.seq] : []))
      found.push(await searchIn({ instanceId, database }, request, seqs))
    }
    // One moment for all of them, and for all pages.
    const latest = Math.max(...found.map(({ now }) => now))
    const now = Math.min(latest, continued?.now ?? latest)
    const searched = found.map((one, at) => ({ ...one, now, before: continued?.sources[at] }))
    const selection = selectFrom(searched, request, continued?.best)
    // Those of the tail are named too: nobody can say whether they would have been an answer.
    const damaged: StoredRecord[][] = []
    for (const { place, unread } of searched)
      damaged.push(unread.length === 0 ? [] : await findNumbered(pool, instanceId, place.database, unread))
    await readInto(selection, searched, (source, rows) => damaged[source]?.push(...rows))
    for (const [source, { state }] of searched.entries()) damaged[source]?.push(...unnamed(state, damaged[source]))
    const recalled = selection.answer()
    const incomplete = recalled.isCut || searched.some(({ state }) => state.isClosedCut || state.unreadable > 0)
    const named = request.recordIds && (await judgeNamed(wanted, searched, request, recalled))
    return { recalled, searched, incomplete, damaged: damagedOf(damaged.flat()), named }
  }

  async function readInto(
    selection: Selection,
    searched: readonly Searched[],
    onDamaged: (source: number, rows: StoredRecord[]) => void = () => {},
  ): Promise<void> {
    for (let wanted = selection.next(); wanted.length > 0; wanted = selection.next()) {
      for (const { source, seqs } of wanted) {
        const { place } = searched[source] as Searched
        const rows = await findNumbered(pool, place.instanceId, place.database, seqs)
        selection.take(
          source,
          rows.filter((row) => row.intact),
        )
        onDamaged(
          source,
          rows.filter((row) => !row.intact),
        )
      }
    }
  }

  /** Each in the first database that has it. Read before the search, which looks for them by their numbers. */
  async function readNamed(instanceId: string, databases: readonly string[], ids: string[]): Promise<Wanted[]> {
    const wanted = [...new Set(ids)]
    const pairs = wanted.flatMap((id) => databases.map((database) => ({ database, id })))
    const rows = await findRecords(pool, instanceId, pairs)
    return wanted.map((id, at) => {
      const own = rows.slice(at * databases.length, (at + 1) * databases.length)
      const source = own.findIndex((row) => row !== undefined)
      return { id, source: source < 0 ? undefined : source, row: own[source] }
    })
  }

  /** Ranks are among all candidates: these are read, and nothing of the answer depends on it. */
  async function judgeNamed(
    wanted: Wanted[],
    searched: readonly Searched[],
    request: RecallRequest,
    recalled: Recalled,
  ) {
    const { minScore, tokenBudget, ...asked } = request
    const limit = searched.reduce((sum, { ranked }) => sum + ranked.length, 0)
    const ordering = selectFrom(searched, { ...asked, limit, abstain: false, minRelevance: 0, explain: false })
    await readInto(ordering, searched)
    const { hits } = ordering.answer()
    return wanted.map((named) => {
      const { source: at, row } = named
      const source = at === undefined ? undefined : searched[at]
      const isIt = (one: { seq: number }) => one.seq === row?.seq
      const candidate = source?.ranked.find(isIt)
      const rank = hits.findIndex((hit) => hit.source === at && isIt(hit.row)) + 1 || null
      const found = {
        one: candidate ?? source?.beside.find(isIt),
        isCandidate: candidate !== undefined,
        rank,
        among: hits.length,
      }
      const { body, explain, ...told } = judged(named, found, source, request, recalled)
      return {
        ...told,
        ...(request.databases && source ? { database: source.place.database } : {}),
        explain:
          explain && body && source ? { ...explain, words: coverageOf(request.query, source.language, body) } : null,
      }
    })
  }

  /** `named`: numbers of records that are looked for besides, whatever they are worth. */
  async function searchIn(place: Due, request: RecallRequest, named: readonly number[]): Promise<Searched> {
    const asOf = request.asOf === undefined ? null : new Date(request.asOf)
    const { state, tail, damaged: unread } = await tails.read(pool, place, asOf)
    const language = languageOf(state)
    const weights = weightsOf(state)
    const segments = await parts.of(place, state, language)
    const closed = await recordTextsOf(keys, place.instanceId, state.closed)
    // Where nothing was stored there may be no key yet, and a read makes none.
    const isEmpty = segments.length === 0 && tail.length === 0 && closed.length === 0
    const facets = hasFacets(request) && !isEmpty ? facetsOf(await keys.of(place.instanceId)) : null
    const filter = filterOf(request, facets)
    const asked = {
      instanceId: place.instanceId,
      database: `${place.database}@${state.life}`,
      language,
      segments,
      tail: [...tail, ...closed],
      masked: state.changed,
      query: request.query,
      options: { limit: candidatesMax(request), weights, ...(filter ? { filter } : {}) },
    }
    const ranked = await index.search(asked)
    const always = named.filter((seq) => !ranked.some((one) => one.seq === seq))
    const beside =
      always.length === 0 ? [] : await index.search({ ...asked, options: { ...asked.options, limit: 0, always } })
    const now = (asOf ?? state.now).getTime()
    return { place, state, language, ranked, beside, weights, unread, now, seq: state.seq }
  }
}

/** A database as it was searched. */
interface Searched extends Source {
  place: Due
  state: IndexState
  language: Language
  /** Of records that were named and are not among the candidates. */
  beside: Ranked[]
  /** Of its tail: numbers of damaged records. */
  unread: number[]
}

/** Those of the body, or the one of the header, else the default one; the credential covers each of them. */
function databasesOf({ database, ks }: Caller, { databases }: RecallRequest): string[] {
  const asked = [...new Set(databases ?? [database])]
  const missing = asked.find((name) => !covers(ks, 'memory', name))
  if (missing !== undefined) throw databaseMismatch('memory', missing, databases !== undefined)
  return asked
}

/** What the next page is to know of this one and those before it. */
function pageOf({ hits, best }: Recalled, searched: readonly Searched[]): Continued {
  const seqsOf = (at: number) => hits.flatMap(({ source, row }) => (source === at ? [row.seq] : []))
  return {
    now: (searched[0] as Searched).now,
    best,
    sources: searched.map(({ seq, before }, at) => ({
      seq: before?.seq ?? seq,
      shown: new Set([...(before?.shown ?? []), ...seqsOf(at)]),
    })),
  }
}

function whyOf({ nearest, best }: Recalled, request: RecallRequest, searched: readonly Searched[]) {
  const { query } = request
  const [first] = nearest
  const { language } = searched[first?.source ?? 0] as Searched
  const reason = reasonOf({
    ...{ query, language, nearest: first, enough: request.minRelevance ?? ENOUGH },
    hasMemories: searched.some(({ ranked }) => ranked.length > 0),
    isNarrowed: isNarrowed(request),
  })
  const { enough } = barsOf(request)
  const isByScore = request.minScore !== undefined && best >= enough
  const threshold = isByScore ? null : enough
  return {
    reason,
    abstention: { best: Math.round(best * 10_000) / 10_000, threshold },
    nearest: nearest.map((hit) => {
      const { id, relevance, database, content, explain } = resultOf(hit, request, searched[hit.source] as Searched)
      return { id, relevance, ...(database ? { database } : {}), ...(explain ? { content, explain } : {}) }
    }),
  }
}

/** Of records that ended and cannot be read, those that are not among the candidates. */
function unnamed({ unreadable, through }: IndexState, damaged: StoredRecord[]): StoredRecord[] {
  const known = damaged.filter((row) => !row.intact && row.isUnreadable && row.seq <= through).length
  return Array.from({ length: Math.max(0, unreadable - known) }, () => ({
    ...{ id: null, seq: 0, intact: false, isUnreadable: true },
  }))
}

function resultOf(
  { row, body, score, relevance, explain }: Hit,
  request: RecallRequest,
  { place, language }: Searched,
) {
  return {
    id: row.id,
    key: row.key,
    content: body.content,
    kind: body.kind,
    relevance: Math.round(relevance * 10_000) / 10_000,
    score,
    explain: explain && { ...explain, words: coverageOf(request.query, language, body) },
    ...(request.databases ? { database: place.database } : {}),
    evidenceRefs: body.evidenceRefs,
    tags: body.tags,
    contextId: body.contextId,
    actor: body.actor,
    metadata: body.metadata,
    source: body.source,
    createdAt: row.createdAt.toISOString(),
    occurredAt: body.occurredAt,
    validFrom: row.validFrom.toISOString(),
    validTo: row.validTo?.toISOString() ?? null,
    version: row.version,
  }
}
