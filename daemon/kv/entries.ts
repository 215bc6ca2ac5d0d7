// The rules of entries that need no database: cursors, prefixes, versions, sizes.

import { ApiError } from '@loci/chassis/api-error.ts'

/** The schema knows it too: a row with more is damaged (is_intact). */
const VALUE_BYTES_MAX = 256 * 1024

/** The value as it is stored; 413 beyond its limit. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > VALUE_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A value may have at most ${VALUE_BYTES_MAX} bytes as JSON.`)
  return text
}

/**
 * The first text behind all that begin with the prefix, in order of code points (UTF-8 sorts the same way); null when
 * there is none. Surrogates are no characters of their own, so the step over them is from U+D7FF to U+E000.
 */
export function prefixEnd(prefix: string): string | null {
  const points = Array.from(prefix)
  while (points.length > 0) {
    const last = (points.pop() as string).codePointAt(0) as number
    if (last < 0x10ffff) return points.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
  }
  return null
}
