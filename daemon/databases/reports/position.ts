// The cursor of a consistency walk: a position with the sums so far, and a seal over it, the instance and the mode.
// Sealed, because a walk believes what it carries.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Mode, Position } from './consistency.ts'

const SEAL_BYTES = 16

export function sealPosition(instanceKey: Buffer, mode: Mode, position: Position): string {
  const text = Buffer.from(JSON.stringify(position))
  return Buffer.concat([sealOf(instanceKey, mode, text), text]).toString('base64url')
}

/** Undefined unless it was sealed with this key, for this mode. */
export function openPosition(instanceKey: Buffer, mode: Mode, cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.length <= SEAL_BYTES) return undefined
  const text = bytes.subarray(SEAL_BYTES)
  const isOurs = timingSafeEqual(bytes.subarray(0, SEAL_BYTES), sealOf(instanceKey, mode, text))
  return isOurs ? (JSON.parse(text.toString('utf8')) as Position) : undefined
}

function sealOf(instanceKey: Buffer, mode: Mode, text: Buffer): Buffer {
  return createHmac('sha256', instanceKey)
    .update(`loci consistency cursor ${mode}\n`)
    .update(text)
    .digest()
    .subarray(0, SEAL_BYTES)
}
