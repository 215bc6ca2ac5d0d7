// The newest outcomes of tools as answers show them, kept beside a state by whoever folds it: a rank shows up to 2,000,
// and to read them again took ten times what the ranking takes. Pure.
//
// What is kept of a tool in a task is what would be read now. It begins with a reading; the fold puts what is told in
// front of it; and it is dropped, to be read again, when one of its outcomes is taken back or its time is over, or when
// so many were told since that a reading would no longer look as far. An erasure or another history drops the state.

import type { Ledger, Weights } from './fold/fold.ts'

/** Of a tool in one answer. */
export const SHOWN_MAX = 20
/** Of a tool in a class: among so many of the newest, whatever became of them, are those that are shown. */
export const LOOKS_MAX = 200
/** Of the projections that one answer shows for their outcomes, and of those that are read for their references. */
export const EVIDENCE_BYTES_MAX = 2 * 1024 * 1024
/** Of what one state keeps; what is used least goes first. */
const BYTES_MAX = 4 * 1024 * 1024
/** References of a tool that take more are read each time. */
const LIST_BYTES_MAX = 256 * 1024

/** What an answer shows of a projection. */
export interface Shown {
  projectionId: string
  refs: readonly string[]
  toldAt: number
  expiresAt: number | null
  /** Of its content. */
  bytes: number
}

export interface ShownOutcome extends Shown {
  seq: number
  outcome: string
}

/** Which outcomes: those without a scope match each, and without a scope in the request every scope does. */
export interface ShownTask {
  taskClass: string
  scope: string | null
}

/** Of a tool in a task. */
export interface Looked {
  /** Newest first. */
  outcomes: readonly ShownOutcome[]
  /** At most so many of the newest are these among. */
  looked: number
}

interface List extends Looked {
  outcomes: ShownOutcome[]
  bytes: number
}

interface ToldOutcome {
  seq: number
  taskClass: string | null
  scope: string | null
  isTakenBack: boolean
  weights: readonly Weights[]
  outcomeAt: (place: number) => string
  shown: Shown | null
}

/** References of the events of a task. */
interface Refs {
  /** What the head said of its projections when they were read. */
  head: string
  refs: readonly string[]
  isCut: boolean
  overAt: number | null
}

/** Tasks of which references are kept. */
const REFS_MAX = 16

export class KeptEvidence {
  /** By class and tool, then by scope. The least recently used first. */
  readonly #lists = new Map<string, Map<string | null, List>>()
  readonly #refs = new Map<string, Refs>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** undefined: to be read. `now`: by the clock of the database. */
  find({ taskClass, scope }: ShownTask, tool: string, now: number): Looked | undefined {
    const key = keyOf(taskClass, tool)
    const lists = this.#lists.get(key)
    const list = lists?.get(scope)
    if (lists === undefined || list === undefined) return undefined
    if (list.outcomes.some(({ expiresAt }) => expiresAt !== null && expiresAt <= now)) {
      this.#remove(key, scope)
      return undefined
    }
    this.#lists.delete(key)
    this.#lists.set(key, lists)
    // Not the list itself: the fold goes on while whoever asked waits.
    return { outcomes: list.outcomes.slice(), looked: list.looked }
  }

  /** What was read of a state, while nothing was folded since. */
  keep({ taskClass, scope }: ShownTask, tool: string, { outcomes, looked }: Looked): void {
    const key = keyOf(taskClass, tool)
    this.#remove(key, scope)
    const bytes = outcomes.reduce((sum, outcome) => sum + bytesOf(outcome), key.length + 200)
    if (bytes > LIST_BYTES_MAX) return
    const lists = this.#lists.get(key) ?? new Map<string | null, List>()
    lists.set(scope, { outcomes: outcomes.slice(), looked, bytes })
    this.#lists.delete(key)
    this.#lists.set(key, lists)
    this.#bytes += bytes
    this.#makeRoom()
  }

  #makeRoom(): void {
    for (const oldest of this.#lists.keys()) {
      if (this.#bytes <= BYTES_MAX) break
      this.#drop(oldest)
    }
  }

  /** What is folded behind all that was read. */
  add({ seq, taskClass, scope, isTakenBack, weights, outcomeAt, shown }: ToldOutcome): void {
    if (taskClass === null) return
    for (const { place, tool } of weights) {
      const key = keyOf(taskClass, tool)
      for (const [asked, list] of this.#lists.get(key) ?? []) {
        list.looked += 1
        if (list.looked > LOOKS_MAX) this.#remove(key, asked)
        else if (!isTakenBack && shown !== null && (asked === null || scope === null || asked === scope))
          this.#put(key, asked, list, { ...shown, seq, outcome: outcomeAt(place) })
      }
      this.#makeRoom()
    }
  }

  #put(key: string, scope: string | null, list: List, outcome: ShownOutcome): void {
    list.outcomes.unshift(outcome)
    const left = list.outcomes.length > SHOWN_MAX ? list.outcomes.pop() : undefined
    const by = bytesOf(outcome) - (left ? bytesOf(left) : 0)
    list.bytes += by
    this.#bytes += by
    if (list.bytes > LIST_BYTES_MAX) this.#remove(key, scope)
  }

  /** Whatever is shown of the tools in the class is to be read again. */
  takeBack(taskClass: string | null, tools: readonly string[]): void {
    if (taskClass !== null) for (const tool of tools) this.#drop(keyOf(taskClass, tool))
  }

  /** As long as nothing is told, taken back or erased, and nothing is over. */
  findRefs(task: ShownTask, head: string, now: number): Pick<Refs, 'refs' | 'isCut'> | undefined {
    const kept = this.#refs.get(refsKeyOf(task))
    return kept?.head === head && (kept.overAt === null || kept.overAt > now) ? kept : undefined
  }

  keepRefs(task: ShownTask, { head, refs, isCut, overAt }: Refs): void {
    const key = refsKeyOf(task)
    this.#dropRefs(key)
    const bytes = refsBytes(refs)
    if (bytes > LIST_BYTES_MAX) return
    // These alone: what is handed has the outcomes of the same reading too, which nobody would count.
    this.#refs.set(key, { head, refs, isCut, overAt })
    this.#bytes += bytes
    for (const oldest of this.#refs.keys()) {
      if (this.#refs.size <= REFS_MAX) break
      this.#dropRefs(oldest)
    }
    this.#makeRoom()
  }

  #dropRefs(key: string): void {
    this.#bytes -= refsBytes(this.#refs.get(key)?.refs ?? [])
    this.#refs.delete(key)
  }

  #drop(key: string): void {
    for (const { bytes } of this.#lists.get(key)?.values() ?? []) this.#bytes -= bytes
    this.#lists.delete(key)
  }

  #remove(key: string, scope: string | null): void {
    const lists = this.#lists.get(key)
    this.#bytes -= lists?.get(scope)?.bytes ?? 0
    lists?.delete(scope)
    if (lists?.size === 0) this.#lists.delete(key)
  }
}

/** NUL stands in no name. */
function keyOf(taskClass: string, tool: string): string {
  return `${taskClass}\0${tool}`
}

function refsKeyOf({ taskClass, scope }: ShownTask): string {
  return `${taskClass}\0${scope ?? ''}`
}

function bytesOf({ projectionId, refs }: Shown): number {
  return refsBytes(refs) + 2 * projectionId.length + 160
}

function refsBytes(refs: readonly string[]): number {
  return refs.reduce((sum, ref) => sum + 2 * ref.length + 24, 0)
}

/** Outcomes behind the snapshot, which only the caller's memory has by tool. */
export type TailOutcome = [seq: number, place: number, tool: string, outcome: string]

interface TailQuery {
  taskClass: string
  scope: string | null
  tools: string[]
  limit: number
  looksMax: number
}

/** Of each tool the newest outcomes that are in no snapshot yet, those of the task in order; and how many it has. */
export function tailOf(ledger: Ledger, { taskClass, scope, tools, limit, looksMax }: TailQuery) {
  const tail: TailOutcome[] = []
  const counts = new Map(tools.map((tool) => [tool, { looked: 0, left: limit }]))
  for (const [id, { told, weights, isTakenBack }] of counts.size === 0 ? [] : [...ledger].reverse()) {
    if (told === null || told.taskClass !== taskClass) continue
    const isShown = !isTakenBack && (scope === null || told.scope === null || told.scope === scope)
    for (const { place, tool } of weights.toReversed()) {
      const count = counts.get(tool)
      if (count === undefined || count.looked === looksMax) continue
      count.looked += 1
      if (!isShown || count.left === 0) continue
      count.left -= 1
      tail.push([Number(id), place, tool, told.tools[place]?.outcome ?? ''])
    }
  }
  return { tail, looked: tools.map((tool) => counts.get(tool)?.looked ?? 0) }
}
