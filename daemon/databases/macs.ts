// HMACs that stand for content where content must not, and that an erasure finds every copy of a value by.

import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import type { SealingKey } from '@loci/chassis/setting-values.ts'

const MAC_BYTES = 16

/** Of one instance; the same object while its key is. */
export interface Macs {
  /** Equal for contents that differ in case, width or blanks alone. */
  value(content: string): string
  context(contextId: string): string
}

const known = new WeakMap<SealingKey, Macs>()

/** Under keys derived from the instance's own, which outlives a rotation of sealing keys and goes with the instance. */
export function macsOf(sealing: SealingKey): Macs {
  const found = known.get(sealing)
  if (found) return found
  const under = (purpose: string) => {
    // As an object that is made once: with the bytes of the key an HMAC took 19 µs, with this 3.
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', sealing.key, '', `loci memory ${purpose}`, 32)))
    return (text: string) =>
      createHmac('sha256', key)
        .update(text)
        .digest('hex')
        .slice(0, 2 * MAC_BYTES)
  }
  const [value, context] = [under('value'), under('context')]
  const macs = { value: (content: string) => value(normalised(content)), context }
  known.set(sealing, macs)
  return macs
}

/** What counts as the same content when it was to be forgotten. */
function normalised(content: string): string {
  return content.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim()
}
