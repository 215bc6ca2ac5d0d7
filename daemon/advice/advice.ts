// What a rank answers, made of a state and a request. Pure: the same state and request give the same answer.

import {
  type AdviceRequest,
  type DeniedTool,
  type RankedTool,
  recommendationId,
  type ToolRankRequest,
} from '@loci/contract/advice.ts'
import { EVIDENCE_BYTES_MAX, LOOKS_MAX, type Looked, SHOWN_MAX, type ShownOutcome } from './evidence.ts'
import type { Ranked } from './fold/rank.ts'
import { type AdviceState, cellKeys, type Tally } from './fold/state.ts'
import type { Words } from './fold/words.ts'
import type { Declared } from './policies.ts'
import { scopeKeyOf } from './scope.ts'

/** The partner's request in the words of ours. */
export function requestOf(sent: ToolRankRequest): AdviceRequest {
  const { max_cost_usd: maxCostUsd, max_latency_ms: maxLatencyMs, forbid_side_effects } = sent.constraints ?? {}
  return {
    taskClass: sent.task_class,
    taskIntent: sent.task_intent,
    sourceEventId: sent.source_event_id,
    runId: sent.run_id,
    scope: sent.scope,
    policySourceRef: sent.policy_source_ref,
    candidateTools: sent.candidate_tools?.map((candidate) => {
      if (typeof candidate === 'string') return candidate
      const { tool_id: toolId, description, side_effects: sideEffects, cost_usd: costUsd } = candidate
      return { toolId, description, sideEffects, costUsd, latencyMs: candidate.latency_ms }
    }),
    constraints: { maxCostUsd, maxLatencyMs, forbidSideEffects: forbid_side_effects },
    limit: sent.limit,
    explain: sent.explain,
  }
}

/** The first of what is said of a tool counts. null: whatever is known. */
export function candidatesOf({ candidateTools }: AdviceRequest): Declared[] | null {
  if (candidateTools === undefined) return null
  const tools = new Map<string, Declared>()
  for (const each of candidateTools) {
    const declared = typeof each === 'string' ? { toolId: each } : each
    if (!tools.has(declared.toolId)) tools.set(declared.toolId, declared)
  }
  return [...tools.values()]
}

/** By partner, what was told of a tool in the task: in its scope and without one, or in every scope. */
function talliesOf(state: AdviceState, tool: string, taskClass: string, scope: string | null): Map<string, Tally> {
  const cells = state.tools[state.byName.get(tool) ?? -1]?.cells
  const [whole = '', scoped = ''] = cellKeys(taskClass, scope)
  const [, bare = ''] = cellKeys(taskClass, null)
  const sums = new Map<string, Tally>()
  for (const key of scope === null ? [whole] : [scoped, bare]) {
    for (const [partner, tally] of cells?.get(key)?.tallies ?? []) {
      const sum = sums.get(partner) ?? { attempts: 0, successes: 0, failures: 0 }
      sums.set(partner, addTally(sum, tally))
    }
  }
  return new Map([...sums].sort(([x], [y]) => (x < y ? -1 : 1)))
}

function addTally(x: Tally, y: Tally): Tally {
  return {
    attempts: x.attempts + y.attempts,
    successes: x.successes + y.successes,
    failures: x.failures + y.failures,
  }
}

/** What the state says of a ranked tool: all but its evidence. */
export function judgedOf(state: AdviceState, ranked: readonly Ranked[], request: AdviceRequest, intent: Words) {
  const scope = scopeKeyOf(request.scope)
  return ranked.map((tool, index) => {
    const tallies = talliesOf(state, tool.name, request.taskClass, scope)
    const stats = [...tallies.values()].reduce(addTally, { attempts: 0, successes: 0, failures: 0 })
    return {
      toolId: tool.name,
      rank: index + 1,
      score: tool.score,
      confidence: tool.confidence,
      stats,
      coldStart: stats.attempts === 0,
      reasons: reasonsOf(tool, stats, state, intent),
      explain: request.explain ? explainOf(tool, tallies) : null,
    }
  })
}

interface Parts {
  request: AdviceRequest
  judged: ReturnType<typeof judgedOf>
  denied: DeniedTool[]
  evidence: Evidence
  policy: { sourceRef: string; resolved: boolean }
}

export interface Evidence {
  outcomes: ReadonlyMap<string, readonly ShownOutcome[]>
  refs: readonly string[]
  isCut: boolean
}

/**
 * Of the outcomes of the tools, the best first, as many as have the bytes that an answer may show. They are cut too
 * where older ones may stand behind all that were looked at, which were of another scope, taken back or over.
 */
export function boundedOutcomes(lists: ReadonlyMap<string, Looked>): Pick<Evidence, 'outcomes' | 'isCut'> {
  const outcomes = new Map<string, readonly ShownOutcome[]>()
  let bytes = 0
  let isCut = false
  for (const [tool, { outcomes: all, looked }] of lists) {
    const end = all.findIndex((one) => {
      bytes += one.bytes
      return bytes >= EVIDENCE_BYTES_MAX
    })
    outcomes.set(tool, end < 0 ? all : all.slice(0, end + 1))
    if (end >= 0) return { outcomes, isCut: true }
    isCut ||= all.length < SHOWN_MAX && looked >= LOOKS_MAX
  }
  return { outcomes, isCut }
}

export function answerOf({ request, judged, denied, evidence, policy }: Parts) {
  const { taskClass, taskIntent, sourceEventId, runId = null, scope = null } = request
  return {
    recommendationId: recommendationId(sourceEventId),
    ...{ taskClass, taskIntent, sourceEventId, runId, scope },
    rankedTools: judged.map((tool): RankedTool => {
      const shown = evidence.outcomes.get(tool.toolId) ?? []
      const lastOutcomeAt = shown[0] ? new Date(shown[0].toldAt).toISOString() : null
      return {
        ...tool,
        stats: { ...tool.stats, lastOutcomeAt },
        evidence: shown.map(({ projectionId, outcome, refs }) => ({ projectionId, outcome, evidenceRefs: [...refs] })),
      }
    }),
    evidenceRefs: [...evidence.refs, sourceEventId],
    evidenceTruncated: evidence.isCut,
    policy: { sourceRef: policy.sourceRef, deniedTools: denied, resolved: policy.resolved },
  }
}

function explainOf({ score, parts }: Ranked, tallies: ReadonlyMap<string, Tally>) {
  return {
    score,
    parts: (['text', 'reliability', 'explore', 'health'] as const).map((name) => ({
      ...{ name, value: parts[name], weight: 1, contribution: parts[name] },
    })),
    partners: [...tallies].map(([partner, tally]) => ({ partner, ...tally })),
  }
}

function reasonsOf(
  { name, parts }: Ranked,
  { attempts, successes }: Tally,
  state: AdviceState,
  intent: Words,
): string[] {
  const learned = state.tools[state.byName.get(name) ?? -1]?.terms
  const words = intent.terms.filter(({ key }) => learned?.has(key)).map(({ word }) => word)
  return [
    ...(words.length > 0 ? [`It succeeded with requests that say: ${words.slice(0, 5).join(', ')}.`] : []),
    attempts === 0
      ? 'No outcome of it was told in this task yet.'
      : `${successes} of ${attempts} outcomes in this task were a success.`,
    ...(parts.health < -0.1 ? ['Of late it fails more than it used to.'] : []),
  ]
}
