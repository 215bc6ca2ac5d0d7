// Long work of one request is done in turns: whoever has held the thread for two milliseconds lets others be served.
// What a quiet tenant waits for is the longest piece, not the sum of them.
//
// In one round of the loop one organization has one turn, however many of its requests are at work. Node runs all that
// setImmediate() was given in one go: sixteen MCP batches of one organization held the thread for sixteen turns in a
// row, and others were served after that.

import { current, resume } from '@loci/meter/meter.ts'

const TURN_MS = 2

/** Runs it, with others served where it yields. */
export async function inTurns<Value>(work: Generator<void, Value>): Promise<Value> {
  for (const turn = createTurn(); ; ) {
    await turn()
    const { done, value } = work.next()
    if (done) return value
  }
}

/**
 * `await turn()` before each part of the work: while the turn lasts it costs a look at the clock. Where others of the
 * same organization wait for their turn already, the first one is waited for too.
 */
export function createTurn(): () => Promise<void> | undefined {
  const work = current()
  const owner = work?.share ?? work?.account
  let endsAt = owner !== undefined && lines.has(owner) ? 0 : performance.now() + TURN_MS
  return () => (performance.now() < endsAt ? undefined : next())

  async function next(): Promise<void> {
    await (owner === undefined ? new Promise((resolve) => setImmediate(resolve)) : waitInLine(owner))
    resume()
    endsAt = performance.now() + TURN_MS
  }
}

/** Who waits for a turn, by organization. */
const lines = new Map<string, (() => void)[]>()
let isRoundDue = false

function waitInLine(owner: string): Promise<void> {
  return new Promise((resolve) => {
    const line = lines.get(owner)
    if (line) line.push(resolve)
    else lines.set(owner, [resolve])
    if (!isRoundDue) setImmediate(round)
    isRoundDue = true
  })
}

function round(): void {
  for (const [owner, line] of lines) {
    line.shift()?.()
    if (line.length === 0) lines.delete(owner)
  }
  isRoundDue = lines.size > 0
  if (isRoundDue) setImmediate(round)
}
