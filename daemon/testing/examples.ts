// One call of every operation, as its users make it, and what was answered: the examples of the document. They happen
// one after the other, to Ada, whose agent has a database of its own.

import { openEventStream } from '@loci/chassis/testing/event-stream.ts'
import { createSteady } from '@loci/chassis/testing/steady.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Example } from '@loci/contract/openapi.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { testAuthority } from './authority.ts'
import { partnerToken } from './credentials.ts'
import { testDaemon } from './daemon.ts'

type Body = Record<string, unknown>
type By = 'holder' | 'operator' | 'partner' | 'admin' | 'nobody'

interface Asked {
  by?: By
  db?: string
  path?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  headers?: Record<string, string>
  /** An answer without an end: what came with the first event. */
  isStream?: boolean
}

/** By method and path, in the order in which they were asked. */
export async function tellExamples(): Promise<Record<string, Example>> {
  await using daemon = await testDaemon({ settings: { authorizationServer: 'https://loci.example' } })
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const steady = createSteady('http://127.0.0.1:4410')
  const told: Record<string, Example> = {}

  const holder = own.root({ ops: OPERATION_NAMES.filter((one) => one !== 'operator'), ks: ['*/*'] })
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const partner = await partnerToken(authority, own, ['event', 'tool_outcome', 'fact', 'preference', 'retraction'], {
    database: 'user-ada',
  })
  const CREDENTIALS: Record<By, Record<string, string>> = {
    holder: { [HEADER.capability]: holder },
    operator: { [HEADER.capability]: operator },
    partner: { authorization: `Bearer ${partner}` },
    admin: { [HEADER.adminToken]: daemon.adminToken },
    nobody: {},
  }

  async function ask<Answer = Body>(line: string, asked: Asked = {}): Promise<Answer> {
    const { by = 'holder', db = 'user-ada', path = {}, query, body } = asked
    const filled = line.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(path[name])))
    const search = query ? `?${new URLSearchParams(query)}` : ''
    const headers = {
      ...{ ...CREDENTIALS[by], ...asked.headers },
      ...(by === 'holder' || by === 'operator' ? { [HEADER.database]: db } : {}),
    }
    const { status, text } = asked.isStream
      ? await beginningOf(`${daemon.url}${filled.split(' ')[1]}`, headers)
      : await daemon.ask(`${filled}${search}`, { body, headers })
    if (status >= 300) throw new Error(`${filled}${search} was answered ${status}: ${text}`)
    const answer = /^[[{]/.test(text) ? JSON.parse(text) : text
    const sent = {
      ...(asked.path ? { path } : {}),
      ...(query ? { query } : {}),
      ...(body === undefined ? {} : { body }),
    }
    // The first call of a route is its example; a later one prepares something.
    told[line] ??= steady({ ...sent, status, answer })
    return answer
  }

  await ofProbes(ask)
  await ofEntries(ask)
  await ofMemory(ask)
  await ofWorkingMemory(ask)
  await ofCycles(ask)
  await ofAdvice(ask)
  await ofTheInstance(ask)
  await ofTheCell(ask)
  return told
}

/** With the first event whole. */
async function beginningOf(url: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const stream = await openEventStream(url, headers)
  await stream.until(({ data }) => data !== undefined)
  stream.close()
  const end = stream.text.indexOf('\n\n', stream.text.indexOf('data:'))
  return { status: stream.status, text: stream.text.slice(0, end + 2) }
}

type Ask = <Answer = Body>(line: string, asked?: Asked) => Promise<Answer>

async function ofEntries(ask: Ask): Promise<void> {
  const value = { language: 'nl', theme: 'dark' }
  await ask('PUT /v1/kv/entries/{key}', { path: { key: 'settings' }, body: { value } })
  await ask('GET /v1/kv/entries/{key}', { path: { key: 'settings' } })
  await ask('POST /v1/kv/entries/batch', {
    body: {
      operations: [
        { op: 'put', key: 'visit:1', value: { page: 'orders' }, ifVersion: 0 },
        { op: 'put', key: 'visit:2', value: { page: 'returns' }, ttlMs: 86_400_000 },
      ],
    },
  })
  await ask('GET /v1/kv/entries', { query: { prefix: 'visit:', limit: '2' } })
  await ask('DELETE /v1/kv/entries/{key}', { path: { key: 'visit:1' } })
}

async function ofMemory(ask: Ask): Promise<void> {
  const chat = { contextId: 'chat-7', actor: 'ada' }
  const { id } = await ask<{ id: string }>('POST /v1/memory/records', {
    body: { content: 'Ada prefers the aisle seat', ...chat, tags: ['travel'], metadata: { channel: 'web' } },
  })
  const { records } = await ask<{ records: { id: string }[] }>('POST /v1/memory/records/batch', {
    body: {
      records: [
        { content: 'Ada moved to Utrecht in May', key: 'home', ...chat },
        { content: 'Ada is allergic to peanuts', kind: 'fact', tags: ['health'], actor: 'ada' },
      ],
    },
  })
  await ask('GET /v1/memory/records', { query: { contextId: 'chat-7', order: 'asc', limit: '10' } })
  await ask('GET /v1/memory/records/{id}', { path: { id } })
  await ask('POST /v1/memory/records/read', { body: { ids: [id] } })
  await ask('POST /v1/memory/recall', {
    body: { query: 'Which seat does Ada prefer?', limit: 1, contextIds: ['chat-7'], tokenBudget: 500 },
  })
  await ask('DELETE /v1/memory/records/{id}', { path: { id: String(records[1]?.id) } })
}

async function ofWorkingMemory(ask: Ask): Promise<void> {
  await ask('PUT /v1/working-memory/config', { by: 'operator', body: { capacity: 3, policy: 'activation' } })
  await ask('GET /v1/working-memory/config', { by: 'operator' })
  await ask('GET /v1/working-memory/settings')
  await ask('PUT /v1/working-memory/slots/{key}', {
    path: { key: 'task' },
    body: { value: { goal: 'Book a train to Berlin' }, kind: 'goal', pinned: true, tags: ['travel'] },
  })
  await ask('GET /v1/working-memory/slots/{key}', { path: { key: 'task' } })
  await ask('PATCH /v1/working-memory/slots/{key}', { path: { key: 'task' }, body: { value: { by: '10:00' } } })
  await ask('GET /v1/working-memory/slots/{key}/history', { path: { key: 'task' } })
  const put = (key: string, value: string) => ({ op: 'put', key, value })
  await ask('POST /v1/working-memory/slots/batch', {
    body: { operations: [put('turn:1', 'Not the night train, please'), put('turn:2', 'Two seats side by side')] },
  })
  // One more than there is room for.
  const { version } = await ask<{ version: number }>('PUT /v1/working-memory/slots/{key}', {
    path: { key: 'turn:3' },
    body: { value: 'A window, if there is one' },
  })
  await ask('GET /v1/working-memory/evictions', { query: { limit: '5' } })
  await ask('GET /v1/working-memory/slots')
  await ask('GET /v1/working-memory/stats')
  await ask('DELETE /v1/working-memory/slots/{key}', { path: { key: 'turn:3' } })
  await ask('POST /v1/working-memory/slots/restore', { body: { key: 'turn:3', version } })
  await ask('POST /v1/working-memory/slots/clear', { query: { includePinned: 'true' } })
}

async function ofCycles(ask: Ask): Promise<void> {
  await ask('PUT /v1/cognitive/config', { by: 'operator', body: { consolidateAfterCycles: 2 } })
  await ask('GET /v1/cognitive/config', { by: 'operator' })
  await ask('GET /v1/cognitive/settings')
  const { id } = await ask<{ id: string }>('POST /v1/cognitive/cycles', {
    body: {
      focus: 'What does Ada need for the trip?',
      observations: [{ content: 'Ada needs a receipt for the trip to Berlin', contextId: 'chat-8', actor: 'ada' }],
    },
  })
  await ask('GET /v1/cognitive/cycles', { query: { limit: '1' } })
  await ask('GET /v1/cognitive/cycles/{id}', { path: { id } })
  await ask('GET /v1/cognitive/cycles/{id}/decisions', { path: { id }, query: { limit: '5' } })
  await ask('GET /v1/cognitive/timeline', { query: { content: 'true', limit: '1' } })
  const { records } = await ask<{ records: { id: string }[] }>('GET /v1/memory/records', { query: { limit: '1' } })
  await ask('GET /v1/memory/records/{id}/trace', { path: { id: String(records[0]?.id) } })
  await ask('GET /v1/cognitive/stats')
  await ask('GET /v1/cognitive/health')
}

async function ofAdvice(ask: Ask): Promise<void> {
  const task = { taskClass: 'booking', taskIntent: 'Book a train to Berlin' }
  const tools = [{ toolId: 'rail-api', outcome: 'success', latencyMs: 840 }]
  await ask('POST /v1/advice/outcomes', { body: { ...task, sourceEventId: 'booking-1', tools } })
  await ask('POST /v1/partner/projections', {
    by: 'partner',
    body: {
      ...{ projection_class: 'tool_outcome', source_event_id: 'crm-481', run_id: 'run-12', task_class: 'booking' },
      tools: [{ tool_id: 'travel-desk', outcome: 'failure', error_code: 'closed' }],
    },
  })
  const rules = [{ effect: 'deny', tool: 'travel-desk*', taskClass: 'booking', failureBudget: 0.5 }]
  await ask('PUT /v1/advice/policies/{name}', { by: 'operator', path: { name: 'default' }, body: { rules } })
  await ask('GET /v1/advice/policies/{name}', { path: { name: 'default' } })
  await ask('GET /v1/advice/policies')
  await ask('POST /v1/advice/rank', {
    body: { ...task, sourceEventId: 'booking-2', candidateTools: ['rail-api', 'travel-desk'], limit: 2 },
  })
  await ask('POST /v1/advice/tools:rank', {
    by: 'partner',
    body: {
      ...{ task_class: 'booking', task_intent: 'Book a train to Berlin', source_event_id: 'crm-482', run_id: 'run-13' },
      ...{ scope: null, candidate_tools: ['rail-api', 'travel-desk'], limit: 2 },
    },
  })
}

async function ofTheInstance(ask: Ask): Promise<void> {
  await ask('GET /v1/events', { headers: { 'last-event-id': '0' }, isStream: true })
  await ask('POST /mcp', {
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    body: {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'recall', arguments: { query: 'Which seat does Ada prefer?', limit: 1 } },
    },
  })
  await ask('GET /v1/audit', { by: 'operator', query: { limit: '2' } })
  await ask('GET /v1/databases', { by: 'operator' })
  await ask('PUT /v1/kv/entries/{key}', { db: 'user-ben', path: { key: 'a' }, body: { value: 1 } })
  await ask('DELETE /v1/databases/{name}', { by: 'operator', path: { name: 'user-ben' } })
  await ask('GET /v1/kv/health')
  await ask('GET /v1/kv/consistency', { query: { mode: 'incremental' } })
  await ask('GET /v1/system/info')
  await ask('GET /v1/conductor/endpoints')
}

async function ofProbes(ask: Ask): Promise<void> {
  const open = { by: 'nobody' } as const
  for (const probe of ['live', 'ready', 'startup'])
    for (const prefix of ['', '/v1']) await ask(`GET ${prefix}/health/${probe}`, open)
  await ask('GET /v1/health/all', open)
  await ask('GET /v1/lifecycle/status', open)
  for (const path of ['', '/mcp']) await ask(`GET /.well-known/oauth-protected-resource${path}`, open)
}

async function ofTheCell(ask: Ask): Promise<void> {
  const admin = (body?: Body) => ({ by: 'admin' as const, ...(body ? { body } : {}) })
  await ask('GET /admin/services/status', admin())
  const switched = { services: ['cognitive'], reason: 'maintenance' }
  await ask('POST /admin/services/disable', admin({ ...switched, drain_timeout_ms: 1_000 }))
  await ask('POST /admin/services/enable', admin(switched))
  await ask('POST /admin/revocations', admin({ jti: 'cap_01kjnx3v00aaaaaaaaaaaaaaaa' }))
  await ask('GET /admin/audit', { by: 'admin', query: { limit: '2' } })
}
