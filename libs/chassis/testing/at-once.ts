/** What a process does in turns (turn.ts), without them. */
export function atOnce<Value>(work: Generator<void, Value>): Value {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
