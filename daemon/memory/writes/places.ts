// Where the records of one call stand among each other, so that the call need neither sort nor count them.

interface Placing {
  database: string
  record: {
    context: string | null
    key: string | null
    sourceEventId: string | null
    isOverride: boolean
    supersedes: string | null
  }
}

export interface Place {
  /** Which of the records of its database it is, from 1; null where those are stored one by one. */
  nth: number | null
  /** Which of them is the first of its context. */
  first: number
  /** Which of its context's it is, from 0. */
  place: number
  /** Of the first of a named context: how many of the call are in it. */
  shared: number | null
}

/**
 * The records of a database are stored one by one where one of them ends another or overrides a tombstone, or where
 * what becomes of one depends on another one of the call.
 */
export function placesOf(records: readonly Placing[]): Place[] {
  const places = records.map((): Place => ({ nth: null, first: 0, place: 0, shared: null }))
  const databases = Map.groupBy(places.keys(), (at) => (records[at] as Placing).database)
  for (const own of databases.values()) {
    const items = own.map((at) => (records[at] as Placing).record)
    const isPlain =
      items.every(({ isOverride, supersedes }) => !isOverride && supersedes === null) &&
      areDifferent(items.map(({ key }) => key)) &&
      areDifferent(items.map(({ sourceEventId }) => sourceEventId))
    const firsts = new Map<string | null, { first: number; count: number; place: Place }>()
    for (const [n, { context }] of items.entries()) {
      const place = places[own[n] as number] as Place
      const known = firsts.get(context) ?? { first: n + 1, count: 0, place }
      firsts.set(context, known)
      place.nth = isPlain ? n + 1 : null
      place.first = known.first
      place.place = known.count
      known.count += 1
      if (context !== null) known.place.shared = known.count
    }
  }
  return places
}

function areDifferent(values: (string | null)[]): boolean {
  const given = values.filter((value) => value !== null)
  return new Set(given).size === given.length
}
