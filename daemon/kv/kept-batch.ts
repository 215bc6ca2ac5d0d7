// What loci.kv_write_acts() keeps of a batch for its repeats: no key, no value, no digest. A repeat has the same body
// (its fingerprint says so), so everything but versions and times stands in the request; the digests are computed anew
// from both. 100 puts are some 500 bytes instead of 37,000.

import type { Write, WriteOutcome } from './store.ts'

/** Versions and creations as differences to the one before: neighbours are mostly alike. */
export interface KeptBatch {
  /** When it was written, in milliseconds; null when nothing was put. */
  at: number | null
  versions: number[]
  /** Of puts. */
  created: number[]
  /** Which deletes found nothing. */
  missing: number[]
}

export type KeptOutcome = Omit<WriteOutcome, 'digest'>

/** The outcomes as they were, but for the digests. */
export function outcomesOf({ at, versions, created, missing }: KeptBatch, writes: Write[]): KeptOutcome[] {
  const allVersions = sums(versions)
  const allCreated = sums(created)
  const gone = new Set(missing)
  const updatedAt = new Date(at ?? 0)
  let put = 0
  return writes.map(({ op, ttlMs }, index) => {
    const version = allVersions[index] as number
    if (op === 'delete')
      return {
        outcome: gone.has(index) ? 'missing' : 'done',
        version,
        createdAt: updatedAt,
        updatedAt,
        expiresAt: null,
      }
    const createdAt = new Date(allCreated[put] as number)
    put += 1
    const expiresAt = ttlMs === null ? null : new Date(updatedAt.getTime() + ttlMs)
    return { outcome: 'done', version, createdAt, updatedAt, expiresAt }
  })
}

function sums(steps: number[]): number[] {
  let sum = 0
  return steps.map((step) => {
    sum += step
    return sum
  })
}
