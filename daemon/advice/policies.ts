// Which tools a policy and the request's own constraints leave out, and why. Pure.

import type { AdviceRequest, DeniedTool, PolicyRule } from '@loci/contract/advice.ts'
import { scopeKeyOf } from './scope.ts'

/** Outcomes that a failure budget looks at, and from how many on it says anything. */
export const BUDGET_OUTCOMES = 50
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
  constraints?: AdviceRequest['constraints']
}

/** Tools for which a failure budget has to be looked up. */
export function budgetedTools(rules: readonly PolicyRule[], tools: readonly Declared[], task: Task): string[] {
  const budgeted = rules.filter(({ failureBudget }) => failureBudget !== undefined)
  if (budgeted.length === 0) return []
  return tools.filter((tool) => budgeted.some((rule) => matches(rule, tool, task))).map(({ toolId }) => toolId)
}

/** undefined: it may be advised. */
export function denialOf(
  rules: readonly PolicyRule[],
  tool: Declared,
  task: Task,
  recentOf: (toolId: string) => Recent,
): DeniedTool | undefined {
  const beyond = constraintOf(tool, task.constraints)
  if (beyond) return { toolId: tool.toolId, reasonCode: 'constraint', rule: beyond.rule, detail: beyond.detail }
  const index = rules.findIndex((rule) => matches(rule, tool, task) && isOverBudget(rule, () => recentOf(tool.toolId)))
  const rule = rules[index]
  if (rule === undefined || rule.effect === 'allow') return undefined
  const detail = rule.reason ?? `Rule ${index} of the policy denies ${rule.tool}.`
  const reasonCode = rule.failureBudget === undefined ? 'policy' : 'failure_budget'
  return { toolId: tool.toolId, reasonCode, rule: { index, ...rule }, detail }
}

function constraintOf({ costUsd, latencyMs, sideEffects }: Declared, constraints: Task['constraints']) {
  const { maxCostUsd, maxLatencyMs, forbidSideEffects } = constraints ?? {}
  if (maxCostUsd !== undefined && costUsd !== undefined && costUsd > maxCostUsd)
    return { rule: { maxCostUsd }, detail: `It costs ${costUsd} USD, more than ${maxCostUsd}.` }
  if (maxLatencyMs !== undefined && latencyMs !== undefined && latencyMs > maxLatencyMs)
    return { rule: { maxLatencyMs }, detail: `It takes ${latencyMs} ms, more than ${maxLatencyMs}.` }
  if (forbidSideEffects && sideEffects) return { rule: { forbidSideEffects }, detail: 'It has side effects.' }
  return undefined
}

function matches(rule: PolicyRule, tool: Declared, { taskClass, scope }: Task): boolean {
  return (
    matchesGlob(rule.tool, tool.toolId) &&
    (rule.taskClass === undefined || rule.taskClass === taskClass) &&
    (rule.sideEffects === undefined || rule.sideEffects === tool.sideEffects) &&
    (rule.scope === undefined || rule.scope === null || scopeKeyOf(rule.scope) === scopeKeyOf(scope))
  )
}

function isOverBudget({ failureBudget }: PolicyRule, recent: () => Recent): boolean {
  if (failureBudget === undefined) return true
  const { attempts, failures } = recent()
  return attempts >= BUDGET_FROM && failures / attempts > failureBudget
}

/** `*` stands for any characters. By its fixed pieces, without going back: no pattern makes it slow. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === text
  const last = rest.pop() ?? ''
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= text.length - last.length
}
