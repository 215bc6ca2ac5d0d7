// Redis Agent Memory Server: long-term memories, as its search answers them and as they stand in a file.

import {
  type Draft,
  type Found,
  type Item,
  idIn,
  isObject,
  type Kind,
  listIn,
  lostOf,
  momentIn,
  objectIn,
  present,
  tagsOf,
  textIn,
  textsIn,
} from './kind.ts'
import { sourceIdOf } from './source-id.ts'

const KEPT = [
  'id',
  'user_id',
  'namespace',
  'session_id',
  'topics',
  'entities',
  'created_at',
  'updated_at',
  'event_date',
]
const LOST = [
  ...['vector', 'embedding', 'memory_hash', 'access_count', 'last_accessed', 'pinned', 'persisted_at', 'dist', 'score'],
  ...['extraction_strategy_config'],
]
const PAGE = 100
const EVIDENCE_CHARS_MAX = 256
const EVIDENCE_MAX = 32

export const AMS: Kind = {
  name: 'ams',
  title: 'long-term memories of Redis Agent Memory Server, or its address',
  usersFrom: ['user_id', 'namespace', 'session_id'],
  telling: ['text', 'memory_type', 'namespace', 'session_id', 'topics', 'entities', 'memory_hash'],
  lists: ['memories'],
  start: () => ({ read }),
  pages,
}

function read({ path, value }: Item): readonly Found[] | undefined {
  const [list] = path
  if (list === 'messages') return [{ what: 'message of a working memory', why: 'only long-term memories are read' }]
  if (list !== undefined && list !== 'memories') return []
  if (!isObject(value) || !('text' in value) || !('id' in value || 'memory_type' in value)) return undefined
  const id = idIn(value.id)
  if (id === undefined) return [{ what: 'memory', why: 'it has no id' }]
  const content = textIn(value.text)
  if (content === undefined) return [{ what: 'memory', why: 'it has no text' }]
  return [draftOf(value, id, content)]
}

function draftOf(memory: Record<string, unknown>, id: string, content: string): Draft {
  const scope = {
    user_id: idIn(memory.user_id),
    namespace: idIn(memory.namespace),
    session_id: idIn(memory.session_id),
  }
  const occurredAt = momentIn(memory.event_date) ?? momentIn(memory.created_at)
  const kind = textIn(memory.memory_type)
  const evidenceRefs = textsIn(memory.extracted_from)
    .filter((ref) => ref.length <= EVIDENCE_CHARS_MAX)
    .slice(0, EVIDENCE_MAX)
  const space = scope.namespace === undefined ? undefined : `namespace:${scope.namespace}`
  const entities = textsIn(memory.entities).map((name) => `entity:${name}`)
  return {
    record: {
      content,
      sourceEventId: sourceIdOf('ams', id),
      ...(kind === undefined ? {} : { kind }),
      ...(scope.session_id === undefined ? {} : { contextId: scope.session_id }),
      ...(occurredAt === undefined ? {} : { occurredAt }),
      ...tagsOf([...textsIn(memory.topics), ...entities, space]),
      ...(evidenceRefs.length > 0 ? { evidenceRefs } : {}),
      metadata: { ...objectIn(memory.metadata), ams: present(memory, KEPT) },
    },
    scope,
    noPlace: lostOf(memory, LOST),
  }
}

async function* pages(url: URL, ask: Parameters<NonNullable<Kind['pages']>>[1], key: string | undefined) {
  const base = url.pathname.replace(/\/+$/, '')
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  let count = 0
  let total: unknown
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    // By age and use it would be ordered anew for each page, and one would be missed.
    const body = { text: '', limit: PAGE, offset, recency_boost: false }
    const answer = objectIn(await ask({ path: `${base}/v1/long-term-memory/search`, headers, body }))
    const found = listIn(answer.memories)
    for (const value of found) yield { path: ['memories'], value }
    count += found.length
    total = answer.total
    const next: unknown = answer.next_offset
    offset = typeof next === 'number' && next > offset && found.length > 0 ? next : undefined
  }
  if (typeof total === 'number' && total > count)
    yield { note: `The source says that it has ${total} memories, and listed ${count}.` }
}
