import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { threadUs } from '@loci/meter/clock.ts'
import { randomFrom } from './beta.ts'
import { Catalogue } from './catalogue.ts'
import { apply, type Ledger, type Told } from './fold.ts'
import { rank } from './rank.ts'
import { openSnapshot, type ToolRow, takeSnapshot } from './snapshot.ts'
import { type AdviceState, type Counter, emptyState } from './state.ts'
import { wordsOf } from './words.ts'

const OPERATIONS = 100_000
const TOOLS = Array.from({ length: 40 }, (_, k) => `tool_${k}`)
const VOCABULARY = Array.from({ length: 120 }, (_, w) => `word${w.toString(36)}`)
const OUTCOMES = ['success', 'success', 'success', 'failure', 'failure', 'partial', 'denied', 'cancelled']

/** Outcomes, some of several tools; retractions and supersedes of old, repeated, unknown and not yet told ones. */
function operations(count: number, seed: number): Told[] {
  const random = randomFrom(seed)
  const below = (max: number) => Math.floor(random() * max)
  const pick = <T>(list: readonly T[]) => list[below(list.length)] as T
  const intents = Array.from({ length: 25 }, () =>
    wordsOf(Array.from({ length: 3 + below(6) }, () => pick(VOCABULARY)).join(' ')),
  )
  return Array.from({ length: count }, (_, i) => {
    const isRetraction = random() < 0.1
    return {
      id: `p${i}`,
      partner: pick(['ptr_a', 'ptr_b']),
      taskClass: random() < 0.9 ? pick(['a', 'b', 'c']) : null,
      scope: random() < 0.3 ? pick(['s1', 's2']) : null,
      intent: random() < 0.8 ? pick(intents) : null,
      tools: isRetraction
        ? []
        : Array.from({ length: random() < 0.1 ? 3 : 1 }, () => ({ tool: pick(TOOLS), outcome: pick(OUTCOMES) })),
      takesBack: isRetraction || random() < 0.05 ? `p${below(Math.min(count, i + 50))}` : null,
    }
  })
}

const LIST = operations(OPERATIONS, 42)
const ASKS = Array.from({ length: 50 }, (_, i) => ({
  ...{ intent: LIST[i * 97]?.intent ?? null, taskClass: 'abc'[i % 3] as string, scope: i % 2 === 0 ? null : 's1' },
  ...{ seed: `ask ${i}`, explore: 0.5, limit: TOOLS.length },
}))

/** Rows as a database keeps them: the newest of each tool. */
class Rows {
  #head: Buffer = Buffer.alloc(0)
  readonly #tools = new Map<number, ToolRow>()

  save(state: AdviceState): void {
    const { head, tools } = atOnce(takeSnapshot(state))
    this.#head = head
    for (const row of tools) this.#tools.set(row.place, row)
  }

  open(): AdviceState {
    const tools = [...this.#tools.values()].sort((x, y) => x.place - y.place)
    return atOnce(openSnapshot(this.#head, tools)) ?? assert.fail('a snapshot of another version')
  }
}

interface Folding {
  snapshotEvery: number
  openEvery: number
  /** Behind so many operations. */
  fullBehind?: number
}

function folded(list: readonly Told[], { snapshotEvery, openEvery, fullBehind }: Folding) {
  const rows = new Rows()
  const ledger: Ledger = new Map()
  let state = emptyState()
  let opened = 0
  for (const [i, told] of list.entries()) {
    if (i === fullBehind) state.isFull = { words: true, tallies: true }
    apply(state, told, ledger)
    if ((i + 1) % snapshotEvery === 0) rows.save(state)
    if ((i + 1) % openEvery !== 0) continue
    state = rows.open()
    opened++
  }
  return { state, ledger, opened }
}

function bytesOf(state: AdviceState): string {
  for (const k of state.tools.keys()) state.changed.add(k)
  const { head, tools } = atOnce(takeSnapshot(state))
  return Buffer.concat([head, ...tools.map(({ bytes }) => bytes)]).toString('hex')
}

function answersOf(state: AdviceState): string {
  const catalogue = new Catalogue(state, null)
  return JSON.stringify(ASKS.map((ask) => rank(state, catalogue, ask)))
}

const NEVER = { snapshotEvery: Number.POSITIVE_INFINITY, openEvery: Number.POSITIVE_INFINITY }
const scratch = folded(LIST, NEVER)

// Mutants: `reader.real()` rounded to a float in readCounter(); `tool.u` left out of writeTool(); state.changed not
// marked in takeBack().
test('snapshots every 1, 7 and 256 outcomes, and none, give the same state and ranks to the byte', () => {
  const [bytes, answers] = [bytesOf(scratch.state), answersOf(scratch.state)]

  for (const [snapshotEvery, openEvery] of [
    [1, 997],
    [7, 994],
    [256, 256],
  ] as const) {
    const { state, opened } = folded(LIST, { snapshotEvery, openEvery })
    assert.ok(opened >= 100, `${opened} times opened`)
    assert.equal(bytesOf(state) === bytes, true, `state with snapshots every ${snapshotEvery}`)
    assert.equal(answersOf(state) === answers, true, `ranks with snapshots every ${snapshotEvery}`)
  }
  const few = LIST.slice(0, 2_000)
  assert.equal(bytesOf(folded(few, { snapshotEvery: 1, openEvery: 1 }).state), bytesOf(folded(few, NEVER).state))
})

// Mutant: weights at read time, weigh() by the state of the moment in subtract() instead of the entry's: the two folds
// differ, and counters fall below zero.
test('a retraction leaves what a fold has in which the outcome passed as time and added nothing', () => {
  const { state, ledger } = scratch
  const never: Ledger = new Map()
  const without = emptyState()

  for (const told of LIST) {
    const { weights = [], isTakenBack = false } = ledger.get(told.id) ?? {}
    if (isTakenBack) never.set(told.id, { told: null, weights: [], isTakenBack })
    apply(without, { ...told, takesBack: null, weights }, never)
  }

  const takenBack = [...ledger.values()].filter((entry) => entry.isTakenBack && entry.weights.length > 0)
  assert.ok(takenBack.length > 5_000, `${takenBack.length} were taken back`)
  assert.ok(furthest(state, without) < 1e-9, `counters differ by ${furthest(state, without)}`)
  assert.equal(answersOf(without) === answersOf(state), true)
})

test('no counter is below zero by more than rounding, at any time', () => {
  const state = emptyState()
  const ledger: Ledger = new Map()
  let lowest = 0
  for (const [i, told] of LIST.slice(0, 30_000).entries()) {
    apply(state, told, ledger)
    if (i % 500 === 0) lowest = Math.min(lowest, lowestOf(state))
  }

  assert.ok(Math.min(lowest, lowestOf(state), lowestOf(scratch.state)) > -1e-9)
})

test('a fold with the weights that were stored is the fold that stored them', () => {
  const again = emptyState()
  const ledger: Ledger = new Map()

  for (const told of LIST) apply(again, { ...told, weights: scratch.ledger.get(told.id)?.weights ?? [] }, ledger)

  assert.equal(bytesOf(again) === bytesOf(scratch.state), true)
})

// Mutant: no ledger entry for a retraction of what is not there yet.
test('a retraction before its outcome, after it, twice, or of a retraction, comes to the same', () => {
  const before = LIST.slice(0, 500)
  const blank = { partner: 'ptr_a', taskClass: 'a', scope: null, intent: null, tools: [], takesBack: null }
  const outcome = { ...blank, id: 'x', intent: wordsOf('word1 word2'), tools: [{ tool: 'tool_0', outcome: 'success' }] }
  const retraction = { ...blank, id: 'r', takesBack: 'x' }
  const after = (...list: Told[]) => folded([...before, ...list], NEVER).state

  const last = after(outcome, retraction)

  assert.equal(bytesOf(after(outcome, retraction, { ...retraction, id: 'r2' })), bytesOf(last))
  assert.equal(bytesOf(after(outcome, retraction, { ...blank, id: 'r3', takesBack: 'r' })), bytesOf(last))
  assert.ok(furthest(after(retraction, outcome), last) < 1e-12)
  assert.equal(answersOf(after(retraction, outcome)), answersOf(last))
})

const LONG = wordsOf(Array.from({ length: 200 }, (_, n) => `word${n.toString(36)}x`).join(' '))
const toldOf = (id: string, outcome: string, tools: string[]): Told => ({
  ...{ id, partner: 'ptr_a', taskClass: 'a', scope: null, intent: LONG, takesBack: null },
  tools: tools.map((tool) => ({ tool, outcome })),
})

// Mutant: learn() without its slices.
test('one projection teaches all of its tools together what four are taught, and takes as much back', () => {
  const taught = (count: number, tellsOf: string[]) => {
    const state = emptyState()
    for (const tool of tellsOf) apply(state, { ...toldOf(`name ${tool}`, 'failure', [tool]), intent: null }, new Map())
    const before = state.terms.entries + state.pairs.entries
    const ledger: Ledger = new Map()
    apply(state, toldOf('x', 'success', tellsOf.slice(0, count)), ledger)
    const after = state.terms.entries + state.pairs.entries
    apply(state, { ...toldOf('r', 'success', []), takesBack: 'x' }, ledger)
    assert.equal(state.terms.entries + state.pairs.entries, before)
    return after - before
  }
  const tools = Array.from({ length: 64 }, (_, n) => `tool ${n}`)
  assert.deepEqual([taught(1, tools), taught(4, tools), taught(64, tools)], [256, 1_024, 1_024])
})

// Mutants: `shares` of apply() made for each outcome; TOOLS_MAX = 1e9.
test('the outcomes of one projection are weighed by one look at all tools, of which there is a bound', () => {
  const state = emptyState()
  const ledger: Ledger = new Map()
  for (let from = 0; from < 9_000; from += 100) {
    const tools = Array.from({ length: 100 }, (_, n) => `tool ${from + n}`)
    apply(state, { ...toldOf(`p${from}`, 'success', tools), intent: null }, ledger)
  }
  assert.equal(state.tools.length, 8_192)
  assert.equal(ledger.get('p8900')?.weights.length, 0)
  // In processor time, the least of five: 64 outcomes took 64 looks of a millisecond each.
  const usOf = (count: number) => {
    const tools = Array.from({ length: count }, (_, n) => `tool ${n}`)
    const times = [1, 2, 3, 4, 5].map((n) => {
      const from = threadUs()
      apply(state, toldOf(`${count} ${n}`, 'failure', tools), ledger)
      return threadUs() - from
    })
    return Math.min(...times)
  }
  const [one, many] = [usOf(1), usOf(64)]
  assert.ok(many < 10 * one, `${one} µs for one outcome, ${many} for 64`)
  assert.equal(ledger.get('64 1')?.weights.length, 64)
})

const told1 = (id: string, tool: string, fields: Partial<Told>): Told => ({
  ...toldOf(id, 'success', [tool]),
  ...fields,
})
const entriesOf = ({ terms, pairs }: AdviceState) => terms.entries + pairs.entries

// Mutants: teaches() always true; by `t % 4` (a tool of four learns nothing); u left out of it; left out of subtract().
test('behind 16,384 outcomes fewer and fewer teach, a tool as many as another, a new one at once; all is taken back', () => {
  const state = emptyState()
  const ledger: Ledger = new Map()
  const tools = ['a', 'b', 'c', 'd']
  for (const tool of [...tools, 'late']) apply(state, told1(`name ${tool}`, tool, { intent: null }), ledger)
  const names = entriesOf(state)
  const count = 65_536
  const word = (i: number) => wordsOf(`w${i.toString(36)}x`)
  for (let i = 0; i < count; i++) apply(state, told1(`p${i}`, tools[i % 4] as string, { intent: word(i) }), ledger)
  const taught = entriesOf(state) - names
  assert.ok(Math.abs(taught - 24_576) < 100, `${taught} taught`)
  for (const { name, terms } of state.tools.slice(0, 4))
    assert.ok(Math.abs(terms.size - taught / 4) < 100, `${name} was taught ${terms.size}`)
  for (let i = 0; i < 7; i++) apply(state, told1(`late${i}`, 'late', { intent: word(count + i) }), ledger)
  assert.equal(state.tools[4]?.terms.size, 7)
  for (const id of [...ledger.keys()]) apply(state, { ...told1(`r ${id}`, '', {}), tools: [], takesBack: id }, ledger)
  assert.deepEqual([entriesOf(state), state.successes, lowestOf(state) > -1e-9], [names, 0, true])
})

// Each was analysed, of up to 4,096 characters, and charged for nothing. Mutants: taughtBy() before teaches(); weigh()
// that asks how well the text fits for a success too; `known` left out of apply().
test('the intent of an outcome that teaches nothing and is not weighed is not looked at', () => {
  const state = emptyState()
  let looks = 0
  const one = (id: string, outcome: string, fields: Partial<Told> = {}): Told => ({
    ...{ ...toldOf(id, outcome, ['a']), ...fields },
    get intent() {
      looks += 1
      return LONG
    },
  })
  const ledger: Ledger = new Map()
  const looked = (told: Told) => {
    looks = 0
    apply(state, told, ledger)
    return looks > 0
  }
  assert.deepEqual([looked(one('first', 'success')), looked(one('weighed', 'failure'))], [true, true])
  const stored = ledger.get('weighed')?.weights ?? []
  for (const outcome of ['denied', 'cancelled']) assert.equal(looked(one(outcome, outcome)), false)
  assert.equal(looked(one('stored', 'failure', { weights: stored })), false)
  state.t = 16_384 * 16
  const taught = Array.from({ length: 1_000 }, (_, n) => looked(one(`p${n}`, 'success'))).filter(Boolean).length
  // The first few of the tool, and then a few in a thousand.
  assert.ok(taught > 0 && taught < 100, `${taught} of 1,000`)
  assert.equal(looked(one('failed', 'failure')), true)
})

// Mutants: ENTRIES_MAX or TALLIES_MAX = 1e9; isFull left out of learnTerm(), of learnPair() or of requireCells().
test('a database has as many entries of words, and as many tallies, as may be; known ones go on', () => {
  const state = emptyState()
  const tools = Array.from({ length: 64 }, (_, n) => `tool ${n}`)
  const said = (from: number) =>
    wordsOf(Array.from({ length: 128 }, (_, n) => `w${(from + n).toString(36)}x`).join(' '))
  for (let n = 0; n < 1_200; n++)
    apply(state, { ...toldOf(`w${n}`, 'success', tools.slice(n % 60, (n % 60) + 4)), intent: said(n * 128) }, new Map())
  const entries = entriesOf(state)
  assert.ok(entries >= 2 ** 20 && entries < 2 ** 20 + 1_024, `${entries} entries`)
  const [term] = said(0).terms
  const count = () => state.tools[0]?.terms.get(term?.key ?? 0)
  assert.equal(count(), 1)
  apply(state, { ...toldOf('known', 'success', ['tool 0']), intent: said(0) }, new Map())
  apply(state, { ...toldOf('new', 'success', ['tool 0']), intent: said(1e6) }, new Map())
  assert.deepEqual([entriesOf(state), count()], [entries, 2])

  for (let n = 0; n < 2_100; n++)
    apply(state, { ...toldOf(`s${n}`, 'success', tools), intent: null, scope: `s${n}` }, new Map())
  const { tallies } = state
  assert.ok(tallies >= 2 ** 17 && tallies < 2 ** 17 + 128, `${tallies} tallies`)
  apply(state, { ...toldOf('known scope', 'success', ['tool 0']), intent: null, scope: 's0' }, new Map())
  apply(state, { ...toldOf('new scope', 'success', ['tool 0']), intent: null, scope: 'new' }, new Map())
  assert.equal(state.tallies, tallies)
  const cell = state.tools[0]?.cells.get('a\0s0')
  assert.equal(cell?.tallies.get('ptr_a')?.attempts, 2)
  const attempts = cell?.n
  apply(state, { ...toldOf('p', 'success', ['tool 0']), partner: 'ptr_b', intent: null, scope: 's0' }, new Map())
  assert.equal(cell?.n, attempts, 'what has no tally is not counted: nobody could tell when the cell is empty')
})

// Mutant: classKey() that answers the class.
test('a cell takes a bounded number of bytes, and two long classes have two', () => {
  const state = emptyState()
  const long = 'x'.repeat(255)
  for (const end of 'aab') {
    const outcome = { ...toldOf(end, 'success', ['tool']), taskClass: long + end, scope: 's1' }
    apply(state, outcome, new Map())
  }
  const cells = [...(state.tools[0]?.cells ?? [])]
  assert.deepEqual(
    cells.map(([, { tallies }]) => tallies.get('ptr_a')?.attempts),
    [2, 2, 1, 1],
  )
  assert.ok(cells.every(([key]) => key.length < 64))
})

// Mutants: isFull left out of takeSnapshot(); tallies of a full state made in tally() (their cell did not count them).
test('a full state is the same with snapshots and without, and all of it can be taken back', () => {
  const list = LIST.slice(0, 20_000)
  const fullBehind = 500
  const { state, ledger } = folded(list, { ...NEVER, fullBehind })
  for (const every of [1, 7, 256])
    assert.equal(
      bytesOf(folded(list, { snapshotEvery: every, openEvery: every * 100, fullBehind }).state) === bytesOf(state),
      true,
      `with snapshots every ${every}`,
    )
  const open = folded(list, NEVER).state
  assert.ok(entriesOf(state) < entriesOf(open) && state.tallies < open.tallies)
  const names = emptyState()
  for (const { name } of state.tools) apply(names, { ...told1(name, name, { intent: null }) }, new Map())
  for (const id of [...ledger.keys()]) {
    apply(state, { ...told1(`r ${id}`, '', {}), tools: [], takesBack: id }, ledger)
    if (state.tallies % 64 === 0) assert.ok(lowestOf(state) > -1e-9)
  }
  assert.deepEqual([entriesOf(state), state.tallies, state.successes], [entriesOf(names), 0, 0])
})

/** Every counter of both, decayed to the state's time: a cell that is gone is one that stands at nothing. */
function furthest(x: AdviceState, y: AdviceState): number {
  assert.deepEqual([x.t, x.successes, x.length], [y.t, y.successes, y.length])
  assert.deepEqual(
    x.tools.map(({ name, u, terms, pairs }) => [name, u, new Map([...terms].sort()), new Map([...pairs].sort())]),
    y.tools.map(({ name, u, terms, pairs }) => [name, u, new Map([...terms].sort()), new Map([...pairs].sort())]),
  )
  const gap = (a: Counter | undefined, b: Counter | undefined, life = 12_000) => {
    const [dx, dy] = [0.5 ** ((x.t - (a?.t ?? 0)) / life), 0.5 ** ((y.t - (b?.t ?? 0)) / life)]
    return Math.max(Math.abs((a?.a ?? 0) * dx - (b?.a ?? 0) * dy), Math.abs((a?.n ?? 0) * dx - (b?.n ?? 0) * dy))
  }
  const gaps = x.tools.flatMap((tool, k) => {
    const other = y.tools[k]
    const keys = [...new Set([...tool.cells.keys(), ...(other?.cells.keys() ?? [])])]
    return [
      gap(tool.reliability, other?.reliability),
      ...keys.map((key) => gap(tool.cells.get(key), other?.cells.get(key))),
    ]
  })
  return Math.max(gap(x.pool, y.pool, 693), ...gaps)
}

function lowestOf(state: AdviceState): number {
  const counters = state.tools.flatMap(({ reliability, cells, health, terms, pairs }) => [
    ...[reliability, ...cells.values()].flatMap(({ a, n }) => [a, n]),
    ...[health.o, health.e, ...[...terms, ...pairs].map(([, count]) => count)],
    ...[...cells.values()].flatMap(({ tallies }) => [...tallies.values()].flatMap((tally) => Object.values(tally))),
  ])
  return Math.min(state.pool.a, state.pool.n, state.successes, ...counters)
}
