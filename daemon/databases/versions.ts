// Versions are the numbers of a database; If-Match names one.

import { ApiError } from '@loci/chassis/api-error.ts'

/** `"3"` → 3, `*` → -1 (must exist), none → null. */
export function versionOf(ifMatch: string | string[] | undefined): number | null {
  if (ifMatch === undefined) return null
  if (ifMatch === '*') return -1
  const match = typeof ifMatch === 'string' ? /^"(\d{1,15})"$/.exec(ifMatch) : null
  if (!match) throw new ApiError('VALIDATION_ERROR', 'If-Match must be a quoted version such as "3", or *.')
  return Number(match[1])
}
