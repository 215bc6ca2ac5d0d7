// The agent of a shop's support. Rules stand where a model would decide; the rest is as in a real one.

import type { Hit, Service, User } from '@locihq/sdk'
import { type Message, REFUND_TOOLS, useTool } from './shop.ts'

export interface Answer {
  text: string
  /** The memories that it stands on, and where they were looked for. */
  hits: Hit[]
  from?: 'this chat' | 'customer and team'
  /** The tools that were tried, in the order of the advice. */
  tools: string[]
}

const NOTHING = { hits: [], tools: [] }

/** Whose memories all customers' answers may use: the shop's own. */
const TEAM = 'team-support'

export class SupportAgent {
  readonly #service: Service
  readonly #team: User

  constructor(service: Service) {
    this.#service = service
    this.#team = service.user(TEAM)
  }

  /** What the shop knows, once. The key makes a later rule replace the earlier one. */
  async learn(handbook: { key: string; rule: string }[]): Promise<void> {
    await this.#team.rememberAll(handbook.map(({ key, rule }) => ({ key, content: rule, kind: 'rule' })))
  }

  async hear(turn: Message): Promise<Answer> {
    // One customer is one database: nothing of it is ever in an answer about another.
    const customer = this.#service.user(turn.customer)
    if (turn.says.startsWith('Please refund')) return this.#refund(customer, turn)
    if (turn.says.endsWith('goodbye.')) return this.#endChat(customer, turn)
    if (turn.says.endsWith('?')) return this.#lookUp(customer, turn)
    return this.#note(customer, turn)
  }

  /** Word for word, with who said it and where. What has a key replaces what was known under it. */
  async #note(customer: User, { says, chat, customer: actor }: Message): Promise<Answer> {
    const key = /^reach me /i.test(says) ? 'contact' : undefined
    await customer.remember(says, { contextId: chat, actor, key })
    return { ...NOTHING, text: 'Noted.' }
  }

  /** First in this conversation, then in all that is known of the customer and by the team. */
  async #lookUp(customer: User, { says, chat }: Message): Promise<Answer> {
    const here = await customer.recall(says, { contextIds: [chat], limit: 3 })
    if (here[0]) return { ...NOTHING, text: here[0].content, hits: here, from: 'this chat' }
    const known = await customer.recall(says, { databases: [customer.name, TEAM], limit: 3 })
    if (known[0]) return { ...NOTHING, text: known[0].content, hits: known, from: 'customer and team' }
    return { ...NOTHING, text: 'I do not know that.' }
  }

  /** The advice says which tool to try first; what came of it is reported, so that the next advice is better. */
  async #refund(customer: User, { says, chat }: Message): Promise<Answer> {
    await customer.slots.put('open', says)
    const task = { taskClass: 'refund', taskIntent: says }
    // An event of your own: asked again it gets the same advice, told again it counts once.
    const event = `${customer.name}-${chat}`
    // Of the team: what one refund taught helps with the next one, whoever asks.
    const { rankedTools } = await this.#team.rankTools({ ...task, sourceEventId: event, candidateTools: REFUND_TOOLS })
    const tools: string[] = []
    for (const { toolId: tool } of rankedTools) {
      const outcome = useTool(tool, chat)
      tools.push(tool)
      await this.#team.reportOutcome({ ...task, tool, outcome, sourceEventId: `${event}-${tool}` })
      if (outcome === 'failure') continue
      await customer.slots.delete('open')
      return { ...NOTHING, text: `Done, ${tool}.`, tools }
    }
    return { ...NOTHING, text: 'That did not work yet; it stays on my list.', tools }
  }

  /** A cycle goes over what was said and decides what stays in mind until the next chat. A pinned slot never leaves. */
  async #endChat(customer: User, { says, chat }: Message): Promise<Answer> {
    await customer.slots.put('rule', 'Never tell one customer anything about another.', { pinned: true })
    await customer.cycle({
      focus: `What did ${customer.name} need?`,
      observations: [{ content: says, contextId: chat }],
    })
    const { slots, capacity } = await customer.slots.list()
    return { ...NOTHING, text: `Goodbye! (${slots.length} of ${capacity} places in mind)` }
  }
}
