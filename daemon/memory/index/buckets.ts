// The best of many by a value, in order, without sorting all: a counting sort into buckets by value, of which only
// those that are looked at are sorted.

const BUCKETS = 1_024
/** So many are sorted where they are: most buckets have less, and a view of each took as long as the sorting. */
const FEW = 12

export class Buckets {
  readonly #start = new Int32Array(BUCKETS + 2)
  #order = new Int32Array(0)

  /**
   * Visits indexes of `values` by falling value until `visit` answers false; equal values in the order of `compare`.
   */
  eachDescending(
    values: Float64Array,
    count: number,
    compare: (a: number, b: number) => number,
    visit: (index: number) => boolean,
  ): void {
    this.#fill(values, count)
    const byValue = (a: number, b: number) => values[b]! - values[a]! || compare(a, b)
    const order = this.#order
    for (let bucket = BUCKETS; bucket >= 0; bucket--) {
      const from = this.#start[bucket]!
      const to = this.#start[bucket + 1]!
      if (to - from > FEW) order.subarray(from, to).sort(byValue)
      else if (to - from > 1) sortFew(order, from, to, byValue)
      for (let at = from; at < to; at++) if (!visit(order[at]!)) return
    }
  }

  #fill(values: Float64Array, count: number): void {
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    for (let j = 0; j < count; j++) {
      const value = values[j]!
      if (value < low) low = value
      if (value > high) high = value
    }
    const scale = high > low ? BUCKETS / (high - low) : 0
    const start = this.#start.fill(0)
    for (let j = 0; j < count; j++) start[(((values[j]! - low) * scale) | 0) + 1]!++
    for (let bucket = 0; bucket <= BUCKETS; bucket++) start[bucket + 1]! += start[bucket]!
    if (this.#order.length < count) this.#order = new Int32Array(2 * count)
    // Filled from each bucket's end, so that `start` is right again afterwards.
    const order = this.#order
    const next = start.slice(1)
    for (let j = 0; j < count; j++) order[--next[((values[j]! - low) * scale) | 0]!] = j
  }
}

function sortFew(order: Int32Array, from: number, to: number, compare: (a: number, b: number) => number): void {
  for (let next = from + 1; next < to; next++) {
    const index = order[next]!
    let at = next
    for (; at > from && compare(order[at - 1]!, index) > 0; at--) order[at] = order[at - 1]!
    order[at] = index
  }
}
