// Randomness that can be had again: every run prints its seed, and `--seed=` repeats it.

export interface Random {
  /** 0 ≤ x < 1. */
  (): number
  below(end: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  text(length: number): string
}

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

export function seedOfRun(): number {
  const given = process.argv.find((argument) => argument.startsWith('--seed='))
  return given ? Number(given.slice('--seed='.length)) : Math.floor(Math.random() * 1e9)
}

/** mulberry32: small, and good enough to choose what to try next. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return Object.assign(next, {
    below,
    chance: (share: number) => next() < share,
    pick: <Item>(items: readonly Item[]) => items[below(items.length)] as Item,
    text: (length: number) => Array.from({ length }, () => LETTERS[below(LETTERS.length)]).join(''),
  })
}
