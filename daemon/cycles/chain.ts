// The chain of cycles: which of the rows that were read are not what was written. Pure.
//
// A row by itself fits its hash or does not. A row that was rewritten with a new hash of its own is found by the row
// behind it, which says what the hash was; the last one by the head. So the rows are judged newest first: each that
// fits tells what the next must be. A row that does not fit tells nothing, and the next is judged by its own hash
// alone.

export type Damage = 'digest_mismatch' | 'chain_break' | 'missing' | 'page_unreadable'

export interface Link {
  seq: number
  state: 'intact' | Exclude<Damage, 'chain_break'>
  hash: Buffer | null
  prevHash: Buffer | null
}

/** What is known of the neighbours of what was read. */
export interface Ends {
  /** What the newest row must be: the hash in the head, or what the row above says; undefined: nobody says. */
  above: Buffer | null | undefined
  /** The number and the hash of the checkpoint: the row after it has this one before it. */
  prunedThrough: number
  prunedHash: Buffer | null
}

/** `links`: newest first, without gaps: a number without a row is `missing`. */
export function findDamage(links: readonly Link[], { above, prunedThrough, prunedHash }: Ends): Map<number, Damage> {
  const damage = new Map<number, Damage>()
  let expected = above
  for (const { seq, state, hash, prevHash } of links) {
    if (state !== 'intact') {
      damage.set(seq, state)
      expected = undefined
    } else if (expected !== undefined && !isSame(hash, expected)) {
      damage.set(seq, 'chain_break')
      expected = undefined
    } else if (seq === prunedThrough + 1 && !isSame(prevHash, prunedHash)) {
      damage.set(seq, 'chain_break')
    } else expected = prevHash
  }
  return damage
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other)
}
