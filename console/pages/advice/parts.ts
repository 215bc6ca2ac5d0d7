// What an address asks of advice, and how a tool's numbers are told: raw logarithms mean nothing to people, so a score
// is the share exp(score), made of fit × works × health. Rules without React.

import type { AdviceRequest, RankedTool } from '@loci/sdk/daemon.ts'
import type { AdviceSearch } from '../../search.ts'

/** Where nothing names an event: a question of this page. */
export const EVENT = 'console'
export const CLASS = 'general'
const LIMIT = 20

/** Undefined where the address asks nothing. */
export function rankRequest({
  intent,
  class: taskClass = CLASS,
  policy,
  cost,
  latency,
  effects,
  event,
}: AdviceSearch): AdviceRequest | undefined {
  if (intent === undefined) return undefined
  const maxCostUsd = amountOf(cost)
  const maxLatencyMs = amountOf(latency)
  const constraints = {
    ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
    ...(maxLatencyMs === undefined ? {} : { maxLatencyMs }),
    ...(effects === 'no' ? { forbidSideEffects: true } : {}),
  }
  return {
    taskClass,
    taskIntent: intent,
    sourceEventId: event ?? EVENT,
    limit: LIMIT,
    explain: true,
    ...(policy === undefined ? {} : { policySourceRef: policy }),
    ...(Object.keys(constraints).length > 0 ? { constraints } : {}),
  }
}

/** What was typed as an amount; undefined where it is none. */
export function amountOf(text: string | undefined): number | undefined {
  const value = Number((text ?? '').trim().replace(',', '.'))
  return text === undefined || text.trim() === '' || !Number.isFinite(value) || value < 0 ? undefined : value
}

/** `48 %`; a share below one in a hundred is told as that. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return '< 1 %'
  return `${Math.round(share * 100)} %`
}

export interface Factor {
  name: string
  word: string
  /** exp(contribution): 1 takes nothing off. */
  share: number
  contribution: number
}

const WORDS: Readonly<Record<string, string>> = {
  text: 'fit',
  reliability: 'works',
  explore: 'tried out',
  health: 'health',
}

/** In the order in which they are told; what is tried out is left out where nothing is. */
export function factorsOf({ explain }: Pick<RankedTool, 'explain'>): Factor[] {
  return (explain?.parts ?? [])
    .filter(({ name, contribution }) => name !== 'explore' || contribution !== 0)
    .map(({ name, contribution }) => ({
      ...{ name, word: WORDS[name] ?? name, share: Math.exp(contribution), contribution },
    }))
}

/** `fit 60 % × 0.92 × 0.87`. */
export function productText(factors: readonly Factor[]): string {
  return factors.map(({ name, share }) => (name === 'text' ? `fit ${shareText(share)}` : share.toFixed(2))).join(' × ')
}

export function healthOf(tool: Pick<RankedTool, 'explain'>): number | undefined {
  return factorsOf(tool).find(({ name }) => name === 'health')?.share
}

/** From here down a tool fails more than it used to. */
export const UNWELL = 0.9

type Told = Pick<RankedTool, 'confidence'>

/** Of nothing that was told nothing is known. */
export function isIntervalKnown({ confidence: { lower95, upper95 } }: Told): boolean {
  return lower95 > 0 || upper95 < 1
}

/** Half of the axis says nothing where all tools work; where one may not, the axis begins at 0. */
export function axisFrom(tools: readonly Told[]): 0 | 0.5 {
  return tools.every((tool) => !isIntervalKnown(tool) || tool.confidence.lower95 >= 0.5) ? 0.5 : 0
}

export interface Placed {
  /** Of the axis. */
  left: number
  right: number
  /** The middle of what is believed. */
  at: number
}

export function placed({ confidence: { lower95, upper95, effective } }: Told, from: number): Placed {
  const on = (share: number) => Math.max(0, Math.min(1, (share - from) / (1 - from)))
  const { successes, failures } = effective
  return { left: on(lower95), right: 1 - on(upper95), at: on(successes / Math.max(successes + failures, 1e-9)) }
}

interface Rule {
  index?: number
  policy?: string
  effect?: string
  tool?: string
  taskClass?: string
  failureBudget?: number
  reason?: string
}

/** The rule of a policy that denied; undefined for a limit of the request. */
export function ruleOf(rule: unknown): Rule | undefined {
  const read = (rule ?? {}) as Rule
  return typeof read.index === 'number' ? read : undefined
}

/** A word in quotes of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

export function curlOf(endpoint: string, database: string | undefined, request: AdviceRequest): string {
  return [
    `curl ${endpoint}/v1/advice/rank`,
    `-H "x-loci-capability: $LOCI_CAPABILITY"`,
    ...(database === undefined ? [] : [`-H ${quoted(`x-loci-database: ${database}`)}`]),
    `-H 'content-type: application/json'`,
    `-d ${quoted(JSON.stringify(request))}`,
  ].join(' \\\n  ')
}
