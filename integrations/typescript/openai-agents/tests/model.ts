// A fake model of the OpenAI Agents SDK, that says what the user said first; and what it was shown.

import { type AgentInputItem, type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents'

export const shown: string[][] = []

export const model: Model = {
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const said =
      typeof input === 'string' ? [input] : input.filter((item) => 'role' in item && item.role === 'user').map(textOf)
    shown.push(said)
    const text = said.length > 1 ? `You began with: ${said[0]}` : 'Hello.'
    const content = [{ type: 'output_text' as const, text }]
    return { usage: new Usage(), output: [{ type: 'message', role: 'assistant', status: 'completed', content }] }
  },
  async *getStreamedResponse() {
    yield* []
    throw new Error('this model does not stream')
  },
}

export function textOf(item: AgentInputItem): string {
  if (!('content' in item)) return ''
  const { content } = item as { content: string | { text?: string }[] }
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('')
}
