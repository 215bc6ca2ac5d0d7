import { Loci } from '@locihq/sdk'
import { Agent } from '@mastra/core/agent'
import { MCPClient } from '@mastra/mcp'
import { model } from './model.ts' // yours, such as 'openai/gpt-5'

const OPERATIONS = ['memory:read', 'memory:write', 'memory:delete']
const loci = new Loci()
const service = loci.service()

/** The tools of loci for one user, by a capability that opens the memory of nobody else. */
async function memoryOf(user: string) {
  const { id, endpoint, tenant_id: tenant } = await service.describe()
  const body = { service_id: id, databases: [user], ops: OPERATIONS, ttl_seconds: 3_600, name: 'mastra' }
  const minted = await loci.management.call('POST /api/v1/tenants/{id}/tokens', { path: { id: tenant }, body })
  const headers = { [minted.body.header]: minted.body.token, 'x-loci-database': user }
  return new MCPClient({ id: user, servers: { loci: { url: new URL(`${endpoint}/mcp`), requestInit: { headers } } } })
}

async function ask(user: string, text: string) {
  const memory = await memoryOf(user)
  const agent = new Agent({
    id: 'a',
    name: 'Support',
    instructions: 'Be brief.',
    model,
    tools: await memory.listTools(),
  })
  const answer = await agent.generate(text)
  await memory.disconnect()
  return answer.text
}

await ask('ada', 'Remember that my order 4411 is late.')
console.log(await ask('ada', 'Which order is late?')) // → order 4411
console.log(await ask('bob', 'Which order is late?')) // → I do not know that.
