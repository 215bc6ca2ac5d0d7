// A fake model of the AI SDK's second specification, as Mastra takes it: what it is told to remember it remembers, a
// question it looks up, and what it found it says.

interface Part {
  type: string
  text?: string
  output?: unknown
}

interface Asked {
  prompt: { role: string; content: string | Part[] }[]
  tools?: { name: string }[]
}

export const shown: Asked[] = []

export const model = {
  specificationVersion: 'v2' as const,
  provider: 'fake',
  modelId: 'fake',
  supportedUrls: {},
  async doGenerate(asked: Asked) {
    const part = replyTo(asked)
    return { content: [part], finishReason: finishOf(part), usage: USAGE, warnings: [] }
  },
  async doStream(asked: Asked) {
    const part = replyTo(asked)
    const said =
      part.type === 'text'
        ? [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: part.text },
            { type: 'text-end', id: '1' },
          ]
        : [part]
    const finish = { type: 'finish', finishReason: finishOf(part), usage: USAGE }
    const chunks = [{ type: 'stream-start', warnings: [] }, ...said, finish]
    const stream = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      },
    })
    return { stream }
  },
  // biome-ignore lint/suspicious/noExplicitAny: its parts are those of the specification, which is not installed here.
} as any

const USAGE = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

function finishOf({ type }: { type: string }): string {
  return type === 'text' ? 'stop' : 'tool-calls'
}

function replyTo(asked: Asked): { type: string; text?: string; toolName?: string; input?: string } {
  shown.push(asked)
  const last = asked.prompt.at(-1)
  if (last?.role === 'tool') {
    const [best = 'I do not know that.'] = /my order \d+ is late/.exec(JSON.stringify(last.content)) ?? []
    return { type: 'text', text: best }
  }
  const content = last?.content ?? ''
  const said = typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('')
  const [, fact] = /^Remember that (.*)\.$/.exec(said) ?? []
  const call = { type: 'tool-call', toolCallId: `call-${shown.length}` }
  return fact
    ? { ...call, toolName: 'loci_remember', input: JSON.stringify({ text: fact }) }
    : { ...call, toolName: 'loci_recall', input: JSON.stringify({ query: said }) }
}
