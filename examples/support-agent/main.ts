// npm start: a day of the support agent, in a service of its own. Url and key are those of LOCI_URL and LOCI_API_KEY,
// or those of `loci up`.

import { Loci } from '@locihq/sdk'
import { SupportAgent } from './agent.ts'
import { day, HANDBOOK } from './shop.ts'

const service = await new Loci().services.create({ name: 'Shop support', plan: 'pro' }).ready()
const agent = new SupportAgent(service)
await agent.learn(HANDBOOK)

let [turns, hoped, met] = [0, 0, 0]
for (const turn of day()) {
  const { text } = await agent.hear(turn)
  console.log(`${turn.chat} ${turn.customer}: ${turn.says} → ${text}`)
  turns += 1
  if (turn.hopes === undefined) continue
  hoped += 1
  if (text.includes(turn.hopes)) met += 1
}
console.log(`${turns} turns, ${met} of ${hoped} questions answered as hoped, in the service ${service.info?.slug}`)
