// Versions are the numbers of a database, from 1 on; a condition of a write names one, or that there must be none.

import { ApiError } from '@loci/chassis/api-error.ts'

/** Of a write: null = any, -1 = must exist, 0 = must not exist, else the version. */
export type IfMatch = number | null

/** No version: whoever asks for it finds another. */
const NEVER = Number.MAX_SAFE_INTEGER

/** `"3"` → 3, `*` → -1 (must exist), none → null. */
export function versionOf(ifMatch: string | string[] | undefined): IfMatch {
  if (ifMatch === undefined) return null
  if (ifMatch === '*') return -1
  const match = typeof ifMatch === 'string' ? /^"(\d{1,15})"$/.exec(ifMatch) : null
  if (!match) throw new ApiError('VALIDATION_ERROR', 'If-Match must be a quoted version such as "3", or *.')
  return Number(match[1])
}

/** Of entries and slots: `If-None-Match: *` → 0 (must not exist), which no version in If-Match is. */
export function conditionOf(headers: Record<string, string | string[] | undefined>): IfMatch {
  const ifNoneMatch = headers['if-none-match']
  const ifMatch = versionOf(headers['if-match'])
  if (ifNoneMatch === undefined) return ifMatch === 0 ? NEVER : ifMatch
  if (ifNoneMatch !== '*' || ifMatch !== null)
    throw new ApiError('VALIDATION_ERROR', 'If-None-Match must be * (it must not exist), without If-Match beside it.')
  return 0
}
