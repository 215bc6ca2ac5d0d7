import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDaemon } from '../testing/daemon.ts'
import { addTenant } from '../testing/tenant.ts'

const RIGHTS = { ops: ['memory:read', 'memory:write'], ks: ['memory/*'] }
const HEADERS = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }

// Mutants: `contextIds` or `since` left out of recall.
test('a recall is narrowed to a conversation and to a time', async () => {
  await using daemon = await testDaemon()
  const tenant = await addTenant(daemon)
  const token = tenant.mint(RIGHTS)
  const use = async (name: string, given: object) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }
    const answer = await tenant.call('POST /mcp', message, { token, headers: HEADERS })
    return answer.json<{ result: { isError?: boolean; content: { text: string }[] } }>().result
  }
  const found = async (more: object) =>
    (await use('recall', { query: 'Who wants which seat?', ...more })).content[0]?.text ?? ''
  await use('remember', { text: 'Ada wants the aisle seat', context: 'chat-1' })
  await use('remember', { text: 'Ben wants the window seat', context: 'chat-2' })

  const one = await found({ context: 'chat-1' })
  assert.ok(one.includes('aisle') && !one.includes('window'), one)
  const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  assert.ok((await found({ since: hour(-1) })).includes('seat'))
  assert.ok(!/aisle|window/.test(await found({ since: hour(1) })))
  assert.equal((await use('recall', { query: 'seat', since: 'yesterday' })).isError, true)
})
