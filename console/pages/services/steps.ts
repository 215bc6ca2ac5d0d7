// The four first steps, computed from counts and from nothing that anybody clicked.

export interface Counts {
  services: number
  /** Undefined: not known yet. */
  records: number | undefined
  held: number | undefined
  agents: number | undefined
}

export interface Step {
  label: string
  isDone: boolean | undefined
  /** What does it. */
  command: string
}

export function firstSteps({ services, records, held, agents }: Counts): Step[] {
  const some = (count: number | undefined) => (count === undefined ? undefined : count > 0)
  return [
    { label: 'A service exists', isDone: services > 0, command: 'loci services create my-agent' },
    {
      label: 'A memory was stored',
      isDone: services === 0 ? false : some(records),
      command: 'loci memory store "Ada prefers replies in Dutch"',
    },
    { label: 'Something came to mind', isDone: services === 0 ? false : some(held), command: 'loci cycles run' },
    {
      label: 'An agent has called with a token of its own',
      isDone: services === 0 ? false : some(agents),
      command: 'loci mcp install claude-code',
    },
  ]
}
