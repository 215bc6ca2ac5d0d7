// One database of the fake: entries, slots and memories under one sequence of numbers.

import { newId } from '@loci/contract/ids.ts'
import type { Entry, RecallRequest, RecordBatch, RecordWrite, Slot } from '../daemon.ts'
import { Refusal, requireKnown } from './answers.ts'
import { Memories } from './memories.ts'
import { type Demand, endOf, Versions } from './versions.ts'

/** As a service has it that configures none. */
const CAPACITY = 25
const SLOT_FIELDS = ['value', 'kind', 'salience', 'pinned', 'ttlMs', 'tags', 'evidenceRefs', 'ephemeral']

type Body = { [field: string]: unknown }

export class Database {
  #seq = 0
  readonly #createdAt = new Date().toISOString()
  readonly #numbers = { next: () => ++this.#seq }
  readonly #entries = new Versions<Entry>('entry')
  readonly #slots = new Versions<Slot>('slot')
  readonly #memories = new Memories(this.#numbers)

  /** What it holds; undefined before its first write. */
  holds(): { records: number; slots: number; keys: number; bytes: number; createdAt: string } | undefined {
    if (this.#seq === 0) return undefined
    const records = this.#memories.list().length
    const [slots, keys] = [this.#slots.all().length, this.#entries.all().length]
    return { records, slots, keys, bytes: 0, createdAt: this.#createdAt }
  }

  /** Undefined for a route that the fake does not have. */
  answer(line: string, key: string, body: Body, query: URLSearchParams, demand: Demand): unknown {
    switch (line) {
      case 'PUT /v1/kv/entries/{}':
        return this.#putEntry(key, body, demand)
      case 'GET /v1/kv/entries/{}':
        return this.#entries.get(key)
      case 'DELETE /v1/kv/entries/{}':
        return this.#entries.delete(key, this.#numbers, demand)
      case 'GET /v1/kv/entries':
        return this.#listEntries(query)
      case 'POST /v1/kv/entries/batch':
        return this.#batch(this.#entries, body, (one, given) => this.#putEntry(one, given, {}))
      case 'PUT /v1/working-memory/slots/{}':
        return this.#putSlot(key, body, demand)
      case 'PATCH /v1/working-memory/slots/{}':
        return this.#patchSlot(key, body, demand)
      case 'GET /v1/working-memory/slots/{}':
        return this.#slots.get(key)
      case 'DELETE /v1/working-memory/slots/{}':
        return this.#slots.delete(key, this.#numbers, demand)
      case 'GET /v1/working-memory/slots':
        return this.#listSlots()
      case 'POST /v1/working-memory/slots/batch':
        return this.#batch(this.#slots, body, (one, given) => this.#putSlot(one, given, {}))
      case 'POST /v1/memory/records':
        return this.#memories.store(body as RecordWrite)
      case 'POST /v1/memory/records/batch':
        return { records: this.#memories.storeAll((body as RecordBatch).records) }
      case 'GET /v1/memory/records':
        return this.#listMemories(query)
      case 'GET /v1/memory/records/{}':
        return this.#memories.get(key)
      case 'DELETE /v1/memory/records/{}':
        return this.#memories.forget(key)
      case 'POST /v1/memory/recall':
        return this.#memories.recall(body as RecallRequest)
      default:
        return undefined
    }
  }

  #putEntry(key: string, { value, ttlMs, ...rest }: Body, demand: Demand): Entry {
    requireKnown(rest, [])
    requireValue(value)
    const former = this.#entries.require(key, demand)
    const updatedAt = new Date().toISOString()
    const entry: Entry = {
      ...{ key, value, version: this.#numbers.next(), createdAt: former?.createdAt ?? updatedAt, updatedAt },
      ...{ expiresAt: endOf(ttlMs as number | undefined), digest: 'fake' },
    }
    this.#entries.items.set(key, entry)
    return entry
  }

  #listEntries(query: URLSearchParams): object {
    const [prefix, cursor] = [query.get('prefix') ?? '', query.get('cursor')]
    const limit = Number(query.get('limit') ?? 100)
    const found = this.#entries
      .all()
      .filter(({ key }) => key.startsWith(prefix) && (cursor === null || key > cursor))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const entries = found.slice(0, limit)
    return { entries, nextCursor: found.length > limit ? entries.at(-1)?.key : null }
  }

  #putSlot(key: string, body: Body, demand: Demand): object {
    requireKnown(body, SLOT_FIELDS)
    const { value, kind, salience, pinned, ttlMs, tags, evidenceRefs, ephemeral } = body as Partial<Slot>
    requireValue(value)
    const former = this.#slots.require(key, demand)
    const now = new Date().toISOString()
    const version = this.#numbers.next()
    const slot: Slot = {
      ...{ id: former?.id ?? newId('slt'), key, kind: kind ?? 'note', value, recordId: null, version },
      ...{ etag: `"${version}"`, activation: version, salience: salience ?? 0, pinned: pinned ?? false },
      ...{ ephemeral: ephemeral ?? false, ttlMs: ttlMs ?? null, expiresAt: endOf(ttlMs) },
      ...{ createdAt: former?.createdAt ?? now, updatedAt: now, lastAccessedAt: null, accessCount: 0 },
      ...{ sizeBytes: JSON.stringify(value).length, digest: 'fake', explain: { score: version, parts: [] } },
      ...{ source: { type: 'api', ref: null, actor: null, trust: 'holder' } },
      ...{ evidenceRefs: evidenceRefs ?? [], tags: tags ?? [] },
    }
    this.#slots.items.set(key, slot)
    return { ...slot, evicted: this.#makeRoom(key) }
  }

  /** What was written longest ago leaves, unless it is pinned or the one that was just put. */
  #makeRoom(put: string): object[] {
    const slots = this.#slots.all()
    if (slots.length <= CAPACITY) return []
    const leaving = slots
      .filter(({ pinned, key }) => !pinned && key !== put)
      .toSorted((a, b) => a.version - b.version)
      .at(0)
    if (!leaving) throw new Refusal(409, 'WORKING_MEMORY_FULL', 'All slots are pinned.')
    this.#slots.items.delete(leaving.key)
    const { key, explain } = leaving
    return [{ key, reasonCode: 'displaced', reason: 'It was written longest ago.', displacedBy: put, explain }]
  }

  #patchSlot(key: string, change: Body, demand: Demand): object {
    requireKnown(change, SLOT_FIELDS)
    const former = this.#slots.get(key)
    const whole: Body = Object.fromEntries(SLOT_FIELDS.map((name) => [name, former[name as keyof Slot]]))
    for (const [name, value] of Object.entries(change)) {
      if (value === null && name !== 'value') delete whole[name]
      else whole[name] = value
    }
    return this.#putSlot(key, whole, demand)
  }

  #listMemories(query: URLSearchParams): object {
    const records = this.#memories.list(query)
    return { records, nextCursor: null, total: records.length, totalIsAtLeast: false }
  }

  #listSlots(): object {
    const slots = this.#slots.all().toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return { slots, count: slots.length, capacity: CAPACITY, asOfSeq: this.#seq }
  }

  #batch(
    versions: Versions<Entry> | Versions<Slot>,
    { operations }: Body,
    put: (key: string, body: Body) => object,
  ): object {
    const results = (versions as Versions<Entry>).together(() =>
      (operations as ({ op: string; key: string } & Body)[]).map(({ op, key, ...body }) => {
        if (op === 'put') return { op, key, version: (put(key, body) as { version: number }).version }
        const found = versions.find(key)
        if (found) versions.items.delete(key)
        return { op, key, version: this.#numbers.next(), deleted: found !== undefined }
      }),
    )
    return { results }
  }
}

function requireValue(value: unknown): void {
  if (value === undefined) throw new Refusal(400, 'VALIDATION_ERROR', 'value: is required')
}
