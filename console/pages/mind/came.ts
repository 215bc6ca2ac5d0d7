// How a stay began, in a word.

import type { Stay } from './timeline.ts'

const CAME: Readonly<Record<string, string>> = { put: 'put', observed: 'heard', recalled: 'recalled' }

/** One that a newer server has is said as it is. */
export function cameOf({ came }: Pick<Stay, 'came'>): string {
  return came ? (CAME[came.by] ?? came.by) : 'here before'
}
