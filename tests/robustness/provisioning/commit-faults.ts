// What can happen to a transaction of the simulation at its commit.

import type { Random } from '../seeded.ts'
import { Refused, type Transaction } from './control.ts'

export class Crashed extends Error {}

/** What it answers is done after the commit. */
type Faults = Generator<number, (() => void) | undefined, void>

export function* noFaults(random: Random): Faults {
  yield random.below(5)
  return undefined
}

export function* commitFaults(random: Random, tx: Transaction): Faults {
  yield random.below(5)
  const dice = random()
  if (dice < 0.05) throw new Refused('lost before the commit')
  if (dice < 0.07) {
    // Frozen past everything: the server ends what is idle for five seconds, and the process wakes up to that.
    yield 5_000
    tx.abort()
    yield random.below(60_000)
    throw new Refused('the server ended the transaction')
  }
  if (dice > 0.95)
    return () => {
      throw new Crashed('after the commit')
    }
  return undefined
}
