// Cursors of lists: a position behind a letter of its own for each list, so that the cursor of another list is refused.

import { ApiError } from '@loci/chassis/api-error.ts'

/**
 * `k`: entries by key, `d`: backwards. `r`: memory records by seq. `c`: cycles and their decisions by seq. `q`: a
 * recall. `t`: the timeline of a mind.
 */
type List = 'k' | 'd' | 'r' | 'c' | 'q' | 't'

export function cursorOf(list: List, position: string | number): string {
  return Buffer.from(`${list}:${position}`).toString('base64url')
}

export function positionOf(list: List, cursor: string): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8').slice(2)
  // Made again, it must be the same: so the letter is this list's, and nothing but a cursor of ours passes.
  if (cursorOf(list, position) !== cursor) throw badCursor()
  return position
}

export function seqOf(list: List, cursor: string): number {
  const position = positionOf(list, cursor)
  if (!/^(0|[1-9]\d{0,14})$/.test(position)) throw badCursor()
  return Number(position)
}

export function badCursor(): ApiError {
  return new ApiError('VALIDATION_ERROR', 'The cursor is not valid. Send nextCursor of the page before, or no cursor.')
}
