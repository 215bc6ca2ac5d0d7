// mem0: what `get_all()` returns, of the open source package and of its server, and the list of its platform. The
// export of the platform is made by a language model, so it is not read.

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

const LISTS = ['results', 'memories', 'relations']
/** What has a field of its own in a record. */
const KEPT = ['id', 'user_id', 'agent_id', 'app_id', 'run_id', 'actor_id', 'role', 'attributed_to', 'updated_at']
const LOST = [
  'hash',
  'score',
  'embedding',
  'vector',
  'text_lemmatized',
  'history',
  'structured_attributes',
  'immutable',
]
const PAGE = 200
/** What a server of one's own lists at most. */
const SERVER_LIST_MAX = 1_000

export const MEM0: Kind = {
  name: 'mem0',
  title: 'what get_all() of mem0 returns, or the address of its API',
  usersFrom: ['user_id', 'agent_id', 'run_id', 'app_id'],
  telling: ['memory', 'hash', 'user_id', 'agent_id', 'run_id'],
  lists: LISTS,
  start: () => ({ read }),
  pages,
}

function read({ path, value }: Item): readonly Found[] | undefined {
  const [list] = path
  if (list !== undefined && !LISTS.includes(list)) return []
  if (list === 'relations') return [{ what: 'relation of the graph', why: 'records have no edges' }]
  if (!isObject(value) || !('memory' in value) || !('id' in value)) return undefined
  const id = idIn(value.id)
  if (id === undefined) return [{ what: 'memory', why: 'it has no id' }]
  const content = textIn(value.memory)
  if (content === undefined) return [{ what: 'memory', why: 'it has no text' }]
  return [draftOf(value, id, content)]
}

function draftOf(memory: Record<string, unknown>, id: string, content: string): Draft {
  const scope = {
    user_id: idIn(memory.user_id),
    agent_id: idIn(memory.agent_id),
    run_id: idIn(memory.run_id),
    app_id: idIn(memory.app_id),
    actor_id: idIn(memory.actor_id),
  }
  const actor = scope.actor_id ?? textIn(memory.role)
  const occurredAt = momentIn(memory.created_at)
  const agent = scope.agent_id === undefined ? undefined : `agent:${scope.agent_id}`
  return {
    record: {
      content,
      sourceEventId: sourceIdOf('mem0', id),
      ...(scope.run_id === undefined ? {} : { contextId: scope.run_id }),
      ...(actor === undefined ? {} : { actor }),
      ...(occurredAt === undefined ? {} : { occurredAt }),
      ...tagsOf([...textsIn(memory.categories), agent]),
      metadata: { ...objectIn(memory.metadata), mem0: present(memory, [...KEPT, 'categories']) },
    },
    scope,
    expiresAt: momentIn(memory.expiration_date),
    noPlace: lostOf(memory, LOST),
  }
}

async function* pages(url: URL, ask: Parameters<NonNullable<Kind['pages']>>[1], key: string | undefined) {
  const items = (answer: unknown): Item[] =>
    listIn(Array.isArray(answer) ? answer : objectIn(answer).results).map((value) => ({ path: ['results'], value }))
  // A server of one's own: one list, and a filter in its query.
  if (/\/memories\/?$/.test(url.pathname)) {
    const query = new URLSearchParams(url.search)
    if (!query.has('top_k')) query.set('top_k', String(SERVER_LIST_MAX))
    const headers = key === undefined ? {} : { 'x-api-key': key }
    const found = items(await ask({ path: `${url.pathname}?${query}`, headers }))
    yield* found
    if (found.length >= SERVER_LIST_MAX)
      yield {
        note: `The server lists at most ${SERVER_LIST_MAX}: import user by user, with ?user_id=… in the address.`,
      }
    return
  }
  const base = url.pathname.replace(/\/+$/, '')
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Token ${key}` }
  // Whoever a memory belongs to, it has one of these.
  const anybody = ['user_id', 'agent_id', 'run_id', 'app_id'].map((field) => ({ [field]: '*' }))
  let count = 0
  for (let page = 1; ; page += 1) {
    const path = `${base}/v3/memories/?page=${page}&page_size=${PAGE}`
    const answer = objectIn(await ask({ path, headers, body: { filters: { OR: anybody } } }))
    const found = items(answer)
    yield* found
    count += found.length
    if (typeof answer.next === 'string' && found.length > 0) continue
    if (typeof answer.count === 'number' && answer.count !== count)
      yield { note: `The source says that it has ${answer.count} memories, and listed ${count}.` }
    return
  }
}
