export interface Page<Row> {
  rows: Row[]
  /** Null on the last page. */
  next: string | null
}

/** One page of `limit` + 1 rows that were read: the last one only shows that there is a next page. */
export function page<Row>(read: Row[], limit: number, cursorOf: (last: Row) => string | number): Page<Row> {
  const rows = read.slice(0, limit)
  const last = read.length > limit ? rows.at(-1) : undefined
  return { rows, next: last === undefined ? null : String(cursorOf(last)) }
}
