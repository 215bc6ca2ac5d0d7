// The cursor of a consistency walk: a position with the sums so far, and a seal over it, the instance and the mode. Sealed, because
// a walk believes what it carries.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import type { Mode, Position } from './consistency.ts'

const SEAL_BYTES = 16

export function sealPosition(sealing: SealingKey[], instanceId: string, mode: Mode, position: Position): string {
  const text = Buffer.from(JSON.stringify(position))
  return Buffer.concat([sealOf(sealing[0] as SealingKey, instanceId, mode, text), text]).toString('base64url')
}

/** Undefined unless we sealed it, with a key that is still in use. */
export function openPosition(
  sealing: SealingKey[],
  instanceId: string,
  mode: Mode,
  cursor: string,
): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.length <= SEAL_BYTES) return undefined
  const text = bytes.subarray(SEAL_BYTES)
  const isOurs = sealing.some((key) =>
    timingSafeEqual(bytes.subarray(0, SEAL_BYTES), sealOf(key, instanceId, mode, text)),
  )
  return isOurs ? (JSON.parse(text.toString('utf8')) as Position) : undefined
}

function sealOf({ key: secret }: SealingKey, instanceId: string, mode: Mode, text: Buffer): Buffer {
  const key = Buffer.from(hkdfSync('sha256', secret, instanceId, `loci consistency cursor ${mode}`, 32))
  return createHmac('sha256', key).update(text).digest().subarray(0, SEAL_BYTES)
}
