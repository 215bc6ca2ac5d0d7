// The currency of rates beside the request itself: what was read for it, and what it is answered with.

const UNIT_BYTES = 64 * 1024
const UNIT_ROWS = 100

/** Whole units: what is less costs nothing. */
export function unitsOf(rows: number, bytes: number): number {
  return Math.floor(Math.max(rows / UNIT_ROWS, bytes / UNIT_BYTES))
}
