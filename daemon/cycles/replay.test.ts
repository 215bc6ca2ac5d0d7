import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CycleConfig } from './shapes.ts'
import { Mind, type MindState, type Said } from './testing/mind.ts'

const START = Date.UTC(2031, 2, 12, 8)
const MINUTE = 60_000
const DATABASES = 50
const CYCLES = 20

const THINGS = ['kiln', 'crate', 'ladder', 'valve', 'lamp', 'grant', 'tile', 'gate', 'soup', 'truck', 'ledger', 'roof']
const STATES = ['broken', 'packed', 'late', 'signed', 'empty', 'painted', 'missing', 'heavy', 'warm', 'closed']
const PLACES = ['depot', 'attic', 'yard', 'office', 'foyer', 'harbour']
const ACTORS = ['Mara', 'Pim', 'Noor', 'gauge 7', undefined]

/** Numbers in [0, 1), the same in every run (mulberry32). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

class Script {
  readonly #draw: () => number
  #made = 0
  constructor(seed: number) {
    this.#draw = chance(seed)
  }

  isLucky(share: number): boolean {
    return this.#draw() < share
  }

  number(max: number): number {
    return Math.floor(this.#draw() * max)
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.number(values.length)] as Value
  }

  config(): Partial<CycleConfig> {
    return {
      ...{ capacity: this.of([0, 3, 7, 25]), noise: this.of([0, 0, 0.2]), relativeThreshold: this.of([5, 5, 2, null]) },
      ...{ policy: this.of(['activation', 'activation', 'activation', 'lru', 'fifo', 'reject']) },
      ...{ candidateFactor: this.of([1, 4]), slotTtlMs: this.of([null, null, 20 * MINUTE]) },
    }
  }

  sentence(): string {
    const reading = this.isLucky(0.3) ? ` It shows ${this.number(400)}.` : ''
    return `The ${this.of(THINGS)} in the ${this.of(PLACES)} is ${this.of(STATES)}.${reading}`
  }

  said(now: number, known: readonly string[]): Said {
    this.#made += 1
    const actor = this.of(ACTORS)
    return {
      ...{ id: `m${this.#made}`, content: this.sentence() },
      ...(actor === undefined ? {} : { actor }),
      ...(this.isLucky(0.8) ? { contextId: this.of(PLACES) } : {}),
      ...(this.isLucky(0.2) ? { key: this.of(THINGS) } : {}),
      ...(this.isLucky(0.1) && known.length > 0 ? { supersedes: this.of(known) } : {}),
      ...(this.isLucky(0.1) ? { sourceEventId: `e${this.number(9)}` } : {}),
      ...(this.isLucky(0.1) ? { dueAt: new Date(now + this.number(200) * MINUTE).toISOString() } : {}),
      ...(this.isLucky(0.1) ? { ttlMs: 1 + this.number(30 * MINUTE) } : {}),
      ...(this.isLucky(0.2) ? { salience: this.number(5) - 2 } : {}),
      ...(this.isLucky(0.5) ? { occurredAt: new Date(now - this.number(90) * MINUTE).toISOString() } : {}),
    }
  }
}

// Mutants: createIds() that counts over all cycles; noiseOf() by Math.random(); decide() that leaves its decisions in
// what perceive() answered (openLedger without `from`); leastScore() that answers the best.
test('1,000 random cycles: stored state and startedAt give the stored decisions, and a dry run decides as the run', () => {
  let weighed = 0
  for (let seed = 1; seed <= DATABASES; seed += 1) {
    const script = new Script(seed)
    const config = script.config()
    const mind = new Mind(config)
    let now = START
    for (let k = 0; k < CYCLES; k += 1) {
      now += script.number(20) * MINUTE
      if (script.isLucky(0.1))
        mind.put({ key: script.of(THINGS), value: script.sentence(), pinned: script.isLucky(0.3) }, now)
      const known = mind.state.stored.map(({ record }) => record.id)
      const said = Array.from({ length: script.number(5) }, () => script.said(now, known))
      const focus = script.isLucky(0.4) ? `Which ${script.of(THINGS)} is ${script.of(STATES)}?` : null
      const stored = JSON.stringify(mind.state)

      const computed = mind.compute(now, focus, said)
      const dry = JSON.stringify(computed.result)
      // What could not be held was not read: only the counts of the phases tell.
      const again = JSON.stringify({ ...computed.again(), phases: computed.result.phases })
      const { result } = mind.run(now, focus, said)
      const replayed = new Mind(config, JSON.parse(stored) as MindState).compute(now, focus, said)

      assert.ok(again === dry, `cycle ${k} of database ${seed} decided twice, the second time with all that was found`)
      assert.ok(JSON.stringify(result) === dry, `dry run of cycle ${k} of database ${seed}`)
      assert.ok(JSON.stringify(replayed.result) === dry, `replay of cycle ${k} of database ${seed}`)
      for (const { score, parts } of result.decisions) {
        if (parts.length > 0) weighed += 1
        assert.ok(Math.abs(parts.reduce((sum, { contribution }) => sum + contribution, 0) - score) < 1e-6)
      }
      assert.ok(result.slots.filter(({ pinned }) => !pinned).length <= (config.capacity ?? 25))
      assert.equal(new Set(result.slots.map(({ key }) => key)).size, result.slots.length, 'a key names one slot')
    }
  }
  assert.ok(weighed > 5_000, `${weighed} decisions were weighed`)
})
