// Which tools a policy and the request's own constraints leave out, and why. Pure.

import { type AdviceRequest, type DeniedTool, POLICY_DEFAULT_REF, type PolicyRule } from '@loci/contract/advice.ts'
import { scopeKeyOf } from './scope.ts'

/** Outcomes that a failure budget looks at, and from how many on it says anything. */
export const BUDGET_OUTCOMES = 50
/** They are among so many of the newest, whatever became of those. */
export const BUDGET_LOOKS_MAX = 500
const BUDGET_FROM = 10

/** What a request says of a tool. */
export interface Declared {
  toolId: string
  description?: string | undefined
  sideEffects?: boolean | undefined
  costUsd?: number | undefined
  latencyMs?: number | undefined
}

/** Failures among the newest outcomes of a tool in the class. */
export interface Recent {
  attempts: number
  failures: number
}

interface Task {
  taskClass: string
  scope?: unknown
}

/** A rule that can hold for the task, with its policy, its place in that and the pieces of its pattern. */
interface TaskRule {
  rule: PolicyRule
  policy: string
  index: number
  pieces: readonly string[]
}

/** The rules that can hold for a task. What does not depend on the tool is settled here, once for all tools. */
export function rulesFor(
  rules: readonly PolicyRule[],
  { taskClass, scope }: Task,
  policy = POLICY_DEFAULT_REF,
): TaskRule[] {
  const isScoped = rules.some((rule) => rule.scope !== undefined && rule.scope !== null)
  const asked = isScoped ? scopeKeyOf(scope) : null
  return rules.flatMap((rule, index) => {
    const isForTask =
      (rule.taskClass === undefined || rule.taskClass === taskClass) &&
      (rule.scope === undefined || rule.scope === null || scopeKeyOf(rule.scope) === asked)
    return isForTask ? [{ rule, policy, index, pieces: piecesOf(rule.tool) }] : []
  })
}

/** Whether a failure budget has to be looked up for the tool. */
export function isBudgeted(rules: readonly TaskRule[], tool: Declared): boolean {
  return rules.some((one) => one.rule.failureBudget !== undefined && matches(one, tool))
}

/**
 * undefined: it may be advised. Of each policy the first rule that matches decides, and a tool must pass them all;
 * rules of one policy stand together.
 */
export function denialOf(
  rules: readonly TaskRule[],
  tool: Declared,
  constraints: AdviceRequest['constraints'],
  recentOf: (toolId: string) => Recent,
): DeniedTool | undefined {
  const beyond = constraintOf(tool, constraints)
  if (beyond) return { toolId: tool.toolId, reasonCode: 'constraint', rule: beyond.rule, detail: beyond.detail }
  let allowedBy: string | undefined
  for (const one of rules) {
    const { rule, policy, index } = one
    if (policy === allowedBy || !matches(one, tool) || !isOverBudget(rule, () => recentOf(tool.toolId))) continue
    if (rule.effect === 'deny') {
      const detail = rule.reason ?? `Rule ${index} of ${policy} denies ${rule.tool}.`
      const reasonCode = rule.failureBudget === undefined ? 'policy' : 'failure_budget'
      return { toolId: tool.toolId, reasonCode, rule: { policy, index, ...rule }, detail }
    }
    allowedBy = policy
  }
  return undefined
}

/** Of rules and their reasons in one answer: a rule has up to 6 KB, and may deny each of 4,096 tools. */
const RULES_TEXT_MAX = 256 * 1024

/** Each tool is named. Rules are told in full until they have so many characters, then by their place in the policy. */
export function boundedDenials(denials: readonly DeniedTool[]): DeniedTool[] {
  let told = 0
  return denials.map((denial) => {
    const { toolId, reasonCode, rule } = denial
    if (reasonCode === 'constraint') return denial
    if (told >= RULES_TEXT_MAX) {
      const { policy, index } = rule as { policy: string; index: number }
      return { toolId, reasonCode, rule: { policy, index }, detail: `Rule ${index} of ${policy} denies it.` }
    }
    told += JSON.stringify(rule).length + denial.detail.length
    return denial
  })
}

function constraintOf({ costUsd, latencyMs, sideEffects }: Declared, constraints: AdviceRequest['constraints']) {
  const { maxCostUsd, maxLatencyMs, forbidSideEffects } = constraints ?? {}
  if (maxCostUsd !== undefined && costUsd !== undefined && costUsd > maxCostUsd)
    return { rule: { maxCostUsd }, detail: `It costs ${costUsd} USD, more than ${maxCostUsd}.` }
  if (maxLatencyMs !== undefined && latencyMs !== undefined && latencyMs > maxLatencyMs)
    return { rule: { maxLatencyMs }, detail: `It takes ${latencyMs} ms, more than ${maxLatencyMs}.` }
  if (forbidSideEffects && sideEffects) return { rule: { forbidSideEffects }, detail: 'It has side effects.' }
  return undefined
}

function matches({ rule: { sideEffects }, pieces }: TaskRule, tool: Declared): boolean {
  return (sideEffects === undefined || sideEffects === tool.sideEffects) && matchesPieces(pieces, tool.toolId)
}

function isOverBudget({ failureBudget }: PolicyRule, recent: () => Recent): boolean {
  if (failureBudget === undefined) return true
  const { attempts, failures } = recent()
  return attempts >= BUDGET_FROM && failures / attempts > failureBudget
}

/** `*` stands for any characters. */
function piecesOf(pattern: string): readonly string[] {
  return pattern.split(/\*+/)
}

/** By the fixed pieces of a pattern, without going back: no pattern makes it slow. */
function matchesPieces(pieces: readonly string[], text: string): boolean {
  const [first = ''] = pieces
  const end = pieces.length - 1
  if (end === 0) return first === text
  const last = pieces[end] as string
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (let k = 1; k < end; k += 1) {
    const piece = pieces[k] as string
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= text.length - last.length
}
