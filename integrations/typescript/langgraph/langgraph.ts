// The long-term memory of LangGraph: a BaseStore. An item is an entry of the key-value store; its text is a memory of
// the same key, for searches. Keys, tags and texts are those of the adapter for Python: both read one store.

import { createHash } from 'node:crypto'
import { BaseStore, type Item, type Operation, type OperationResults } from '@langchain/langgraph'
import { LociError, type RecallRequest, type RecordWrite, type Service, type User } from '@locihq/sdk'

type Value = Item['value']
type Found = Item & { score?: number }
type Put = Extract<Operation, { value: unknown }>
type Search = Extract<Operation, { namespacePrefix: unknown }>
type List = Exclude<Operation, { key: unknown } | { namespacePrefix: unknown }>
type Keyed = [key: string, put: Put]
type Entry = { key: string; value?: unknown; createdAt: string; updatedAt: string; score?: number | undefined }

export interface LociStoreOptions {
  /** What a search finds, where `index` of a put does not say it: paths as `notes[*].text`; without them everything. */
  fields?: string[]
  /** How relevant a hit of a search must be, from 0 to 1. Without it the best there are, as of a store of vectors. */
  minRelevance?: number
}

const KIND = 'langgraph'
/** A service takes 100 of at most a mebibyte together. */
const BATCH_MAX = 25
const FILTERS_MAX = 16

/**
 * Of a user; or of a service, whose user is the first label of each namespace; or of whoever a function says. A user is
 * a database of the service: no search reaches over two.
 */
export class LociStore extends BaseStore {
  readonly #userOf: (namespace: readonly string[]) => User
  readonly #options: LociStoreOptions

  constructor(of: User | Service | ((namespace: readonly string[]) => User), options: LociStoreOptions = {}) {
    super()
    const ofService = (service: Service) => (namespace: readonly string[]) =>
      service.user(namespace[0] ?? refuse('A namespace begins with its user, unless LociStore() is given one.'))
    this.#userOf = typeof of === 'function' ? of : 'user' in of ? ofService(of) : () => of
    this.#options = options
  }

  /** As LangGraph's own stores: what reads sees nothing of what the same batch writes, and the last write wins. */
  override async batch<Operations extends Operation[]>(operations: Operations): Promise<OperationResults<Operations>> {
    const results = await Promise.all(operations.map((operation) => this.#read(operation)))
    const puts = operations.filter((operation) => 'value' in operation)
    const last = new Map(puts.map((put) => [keyOf(put.namespace, put.key), put]))
    for (const own of Map.groupBy(last, ([, { namespace }]) => this.#userOf(namespace).name).values())
      for (let at = 0; at < own.length; at += BATCH_MAX) await this.#put(own.slice(at, at + BATCH_MAX))
    return results as OperationResults<Operations>
  }

  async #read(operation: Operation): Promise<Item | null | Found[] | string[][] | undefined> {
    if ('namespacePrefix' in operation) return this.#search(operation)
    if (!('key' in operation)) return this.#namespaces(operation)
    if ('value' in operation) return undefined
    const entry = await this.#userOf(operation.namespace).kv.get(keyOf(operation.namespace, operation.key))
    return entry ? itemOf(entry) : null
  }

  /** The text first: without its entry nothing finds it. Former texts are erased, and not only closed. */
  async #put(puts: Keyed[]): Promise<void> {
    const user = this.#userOf(puts[0]?.[1].namespace ?? [])
    const former = await Promise.all(puts.map(([key]) => user.memories({ key }).all()))
    const records: RecordWrite[] = []
    for (const [key, { namespace, value, index }] of puts) {
      const content = !value || index === false ? '' : textOf(value, index ?? this.#options.fields)
      if (content === '') continue
      const tags = namespace.map((_, depth) => tagOf(namespace.slice(0, depth + 1)))
      const metadata = Object.fromEntries(Object.entries(value ?? {}).filter(([, one]) => isScalar(one)))
      // An item that was deleted may be put again.
      records.push({ content, key, kind: KIND, tags, metadata, override: true })
    }
    if (records.length > 0) await user.rememberAll(records)
    await user.kv.batch(puts.map(([key, { value }]) => (value ? { op: 'put', key, value } : { op: 'delete', key })))
    for (const { id } of former.flat()) await user.forget(id)
  }

  async #search(search: Search): Promise<Found[]> {
    const { namespacePrefix, filter = {}, limit = 10, offset = 0 } = search
    const user = this.#userOf(namespacePrefix)
    const found: Found[] = []
    const all = search.query ? this.#hits(user, search) : user.kv.list({ prefix: keyOf(namespacePrefix) })
    for await (const entry of all) {
      if (passes(entry.value as Value, filter)) found.push(itemOf(entry))
      if (found.length >= offset + limit) break
    }
    return found.slice(offset, offset + limit)
  }

  async *#hits(user: User, { namespacePrefix, filter = {}, query = '' }: Search): AsyncGenerator<Entry> {
    const exact = Object.entries(filter).filter(([, wanted]) => isScalar(wanted))
    const given: Omit<RecallRequest, 'query'> = { kinds: [KIND], abstain: false, explain: false }
    given.minRelevance = this.#options.minRelevance ?? 0
    if (namespacePrefix.length > 0) given.tags = [tagOf(namespacePrefix)]
    if (exact.length > 0) given.metadata = Object.fromEntries(exact.slice(0, FILTERS_MAX))
    for (let more = true; more; more = given.cursor !== undefined) {
      const hits = await user.recall(query, given)
      const entries = await Promise.all(hits.map(({ key }) => user.kv.get(key ?? KIND)))
      // A text whose entry is gone was left by a write that broke off.
      for (const [at, entry] of entries.entries()) if (entry) yield { ...entry, score: hits[at]?.relevance }
      given.cursor = hits.nextCursor
    }
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: List): Promise<string[][]> {
    // What stands before a wildcard names the user, and spares reading other keys.
    const { path = [] } = matchConditions.find(({ matchType }) => matchType === 'prefix') ?? {}
    const prefix = path.slice(0, path.includes('*') ? path.indexOf('*') : path.length)
    const listed = this.#userOf(prefix).kv.list({ prefix: keyOf(prefix), keysOnly: 'true', limit: 1_000 })
    const found = new Map<string, string[]>()
    for await (const { key } of listed) {
      const [namespace, cut] = [namespaceOf(key), namespaceOf(key).slice(0, maxDepth)]
      if (matchConditions.every((condition) => matches(namespace, condition))) found.set(keyOf(cut), cut)
    }
    return [...found.values()].slice(offset, offset + limit)
  }
}

/** For a message of the user's role, never of the system's: JSON in which nothing can end the quotation. */
export function asData(items: readonly Item[]): string {
  const told = JSON.stringify(items.map(({ key, value }) => ({ key, value })))
  return `<memories>${told.replaceAll('<', '\\u003c')}</memories>`
}

/** `lg/` and the labels, each ended by a slash; behind them the key, after a colon that no label has. */
function keyOf(namespace: readonly string[], key?: string): string {
  const labels = namespace.map((label) => label.replaceAll(/[%/:]/g, (sign) => encodeURIComponent(sign)))
  return `${['lg', ...labels].join('/')}/${key === undefined ? '' : `:${key}`}`
}

const namespaceOf = (path: string) => (path.split(':')[0] ?? '').split('/').slice(1, -1).map(decodeURIComponent)

/** One for each namespace that holds an item: a memory takes 32, of 64 characters. */
function tagOf(namespace: readonly string[]): string {
  const path = keyOf(namespace)
  return [...path].length <= 64 ? path : `lg#${createHash('sha256').update(path).digest('hex').slice(0, 40)}`
}

function itemOf({ key, value, createdAt, updatedAt, score }: Entry): Found {
  const dates = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
  const own = { namespace: namespaceOf(key), key: key.slice(key.indexOf(':') + 1), value: value as Value, ...dates }
  return score === undefined ? own : { ...own, score }
}

/** Each text with the name that it has, as `language: Dutch`; or those at the paths. */
function textOf(value: unknown, paths?: string[]): string {
  const texts = paths?.flatMap((path) => leavesOf(path.split(/[.[\]]+/).reduce(within, [value])))
  return (texts ?? leavesOf(value)).join('\n')
}

function leavesOf(value: unknown, name = ''): string[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return [name === '' ? String(value) : `${name}: ${value}`]
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one, Array.isArray(value) ? name : key))
}

function within(values: unknown[], part: string): unknown[] {
  if (part === '' || part === '$') return values
  return values.flatMap((one) => (part === '*' ? Object.values(Object(one)) : [Object(one)[part]]))
}

function passes(value: Value, filter: Value): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const bounds = Object.keys(Object(wanted)).some((key) => key.startsWith('$')) ? wanted : { $eq: wanted }
    const compareOf = (operator: string) => OPERATORS[operator] ?? refuse(`A filter has no ${operator}.`)
    return Object.entries(bounds).every(([operator, bound]) => compareOf(operator)(value[name], bound))
  })
}

const OPERATORS: { [name: string]: (found: unknown, bound: unknown) => boolean } = {
  $eq: (found, bound) => JSON.stringify(found) === JSON.stringify(bound),
  $ne: (found, bound) => JSON.stringify(found) !== JSON.stringify(bound),
  $gt: (found, bound) => Number(found) > Number(bound),
  $gte: (found, bound) => Number(found) >= Number(bound),
  $lt: (found, bound) => Number(found) < Number(bound),
  $lte: (found, bound) => Number(found) <= Number(bound),
  $in: (found, bound) => Array.isArray(bound) && bound.includes(found),
  $nin: (found, bound) => !Array.isArray(bound) || !bound.includes(found),
}

function matches(namespace: string[], { matchType, path }: { matchType: string; path: string[] }): boolean {
  const [from, to] = matchType === 'prefix' ? [0, path.length] : [-path.length || namespace.length, undefined]
  const part = namespace.slice(from, to)
  return part.length === path.length && path.every((wanted, at) => wanted === '*' || wanted === part[at])
}

/** What the index can narrow by, and a memory has room for; the others are compared. */
const isScalar = (one: unknown) => /^(?:string|number|boolean)$/.test(typeof one) && /^.{0,256}$/su.test(`${one}`)

function refuse(message: string): never {
  throw new LociError('INVALID_REQUEST', message, { status: 0 })
}
