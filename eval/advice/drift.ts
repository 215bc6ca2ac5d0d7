// A world in which tools break, are mended and get better: 12 task classes asked as often as Zipf says, 10 tools and
// 20,000 calls. The most valuable tool is down from a third to a half, the second most valuable from two thirds on, and
// the least valuable becomes good at a half. Regret is what was missed of what the best choice would have got.

import { drawBeta, randomFrom } from '@loci/daemon/advice/fold/beta.ts'

const CLASSES = 12
const TOOLS = 10
const CALLS = 20_000
const AFTER_BREAK = 1_000

export interface Policy {
  choose(taskClass: number): number
  learn(taskClass: number, tool: number, isSuccess: boolean): void
}

export interface Regret {
  whole: number
  afterBreak: number
}

export function regretOf(seed: number, policy: Policy): Regret {
  const { random, nextClass, chance } = makeWorld(seed)
  const from = Math.ceil(CALLS / 3)
  const sums = { got: 0, could: 0, gotAfter: 0, couldAfter: 0 }
  for (let call = 0; call < CALLS; call++) {
    const taskClass = nextClass()
    const tool = policy.choose(taskClass)
    const chances = Array.from({ length: TOOLS }, (_, k) => chance(taskClass, k, call))
    const got = chances[tool] ?? 0
    const could = Math.max(...chances)
    sums.got += got
    sums.could += could
    if (call >= from && call < from + AFTER_BREAK) {
      sums.gotAfter += got
      sums.couldAfter += could
    }
    policy.learn(taskClass, tool, random() < got)
  }
  return { whole: 1 - sums.got / sums.could, afterBreak: 1 - sums.gotAfter / sums.couldAfter }
}

function makeWorld(seed: number) {
  const random = randomFrom(seed * 7_919 + 13)
  const shares = Array.from({ length: CLASSES }, (_, c) => 1 / (c + 1))
  const all = shares.reduce((sum, share) => sum + share, 0)
  const fits = shares.map(() => {
    const fit = Array.from({ length: TOOLS }, () => drawBeta(1.2, 3, random))
    const best = Math.floor(random() * TOOLS)
    const second = (best + 1 + Math.floor(random() * (TOOLS - 1))) % TOOLS
    fit[best] = 0.75 + 0.2 * random()
    fit[second] = 0.55 + 0.25 * random()
    return fit
  })
  // What a tool is worth: how often it is the best choice, times how good it is there.
  const worth = Array.from({ length: TOOLS }, (_, k) =>
    fits.reduce((sum, fit, c) => sum + (fit[k] === Math.max(...fit) ? ((shares[c] ?? 0) / all) * (fit[k] ?? 0) : 0), 0),
  )
  const order = worth.map((_, k) => k).sort((x, y) => (worth[y] ?? 0) - (worth[x] ?? 0))
  const chance = (taskClass: number, tool: number, call: number) => {
    const fit = fits[taskClass]?.[tool] ?? 0
    if (tool === order[0] && call >= CALLS / 3 && call < CALLS / 2) return fit * 0.05
    if (tool === order[1] && call >= (2 * CALLS) / 3) return fit * 0.1
    return tool === order[TOOLS - 1] && call >= CALLS / 2 ? Math.min(0.97, fit + 0.6) : fit
  }
  const nextClass = () => {
    let left = random() * all
    const found = shares.findIndex((share) => {
      left -= share
      return left < 0
    })
    return found < 0 ? CLASSES - 1 : found
  }
  return { random, chance, nextClass }
}

export function thompson(seed: number): Policy {
  const random = randomFrom(seed * 104_729 + 7)
  const beliefs = Array.from({ length: CLASSES }, () => Array.from({ length: TOOLS }, () => [1, 1] as [number, number]))
  return {
    choose: (taskClass) => highest((beliefs[taskClass] ?? []).map(([a, b]) => drawBeta(a, b, random))),
    learn: (taskClass, tool, isSuccess) => {
      const belief = beliefs[taskClass]?.[tool]
      if (belief) belief[isSuccess ? 0 : 1]++
    },
  }
}

/** Discounted UCB: what is old counts less, what was seldom tried gets a bonus. */
export function discountedUcb(width: number, discount = 0.998): Policy {
  const seen = Array.from({ length: CLASSES }, () => Array.from({ length: TOOLS }, () => ({ n: 0, s: 0 })))
  return {
    choose: (taskClass) => {
      const arms = seen[taskClass] ?? []
      const total = Math.max(
        2,
        arms.reduce((sum, { n }) => sum + n, 0),
      )
      return highest(
        arms.map(({ n, s }, k) => (n < 1e-3 ? 10 - k * 1e-6 : s / n + Math.sqrt((width * Math.log(total)) / n))),
      )
    },
    learn: (taskClass, tool, isSuccess) => {
      for (const [k, arm] of (seen[taskClass] ?? []).entries()) {
        arm.n = arm.n * discount + (k === tool ? 1 : 0)
        arm.s = arm.s * discount + (k === tool && isSuccess ? 1 : 0)
      }
    },
  }
}

function highest(values: readonly number[]): number {
  return values.indexOf(Math.max(...values))
}
