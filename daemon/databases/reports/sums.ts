// Sums over the rows of a database, held against those of its head.

import type { Chunk } from './walker.ts'

export interface Sums {
  /** The database's seq when its walk began; null when it was written to since. */
  seq: string | null
  rows: number
  bytes: number
  a: string
  b: string
  damaged: number
  /** Damaged or vanished, and no row of the sums. */
  uncounted: number
  unreadable: number
  damagedA: string
  damagedB: string
  versionMax: string
}

export function noSums(seq: string): Sums {
  return {
    seq,
    rows: 0,
    bytes: 0,
    a: '0',
    b: '0',
    damaged: 0,
    uncounted: 0,
    unreadable: 0,
    damagedA: '0',
    damagedB: '0',
    versionMax: '0',
  }
}

export function add(sums: Sums, chunk: Chunk): Sums {
  return {
    seq: sums.seq,
    rows: sums.rows + chunk.rows,
    bytes: sums.bytes + chunk.bytes,
    a: xor(sums.a, chunk.a),
    b: xor(sums.b, chunk.b),
    damaged: sums.damaged + chunk.damagedKeys.length,
    uncounted: sums.uncounted + (chunk.uncounted?.length ?? 0) + (chunk.besides?.length ?? 0),
    unreadable: sums.unreadable + chunk.damagedStates.filter((state) => state === 'page_unreadable').length,
    damagedA: xor(sums.damagedA, chunk.damagedA),
    damagedB: xor(sums.damagedB, chunk.damagedB),
    versionMax: BigInt(chunk.versionMax) > BigInt(sums.versionMax) ? chunk.versionMax : sums.versionMax,
  }
}

export function xor(one: string, other: string): string {
  return (BigInt(one) ^ BigInt(other)).toString()
}
