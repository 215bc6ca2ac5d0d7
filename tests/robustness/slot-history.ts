// Is what clients were told of a database's slots linearizable? The order is no guess: every write says its number, a
// list says as of which number it is, and the log of what was committed (events and history of the cell) has the rest.
// So the order of the log is tried as the witness: each answer must be what it would be if the operations were done one
// after the other in that order, each within the time between its request and its answer. That is sound, takes linear
// time, and asks more than linearizability: the numbers themselves must be the order.
//
// An operation without an answer is left open: it may be in the log or not. A refused one must not be.

import { isDeepStrictEqual } from 'node:util'

/** One committed step. value undefined: the slot was removed. */
export interface Step {
  version: number
  key: string
  value?: unknown
  how: 'written' | 'deleted' | 'cleared'
}

export interface Operation {
  kind: 'put' | 'patch' | 'delete' | 'batch' | 'clear' | 'restore' | 'list' | 'get'
  startedAt: number
  /** Infinity: it was not answered. */
  endedAt: number
  outcome: 'done' | 'refused' | 'open'
  /** What it asked for: of an open one these may be in the log, of a refused one none. */
  wants: { key: string; value?: unknown }[]
  /** What it said that it did, in order. */
  steps: { key: string; version: number; value?: unknown }[]
  ifMatch?: number
  patch?: Record<string, unknown>
  /** Of a restore by version. */
  from?: { key: string; version: number }
  /** Of a list or a clear. */
  asOf?: number
  seen?: Map<string, { version: number; value: unknown }>
  cleared?: number
  /** What a read, or a refusal, said of a slot; null = it is not there. */
  told?: { key: string; version: number | null; value?: unknown }
}

interface Window {
  low: number
  high: number
}

/** Of one database. Empty: linearizable. */
export function violationsOf(operations: readonly Operation[], log: readonly Step[]): string[] {
  const found: string[] = []
  for (let at = 1; at < log.length; at += 1)
    if ((log[at] as Step).version <= (log[at - 1] as Step).version)
      found.push(`the log goes back at ${log[at]?.version}`)
  const windows = windowsOf(operations)
  const byVersion = new Map(log.map((step) => [step.version, step]))
  const before = formerOf(log)
  const timelines = Map.groupBy(log, ({ key }) => key)
  const claimed = new Set<number>()
  for (const [at, operation] of operations.entries()) {
    const problem = (text: string) => found.push(`${operation.kind} at ${Math.round(operation.startedAt)} ms: ${text}`)
    const window = windows[at] as Window
    if (operation.outcome === 'done') {
      for (const { key, version, value } of operation.steps) {
        claimed.add(version)
        const step = byVersion.get(version)
        if (!step || step.key !== key || !isDeepStrictEqual(step.value, value))
          problem(`acknowledged ${key} as version ${version}, the log has ${JSON.stringify(step ?? null)}`)
        if (version <= window.low || version > window.high)
          problem(`version ${version} is outside its time, ${window.low} to ${window.high}`)
      }
      for (const text of effectsOf(operation, byVersion, before)) problem(text)
      if (operation.kind === 'clear') for (const version of clearedBy(operation, log)) claimed.add(version)
    }
    if (operation.asOf !== undefined && (operation.asOf < window.low || operation.asOf > window.high))
      problem(`is as of ${operation.asOf}, outside its time, ${window.low} to ${window.high}`)
    const { told } = operation
    if (told && !wasSo(timelines.get(told.key) ?? [], told, window))
      problem(`told ${JSON.stringify(told)}, which was at no moment of ${window.low} to ${window.high}`)
  }
  found.push(...listsThatDiffer(operations, log), ...unclaimed(operations, log, claimed, before))
  return found
}

/** Above what everybody had been told before it began, and up to what is told to whoever begins after it has ended. */
function windowsOf(operations: readonly Operation[]): Window[] {
  const known = ({ steps, asOf, told }: Operation) =>
    Math.max(0, asOf ?? 0, told?.version ?? 0, ...steps.map(({ version }) => version))
  // A clear took the numbers up to its own, one for each slot.
  const bound = ({ steps, asOf = Number.POSITIVE_INFINITY, cleared = 0 }: Operation) =>
    Math.min(asOf - cleared, ...steps.map(({ version }) => version - 1))
  const ended = operations.filter(({ endedAt }) => endedAt < Number.POSITIVE_INFINITY)
  const byEnd = ended.toSorted((one, other) => one.endedAt - other.endedAt)
  const lows: number[] = []
  for (const operation of byEnd) lows.push(Math.max(lows.at(-1) ?? 0, known(operation)))
  const byStart = operations.toSorted((one, other) => other.startedAt - one.startedAt)
  const highs: number[] = []
  for (const operation of byStart) highs.push(Math.min(highs.at(-1) ?? Number.POSITIVE_INFINITY, bound(operation)))
  return operations.map(({ startedAt, endedAt }) => ({
    low: lows[countOf(byEnd, (one) => one.endedAt < startedAt) - 1] ?? 0,
    high: highs[countOf(byStart, (one) => one.startedAt > endedAt) - 1] ?? Number.POSITIVE_INFINITY,
  }))
}

/** How many of the first items fit; once one does not, none behind it does. */
function countOf<Item>(items: readonly Item[], fits: (item: Item) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (fits(items[middle] as Item)) low = middle + 1
    else high = middle
  }
  return low
}

/** What each step found under its key. */
function formerOf(log: readonly Step[]): Map<number, Step | undefined> {
  const current = new Map<string, Step>()
  const before = new Map<number, Step | undefined>()
  for (const step of log) {
    before.set(step.version, current.get(step.key))
    if (step.how === 'written') current.set(step.key, step)
    else current.delete(step.key)
  }
  return before
}

/** What an acknowledged write says about the state that it met. */
function effectsOf(
  { kind, steps, ifMatch, patch, from }: Operation,
  byVersion: Map<number, Step>,
  before: Map<number, Step | undefined>,
): string[] {
  const [step] = steps
  if (!step) return []
  const former = before.get(step.version)
  const found: string[] = []
  if (ifMatch !== undefined && former?.version !== ifMatch)
    found.push(`If-Match ${ifMatch} was taken over version ${former?.version ?? 'none'}`)
  if (kind === 'patch' && !isDeepStrictEqual(step.value, { ...(former?.value as object), ...patch }))
    found.push(`made ${JSON.stringify(step.value)} of ${JSON.stringify(former?.value)}: an update is lost`)
  if (kind === 'delete' && !former) found.push(`deleted ${step.key}, which was not there`)
  if (from && !isDeepStrictEqual(byVersion.get(from.version)?.value, step.value))
    found.push(`restored version ${from.version} of ${from.key} as something else`)
  return found
}

/** The removals of a clear end with its number, one after the other. */
function clearedBy({ asOf = 0, cleared = 0 }: Operation, log: readonly Step[]): number[] {
  return log
    .filter(({ how, version }) => how === 'cleared' && version <= asOf && version > asOf - cleared)
    .map(({ version }) => version)
}

function wasSo(
  timeline: readonly Step[],
  { version, value }: NonNullable<Operation['told']>,
  { low, high }: Window,
): boolean {
  const since = [{ version: 0, how: 'deleted' } as Step, ...timeline]
  return since.some((step, at) => {
    const until = since[at + 1]?.version ?? Number.POSITIVE_INFINITY
    if (step.version > high || until <= low) return false
    if (version === null) return step.how !== 'written'
    return (
      step.how === 'written' &&
      step.version === version &&
      (value === undefined || isDeepStrictEqual(step.value, value))
    )
  })
}

/** Lists and clears against the state at their number. */
function listsThatDiffer(operations: readonly Operation[], log: readonly Step[]): string[] {
  const found: string[] = []
  const state = new Map<string, Step>()
  let next = 0
  const looks = operations.filter(({ outcome, asOf }) => outcome === 'done' && asOf !== undefined)
  for (const { kind, asOf = 0, seen, cleared } of looks.toSorted((one, other) => (one.asOf ?? 0) - (other.asOf ?? 0))) {
    for (; next < log.length && (log[next] as Step).version <= asOf; next += 1) {
      const step = log[next] as Step
      if (step.how === 'written') state.set(step.key, step)
      else state.delete(step.key)
    }
    if (kind === 'clear') {
      if (state.size > 0) found.push(`after the clear at ${asOf} there is ${[...state.keys()]}`)
      if (clearedBy({ asOf, cleared } as Operation, log).length !== cleared) found.push(`the clear at ${asOf} is half`)
      continue
    }
    const isSame =
      seen?.size === state.size &&
      [...state].every(([key, step]) => {
        const slot = seen.get(key)
        return slot?.version === step.version && isDeepStrictEqual(slot.value, step.value)
      })
    if (!isSame) found.push(`the list as of ${asOf} has ${[...(seen?.keys() ?? [])]}, the log ${[...state.keys()]}`)
  }
  return found
}

/** Whatever is in the log was asked for by somebody who was told so, or was not answered. */
function unclaimed(
  operations: readonly Operation[],
  log: readonly Step[],
  claimed: ReadonlySet<number>,
  before: Map<number, Step | undefined>,
): string[] {
  const open = operations.filter(({ outcome }) => outcome === 'open')
  const refused = new Set(
    operations.flatMap(({ outcome, kind, wants }) =>
      outcome === 'refused' && kind === 'put' ? wants.map(({ value }) => JSON.stringify(value)) : [],
    ),
  )
  const found: string[] = []
  for (const step of log) {
    if (claimed.has(step.version)) continue
    const { key, value, how } = step
    const isExplained = open.some(({ kind, wants, patch }) => {
      if (how === 'cleared') return kind === 'clear'
      if (kind === 'patch')
        return (
          wants[0]?.key === key &&
          isDeepStrictEqual(value, { ...(before.get(step.version)?.value as object), ...patch })
        )
      if (kind === 'restore') return how === 'written'
      return wants.some((one) => one.key === key && isDeepStrictEqual(one.value, value))
    })
    if (!isExplained) {
      const whose = refused.has(JSON.stringify(value)) ? 'a refused write' : 'nobody'
      found.push(`version ${step.version} of ${key} is ${whose}'s: ${JSON.stringify(value)}`)
    }
  }
  return found
}
