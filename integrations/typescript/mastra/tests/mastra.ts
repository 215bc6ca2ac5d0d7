// The tools of loci in Mastra, through its client of the Model Context Protocol and in an agent with a fake model,
// against real servers: LOCI_URL, LOCI_API_KEY and LOCI_SERVICE say where.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Loci } from '@locihq/sdk'
import { Agent } from '@mastra/core/agent'
import { MCPClient } from '@mastra/mcp'
import { model, shown } from './model.ts'

const OPERATIONS = ['memory:read', 'memory:write', 'memory:delete']
const loci = new Loci()
const service = loci.service()

async function clientOf(user: string, { database = user } = {}): Promise<MCPClient> {
  const { id, endpoint, tenant_id: tenant } = await service.describe()
  const body = { service_id: id, databases: [user], ops: OPERATIONS, ttl_seconds: 600, name: 'mastra' }
  const minted = await loci.management.call('POST /api/v1/tenants/{id}/tokens', { path: { id: tenant }, body })
  const headers = { [minted.body.header]: minted.body.token, 'x-loci-database': database }
  const servers = { loci: { url: new URL(`${endpoint}/mcp`), requestInit: { headers } } }
  return new MCPClient({ id: randomUUID(), servers, timeout: 20_000 })
}

/** Mastra repeats nothing, and a burst of tests may use up the work per second of a small service. */
async function toolsOf(client: MCPClient) {
  let listed = await client.listToolsWithErrors()
  while (JSON.stringify(listed.errors).includes('RATE_LIMITED')) listed = await client.listToolsWithErrors()
  return listed
}

test('the capability of one user opens the memory of no other, and without a server no tool is listed', async () => {
  const [ada, bob] = [`a-${randomUUID()}`, `b-${randomUUID()}`]
  await service.user(bob).remember('Bob has the locker 4411')
  const thief = await clientOf(ada, { database: bob })
  const dead = new MCPClient({
    id: randomUUID(),
    servers: { loci: { url: new URL('http://127.0.0.1:1/mcp') } },
    timeout: 2_000,
  })
  try {
    const { tools, errors } = await toolsOf(thief)
    const found = await tools.loci_recall
      ?.execute?.({ query: 'Who has the locker?' } as never, {} as never)
      .catch(String)
    assert.doesNotMatch(JSON.stringify(found ?? ''), /Bob has the locker/)
    assert.match(JSON.stringify([found, errors]), /DATABASE_MISMATCH|403|database|keyspace/i)
    const none = await dead.listToolsWithErrors()
    assert.deepEqual([Object.keys(none.tools), Object.keys(none.errors)], [[], ['loci']])
  } finally {
    await thief.disconnect()
    await dead.disconnect()
  }
})

test('the tools are listed, remember and recall, and what they find is data with its reason', async () => {
  const ada = `a-${randomUUID()}`
  const client = await clientOf(ada)
  try {
    const { tools } = await toolsOf(client)
    assert.deepEqual(
      ['loci_forget', 'loci_recall', 'loci_remember'].filter((name) => !(name in tools)),
      [],
    )
    const call = (name: string, given: object) => tools[name]?.execute?.(given as never, {} as never)

    await call('loci_remember', { text: 'Ada prefers replies in Dutch' })
    const recalled = await call('loci_recall', { query: 'Which language for Ada?' })

    assert.match(JSON.stringify(recalled), /Ada prefers replies in Dutch/)
    const [hit] = await service.user(ada).recall('Which language for Ada?')
    assert.equal(hit?.content, 'Ada prefers replies in Dutch')
  } finally {
    await client.disconnect()
  }
})

test('an agent remembers in one run and recalls in the next, for one user and not for another', async () => {
  const [ada, bob] = [`a-${randomUUID()}`, `b-${randomUUID()}`]
  const ask = async (user: string, text: string) => {
    const client = await clientOf(user)
    try {
      const { tools } = await toolsOf(client)
      const agent = new Agent({ id: 'a', name: 'A', instructions: 'Be brief.', model, tools })
      return (await agent.generate(text)).text
    } finally {
      await client.disconnect()
    }
  }

  await ask(ada, 'Remember that my order 4411 is late.')

  assert.equal(await ask(ada, 'Which order is late?'), 'my order 4411 is late')
  const recalled = shown.at(-1)?.prompt ?? []
  assert.ok(!recalled.some(({ role, content }) => role === 'system' && JSON.stringify(content).includes('4411')))
  assert.equal(await ask(bob, 'Which order is late?'), 'I do not know that.')
})
