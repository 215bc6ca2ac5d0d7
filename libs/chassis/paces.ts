// So much at once, so much per second from then on: for each of many who are not known beforehand, as addresses are.
// One number for each, no timer.

export interface Paces {
  /** How long until so many more would be within the pace; 0: now. Nothing is spent. */
  owedMs(who: string, amount: number): number
  /** Spends them, which may leave a debt. Answers how long until it is paid; 0: there is none. */
  spend(who: string, amount: number): number
}

interface Bounds {
  atOnce: number
  perSecond: number
  now?: () => number
}

/** Bounds memory under a flood from many addresses; beyond it newcomers share one pace, as in failures.ts. */
const KNOWN_MAX = 50_000
const NEWCOMERS = 'newcomers'
const SWEEP_MS = 1_000

export function createPaces({ atOnce, perSecond, now = () => performance.now() }: Bounds): Paces {
  const msEach = 1_000 / perSecond
  const savedMsMax = atOnce * msEach
  /** When each will have saved all that it can. */
  const fullAt = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  /** Who has saved everything is as good as unknown. */
  function sweep(at: number): void {
    if (at - sweptAt < SWEEP_MS) return
    sweptAt = at
    for (const [who, full] of fullAt) if (full <= at) fullAt.delete(who)
  }

  function keyOf(who: string, at: number): string {
    if (fullAt.has(who) || fullAt.size < KNOWN_MAX) return who
    sweep(at)
    return fullAt.size < KNOWN_MAX ? who : NEWCOMERS
  }

  const fullOf = (key: string, amount: number, at: number) => Math.max(at, fullAt.get(key) ?? 0) + amount * msEach
  const owedOf = (full: number, at: number) => Math.max(0, full - at - savedMsMax)

  return {
    owedMs(who, amount) {
      const at = now()
      return owedOf(fullOf(keyOf(who, at), amount, at), at)
    },
    spend(who, amount) {
      const at = now()
      const key = keyOf(who, at)
      const full = fullOf(key, amount, at)
      fullAt.set(key, full)
      return owedOf(full, at)
    },
  }
}
