// A model of the framework's own testing kit, of the specification that the installed `ai` has. Without a reply of its
// own it says the memory that it was shown last.

import { simulateReadableStream, type wrapLanguageModel } from 'ai'
import * as kit from 'ai/test'

export interface Shown {
  role: string
  content: string | { type: string; text?: string }[]
}

interface Asked {
  prompt: Shown[]
}

export type Reply = string | { tool: string; input: object }

type Model = Parameters<typeof wrapLanguageModel>[0]['model']
type Mock = new (given: object) => Model

const mocks = kit as unknown as Record<string, Mock | undefined>
const Fake = mocks.MockLanguageModelV4 ?? (mocks.MockLanguageModelV3 as Mock)

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** `prompts`: what it was shown, call by call. */
export function fakeModel(reply: (prompt: Shown[], call: number) => Reply = lastMemory): {
  model: Model
  prompts: Shown[][]
} {
  const prompts: Shown[][] = []
  const partsOf = (prompt: Shown[]) => {
    prompts.push(prompt)
    const said = reply(prompt, prompts.length)
    const id = `call-${prompts.length}`
    return typeof said === 'string'
      ? { unified: 'stop', text: said }
      : {
          unified: 'tool-calls',
          call: { type: 'tool-call', toolCallId: id, toolName: said.tool, input: JSON.stringify(said.input) },
        }
  }
  const model: Model = new Fake({
    async doGenerate({ prompt }: Asked) {
      const { unified, text, call } = partsOf(prompt)
      const content = [call ?? { type: 'text', text }]
      return { content, finishReason: { unified, raw: undefined }, usage: USAGE, warnings: [] }
    },
    async doStream({ prompt }: Asked) {
      const { unified, text, call } = partsOf(prompt)
      const said = [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: text },
        { type: 'text-end', id: '1' },
      ]
      const chunks = [
        { type: 'stream-start', warnings: [] },
        ...(call ? [call] : said),
        { type: 'finish', finishReason: { unified, raw: undefined }, usage: USAGE },
      ]
      return { stream: simulateReadableStream<unknown>({ chunks }) }
    },
  })
  return { model, prompts }
}

function lastMemory(prompt: Shown[]): string {
  const memories = prompt.flatMap((message) => [...textOf(message).matchAll(/<memory at="[^"]*">(.*?)<\/memory>/gs)])
  return memories.at(-1)?.[1] ?? 'I do not know that.'
}

export function textOf({ content }: Shown): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('\n')
}

export const model: Model = fakeModel().model
