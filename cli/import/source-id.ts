// The id that makes an import repeatable: a thing that comes again is answered with its record.

import { createHash } from 'node:crypto'

const CHARS_MAX = 240

/** Room is left for the number of a part. Equal parts make equal ids; a long one is told by its digest. */
export function sourceIdOf(kind: string, ...parts: readonly string[]): string {
  const id = `${kind}:${parts.join('/')}`
  return id.length <= CHARS_MAX ? id : `${kind}:sha256-${digestOf(parts.join('/'))}`
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
