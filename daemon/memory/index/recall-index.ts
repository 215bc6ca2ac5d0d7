// What memory's store calls: search, build and merge. Bodies of segments are kept here, up to LOCI_INDEX_BYTES_MAX;
// what is derived from them is kept by the engines and counted here. A small database is searched in the main thread, a
// large one in a worker thread; segments are built and merged in another, so that no search waits for a build.

import type { Log } from '@loci/chassis/log.ts'
import { resume } from '@loci/meter/meter.ts'
import type { Language, RecordText } from '../analysis/item.ts'
import type { Encoder } from '../encoder/encoder.ts'
import type { EncoderFacts } from '../encoder/folder.ts'
import { laterVectors, tailVectors, type Vectors, vectorsBy } from '../encoder/records.ts'
import { encodedText } from '../encoder/text.ts'
import { type ByteCache, createByteCache } from './cache.ts'
import { createEngine, type EngineAnswer, type EngineRequest, MissingPartError } from './engine.ts'
import type { Filter } from './filter.ts'
import { itemsOfSegment } from './format.ts'
import type { Listed, Page } from './listing.ts'
import type { Found, Ranked, SearchOptions } from './search.ts'
import { createThread, LateError, type Thread } from './thread.ts'
import { unpackRanked } from './worker.ts'

export interface RecallRequest {
  instanceId: string
  database: string
  language: Language
  /** The database's segments, in the order of their seqs. `load` fetches the body of one that is not cached. */
  segments: readonly { id: string; load: () => Promise<Uint8Array> }[]
  /** Rows after the segments: those that count now. They are analysed once and remembered by seq. */
  tail: readonly RecordText[]
  /** Seqs of items in the segments that no longer count: superseded, archived or erased since. */
  masked: readonly number[]
  query: string
  options: Pick<SearchOptions, 'limit' | 'weights' | 'salience' | 'always'> & { filter?: Filter }
}

/** What a cycle asks, over what is stored and what is fresh. Without a query: the terms of `fresh` and of `words`. */
export interface CueRequest extends Omit<RecallRequest, 'query' | 'options'> {
  query: string | null
  words: readonly string[]
  /** With seqs above all others; nothing is kept of them. */
  fresh: readonly RecordText[]
  options: SearchOptions
}

/** A page of the items that pass a filter, by their numbers. */
export interface ListRequest extends Omit<RecallRequest, 'query' | 'options'> {
  page: Page
}

export interface RecallIndex {
  /**
   * The best items. Rejects with 503 when the queue is full or the thread died, with DamagedSegmentError when a body is
   * not what it was; never with a part of the answer.
   */
  search(request: RecallRequest): Promise<Ranked[]>
  /** The same for a cycle. */
  find(request: CueRequest): Promise<Found>
  list(request: ListRequest): Promise<Listed>
  /** The body of a segment of these rows, with the vectors of those that were encoded lately. */
  build(records: readonly RecordText[], language: Language): Promise<Uint8Array>
  /** One segment of the given ones without the dropped seqs, with vectors that were made since. */
  merge(bodies: readonly Uint8Array[], drop: readonly number[], vectors?: Vectors): Promise<Uint8Array>
  /** Undefined while there is none. */
  readonly encoder: EncoderFacts | undefined
  /** Vectors of these rows, as many as are made by `endsAt` (performance.now()). */
  encode(records: readonly RecordText[], endsAt: number): Promise<Vectors>
  /** Rows that were stored: their vectors are made soon. */
  encodeLater(records: readonly Pick<RecordText, 'actor' | 'content' | 'media'>[]): void
  /** Starts the search thread and searches a little in both: what the first recall would have to wait for. */
  warm(): Promise<void>
  /** A replaced or erased segment leaves the cache at once. */
  forget(instanceId: string, segmentIds: readonly string[]): void
  readonly cachedBytes: number
  close(): Promise<void>
}

export interface RecallIndexOptions {
  bytesMax: number
  log: Log
  encoder?: Encoder
  /** Databases of fewer items are searched in the main thread. */
  threadItemsMin?: number
  threads?: { search: Thread; build: Thread }
}

/**
 * Measured per search at 1,000 items: .56 ms in the main thread; through the worker .13 ms of the main thread and .8 ms
 * in all. So a small database is searched where its request is, at a third less in all. From 2,000 items on, to join
 * the segments of a database that was not cached would hold up every other request.
 */
const THREAD_ITEMS_MIN = 2_000
/** With vectors to compare a search of 1,000 items takes 2 ms more, which no other request is to wait for. */
const ENCODED_THREAD_ITEMS_MIN = 256
/** Texts that are analysed in the main thread, at 30 us each. */
const MAIN_TEXTS_MAX = 64
const SEARCH = { tasksMax: 64, deadlineMs: 5_000, hangMs: 10_000 }
/** A build of 4,096 texts takes .2 s of a quiet core; its caller is due work, which comes again. */
const BUILD = { tasksMax: 16, deadlineMs: 30_000, hangMs: 60_000 }

/**
 * What the engine makes of what it is sent, at most; counted after a late search, until one in time says it exactly.
 * Measured: of a text under 1 KiB up to 8 times its bytes, beyond that few new terms; of a segment up to 2.8 times.
 */
const LATE = { text: 100, factor: 8, textBytesMax: 1_024, segments: 3 }

/** A database in the cache: its bodies, and what the engine that searches it was sent. */
interface Cached {
  instanceId: string
  bodies: Map<string, Uint8Array>
  derivedBytes: number
  engine: 'main' | 'thread'
  /** Of the thread that was sent it. */
  generation: number
  sentSegments: Set<string>
  /** With their marks. */
  sentRows: Map<number, bigint | undefined>
  /** Those of them that were sent without the vector that they will have. */
  sentBare: Set<number>
}

export function createRecallIndex(options: RecallIndexOptions): RecallIndex {
  const { log, encoder } = options
  const threadItemsMin = () => options.threadItemsMin ?? (encoder?.facts ? ENCODED_THREAD_ITEMS_MIN : THREAD_ITEMS_MIN)
  const engine = createEngine()
  const threads = options.threads ?? {
    search: createThread({ name: 'index-search', log, ...SEARCH }),
    build: createThread({ name: 'index-build', log, ...BUILD }),
  }
  const cache: ByteCache<Cached> = createByteCache(options.bytesMax, (key, cached) => release(key, cached))

  function release(key: string, { engine: where }: Cached): void {
    if (where === 'main') engine.forget(key)
    else threads.search.forget(key)
  }

  async function search(request: RecallRequest): Promise<Ranked[]> {
    const facts = encoder?.facts
    if (!encoder || !facts) return (await find(request)).ranked
    const [vector, vectors] = await Promise.all([
      encoder.question(request.query),
      tailVectors(encoder, unsent(cache.get(keyOf(request)), request.tail)),
    ])
    resume()
    const question = vector && { vector, mark: facts.mark }
    return (await find({ ...request, options: { ...request.options, question } }, vectors)).ranked
  }

  const find = (request: RecallRequest | CueRequest, given?: Vectors): Promise<Found> => ask(request, run, given)

  async function list({ page, ...request }: ListRequest): Promise<Listed> {
    const asked = { ...request, query: null, words: [], fresh: [], options: { limit: 0 } }
    return ask(asked, (where, sending) => runList(where, { ...sending, page }))
  }

  async function ask<Answer extends { derivedBytes: number }>(
    request: RecallRequest | CueRequest,
    work: (where: Cached['engine'], sending: EngineRequest) => Promise<Answer>,
    given?: Vectors,
  ): Promise<Answer> {
    const key = keyOf(request)
    const vectors = given ?? (encoder ? vectorsBy(encoder, unsent(cache.get(key), request.tail)) : new Map())
    const bodies = await loadBodies(cache.get(key)?.bodies, request.segments, threadItemsMin())
    try {
      return await askOnce(key, bodies, request, work, vectors)
    } catch (error) {
      if (!(error instanceof MissingPartError)) throw error
      // The engine failed and forgot the database between two searches; this one now sends everything.
      return await askOnce(key, bodies, request, work, vectors)
    }
  }

  async function askOnce<Answer extends { derivedBytes: number }>(
    key: string,
    bodies: Map<string, Uint8Array>,
    request: RecallRequest | CueRequest,
    work: (where: Cached['engine'], sending: EngineRequest) => Promise<Answer>,
    vectors: Vectors,
  ): Promise<Answer> {
    const cached = entryFor(key, bodies, request)
    const sending = messageFor(key, cached, request, vectors)
    try {
      const found = await work(cached.engine, sending)
      cached.derivedBytes = found.derivedBytes
      const present = cache.get(key)
      if (present === cached) cache.set(key, cached, bytesOf(cached))
      // It left the cache before the engine had it, or does not fit into it.
      else if (present === undefined) release(key, cached)
      return found
    } catch (error) {
      if (cache.get(key) !== cached) throw error
      // What a late search made is there for the next one: thrown away, none would ever be in time on a busy machine.
      if (error instanceof LateError) {
        cached.derivedBytes += lateBytesOf(sending)
        cache.set(key, cached, bytesOf(cached))
      } else cache.delete(key)
      throw error
    }
  }

  /** The database's entry, with the bodies of this list alone: a replaced segment leaves with the list. */
  function entryFor(key: string, bodies: Map<string, Uint8Array>, request: RecallRequest | CueRequest): Cached {
    let items = request.tail.length
    for (const bytes of bodies.values()) items += itemsOfSegment(bytes)
    const { generation } = threads.search
    const known = knownAs(key, request)
    const isInThread = known?.engine === 'thread' && known.generation === generation
    const texts = request.tail.filter(({ seq }) => !known?.sentRows.has(seq)).length
    // It stays with the thread that has it.
    const where = isInThread || items >= threadItemsMin() || texts > MAIN_TEXTS_MAX ? 'thread' : 'main'
    const isUsable = known?.engine === where && (where === 'main' || isInThread)
    if (known && !isUsable) cache.delete(key)
    const cached: Cached = isUsable
      ? known
      : {
          ...{ instanceId: request.instanceId, bodies, engine: where, generation, derivedBytes: 0 },
          ...{ sentSegments: new Set(), sentRows: new Map(), sentBare: new Set() },
        }
    cached.bodies = bodies
    cache.set(key, cached, bytesOf(cached))
    return cached
  }

  /** Of another history, a restored one, a row may have the number of another: then nothing counts that was sent. */
  function knownAs(key: string, { tail }: Pick<RecallRequest, 'tail'>): Cached | undefined {
    const known = cache.get(key)
    if (!known?.sentRows.size) return known
    const { sentRows } = known
    if (tail.every(({ seq, mark }) => !sentRows.has(seq) || sentRows.get(seq) === mark)) return known
    cache.delete(key)
    return undefined
  }

  function messageFor(
    key: string,
    cached: Cached,
    request: RecallRequest | CueRequest,
    vectors: Vectors,
  ): EngineRequest {
    const { language, tail, masked, query, options } = request
    const segmentIds = request.segments.map(({ id }) => id)
    const tailSeqs = tail.map(({ seq }) => seq)
    const sending = {
      ...{ key, language, segmentIds, tailSeqs, masked, query, options, encoder: encoder?.facts },
      ...('fresh' in request ? { fresh: request.fresh, words: request.words } : {}),
      bodies: [...cached.bodies].filter(([id]) => !cached.sentSegments.has(id)).map(([id, bytes]) => ({ id, bytes })),
      texts: unsent(cached, tail)
        .filter(({ seq }) => !cached.sentBare.has(seq) || vectors.has(seq))
        .map((row) => ({ ...row, vector: vectors.get(row.seq) })),
    }
    const bare = encoder?.facts ? tail.filter(({ seq }) => isBare(cached, seq) && !vectors.has(seq)) : []
    cached.sentBare = new Set(bare.map(({ seq }) => seq))
    cached.sentSegments = new Set(segmentIds)
    cached.sentRows = new Map(tail.map(({ seq, mark }) => [seq, mark]))
    return sending
  }

  async function run(where: Cached['engine'], request: EngineRequest): Promise<EngineAnswer> {
    if (where === 'main') return engine.search(request)
    const answer = await threads.search.run({ kind: 'search', request })
    if (!('ranked' in answer)) throw new Error('index thread answered a search with something else')
    const { ranked, terms, idfTotal, derivedBytes, work } = answer
    return { ranked: unpackRanked(ranked), terms, idfTotal, derivedBytes, work }
  }

  async function runList(where: Cached['engine'], request: EngineRequest & { page: Page }) {
    if (where === 'main') return engine.list(request)
    const answer = await threads.search.run({ kind: 'list', request })
    if (!('seqs' in answer)) throw new Error('index thread answered a list with something else')
    return answer
  }

  async function bodyFrom(task: Parameters<Thread['run']>[0]): Promise<Uint8Array> {
    const answer = await threads.build.run(task)
    if (!('body' in answer)) throw new Error('index thread answered a build with something else')
    return answer.body
  }

  async function warm(): Promise<void> {
    const request = warmRequest()
    const bodies: EngineRequest['bodies'][number][] = []
    for (let n = 0; n < WARM.segments; n += 1) {
      const records = warmTexts(WARM.texts, (n + 1) * WARM.texts)
      const answer = await threads.search.run({ kind: 'build', records, language: 'auto' })
      if ('body' in answer) bodies.push({ id: `${n}`, bytes: answer.body })
      await run('thread', { ...request, segmentIds: bodies.map(({ id }) => id), bodies: bodies.slice(-1) })
    }
    for (let times = 0; times < WARM.times; times += 1) await run('main', request)
    engine.forget(request.key)
    threads.search.forget(request.key)
  }

  return {
    search,
    find: (request) => find(request),
    list,
    warm,
    build(records, language) {
      const vectors = encoder ? vectorsBy(encoder, records) : new Map()
      const rows = records.map((row) => ({ ...row, vector: vectors.get(row.seq) }))
      return bodyFrom({ kind: 'build', records: rows, language, encoder: encoder?.facts })
    },
    merge: (bodies, drop, vectors = new Map()) =>
      bodyFrom({ kind: 'merge', bodies, drop, vectors, encoder: encoder?.facts }),
    get encoder() {
      return encoder?.facts
    },
    encode: async (records, endsAt) => (encoder ? laterVectors(encoder, records, endsAt) : new Map()),
    encodeLater: (records) => encoder?.later(records.map(encodedText)),
    forget(instanceId, segmentIds) {
      for (const [key, cached] of cache.entries()) {
        if (cached.instanceId === instanceId && segmentIds.some((id) => cached.bodies.has(id))) cache.delete(key)
      }
    },
    get cachedBytes() {
      return cache.bytes
    },
    async close() {
      await Promise.all([threads.search.close(), threads.build.close()])
    },
  }
}

function keyOf({ instanceId, database }: Pick<RecallRequest, 'instanceId' | 'database'>): string {
  return JSON.stringify([instanceId, database])
}

/** Rows of the tail that the engine does not have, or not with their vectors. */
function unsent(cached: Cached | undefined, tail: readonly RecordText[]): readonly RecordText[] {
  return cached ? tail.filter(({ seq }) => isBare(cached, seq)) : tail
}

function isBare({ sentRows, sentBare }: Cached, seq: number): boolean {
  return !sentRows.has(seq) || sentBare.has(seq)
}

/** For the compiler: the first recall of 15,000 items takes 100 ms of a core after it, 165 after searches alone. */
const WARM = { texts: 32, segments: 8, times: 20 }
const WARM_TEXTS = [
  'Anna moved to Utrecht on 3 May. Does she like the new flat?',
  'Vorige week heeft Bob de rode fiets verkocht.',
  '我们昨天在海边散步。',
  'ذهبت سلمى إلى الحديقة أمس',
]

/** No two of them are equal: a word that is known is not analysed again. */
function warmTexts(count: number, from: number): RecordText[] {
  return Array.from({ length: count }, (_, n) => {
    const own = [...`${from + n}`].map((digit) => `${'bcdfghjklm'[Number(digit)]}${'aeiou'[n % 5]}n`).join('')
    const said = WARM_TEXTS[n % WARM_TEXTS.length] as string
    const content = `${said} ${own}ing and ${own}ed the ${own}s, said ${own} of ${own}er on ${1 + (n % 28)} June`
    return { seq: from + n, context: from, position: n, actor: 'Anna', occurredAt: 0, content }
  })
}

/** A database of no instance. */
function warmRequest(): EngineRequest {
  const texts = warmTexts(WARM_TEXTS.length, 1_000_000)
  return {
    ...{ key: '', language: 'auto', segmentIds: [], bodies: [], texts, tailSeqs: texts.map(({ seq }) => seq) },
    ...{ masked: [], query: 'When did Anna move to Utrecht?', options: { limit: 3 } },
  }
}

/**
 * Bodies of the list: those that are cached, and the others as they are fetched. What goes to the thread lies in shared
 * memory, which V8 does not count: where small databases come and go, it would collect them too late.
 */
async function loadBodies(
  cached: ReadonlyMap<string, Uint8Array> | undefined,
  segments: RecallRequest['segments'],
  sharedItemsMin: number,
): Promise<Map<string, Uint8Array>> {
  const bodies = await Promise.all(segments.map(async ({ id, load }) => cached?.get(id) ?? (await load())))
  const isShared = bodies.reduce((sum, body) => sum + itemsOfSegment(body), 0) >= sharedItemsMin
  return new Map(
    segments.map(({ id }, at) => {
      const body = bodies[at] as Uint8Array
      if (cached?.get(id) === body) return [id, body]
      const own = new Uint8Array(isShared ? new SharedArrayBuffer(body.byteLength) : new ArrayBuffer(body.byteLength))
      own.set(body)
      return [id, own]
    }),
  )
}

function lateBytesOf({ texts, bodies }: EngineRequest): number {
  let bytes = 0
  for (const { content, media } of texts)
    bytes +=
      LATE.text + LATE.factor * Math.min(Buffer.byteLength(content) + Buffer.byteLength(media ?? ''), LATE.textBytesMax)
  for (const { bytes: body } of bodies) bytes += LATE.segments * body.byteLength
  return bytes
}

function bytesOf({ bodies, derivedBytes }: Cached): number {
  let bytes = derivedBytes
  for (const { byteLength } of bodies.values()) bytes += byteLength
  return bytes
}
