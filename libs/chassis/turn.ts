// Long work of one request is done in turns: whoever has held the thread for two milliseconds lets others be served.
// What a quiet tenant waits for is the longest piece, not the sum of them.

import { resume } from '@loci/meter/meter.ts'

const TURN_MS = 2

/** Runs it, with others served where it yields. */
export async function inTurns<Value>(work: Generator<void, Value>): Promise<Value> {
  for (const turn = createTurn(); ; await turn()) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** `await turn()` between the parts of the work: while the turn lasts it costs a look at the clock. */
export function createTurn(): () => Promise<void> | undefined {
  let endsAt = performance.now() + TURN_MS
  return () => (performance.now() < endsAt ? undefined : next())

  async function next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    resume()
    endsAt = performance.now() + TURN_MS
  }
}
