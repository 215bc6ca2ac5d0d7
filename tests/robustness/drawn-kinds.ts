// Requests that nobody picked for being dear: a route by lot, and its sizes by lot, small ones as often as large ones.
// Each kind is one request that is sent again and again; `{n}` in it stands for a number, where a repeat would not be
// the same request as the first. Some are nonsense on purpose: what is refused has a price too.

import type { Random } from './seeded.ts'

export interface DrawnKind {
  name: string
  method: string
  path: string
  body?: string
  variants: number
  isPartner?: boolean
  headers?: Record<string, string>
  streamMs?: number
}

type Make = (random: Random) => Omit<DrawnKind, 'name' | 'variants'>

/** Entries and records that the services of the drawn requests have (drawn-requests.ts). */
export const ENTRIES = 1_000
export const RECORDS = 1_000

const BODY_BYTES_MAX = 1_000_000
const VARIANTS = 500
const STREAM_MS = 300
const SYLLABLES = 'ka ri mo ne su ta lo pe vi da ro ge hu ma ti so le ba no fi'.split(' ')

export function drawKind(random: Random, number: number): DrawnKind {
  const [route, make] = random.pick(Object.entries(MAKERS))
  const made = make(random)
  const bytes = made.body === undefined ? '' : `, ${Math.round(made.body.length / 100) / 10} KB`
  return { name: `${number}: ${route}${bytes}`, variants: VARIANTS, ...made }
}

/** From 1 to `max`, each order of magnitude as often as the next. */
function sizeOf(random: Random, max: number): number {
  return Math.max(1, Math.floor((max + 1) ** random()))
}

/** How many of so many bytes there may be: all together fit into a body. */
function several(random: Random, max: number, bytes: number): number {
  return Math.min(sizeOf(random, max), Math.max(1, Math.floor(BODY_BYTES_MAX / (bytes + 120))))
}

function words(random: Random, characters: number): string {
  let text = ''
  while (text.length < characters) text += `${[1, 2, 3].map(() => random.pick(SYLLABLES)).join('')} `
  return text.slice(0, characters)
}

function list<Item>(length: number, item: (n: number) => Item): Item[] {
  return Array.from({ length }, (_, n) => item(n))
}

function value(random: Random): unknown {
  const size = sizeOf(random, 200_000)
  return random.pick([
    () => words(random, size),
    () => list(Math.min(size, 15_000), (n) => n),
    () => Object.fromEntries(list(Math.min(size, 9_000), (n) => [`m${n}`, n])),
    () => JSON.parse(`${'['.repeat(Math.min(size, 30))}${']'.repeat(Math.min(size, 30))}`),
  ])()
}

const get = (path: string, more: Partial<DrawnKind> = {}) => ({ method: 'GET', path, ...more })
const post = (path: string, body: unknown, more: Partial<DrawnKind> = {}) => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
  ...more,
})

function observation(random: Random, characters: number, n: number): object {
  return {
    content: `{n} ${n} ${words(random, characters)}`,
    ...(random.chance(0.3)
      ? { contextId: `chat ${random.below(50)}`, tags: list(random.below(8), (t) => `tag ${t}`) }
      : {}),
    ...(random.chance(0.2) ? { metadata: Object.fromEntries(list(random.below(20), (m) => [`m${m}`, m])) } : {}),
  }
}

function memoryIds(random: Random, count: number): string[] {
  return list(count, () => `mem_${list(26, () => random.pick([...'0123456789abcdefghjkmnpqrstvwxyz'])).join('')}`)
}

function recall(random: Random): object {
  return {
    query: words(random, sizeOf(random, 8_000)),
    limit: sizeOf(random, 200),
    explain: random.chance(0.5),
    ...(random.chance(0.3) ? { abstain: false } : {}),
    ...(random.chance(0.2) ? { contextIds: list(sizeOf(random, 64), (n) => `chat ${n}`) } : {}),
    ...(random.chance(0.2) ? { metadata: { m1: 1 } } : {}),
    ...(random.chance(0.2) ? { recordIds: memoryIds(random, sizeOf(random, 16)) } : {}),
    ...(random.chance(0.2) ? { databases: list(sizeOf(random, 8), (n) => (n === 0 ? 'default' : `other-${n}`)) } : {}),
  }
}

function outcome(random: Random, names: 'camel' | 'snake', characters: number, n: number): object {
  const tools = list(sizeOf(random, 10), (t) => t)
  const intent = words(random, characters)
  return names === 'camel'
    ? {
        ...{ taskClass: 'support', taskIntent: intent, sourceEventId: `drawn {n} ${n}` },
        tools: tools.map((t) => ({ toolId: `tool-${t}`, outcome: t % 3 ? 'success' : 'failure', latencyMs: t })),
      }
    : {
        ...{ projection_class: 'tool_outcome', task_class: 'support', task_intent: intent },
        ...{ source_event_id: `drawn {n} ${n}` },
        tools: tools.map((t) => ({ tool_id: `tool-${t}`, outcome: t % 3 ? 'success' : 'failure' })),
      }
}

function rank(random: Random, names: 'camel' | 'snake'): object {
  const [intent, limit, explain] = [words(random, sizeOf(random, 8_000)), sizeOf(random, 100), random.chance(0.5)]
  const candidates = list(sizeOf(random, 200), (n) => `tool-${n}`)
  const some = random.chance(0.5)
  return names === 'camel'
    ? {
        ...{ taskClass: 'support', taskIntent: intent, sourceEventId: 'ask', limit, explain },
        ...(some ? { candidateTools: candidates } : {}),
      }
    : {
        ...{ task_class: 'support', task_intent: intent, source_event_id: 'ask', run_id: 'run', scope: null },
        ...{ limit, explain, ...(some ? { candidate_tools: candidates } : {}) },
      }
}

function message(random: Random, id: number): object {
  const call = (name: string, given: object) => ({ method: 'tools/call', params: { name, arguments: given } })
  const asked = random.pick<() => object>([
    () => ({ method: 'tools/list', params: {} }),
    () => ({ method: 'resources/list', params: {} }),
    () => ({ method: 'resources/read', params: { uri: 'loci://working-memory' } }),
    () => ({ method: 'prompts/list', params: {} }),
    () => ({ method: words(random, 8), params: {} }),
    () => call('recall', { query: words(random, sizeOf(random, 4_000)), limit: sizeOf(random, 20) }),
    () => call('remember', { text: `{n} ${id} ${words(random, sizeOf(random, 4_000))}` }),
    () => call('working_memory', {}),
    () => call('focus', { text: words(random, sizeOf(random, 1_000)) }),
    () => call('rank_tools', { task_class: 'support', task_intent: words(random, sizeOf(random, 4_000)) }),
    () => call('run_cycle', { observations: list(sizeOf(random, 20), () => words(random, sizeOf(random, 2_000))) }),
  ])()
  return { jsonrpc: '2.0', id, ...asked }
}

const MAKERS: Record<string, Make> = {
  'GET entry': () => get(`/v1/kv/entries/k{n}`),
  'PUT entry': (random) => ({
    method: 'PUT',
    path: random.chance(0.5) ? '/v1/kv/entries/drawn' : '/v1/kv/entries/drawn{n}',
    body: JSON.stringify({ value: value(random) }),
  }),
  'PUT entry with members that nobody reads': (random) => ({
    method: 'PUT',
    path: '/v1/kv/entries/drawn',
    body: JSON.stringify({ value: 1, [words(random, 5)]: value(random), other: value(random) }),
  }),
  'DELETE entry': () => ({ method: 'DELETE', path: '/v1/kv/entries/nothing{n}' }),
  'list of entries': (random) =>
    get(
      `/v1/kv/entries?limit=${sizeOf(random, 1_000)}&order=${random.pick(['asc', 'desc'])}${random.chance(0.3) ? '&keysOnly=true' : ''}`,
    ),
  'batch of entries': (random) => {
    const bytes = sizeOf(random, 100_000)
    const text = words(random, bytes)
    return post('/v1/kv/entries/batch', {
      operations: list(several(random, 100, bytes), (n) =>
        random.chance(0.9) ? { op: 'put', key: `batch${n}`, value: text } : { op: 'delete', key: `batch${n}` },
      ),
    })
  },
  'kv health': () => get('/v1/kv/health'),
  consistency: (random) => get(`/v1/kv/consistency${random.chance(0.5) ? '?mode=full' : ''}`),
  slots: () => get('/v1/working-memory/slots'),
  'PUT slot': (random) => ({
    method: 'PUT',
    path: `/v1/working-memory/slots/${random.pick(['drawn', 's{n}'])}`,
    body: JSON.stringify({ value: words(random, sizeOf(random, 30_000)) }),
  }),
  'batch of slots': (random) => {
    const bytes = sizeOf(random, 15_000)
    return post('/v1/working-memory/slots/batch', {
      operations: list(several(random, 100, bytes), (n) => ({
        op: 'put',
        key: `drawn${n}`,
        value: words(random, bytes),
      })),
    })
  },
  'history of a slot': () => get('/v1/working-memory/slots/drawn/history'),
  evictions: (random) => get(`/v1/working-memory/evictions?content=${random.chance(0.5)}`),
  'clear as a dry run': () => post('/v1/working-memory/slots/clear?dryRun=true', {}),
  'store a memory': (random) => post('/v1/memory/records', observation(random, sizeOf(random, 15_000), 0)),
  'batch of memories': (random) => {
    const characters = sizeOf(random, 15_000)
    return post('/v1/memory/records/batch', {
      records: list(several(random, 100, characters), (n) => observation(random, characters, n)),
    })
  },
  'list of memories': (random) =>
    get(
      `/v1/memory/records?limit=${sizeOf(random, 200)}${random.chance(0.5) ? `&contextId=chat%20${random.below(60)}` : ''}${random.chance(0.3) ? '&tag=tag%201' : ''}${random.chance(0.3) ? '&order=asc' : ''}`,
    ),
  'memories by their ids': (random) => post('/v1/memory/records/read', { ids: memoryIds(random, sizeOf(random, 100)) }),
  recall: (random) => post('/v1/memory/recall', recall(random)),
  cycle: (random) => {
    const characters = sizeOf(random, 8_000)
    return post('/v1/cognitive/cycles', {
      observations: list(several(random, 100, characters), (n) => observation(random, characters, n)),
      ...(random.chance(0.5) ? { focus: words(random, sizeOf(random, 4_000)) } : {}),
      ...(random.chance(0.2) ? { dryRun: true } : {}),
    })
  },
  'list of cycles': (random) => get(`/v1/cognitive/cycles?limit=${sizeOf(random, 200)}`),
  stats: (random) => get(random.pick(['/v1/cognitive/stats', '/v1/working-memory/stats', '/v1/cognitive/health'])),
  settings: (random) => get(random.pick(['/v1/working-memory/settings', '/v1/cognitive/settings'])),
  outcomes: (random) => {
    const characters = sizeOf(random, 8_000)
    return post(
      '/v1/advice/outcomes',
      list(several(random, 100, characters + 800), (n) => outcome(random, 'camel', characters, n)),
    )
  },
  rank: (random) => post('/v1/advice/rank', rank(random, 'camel')),
  'rank of a partner': (random) => post('/v1/advice/tools:rank', rank(random, 'snake'), { isPartner: true }),
  projections: (random) => {
    const characters = sizeOf(random, 8_000)
    return post(
      '/v1/partner/projections',
      list(several(random, 500, characters + 600), (n) => outcome(random, 'snake', characters, n)),
      { isPartner: true },
    )
  },
  'events from the beginning': () => get('/v1/events', { headers: { 'last-event-id': '0' }, streamMs: STREAM_MS }),
  'events from now on': () => get('/v1/events', { streamMs: STREAM_MS }),
  databases: () => get('/v1/databases'),
  information: (random) => get(random.pick(['/v1/system/info', '/v1/lifecycle/status', '/v1/conductor/endpoints'])),
  audit: () => get('/v1/audit'),
  mcp: (random) => {
    const messages = list(sizeOf(random, 20), (n) => message(random, n + 1))
    return post('/mcp', random.chance(0.2) ? messages[0] : messages)
  },
  'nothing that is there': (random) => ({
    method: random.pick(['GET', 'POST', 'PUT', 'DELETE']),
    path: `/v1/${words(random, 12).trim()}/{n}`,
  }),
  'no JSON': (random) => ({
    method: 'POST',
    path: random.pick(['/v1/memory/recall', '/v1/kv/entries/batch', '/mcp', '/v1/cognitive/cycles']),
    body: `{"a":${'['.repeat(random.below(2) * 200)}${words(random, sizeOf(random, BODY_BYTES_MAX))}`,
  }),
}
