// Who leaves next, by the rules of the server (working-memory/document.ts of the daemon): what cycles brought before
// what somebody put, and among those by the policy. The moment of a write decides; this is how it stands now.

const POLICIES = ['activation', 'lru', 'fifo', 'reject'] as const
export type Policy = (typeof POLICIES)[number]

export interface Held {
  key: string
  version: number
  activation: number
  pinned: boolean
  expiresAt: string | null
  source: { type: string }
}

/** In the order in which they would leave; none that is pinned, and under `reject` none at all. */
export function leavingOrder<Slot extends Held>(slots: readonly Slot[], policy: Policy): Slot[] {
  if (policy === 'reject') return []
  const byPolicy: Record<Exclude<Policy, 'reject'>, (one: Slot, other: Slot) => number> = {
    activation: (one, other) => one.activation - other.activation || one.version - other.version,
    lru: (one, other) => one.version - other.version,
    // The list is in the order in which they were made, and sorting is stable.
    fifo: () => 0,
  }
  return slots
    .filter(({ pinned }) => !pinned)
    .toSorted((one, other) => Number(isPut(one)) - Number(isPut(other)) || byPolicy[policy](one, other))
}

/** As the page lists them: who would leave last comes first; by activation the strongest. */
export function listed<Slot extends Held>(slots: readonly Slot[], policy: Policy): Slot[] {
  if (policy === 'activation') return slots.toSorted((one, other) => other.activation - one.activation)
  const leaving = leavingOrder(slots, policy)
  const place = (slot: Slot) => {
    const at = leaving.indexOf(slot)
    return at < 0 ? leaving.length : at
  }
  return slots.toSorted((one, other) => place(other) - place(one))
}

/** Which of them expires first. */
export function firstToExpire<Slot extends Held>(slots: readonly Slot[]): Slot | undefined {
  const ending = slots.filter(({ expiresAt }) => expiresAt !== null)
  return ending.toSorted((one, other) => Date.parse(one.expiresAt ?? '') - Date.parse(other.expiresAt ?? ''))[0]
}

export function policyOf(value: unknown): Policy | undefined {
  return POLICIES.find((one) => one === value)
}

export function isPut({ source }: Pick<Held, 'source'>): boolean {
  return source.type !== 'cycle'
}
