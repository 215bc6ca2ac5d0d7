// Other days of the same shape: words exchanged, the chatter dealt to other moments of the chatter, another cadence, a
// part of the chatter left out. And the same day with one thing switched off.

import type { CycleConfig } from '@loci/daemon/cycles/shapes.ts'
import type { Ablation, Day } from './day.ts'

export function vary(day: Day, { seed, cadence, drop }: { seed: number; cadence: number; drop: number }): Day {
  const random = generator(seed)
  const swap = exchanger(day.variation?.words ?? {})
  const named = new Set(
    day.moments.flatMap(({ mustBeResident, mustNotBeResident = [] }) => [...mustBeResident, ...mustNotBeResident]),
  )
  const loose = day.observations.filter(({ id, group }) => group === 'chatter' && !named.has(id))
  const dealt = shuffled(loose, random)
  const textOf = new Map(loose.map(({ id }, at) => [id, dealt[at]]))
  const kept = day.observations.filter(({ id }) => !textOf.has(id) || random() >= drop)
  return {
    ...day,
    cadence,
    observations: kept.map((one) => {
      const { actor, content } = textOf.get(one.id) ?? one
      return { ...one, actor: swap(actor), content: swap(content) }
    }),
    slots: day.slots.map((slot) => ({ ...slot, value: swap(slot.value) })),
    focus: day.focus.map((focus) => ({ ...focus, text: swap(focus.text) })),
    moments: day.moments.map((moment) => ({ ...moment, focus: moment.focus && swap(moment.focus) })),
  }
}

/** No switch of the product: each is a configuration, or observations that do not say what they would have said. */
export function without(ablation: Ablation, day: Day): { day: Day; config: Partial<CycleConfig> } {
  if (ablation === 'decay') return { day, config: { decay: 0, stickinessHalfLifeCycles: Number.POSITIVE_INFINITY } }
  if (ablation === 'recall') return { day, config: { candidateFactor: 0 } }
  if (ablation === 'competition') return { day: unpinned(day), config: { policy: 'fifo' } }
  if (ablation === 'supersession') {
    const observations = day.observations.map(({ key, supersedes, ...rest }) => rest)
    return { day: { ...day, observations }, config: {} }
  }
  // Of another kind each, so that equal content is not one record either.
  const observations = day.observations.map((one) => ({ ...one, kind: one.id }))
  return { day: { ...day, observations }, config: { echo: { weight: 0, share: 0.8 } } }
}

/** Nor is what somebody put of another kind than what a cycle brought. */
function unpinned(day: Day): Day {
  return { ...day, slots: day.slots.map((slot) => ({ ...slot, pinned: false, isPut: false })) }
}

function exchanger(words: Record<string, string>): (text: string) => string {
  const exact = new Map(Object.entries(words))
  const folded = new Map([...exact].map(([word, other]) => [word.toLowerCase(), other]))
  return (text) =>
    text.replace(/\p{L}+/gu, (word) => {
      const other = exact.get(word) ?? folded.get(word.toLowerCase())
      if (other === undefined) return word
      return /^\p{Lu}/u.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other
    })
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const mixed = [...values]
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[mixed[i], mixed[j]] = [mixed[j] as Value, mixed[i] as Value]
  }
  return mixed
}

/** Numbers in [0, 1), the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
