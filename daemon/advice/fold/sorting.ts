// Sorts that let others be served in between. A sort in one piece holds the thread: 70 ms for a million numbers, 400 ms
// for the 131,072 keys that the cells of a tool may have.

/** Entries between two looks at others: a fraction of a millisecond. */
export const PIECE = 1_024

/** By their bytes, from the last to the first. */
export function* sortNumbers(numbers: Uint32Array): Generator<void, Uint32Array> {
  if (numbers.length <= PIECE) return numbers.sort()
  let [from, to]: [Uint32Array, Uint32Array] = [numbers, new Uint32Array(numbers.length)]
  for (let shift = 0; shift < 32; shift += 8) {
    // Where the numbers with each byte go: behind those with a smaller one.
    const next = new Uint32Array(257)
    for (let at = 0; at < from.length; at++) {
      if (at % (PIECE * 8) === 0) yield
      const byte = ((from[at] as number) >>> shift) & 255
      next[byte + 1] = (next[byte + 1] as number) + 1
    }
    for (let byte = 1; byte < 256; byte++) next[byte] = (next[byte] as number) + (next[byte - 1] as number)
    for (let at = 0; at < from.length; at++) {
      if (at % (PIECE * 8) === 0) yield
      const number = from[at] as number
      const byte = (number >>> shift) & 255
      const place = next[byte] as number
      to[place] = number
      next[byte] = place + 1
    }
    ;[from, to] = [to, from]
  }
  return from
}

type Entry<Value> = readonly [key: string, value: Value]

/** By their keys, of which no two are equal: pieces are sorted, then merged two by two. */
export function* sortEntries<Value>(entries: Iterable<Entry<Value>>): Generator<void, Entry<Value>[]> {
  let runs: Entry<Value>[][] = []
  let run: Entry<Value>[] = []
  for (const entry of entries) {
    run.push(entry)
    if (run.length < PIECE) continue
    runs.push(run.sort(byKey))
    run = []
    yield
  }
  runs.push(run.sort(byKey))
  while (runs.length > 1) {
    const merged: Entry<Value>[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<Value>(x: Entry<Value>[], y: Entry<Value>[]): Generator<void, Entry<Value>[]> {
  const merged: Entry<Value>[] = []
  let [atX, atY] = [0, 0]
  while (atX < x.length || atY < y.length) {
    const [ofX, ofY] = [x[atX], y[atY]]
    if (ofX !== undefined && (ofY === undefined || ofX[0] < ofY[0])) {
      merged.push(ofX)
      atX++
    } else if (ofY !== undefined) {
      merged.push(ofY)
      atY++
    }
    if (merged.length % PIECE === 0) yield
  }
  return merged
}

function byKey([x]: Entry<unknown>, [y]: Entry<unknown>): number {
  return x < y ? -1 : 1
}
