import { LociSession } from '@locihq/openai-agents'
import { Loci } from '@locihq/sdk'
import { Agent, run } from '@openai/agents'
import { model } from './model.ts' // yours, or the name of one, such as 'gpt-5'

const service = new Loci().service()
const agent = new Agent({ name: 'Support', instructions: 'Be brief.', model })

async function ask(user: string, chat: string, text: string) {
  const session = new LociSession(chat, service.user(user))
  return (await run(agent, text, { session })).finalOutput
}

await ask('ada', 'chat-1', 'My order 4411 is late.')
console.log(await ask('ada', 'chat-1', 'What did I say?')) // → You began with: My order 4411 is late.
console.log(await ask('bob', 'chat-1', 'What did I say?')) // → Hello.
