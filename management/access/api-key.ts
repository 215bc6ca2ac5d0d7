// API keys of management: `loci_sk_<id>_<secret><crc>`, 256 random bits. At rest there is an HMAC with a pepper that is
// not in the database, so with a stolen dump a found key cannot even be recognised as one of ours.

import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'

export interface KeyDigest {
  digest: string
  /** Id of the sealing key that the pepper is derived from. */
  pepper: string
}

/** A new secret for the key of this id, and what is kept of it. */
export function makeApiKey(id: string, sealingKeys: SealingKey[]): KeyDigest & { text: string } {
  const [newest] = sealingKeys as [SealingKey, ...SealingKey[]]
  const text = formatSecretToken('sk', id, randomBytes(32).toString('base64url'))
  return { text, digest: digestOf(text, newest), pepper: newest.id }
}

/** In constant time. A pepper that was taken out of the settings verifies nothing any more. */
export function isApiKey(text: string, { digest, pepper }: KeyDigest, sealingKeys: SealingKey[]): boolean {
  const key = sealingKeys.find(({ id }) => id === pepper)
  if (!key) return false
  return timingSafeEqual(Buffer.from(digestOf(text, key), 'hex'), Buffer.from(digest, 'hex'))
}

function digestOf(text: string, sealing: SealingKey): string {
  return createHmac('sha256', pepperOf(sealing)).update(text).digest('hex')
}

const peppers = new WeakMap<SealingKey, Buffer>()

/** Derived once and not at each request. */
function pepperOf(sealing: SealingKey): Buffer {
  const known = peppers.get(sealing)
  if (known) return known
  const derived = Buffer.from(hkdfSync('sha256', sealing.key, '', 'loci api key pepper', 32))
  peppers.set(sealing, derived)
  return derived
}
