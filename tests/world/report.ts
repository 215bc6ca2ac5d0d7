// What a system test says: one line per promise with its figure, one per mutant, and the count as the last line.

import { watchMachine } from './machine.ts'

export interface Report {
  promise(name: string, isKept: boolean, figure: string): void
  /** `how` is what gave it away; undefined when it survived, which fails the test. */
  mutant(name: string, how: string | undefined): void
  /** Named, and counted in the last line: what this machine has no program for. */
  skip(name: string, why: string): void
  note(line: string): void
  /**
   * The bound of a promise about time: `ms`, times how much slower the machine is than an idle one; and how to say it.
   */
  within(ms: number): Promise<{ ms: number; text: string }>
}

/** Runs the test and ends the process with its verdict, whatever happens inside. */
export async function reportOn(test: (report: Report) => Promise<void>): Promise<never> {
  let passed = 0
  let failed = 0
  let skipped = 0
  const count = (isGood: boolean, line: string) => {
    if (isGood) passed += 1
    else failed += 1
    console.log(`${isGood ? 'ok    ' : 'FAILED'} ${line}`)
  }
  const startedAt = performance.now()
  const machine = await watchMachine()
  try {
    await test({
      promise: (name, isKept, figure) => count(isKept, `${name}: ${figure}`),
      mutant: (name, how) =>
        count(how !== undefined, how === undefined ? `mutant survived: ${name}` : `mutant caught: ${name} (${how})`),
      skip(name, why) {
        skipped += 1
        console.log(`SKIP   ${name}: ${why}`)
      },
      note: (line) => console.log(`       ${line}`),
      async within(ms) {
        const slowdown = await machine.slowdown()
        const times = slowdown === 1 ? '' : ` × ${slowdown.toFixed(1)}, for the machine is busy`
        return { ms: ms * slowdown, text: `at most ${ms} ms${times}` }
      },
    })
  } catch (error) {
    const { stack, cause } = error as Error
    count(false, `the test itself broke: ${stack}${cause ? `\n       because ${(cause as Error).stack}` : ''}`)
  }
  console.log(`       ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(failed > 0 ? 1 : 0)
}

/** Runs at most `width` at a time and keeps the order of the results. */
export async function mapWidth<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length)
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const index = next
      next += 1
      results[index] = await work(items[index] as Item, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane))
  return results
}
