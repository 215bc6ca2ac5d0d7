// The tools of /mcp. Definitions are read by models with every request, so each word costs: the whole list has at most
// 6 KB (a test counts). A description says when to use the tool.

import { z } from 'zod'
import type { Operation } from './operations.ts'

/** A JSON-RPC message or several; the protocol's own library parses it. */
export const mcpMessage = z.unknown()

const label = z.string().min(1).max(256)
const words = z.string().min(1).max(8_192)
const tags = z.array(label).max(64).optional()

const text = z.string()
const things = z.array(z.looseObject({}))

/** What the tools need, all of them together. */
export const MCP_OPERATIONS = [
  ...(['memory:read', 'memory:write', 'memory:delete', 'wm:read', 'wm:write'] as const),
  ...(['cycles:run', 'cycles:read', 'advice:read', 'advice:write'] as const),
] satisfies Operation[]

/** Texts that run_cycle takes in at once. */
const OBSERVATIONS_MAX = 20

/** A tool that is not said to do so does not. None of them reaches beyond its instance: the world is closed. */
interface Hints {
  readsOnly?: true
  destroys?: true
  repeatable?: true
}

interface Tool {
  title: string
  hints: Hints
  description: string
  /** Closed: an unknown argument is refused by its name. */
  input: z.ZodObject
  output: z.ZodObject
}

export const MCP_TOOLS = {
  recall: {
    title: 'Recall',
    hints: { readsOnly: true, repeatable: true },
    description:
      'Use before answering what may depend on earlier work, people, decisions or preferences. Best first; when nothing is known, say so and do not guess.',
    input: z.strictObject({
      query: words.describe('In plain words.'),
      limit: z.int().min(1).max(200).optional(),
      tags: tags.describe('Has all of them.'),
      max_tokens: z.int().min(1).max(1_000_000).optional(),
      context: label.optional().describe('Of this conversation.'),
      since: z.string().max(64).optional().describe('RFC 3339 time.'),
    }),
    output: z.looseObject({ memories: things, abstained: z.boolean() }),
  },
  remember: {
    title: 'Remember',
    hints: {},
    description:
      'Use once per fact worth knowing later: a preference, decision, result or correction. One whole sentence with names and dates. No secrets.',
    input: z.strictObject({
      text: z.string().min(1).max(16_384),
      tags,
      replaces: label.optional().describe('Id that this corrects.'),
      key: label.optional().describe('One current fact: replaces what was under it.'),
      context: label.optional().describe('The conversation.'),
      override: z.boolean().optional().describe('Although it was forgotten.'),
    }),
    output: z.looseObject({ id: text }),
  },
  forget: {
    title: 'Forget',
    hints: { destroys: true, repeatable: true },
    description: 'Use when a memory is wrong or the user asks to remove it. Erased for good and not learned again.',
    input: z.strictObject({ id: label.describe('From recall.'), reason: z.string().min(1).max(1_024) }),
    output: z.looseObject({ deleted: z.boolean(), id: text }),
  },
  working_memory: {
    title: 'Working memory',
    hints: { readsOnly: true, repeatable: true },
    description: 'Use at the start of a task or after a context reset: what is in mind now, strongest first.',
    input: z.strictObject({ include_evicted: z.boolean().optional().describe('What left, and why.') }),
    output: z.looseObject({ slots: things, count: z.int(), capacity: z.int() }),
  },
  focus: {
    title: 'Focus',
    hints: { repeatable: true },
    description: 'Use to keep the current task or goal in mind, in place of the former one.',
    input: z.strictObject({
      text: words,
      ttl_minutes: z.int().min(1).max(10_080).optional().describe('Default 30.'),
    }),
    output: z.looseObject({ key: text, evicted: things }),
  },
  rank_tools: {
    title: 'Rank tools',
    hints: { readsOnly: true, repeatable: true },
    description:
      'Use before choosing between tools: ranked by what worked before. Never call one that is listed as denied.',
    input: z.strictObject({
      task_class: label,
      task_intent: words.describe('What is to be done.'),
      candidates: z.array(label).max(500).optional().describe('Default: all known.'),
    }),
    output: z.looseObject({ tools: things, denied: things }),
  },
  run_cycle: {
    title: 'Run a cycle',
    hints: {},
    description: 'Use at the end of a task or turn: takes in what happened, says what is in mind now and what left.',
    input: z.strictObject({
      focus: words.optional(),
      observations: z
        .array(z.string().min(1).max(16_384))
        .max(OBSERVATIONS_MAX)
        .optional()
        .describe('What happened, a sentence each.'),
    }),
    output: z.looseObject({ id: text, inMind: things, left: things }),
  },
  report_outcome: {
    title: 'Report an outcome',
    hints: {},
    description: 'Use after a tool call whose success you can judge, so that ranking learns. One call per tool.',
    input: z.strictObject({
      task_class: label,
      task_intent: words.optional(),
      tool: label,
      outcome: z.enum(['success', 'failure', 'partial', 'denied', 'cancelled']),
      latency_ms: z.number().min(0).optional(),
      error_code: label.optional(),
    }),
    output: z.looseObject({ accepted: z.boolean() }),
  },
} as const satisfies Record<string, Tool>

export type McpTool = keyof typeof MCP_TOOLS
export type McpAsked<Tool extends McpTool> = z.infer<(typeof MCP_TOOLS)[Tool]['input']>
