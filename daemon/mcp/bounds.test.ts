import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MCP_OPERATIONS, type McpTool } from '@loci/contract/mcp.ts'
import { testDaemon } from '../testing/daemon.ts'
import { addTenant } from '../testing/tenant.ts'

const HEADERS = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }
/** Where a token is two bytes, this is 25,000 of them. */
const BYTES_MAX = 50_000

/** Any of what the tools say. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows which tool it used.
type Said = any

// Mutants: `fitted` that shows all; `cut` that keeps all, or by TEXT_ROOM alone; a resource without withinRoom().
test('no result is larger than a model can read, whatever is stored, and it says what was left out', async () => {
  await using daemon = await testDaemon()
  const tenant = await addTenant(daemon)
  const token = tenant.mint({ ops: MCP_OPERATIONS, ks: ['*/*'] })
  const call = async (line: string, body: object) => {
    const answer = await tenant.call(line, body, { token, headers: line === 'POST /mcp' ? HEADERS : {} })
    assert.equal(answer.status, 200, answer.text.slice(0, 300))
    return answer.json<Said>()
  }
  const resultOf = async (method: string, params: object) => {
    const { result } = await call('POST /mcp', { jsonrpc: '2.0', id: 1, method, params })
    assert.ok(result && !result.isError, JSON.stringify(result).slice(0, 300))
    const bytes = Buffer.byteLength(JSON.stringify(result))
    assert.ok(bytes <= BYTES_MAX, `${method} ${JSON.stringify(params).slice(0, 100)}: ${bytes} bytes`)
    return result
  }
  const use = async (name: McpTool, args: object) =>
    (await resultOf('tools/call', { name, arguments: args })).structuredContent
  const records = Array.from({ length: 40 }, (_, at) => ({ content: `Tulip ${at} ${'bulb '.repeat(3_000)}` }))
  for (let at = 0; at < 40; at += 10)
    await call('POST /v1/memory/records/batch', { records: records.slice(at, at + 10) })
  await call('POST /v1/memory/records', { content: `Rose ${'\u0001'.repeat(16_000)}` })
  const many = await use('recall', { query: 'tulip bulb', limit: 200, max_tokens: 1_000_000 })
  assert.ok(many.memories.length >= 1 && many.leftOut > 0, `${many.memories.length} shown`)
  const rose = await use('recall', { query: 'rose', limit: 1, max_tokens: 1_000_000 })
  assert.match(rose.memories[0].content, /\(cut\)$/)

  // With as much beside the text as there may be, it is shown all the same, and hides nothing else.
  const tags = Array.from({ length: 32 }, (_, at) => `${at}`.padEnd(64, 'é'))
  const iris = { content: `Iris ${'petal '.repeat(2_700)}`, tags, contextId: 'é'.repeat(256), actor: 'é'.repeat(256) }
  const { id } = await call('POST /v1/memory/records', {
    ...{ ...iris, media: 'é'.repeat(4_096), metadata: { note: '"'.repeat(8_000) } },
    evidenceRefs: Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(256, 'é')),
  })
  const petals = await use('recall', { query: 'iris petal', limit: 1, max_tokens: 1_000_000 })
  assert.deepEqual([petals.memories.length, petals.memories[0]?.tags], [1, tags])
  const { contents } = await resultOf('resources/read', { uri: `loci://memory/${id}` })
  const shown = JSON.parse(contents[0].text)
  assert.deepEqual([shown.id, shown.leftOut], [id, ['evidenceRefs', 'metadata']])
  assert.ok(shown.content === iris.content, 'word for word')

  for (let at = 0; at < 9; at += 1) await call(`PUT /v1/working-memory/slots/s${at}`, { value: 'x'.repeat(16_000) })
  const mind = await use('working_memory', { include_evicted: true })
  assert.ok(mind.slots.length < mind.count && mind.leftOut === mind.count - mind.slots.length)
  await use('run_cycle', { focus: 'tulip' })
})
