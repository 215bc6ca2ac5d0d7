// What each tool asks of which route, and what of the answer it shows. A tool is its route in other words: access,
// limits, schema and handler are the route's own (calls.ts).

import { MCP_TOOLS, type McpAsked, type McpTool } from '@loci/contract/mcp.ts'

/** What a route is asked with; names are the route's. */
export interface RouteRequest {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: Record<string, unknown>
}

type Answer = Record<string, unknown>

export interface ToolKind<Tool extends McpTool = McpTool> {
  /** `METHOD /path` as it is registered. */
  route: string
  request(asked: McpAsked<Tool>, requestId: string): RouteRequest
  /** What of the answer a model needs. */
  show(answer: Answer): unknown
  /** Of another route, shown beside it where it was asked for. */
  besides?(asked: McpAsked<Tool>): { name: string; route: string } | undefined
}

const MINUTE_MS = 60_000
const FOCUS_MINUTES = 30

export const TOOLS: { [Tool in McpTool]: ToolKind<Tool> } = {
  recall: {
    route: 'POST /v1/memory/recall',
    request: ({ query, limit, tags, max_tokens: tokenBudget }) => ({ body: { query, limit, tags, tokenBudget } }),
    show: ({ results, abstained, reason, nearest, total }) => ({
      memories: pickEach(results, [
        'id',
        'content',
        'kind',
        'tags',
        'actor',
        'occurredAt',
        'createdAt',
        'relevance',
        'score',
      ]),
      abstained,
      ...(abstained ? { reason, nearest: pickEach(nearest, ['id', 'relevance']) } : {}),
      total,
    }),
  },
  remember: {
    route: 'POST /v1/memory/records',
    request: ({ text: content, tags, replaces: supersedes }) => ({ body: { content, tags, supersedes } }),
    show: (record) => pick(record, ['id', 'createdAt']),
  },
  forget: {
    route: 'DELETE /v1/memory/records/{id}',
    // The reason is asked for so that a model has one. It is not kept: it may repeat what is to be forgotten.
    request: ({ id }) => ({ params: { id } }),
    show: (answer) => pick(answer, ['deleted', 'id', 'receipt']),
  },
  working_memory: {
    route: 'GET /v1/working-memory/slots',
    request: () => ({ query: {} }),
    show: ({ slots, count, capacity }) => ({
      slots: pickEach(slots, ['key', 'kind', 'value', 'activation', 'pinned', 'expiresAt']),
      count,
      capacity,
    }),
    besides: ({ include_evicted: isAsked }) =>
      isAsked ? { name: 'evicted', route: 'GET /v1/working-memory/evictions' } : undefined,
  },
  focus: {
    route: 'PUT /v1/working-memory/slots/{key}',
    request: ({ text: value, ttl_minutes: minutes = FOCUS_MINUTES }) => ({
      params: { key: 'focus' },
      body: { value, kind: 'focus', ttlMs: minutes * MINUTE_MS },
    }),
    show: (slot) => pick(slot, ['key', 'value', 'expiresAt', 'evicted']),
  },
  rank_tools: {
    route: 'POST /v1/advice/rank',
    request: ({ task_class: taskClass, task_intent: taskIntent, candidates: candidateTools }, sourceEventId) => ({
      body: { taskClass, taskIntent, candidateTools, sourceEventId },
    }),
    show: ({ rankedTools, policy }) => ({
      tools: pickEach(rankedTools, ['toolId', 'rank', 'score', 'stats', 'reasons']),
      denied: (policy as { deniedTools?: unknown } | undefined)?.deniedTools,
    }),
  },
  run_cycle: {
    route: 'POST /v1/cognitive/cycles',
    request: ({ focus }) => ({ body: { focus } }),
    show: (cycle) => pick(cycle, ['id', 'seq', 'focus', 'decisions', 'broadcast', 'workingMemory', 'warnings']),
  },
}

export const TOOL_NAMES = Object.keys(MCP_TOOLS) as McpTool[]

function pick(from: Answer, names: string[]): Answer {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))
}

function pickEach(list: unknown, names: string[]): Answer[] {
  return Array.isArray(list) ? list.map((one) => pick(one as Answer, names)) : []
}
