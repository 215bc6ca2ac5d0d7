// Why a cycle ran: in a word, and in a sentence.

const TRIGGERS: Readonly<Record<string, { tag: string; by: string }>> = {
  api: { tag: 'api', by: 'by the API' },
  mcp: { tag: 'agent', by: 'by an agent over MCP' },
  schedule: { tag: 'schedule', by: 'by the clock of the loop' },
  pressure: { tag: 'pressure', by: 'because much had come in' },
}

/** One that a newer server has is said as it is. */
export function triggerOf(trigger: string): { tag: string; by: string } {
  return TRIGGERS[trigger] ?? { tag: trigger, by: `by ${trigger}` }
}
