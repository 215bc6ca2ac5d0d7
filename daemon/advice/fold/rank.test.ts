import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawBeta, randomFrom, spreadOf } from './beta.ts'
import { type Candidate, Catalogue } from './catalogue.ts'
import { apply, type Ledger } from './fold.ts'
import { type Ask, rank } from './rank.ts'
import { emptyState } from './state.ts'
import { wordsOf, wordsOfName } from './words.ts'

type Line = [tool: string, outcome: string, intent?: string | undefined, taskClass?: string, scope?: string]

function stateOf(lines: readonly Line[]) {
  const state = emptyState()
  const ledger: Ledger = new Map()
  for (const [i, [tool, outcome, intent, taskClass = 'support', scope = null]] of lines.entries()) {
    const told = { id: `p${i}`, partner: 'ptr_a', taskClass, scope, intent: intent ? wordsOf(intent) : null }
    apply(state, { ...told, tools: [{ tool, outcome }], takesBack: null }, ledger)
  }
  return state
}

function ranked(lines: readonly Line[], intent: string, candidates: Candidate[] | null, ask: Partial<Ask> = {}) {
  const state = stateOf(lines)
  const asked = { intent: wordsOf(intent), taskClass: 'support', scope: null, seed: 'evt-1', explore: 0, limit: 10 }
  return rank(state, new Catalogue(state, candidates), { ...asked, ...ask })
}

const named = (...names: string[]) => names.map((name) => ({ name }))
const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name)
const times = (count: number, line: Line) => Array.from({ length: count }, () => line)

test('with nothing told, names and descriptions decide, and what shares no word comes last by name', () => {
  const candidates = [
    { name: 'zebra' },
    { name: 'WeatherForecast' },
    { name: 'lookup', description: 'Looks up the weather of a city' },
    { name: 'antelope' },
  ]

  const list = ranked([], 'what is the weather forecast for tomorrow', candidates)

  assert.deepEqual(namesOf(list), ['WeatherForecast', 'lookup', 'antelope', 'zebra'])
})

test('intents that a tool succeeded with are found again, in whatever words its name has', () => {
  const lines: Line[] = [
    ...times(3, ['crm_7', 'success', 'give the customer the money back']),
    ...times(3, ['crm_8', 'success', 'change the address of a customer']),
  ]

  const [first] = ranked(lines, 'money back for a broken cup', null)

  assert.equal(first?.name, 'crm_7')
})

test('a tool that fails in this class comes after one that works, and its failures in another class do not count so much', () => {
  const lines: Line[] = [...times(10, ['a', 'failure']), ...times(10, ['b', 'success'])]

  assert.deepEqual(namesOf(ranked(lines, '', named('a', 'b'), { intent: null })), ['b', 'a'])
  const here = ranked(lines, '', named('a'), { intent: null })[0]?.parts.reliability ?? 0
  const elsewhere = ranked(lines, '', named('a'), { intent: null, taskClass: 'travel' })[0]?.parts.reliability ?? 0
  assert.ok(here < elsewhere)
})

// Mutant: `blame` = 1 in weigh().
test('a failure of a tool that was chosen for the wrong task is not held against it', () => {
  const learned: Line[] = [
    ...times(20, ['weather', 'success', 'forecast of rain and wind']),
    ...times(20, ['refund', 'success', 'money back for an order']),
  ]
  const wrong: Line[] = times(6, ['weather', 'failure', 'money back for an order'])
  const right: Line[] = times(6, ['weather', 'failure', 'forecast of rain and wind'])
  const reliability = (lines: Line[]) =>
    ranked([...learned, ...lines], 'rain', named('weather'))[0]?.parts.reliability ?? 0

  assert.ok(reliability(wrong) > reliability(right) + 0.05)
})

// Mutant: healthOf() that answers 1.
test('a tool that worked and then breaks loses its place within a few calls, and is tried again when others were used', () => {
  const good: Line[] = [...times(200, ['a', 'success']), ...times(50, ['b', 'success']), ...times(10, ['b', 'failure'])]
  const broken: Line[] = [...good, ...times(25, ['a', 'failure'])]
  const rest: Line[] = [...broken, ...times(2_500, ['c', 'success'])]
  const health = (lines: Line[]) => ranked(lines, '', named('a'), { intent: null })[0]?.parts.health ?? 0

  assert.deepEqual(namesOf(ranked(good, '', named('a', 'b'), { intent: null }))[0], 'a')
  assert.deepEqual(namesOf(ranked(broken, '', named('a', 'b'), { intent: null }))[0], 'b')
  assert.ok(health(broken) < -0.5, `health ${health(broken)}`)
  assert.ok(health(rest) > -0.05, `health ${health(rest)}`)
})

test('outcomes in the scope of the request count more than those of the class', () => {
  const lines: Line[] = [
    ...times(6, ['a', 'success', undefined, 'support', 'eu']),
    ...times(6, ['a', 'failure', undefined, 'support', 'us']),
  ]
  const reliability = (scope: string | null) =>
    ranked(lines, '', named('a'), { intent: null, scope })[0]?.parts.reliability ?? 0

  assert.ok(reliability('eu') > reliability(null) && reliability(null) > reliability('us'))
})

test('denied and cancelled calls leave no trace', () => {
  const state = stateOf([
    ['a', 'denied', 'x'],
    ['b', 'cancelled', 'y'],
  ])

  assert.deepEqual([state.t, state.tools.length], [0, 0])
})

// Mutants: breaking when there are enough, or three steps too early.
test('the best few are those of the whole list, also where the text hardly tells them apart', () => {
  const random = randomFrom(7)
  const tools = Array.from({ length: 120 }, (_, k) => `t${k}`)
  const topics = Array.from({ length: 40 }, (_, w) => `topic${w}`)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  const lines = Array.from({ length: 3_000 }, (): Line => {
    return [pick(tools), random() < 0.6 ? 'success' : 'failure', `${pick(topics)} ${pick(topics)}`]
  })
  const state = stateOf(lines)
  const catalogue = new Catalogue(state, null)

  for (let i = 0; i < 60; i++) {
    const intent = wordsOf(`${pick(topics)} ${pick(topics)} ${pick(topics)}`)
    const ask = { intent, taskClass: 'support', scope: null, seed: `evt-${i}`, explore: 0.5 }
    const whole = rank(state, catalogue, { ...ask, limit: tools.length })
    assert.equal(whole.length, tools.length)
    assert.deepEqual(rank(state, catalogue, { ...ask, limit: 5 }), whole.slice(0, 5))
  }

  // Those that fit best fail most: who is judged by text alone takes them.
  const alike = stateOf(
    tools.flatMap((tool, k) => [
      ...times(20 + (k % 8), [tool, 'success', 'refund']),
      ...times(3 * (k % 8), [tool, 'failure']),
    ]),
  )
  for (let i = 0; i < 60; i++) {
    const ask = { intent: wordsOf('refund'), taskClass: 'support', scope: null, seed: `evt-${i}`, explore: 0.5 }
    const whole = rank(alike, new Catalogue(alike, null), { ...ask, limit: tools.length })
    for (const limit of [1, 5, 20])
      assert.deepEqual(rank(alike, new Catalogue(alike, null), { ...ask, limit }), whole.slice(0, limit))
  }
})

test('the parts add up to the score, the same request has the same draw, another one another', () => {
  const lines: Line[] = [
    ...times(3, ['a', 'success', 'red']),
    ...times(2, ['b', 'success', 'red']),
    ['b', 'failure', 'red'],
  ]
  const ask = { explore: 0.5 }

  const list = ranked(lines, 'red', null, ask)

  for (const { score, parts, confidence } of list) {
    assert.ok(Math.abs(parts.text + parts.reliability + parts.explore + parts.health - score) < 5e-7)
    assert.ok(0 < confidence.lower95 && confidence.lower95 < confidence.upper95 && confidence.upper95 < 1)
  }
  assert.deepEqual(ranked(lines, 'red', null, ask), list)
  assert.notDeepEqual(ranked(lines, 'red', null, { ...ask, seed: 'evt-2' }), list)
})

test('what is denied takes no share from the others', () => {
  const state = stateOf(times(3, ['refund', 'success', 'money back']))
  const catalogue = new Catalogue(state, named('refund', 'refund-all', 'look-up'))
  const ask = { intent: wordsOf('refund'), taskClass: 'support', scope: null, seed: '', explore: 0, limit: 10 }

  const list = rank(state, catalogue, ask, (name) => !name.startsWith('refund'))

  assert.deepEqual(
    list.map(({ name, parts }) => [name, parts.text]),
    [['look-up', 0]],
  )
})

test('names of tools are read as words', () => {
  const words = (name: string) => wordsOfName(name).terms.map(({ word }) => word)

  assert.deepEqual(words('AusPetrolPrices'), ['aus', 'petrol', 'prices'])
  assert.deepEqual(words('create_qr_code'), ['create', 'qr', 'code'])
  assert.deepEqual(words('PDFTool.v2'), ['pdf', 'tool', 'v2'])
})

test('draws have the mean of their distribution, and nine in ten and more lie within its spread', () => {
  const random = randomFrom(3)
  for (const [a, b] of [
    [0.6, 2.4],
    [5, 1.5],
    [30, 70],
  ] as const) {
    const draws = Array.from({ length: 20_000 }, () => drawBeta(a, b, random))
    const { lower95, upper95 } = spreadOf(a, b)
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length
    const within = draws.filter((draw) => draw >= lower95 && draw <= upper95).length / draws.length
    assert.ok(Math.abs(mean - a / (a + b)) < 0.01, `mean ${mean}`)
    assert.ok(within > 0.92 && within < 0.98, `${within} within`)
  }
})

// Mutant: the log odds taken as normal, whatever a and b are.
test('the spread of a Beta is exact where one of its counts is small, and no jump where the normal one takes over', () => {
  // Those whose distribution is a formula.
  const shareBelow: [a: number, b: number, (x: number) => number][] = [
    [1, 1, (x) => x],
    [20, 1, (x) => x ** 20],
    [1, 20, (x) => 1 - (1 - x) ** 20],
    [1, 0.1, (x) => 1 - (1 - x) ** 0.1],
    [0.5, 0.5, (x) => (2 / Math.PI) * Math.asin(Math.sqrt(x))],
    [15_000, 2, (x) => 15_001 * x ** 15_000 - 15_000 * x ** 15_001],
  ]
  for (const [a, b, share] of shareBelow) {
    const { lower95, upper95 } = spreadOf(a, b)
    assert.ok(Math.abs(share(lower95) - 0.025) < 1e-3, `${share(lower95)} of Beta(${a}, ${b}) below ${lower95}`)
    assert.ok(Math.abs(share(upper95) - 0.975) < 1e-3 || upper95 > 1 - 1e-7, `Beta(${a}, ${b}) below ${upper95}`)
  }
  const [exact, normal] = [spreadOf(40, 9.999), spreadOf(40, 10.001)]
  assert.ok(Math.abs(exact.lower95 - normal.lower95) < 0.01 && Math.abs(exact.upper95 - normal.upper95) < 0.01)
})

// Mutants: UNSEEN 0 (the interval is [1, 1]); the log odds taken as normal ([0, 1]).
test('a tool that never failed is as sure as its outcomes are many, and the counts tell the interval', () => {
  const widths = [1, 10, 100, 1_000].map((count) => {
    const [{ confidence } = assert.fail()] = ranked(times(count, ['a', 'success', 'red']), 'red', null)
    const { lower95, upper95, effective } = confidence
    const { successes, failures } = effective
    assert.ok(0 < lower95 && lower95 < upper95 && upper95 <= 1, JSON.stringify(confidence))
    assert.ok(successes > count * 0.9 && failures < 1.2, JSON.stringify(effective))
    const spread = spreadOf(successes, failures)
    assert.ok(Math.abs(spread.lower95 - lower95) < 1e-6 && Math.abs(spread.upper95 - upper95) < 1e-6)
    return upper95 - lower95
  })
  assert.ok(
    widths.every((width, at) => at === 0 || width < (widths[at - 1] as number)),
    widths.join(),
  )
  assert.ok((widths[0] as number) > 0.4 && (widths[3] as number) < 0.01, widths.join())
})
