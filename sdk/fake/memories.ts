// What a database of the fake remembers. Recall is by the words that a question and a memory share, with endings cut;
// the server also knows meanings, kinds of things, days and contexts.

import { newId } from '@loci/contract/ids.ts'
import type { Record as MemoryRecord, NamedRecord, RecallRequest, RecallResult, RecordWrite } from '../daemon.ts'
import { missing, Refusal, requireKnown } from './answers.ts'
import { endOf, type Numbers } from './versions.ts'

const RECORD_FIELDS =
  'content key contextId actor occurredAt media kind tags evidenceRefs sourceEventId supersedes salience dueAt ttlMs metadata override'
const RECALL_FIELDS = 'query limit abstain minRelevance kinds tags actors contextIds keys explain recordIds'
/** Words that a question has in any case. */
const COMMON = new Set(
  'a an and are as at be by did do does for from had has have he her his how i in is it its me my of on or our she that the their them they this to was we were what when where which who whose why will with you your'.split(
    ' ',
  ),
)
const RELEVANT = 0.5
const CONTENT_BYTES_MAX = 16 * 1024

export class Memories {
  #records: MemoryRecord[] = []
  readonly #forgotten = new Set<string>()
  readonly #numbers: Numbers

  constructor(numbers: Numbers) {
    this.#numbers = numbers
  }

  store(given: RecordWrite): MemoryRecord {
    requireKnown(given, RECORD_FIELDS.split(' '))
    const { content, key = null, sourceEventId = null, supersedes, override = false, ...rest } = given
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content).length : 0
    if (bytes < 1 || bytes > CONTENT_BYTES_MAX)
      throw new Refusal(400, 'VALIDATION_ERROR', 'content: must have 1 byte to 16 KiB of UTF-8')
    const known = sourceEventId === null ? undefined : this.#alive().find((one) => one.sourceEventId === sourceEventId)
    if (known) return known
    if (this.#forgotten.has(spelt(content)) && !override)
      throw new Refusal(409, 'MEMORY_FORGOTTEN', 'This was deleted; `override` learns it again.')
    const former = supersedes === undefined ? [] : [this.get(supersedes)]
    if (key !== null) former.push(...this.#alive().filter((one) => one.key === key && one.validTo === null))
    const now = new Date().toISOString()
    for (const one of former) one.validTo ??= now
    const record: MemoryRecord = {
      id: newId('mem'),
      key,
      content,
      kind: rest.kind ?? 'note',
      contextId: rest.contextId ?? null,
      actor: rest.actor ?? null,
      occurredAt: rest.occurredAt ?? null,
      media: rest.media ?? null,
      tags: rest.tags ?? [],
      evidenceRefs: rest.evidenceRefs ?? [],
      sourceEventId,
      salience: rest.salience ?? 0,
      salienceHint: rest.salience ?? 0,
      dueAt: rest.dueAt ?? null,
      metadata: rest.metadata ?? null,
      source: { type: 'api', ref: null, actor: rest.actor ?? null, trust: 'holder' },
      version: this.#numbers.next(),
      createdAt: now,
      validFrom: now,
      validTo: null,
      archivedAt: null,
      expiresAt: endOf(rest.ttlMs),
      digest: 'fake',
    }
    this.#records.push(record)
    if (override) this.#forgotten.delete(spelt(content))
    return record
  }

  storeAll(records: RecordWrite[]): MemoryRecord[] {
    const before = structuredClone(this.#records)
    try {
      return records.map((one) => this.store(one))
    } catch (error) {
      this.#records = before
      throw error
    }
  }

  get(id: string): MemoryRecord {
    const found = this.#alive().find((one) => one.id === id)
    if (!found) throw missing('memory')
    return found
  }

  /** With a filter, those that hold. */
  list(query = new URLSearchParams()): MemoryRecord[] {
    const of = (name: string) => (query.has(name) ? query.getAll(name) : undefined)
    const [kinds, tags, actors, contextIds, keys] = ['kind', 'tag', 'actor', 'contextId', 'key'].map(of)
    const asked = { query: '', kinds, tags, actors, contextIds, keys }
    const isNarrowed = [kinds, tags, actors, contextIds, keys].some((one) => one !== undefined)
    const newest = this.#alive().toReversed()
    return isNarrowed ? newest.filter((one) => one.validTo === null && fits(one, asked)) : newest
  }

  /** Every record that says the same, in any case and spacing. */
  forget(id: string): object {
    const { content } = this.get(id)
    const before = this.#records.length
    this.#records = this.#records.filter((one) => spelt(one.content) !== spelt(content))
    this.#forgotten.add(spelt(content))
    const erased = before - this.#records.length
    return {
      ...{ deleted: true, id, tombstone: 'fake', receipt: newId('aud'), ledgered: 'cell' },
      ...{ checked: [{ place: 'records', found: erased, erased }], deletedAt: new Date().toISOString() },
    }
  }

  recall(given: RecallRequest): RecallResult {
    requireKnown(given, RECALL_FIELDS.split(' '))
    const { query, limit = 10, abstain = true, minRelevance = 0, explain = false, recordIds } = given
    if (typeof query !== 'string' || query === '') throw new Refusal(400, 'VALIDATION_ERROR', 'query: is required')
    const current = this.#alive().filter((one) => one.validTo === null && fits(one, given))
    const asked = wordsOf(query)
    const judged = current
      .map((record) => ({ record, words: coveredBy(asked, record.content) }))
      .map(({ record, words }) => ({
        record,
        words,
        relevance: asked.length === 0 ? 0 : words.reduce((sum, { covered }) => sum + covered, 0) / asked.length,
      }))
      .toSorted((a, b) => b.relevance - a.relevance || b.record.version - a.record.version)
    const best = judged[0]?.relevance ?? 0
    const abstained = abstain && best < RELEVANT
    const needs = abstained ? minRelevance || RELEVANT : Math.max(minRelevance, best / 2)
    const kept = abstained ? [] : judged.filter(({ relevance }) => relevance >= needs)
    const results = kept.slice(0, limit).map(({ record, relevance, words }) => {
      const { id, key, content, kind, tags, evidenceRefs, contextId, actor, metadata, source, version } = record
      const { createdAt, occurredAt, validFrom, validTo } = record
      const part = { name: 'words', value: relevance, weight: 1, contribution: relevance }
      return {
        ...{ id, key, content, kind, tags, evidenceRefs, contextId, actor, metadata, source, version },
        ...{ createdAt, occurredAt, validFrom, validTo, relevance, score: relevance },
        explain: explain ? { score: relevance, parts: [part], words } : null,
      }
    })
    const nearest = judged.slice(0, 3).map(({ record, relevance }) => ({ id: record.id, relevance }))
    const why = current.length === 0 ? 'Nothing is stored in this database yet.' : 'No memory shares enough words.'
    return {
      ...{ results, abstained, nextCursor: null, total: kept.length, incomplete: false, asOfSeq: 0, tookMs: 0 },
      ...(abstained ? { reason: why, nearest, abstention: { best, threshold: minRelevance || RELEVANT } } : {}),
      ...(recordIds
        ? { named: recordIds.map((id) => this.#named(id, judged, { abstained, needs, asked: given })) }
        : {}),
    }
  }

  #named(id: string, judged: Judged[], { abstained, needs, asked }: Judging): NamedRecord {
    const record = this.#alive().find((one) => one.id === id)
    const at = judged.findIndex((one) => one.record.id === id)
    const { relevance = null, words = [] } = judged[at] ?? {}
    const standing = standingOf(record, asked, { relevance, needs, abstained })
    const part = { name: 'words', value: relevance ?? 0, weight: 1, contribution: relevance ?? 0 }
    return {
      ...{ id, standing, reason: standing, filteredBy: [], relevance, score: relevance },
      ...{ rank: at < 0 ? null : at + 1, among: at < 0 ? null : judged.length, needs: at < 0 ? null : needs },
      content: record?.content ?? null,
      explain: relevance === null ? null : { score: relevance, parts: [part], words },
    }
  }

  #alive(): MemoryRecord[] {
    const now = Date.now()
    return this.#records.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now)
  }
}

interface Judged {
  record: MemoryRecord
  words: { word: string; covered: number; by: string | null }[]
  relevance: number
}

interface Judging {
  abstained: boolean
  needs: number
  asked: RecallRequest
}

function standingOf(
  record: MemoryRecord | undefined,
  asked: RecallRequest,
  { relevance, needs, abstained }: { relevance: number | null; needs: number; abstained: boolean },
): NamedRecord['standing'] {
  if (!record) return 'missing'
  if (record.validTo !== null) return 'superseded'
  if (!fits(record, asked)) return 'filtered'
  if (!relevance) return 'no_evidence'
  return abstained || relevance < needs ? 'below' : 'result'
}

function fits(record: MemoryRecord, { kinds, tags, actors, contextIds, keys }: RecallRequest): boolean {
  const among = (wanted: string[] | undefined, value: string | null) =>
    wanted === undefined || (value !== null && wanted.includes(value))
  return (
    among(kinds, record.kind) &&
    among(actors, record.actor) &&
    among(contextIds, record.contextId) &&
    among(keys, record.key) &&
    (tags ?? []).every((tag) => record.tags.includes(tag))
  )
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words)].filter((word) => !COMMON.has(word))
}

function coveredBy(asked: string[], content: string): { word: string; covered: number; by: string | null }[] {
  const own = wordsOf(content)
  return asked.map((word) => {
    const by = own.find((one) => stemOf(one) === stemOf(word)) ?? null
    return { word, covered: by === null ? 0 : 1, by }
  })
}

function stemOf(word: string): string {
  return word.length > 4 ? word.replace(/(?:ies|es|s|ing|ed)$/, '') : word
}

function spelt(content: string): string {
  return content.toLowerCase().replaceAll(/\s+/gu, ' ').trim()
}
