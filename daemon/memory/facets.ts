// What a recall may be narrowed to, as numbers: the context, the key and the members of metadata stand in the index as
// keyed hashes, so that a segment says which records have the same and never what. A hash is no proof: what passes by
// it is compared with the record itself when that is read.

import { hkdfSync } from 'node:crypto'
import type { SealingKey } from '@loci/chassis/setting-values.ts'

/** A record that has more members of metadata than are hashed passes for any, until it is read. */
export const MANY_MEMBERS = 0
export const MEMBERS_MAX = 64

export interface Facets {
  /** Never 0, which stands for none. */
  context(contextId: string): number
  key(key: string): number
  /** One of each member, and MANY_MEMBERS where there are more than MEMBERS_MAX. */
  members(metadata: Record<string, unknown>): number[]
}

const known = new WeakMap<SealingKey, Facets>()

/** Under a key derived from the instance's own, as all HMACs are. */
export function facetsOf(sealing: SealingKey): Facets {
  const found = known.get(sealing)
  if (found) return found
  const secret = Buffer.from(hkdfSync('sha256', sealing.key, '', 'loci memory facets', 8))
  const hash = keyedHash(secret.readInt32LE(0), secret.readInt32LE(4))
  const facets: Facets = {
    context: (contextId) => hash(`c${contextId}`),
    key: (key) => hash(`k${key}`),
    members(metadata) {
      const names = Object.keys(metadata)
      const hashed = names.slice(0, MEMBERS_MAX).map((name) => hash(`m${canonical([name, metadata[name]])}`))
      return names.length > MEMBERS_MAX ? [...hashed, MANY_MEMBERS] : hashed
    },
  }
  known.set(sealing, facets)
  return facets
}

/** JSON whose members are in the order of their names: equal for values that are equal. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}

/**
 * HalfSipHash-2-4 of the UTF-8 bytes, from 1 to 2^32 - 1. In JavaScript: an HMAC of the platform took 12 us on a busy
 * core, and a segment of 4,096 records has tens of thousands of these.
 */
export function keyedHash(k0: number, k1: number): (text: string) => number {
  return (text) => {
    const bytes = Buffer.from(text)
    let [v0, v1, v2, v3] = [k0, k1, 0x6c79_6765 ^ k0, 0x7465_6462 ^ k1]
    const rounds = (times: number) => {
      for (let n = 0; n < times; n++) {
        v0 = (v0 + v1) | 0
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
        v0 = (v0 << 16) | (v0 >>> 16)
        v2 = (v2 + v3) | 0
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
        v0 = (v0 + v3) | 0
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
        v2 = (v2 + v1) | 0
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
        v2 = (v2 << 16) | (v2 >>> 16)
      }
    }
    const take = (word: number) => {
      v3 ^= word
      rounds(2)
      v0 ^= word
    }
    const whole = bytes.length & ~3
    for (let at = 0; at < whole; at += 4) take(bytes.readInt32LE(at))
    let last = bytes.length << 24
    for (let at = whole; at < bytes.length; at++) last |= bytes.readUInt8(at) << (8 * (at - whole))
    take(last)
    v2 ^= 0xff
    rounds(4)
    return (v1 ^ v3) >>> 0 || 1
  }
}
