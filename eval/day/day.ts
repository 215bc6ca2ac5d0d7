// A scripted day run through the cycle: observations, slots and focuses in the order of their times, a cycle after
// every few observations, at each focus and at each moment. A moment says what must be held and said then, and what
// must not.

import { createHash } from 'node:crypto'
import type { CycleConfig, CycleResult } from '@loci/daemon/cycles/shapes.ts'
import { Mind, type Said } from '@loci/daemon/cycles/testing/mind.ts'

export interface Day {
  cadence: number
  slots: { at: string; key: string; value: string; pinned: boolean; isPut?: boolean }[]
  focus: { at: string; text: string }[]
  observations: Observed[]
  moments: Moment[]
  variation?: { words: Record<string, string> }
}

export interface Observed {
  id: string
  occurredAt: string
  contextId: string
  actor: string
  content: string
  key?: string
  supersedes?: string
  dueAt?: string
  group?: string
}

export type Ablation = 'decay' | 'recall' | 'competition' | 'supersession' | 'flood'
export const ABLATIONS: readonly Ablation[] = ['decay', 'recall', 'competition', 'supersession', 'flood']

export interface Moment {
  name: string
  at: string
  focus: string | null
  mustBeResident: string[]
  mustNotBeResident?: string[]
  mustNotBeBroadcast?: string[]
  atMost?: { group: string; n: number }
  before?: [string, string][]
  /** The one thing that, switched off, must break it. */
  failsWithout: Ablation | null
}

export interface DayRun {
  /** What is wrong at each moment, by its name. */
  wrong: Map<string, string[]>
  held: number
  cycles: number
  slotsMean: number
  /** How far a score is at most from the sum of its parts. */
  sumError: number
  /** Over all decisions, in their order. */
  hash: string
}

interface Step {
  at: number
  /** Of several at one time: slots, then observations, then focuses, then moments. */
  order: number
  run: () => void
}

export function runDay(
  day: Day,
  config: Partial<CycleConfig> = {},
  watch?: (result: CycleResult, moment: Moment | null) => void,
): DayRun {
  const mind = new Mind(config)
  const groups = new Map(day.observations.map(({ id, group }) => [id, group]))
  const wrong = new Map<string, string[]>()
  const hash = createHash('sha256')
  let pending: Said[] = []
  let [cycles, slots, sumError] = [0, 0, 0]

  function cycle(now: number, focus: string | null, moment: Moment | null): void {
    const { result } = mind.run(now, focus, pending)
    pending = []
    cycles += 1
    slots += result.slots.length
    hash.update(JSON.stringify(result.decisions))
    for (const { explain } of result.slots) {
      const sum = explain.parts.reduce((total, { contribution }) => total + contribution, 0)
      sumError = Math.max(sumError, Math.abs(sum - explain.score))
    }
    if (moment) wrong.set(moment.name, judge(moment, result, groups))
    watch?.(result, moment)
  }

  const steps: Step[] = [
    ...day.slots.map((slot) => ({ at: Date.parse(slot.at), order: 0, run: () => mind.put(slot, Date.parse(slot.at)) })),
    ...day.observations.map(({ group, ...said }) => ({
      ...{ at: Date.parse(said.occurredAt), order: 1 },
      run: () => {
        pending.push(said)
        if (pending.length >= day.cadence) cycle(Date.parse(said.occurredAt), null, null)
      },
    })),
    ...day.focus.map(({ at, text }) => ({
      at: Date.parse(at),
      order: 2,
      run: () => cycle(Date.parse(at), text, null),
    })),
    ...day.moments.map((moment) => ({
      ...{ at: Date.parse(moment.at), order: 3 },
      run: () => cycle(Date.parse(moment.at), moment.focus, moment),
    })),
  ]
  steps.sort((one, other) => one.at - other.at || one.order - other.order)
  for (const { run } of steps) run()
  const held = [...wrong.values()].filter(({ length }) => length === 0).length
  return { wrong, held, cycles, slotsMean: slots / cycles, sumError, hash: hash.digest('hex') }
}

function judge(
  moment: Moment,
  { slots, broadcast }: CycleResult,
  groups: ReadonlyMap<string, string | undefined>,
): string[] {
  const held = new Set(slots.flatMap(({ key, record }) => [key, record?.id]))
  const said = new Set(broadcast.flatMap(({ key, recordId }) => [key, recordId]))
  const order = broadcast.map(({ recordId }) => recordId)
  const crowd = slots.filter(({ record }) => record && groups.get(record.id) === moment.atMost?.group).length
  return [
    ...moment.mustBeResident.flatMap((id) => (held.has(id) ? [] : [`lacks ${id}`])),
    ...(moment.mustNotBeResident ?? []).flatMap((id) => (held.has(id) ? [`holds ${id}`] : [])),
    ...(moment.mustNotBeBroadcast ?? []).flatMap((id) => (said.has(id) ? [`says ${id}`] : [])),
    ...(moment.atMost && crowd > moment.atMost.n ? [`holds ${crowd} of ${moment.atMost.group}`] : []),
    ...(moment.before ?? []).flatMap(([first, second]) => {
      const [one, other] = [order.indexOf(first), order.indexOf(second)]
      return other >= 0 && (one < 0 || one > other) ? [`says ${second} before ${first}`] : []
    }),
  ]
}
