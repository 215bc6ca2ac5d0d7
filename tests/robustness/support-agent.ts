// The agent of examples/support-agent at work: what each customer said, what the answer stood on, and what was left.

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

export interface Seen {
  turn: { customer: string; chat: string; says: string; hopes?: string }
  answer: {
    text: string
    from?: 'this chat' | 'customer and team'
    tools: string[]
    hits: { content: string; actor: string | null; kind: string; database?: string }[]
  }
}

export interface Heard {
  seen: Seen[]
  /** Each customer, behind the last turn. */
  ended: { customer: string; cycles: number; slots: number; pinned: boolean; open: boolean }[]
}

/** The loop of main.ts of the example, which tells all it sees. */
const LOOP = `import { Loci } from '@locihq/sdk'
import { SupportAgent } from './dist/agent.js'
import { day, HANDBOOK } from './dist/shop.js'

const turnsMax = Number(process.argv[2])
const service = await new Loci().services.create({ name: 'Shop support', plan: 'pro' }).ready()
const agent = new SupportAgent(service)
await agent.learn(HANDBOOK)
const [seen, ended, customers] = [[], [], new Set()]
for (const turn of day()) {
  if (seen.length === turnsMax) break
  const { hits, ...answer } = await agent.hear(turn)
  customers.add(turn.customer)
  const shown = hits.map(({ content, actor, kind, database }) => ({ content, actor, kind, database }))
  seen.push({ turn, answer: { ...answer, hits: shown } })
}
for (const customer of customers) {
  const user = service.user(customer)
  const [{ slots }, cycles] = [await user.slots.list(), await user.cycles().all()]
  const has = (key) => slots.find((slot) => slot.key === key)
  const pinned = has('rule')?.pinned === true
  ended.push({ customer, cycles: cycles.length, slots: slots.length, pinned, open: has('open') !== undefined })
}
console.log(JSON.stringify({ seen, ended }))
`

/** `folder` is the example, compiled, with its client installed. */
export async function heardBy(given: {
  folder: string
  turns: number
  node: string
  env: Record<string, string>
}): Promise<Heard> {
  const { folder, turns, node, env } = given
  writeFileSync(path.join(folder, 'loop.js'), LOOP)
  const child = spawn(node, ['loop.js', String(turns)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  if (stdout === '') throw new Error(`the agent of ${node} said nothing: ${stderr.slice(-600)}`)
  return JSON.parse(stdout) as Heard
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
