// The value of the refresh cookie: `loci_sh_<id>_<generation>_<mac>`. It names a session and which of its handles it
// is, and only we can make one: an HMAC under a key derived from a sealing key, over a salt of the session. Nothing of
// it is stored, and yet every process can tell the successor of a handle to a tab that lost a race.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { SealingKey } from '@loci/chassis/setting-values.ts'

export interface Handle {
  sessionId: string
  generation: number
  mac: string
}

const FORM = /^loci_sh_([0-7][0-9a-hjkmnp-tv-z]{25})_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})$/

export function readHandle(text: string | undefined): Handle | undefined {
  const [, id, generation, mac] = FORM.exec(text ?? '') ?? []
  return id && mac ? { sessionId: `ses_${id}`, generation: Number(generation), mac } : undefined
}

/** `keyId`: the sealing key that the tokens of the session are sealed with. */
export function makeHandle(
  of: { id: string; salt: string; generation: number },
  keyId: string,
  sealingKeys: readonly SealingKey[],
): string {
  const key = sealingKeys.find(({ id }) => id === keyId)
  if (!key) throw new Error(`LOCI_SEALING_KEYS has no key '${keyId}', which a session was made with`)
  return `loci_sh_${of.id.slice('ses_'.length)}_${of.generation}_${macOf(of, key)}`
}

/** In constant time, under any sealing key: a handle outlives the key that was the newest when it was made. */
export function isHandle(
  { sessionId: id, generation, mac }: Handle,
  salt: string,
  sealingKeys: readonly SealingKey[],
): boolean {
  return sealingKeys.some((key) => timingSafeEqual(Buffer.from(macOf({ id, salt, generation }, key)), Buffer.from(mac)))
}

function macOf({ id, salt, generation }: { id: string; salt: string; generation: number }, key: SealingKey): string {
  const derived = Buffer.from(hkdfSync('sha256', key.key, salt, 'loci session handle', 32))
  return createHmac('sha256', derived).update(`${id} ${generation}`).digest('base64url')
}
