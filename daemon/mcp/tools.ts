// What each tool asks of which route, and what of the answer it shows. A tool is its route in other words: access,
// limits, schema and handler are the route's own (calls.ts).

import type { McpAsked, McpTool } from '@loci/contract/mcp.ts'
import { type Answer, fitted, inWords, ROOM_BESIDE, withoutEmpty } from './shown.ts'

/** What a route is asked with; names are the route's. */
export interface RouteRequest {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: Record<string, unknown>
}

/** Routes by `METHOD /path` as they are registered, asked with the credential of the message. */
export interface Routes {
  ask(line: string, request: RouteRequest): Promise<Answer>
  /** undefined where the credential lacks the route's operation. */
  askIfAllowed(line: string, request: RouteRequest): Promise<Answer | undefined>
}

/** `text` where the words are not simply the JSON of what is shown. */
export interface Shown {
  content: Answer
  text?: string
}

export interface ToolKind<Tool extends McpTool = McpTool> {
  /** Whose operation it needs. */
  route: string
  /** `eventId`: of this message alone. */
  use(routes: Routes, asked: McpAsked<Tool>, eventId: string): Promise<Shown>
}

const MINUTE_MS = 60_000
const FOCUS_MINUTES = 30
/** A model that asks for no bound gets what it can read: half of what a result has room for. */
const RECALL_TOKENS = 3_000

const MEMORY = ['id', 'content', 'key', 'kind', 'contextId', 'tags', 'actor', 'occurredAt', 'createdAt', 'relevance']

export const TOOLS: { [Tool in McpTool]: ToolKind<Tool> } = {
  recall: {
    route: 'POST /v1/memory/recall',
    async use({ ask }, { query, limit, tags, max_tokens: tokenBudget = RECALL_TOKENS, context, since }) {
      const contextIds = context === undefined ? undefined : [context]
      const body = { query, limit, tags, tokenBudget, contextIds, since }
      const { results, abstained, reason, nearest, total } = await ask(this.route, { body })
      const { shown, leftOut } = fitted(pickEach(results, MEMORY), 'content')
      const why = abstained ? { reason, nearest: pickEach(nearest, ['id', 'relevance']) } : {}
      return { content: { memories: shown, abstained, ...why, total, ...leftOut } }
    },
  },
  remember: {
    route: 'POST /v1/memory/records',
    async use({ ask }, { text: content, tags, replaces: supersedes, key, context: contextId, override }) {
      const record = await ask(this.route, { body: { content, tags, supersedes, key, contextId, override } })
      return { content: pick(record, ['id', 'key', 'contextId', 'createdAt']) }
    },
  },
  forget: {
    route: 'DELETE /v1/memory/records/{id}',
    // The reason is asked for so that a model has one. It is not kept: it may repeat what is to be forgotten.
    async use({ ask }, { id }) {
      return { content: pick(await ask(this.route, { params: { id } }), ['deleted', 'id', 'receipt']) }
    },
  },
  working_memory: {
    route: 'GET /v1/working-memory/slots',
    async use({ ask }, { include_evicted: isAsked }) {
      const { slots, count, capacity } = await ask(this.route, {})
      const named = strongestFirst(slots, ['key', 'kind', 'value', 'activation', 'pinned', 'expiresAt'])
      const { shown, leftOut } = fitted(named, 'value')
      const content = { slots: shown, count, capacity, ...leftOut }
      if (!isAsked) return { content }
      const { evictions } = await ask('GET /v1/working-memory/evictions', {})
      const evicted = fitted(
        pickEach(evictions, ['key', 'reasonCode', 'reason', 'displacedBy', 'evictedAt']),
        'reason',
        ROOM_BESIDE,
      )
      return { content: { ...content, evicted: evicted.shown } }
    },
  },
  focus: {
    route: 'PUT /v1/working-memory/slots/{key}',
    async use({ ask }, { text: value, ttl_minutes: minutes = FOCUS_MINUTES }) {
      const body = { value, kind: 'focus', ttlMs: minutes * MINUTE_MS }
      const slot = await ask(this.route, { params: { key: 'focus' }, body })
      const evicted = fitted(pickEach(slot.evicted, ['key', 'reasonCode', 'reason', 'displacedBy']), 'reason').shown
      return { content: { ...pick(slot, ['key', 'expiresAt']), evicted } }
    },
  },
  rank_tools: {
    route: 'POST /v1/advice/rank',
    async use({ ask }, { task_class: taskClass, task_intent: taskIntent, candidates: candidateTools }, sourceEventId) {
      const { rankedTools, policy } = await ask(this.route, {
        body: { taskClass, taskIntent, candidateTools, sourceEventId, explain: false },
      })
      const tools = fitted(pickEach(rankedTools, ['toolId', 'rank', 'score', 'stats', 'reasons']), 'toolId')
      const { deniedTools } = policy as { deniedTools: unknown }
      const denied = fitted(pickEach(deniedTools, ['toolId', 'reasonCode', 'detail']), 'detail', ROOM_BESIDE)
      return { content: { tools: tools.shown, denied: denied.shown, ...tools.leftOut } }
    },
  },
  run_cycle: {
    route: 'POST /v1/cognitive/cycles',
    async use({ ask, askIfAllowed }, { focus, observations }) {
      const body = { focus, observations: observations?.map((content) => ({ content })) }
      const cycle = await ask(this.route, { body })
      const { id, decisions } = cycle as { id: string; decisions?: { evicted: number } }
      const mind = await askIfAllowed('GET /v1/working-memory/slots', {})
      const decided =
        decisions && decisions.evicted > 0
          ? await askIfAllowed('GET /v1/cognitive/cycles/{id}/decisions', { params: { id } })
          : undefined
      const inMind = fitted(strongestFirst(mind?.slots, ['key', 'value']), 'value')
      const left = fitted(evictedOf(decided?.decisions), 'reason', ROOM_BESIDE)
      const content = { ...pick(cycle, ['id', 'seq', 'warnings']), inMind: inMind.shown, left: left.shown }
      const counted = { capacity: mind?.capacity as number | undefined, evicted: decisions?.evicted ?? 0 }
      return { content: { ...content, ...inMind.leftOut }, text: inWords(content, counted) }
    },
  },
  report_outcome: {
    route: 'POST /v1/advice/outcomes',
    async use({ ask }, asked, sourceEventId) {
      const { task_class: taskClass, task_intent: taskIntent } = asked
      const { tool: toolId, outcome, latency_ms: latencyMs, error_code: errorCode } = asked
      const tools = [{ toolId, outcome, latencyMs, errorCode }]
      const told = await ask(this.route, { body: { taskClass, taskIntent, sourceEventId, tools } })
      return { content: pick(told, ['accepted', 'projectionId', 'duplicate']) }
    },
  },
}

function pick(from: Answer, names: string[]): Answer {
  return withoutEmpty(Object.fromEntries(names.map((name) => [name, from[name]])))
}

function pickEach(list: unknown, names: string[]): Answer[] {
  return Array.isArray(list) ? list.map((one) => pick(one as Answer, names)) : []
}

function strongestFirst(slots: unknown, names: string[]): Answer[] {
  const list = Array.isArray(slots) ? (slots as { activation: number }[]) : []
  return pickEach(
    list.toSorted((a, b) => b.activation - a.activation),
    names,
  )
}

function evictedOf(decisions: unknown): Answer[] {
  const list = Array.isArray(decisions)
    ? (decisions as { action: string; subject: { key: string }; reason: string }[])
    : []
  return list.filter(({ action }) => action === 'evicted').map(({ subject: { key }, reason }) => ({ key, reason }))
}
