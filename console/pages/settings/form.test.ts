// Mutants: bodyOf() that sends the changes alone; keys of one's own left out; the service's own left to come through;
// an empty field that is 0; a change told where the same was typed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, changesOf, fieldOf, grouped, keysIn, readField, type Setting } from './form.ts'

const whole = { type: 'integer', minimum: 0, maximum: 256 }
const SETTINGS: Setting[] = [
  { key: 'capacity', value: 12, default: 25, range: 'a whole number from 0 to 256', schema: whole },
  {
    key: 'policy',
    value: 'activation',
    default: 'activation',
    range: 'one of',
    schema: { enum: ['activation', 'lru'] },
  },
  { key: 'slotTtlMs', value: null, default: null, range: 'or null', schema: { type: ['integer', 'null'], minimum: 1 } },
  { key: 'echo.weight', value: 2, default: 2, range: 'a number', schema: { type: 'number' } },
  { key: 'echo.share', value: 0.8, default: 0.8, range: 'a number', schema: { type: 'number' } },
  { key: 'dense.mode', value: 'off', default: 'off', range: 'has no effect', schema: { const: 'off' } },
]
const typed = (of: Record<string, string>) => new Map(Object.entries(of))

test('a field is what its schema says', () => {
  assert.deepEqual(
    SETTINGS.map((setting) => fieldOf(setting).as),
    ['number', 'choice', 'number', 'number', 'number', 'fixed'],
  )
})

test('an empty field is nothing where nothing is allowed, and a problem elsewhere', () => {
  const [capacity, , ttl] = SETTINGS.map(fieldOf)
  assert.ok(capacity && ttl)
  assert.deepEqual(readField(ttl, ' '), { value: null })
  assert.ok('problem' in readField(capacity, ''))
  assert.ok('problem' in readField(capacity, '1.5'))
  assert.deepEqual(readField(capacity, '40'), { value: 40 })
})

test('what is typed and differs is a change; the same again is none', () => {
  const { changes, problems } = changesOf(SETTINGS, typed({ capacity: '25', 'echo.weight': '2.0', 'echo.share': 'x' }))
  assert.deepEqual(changes, [{ key: 'capacity', from: 12, to: 25, isDefault: true }])
  assert.deepEqual([...problems.keys()], ['echo.share'])
})

test('what is sent is the whole configuration: one’s own keys, what differs from the default, and the changes', () => {
  const config = { capacity: 12, policy: 'activation', mine: { a: 1 }, echo: { weight: 2, share: 0.8 } }
  const { changes } = changesOf(SETTINGS, typed({ 'echo.share': '0.9' }))
  assert.deepEqual(bodyOf(config, SETTINGS, changes), { mine: { a: 1 }, capacity: 12, echo: { share: 0.9 } })
  // What the service itself says would come through where the body is silent.
  const own = new Set(keysIn({ policy: 'lru', echo: { weight: 3 } }))
  assert.deepEqual(bodyOf({}, SETTINGS, [], own), { capacity: 12, policy: 'activation', echo: { weight: 2 } })
})

test('keys stand by the object that they are in, those in none first', () => {
  const groups = grouped([{ key: 'echo.weight' }, { key: 'capacity' }, { key: 'echo.share' }])
  assert.deepEqual(
    groups.map(([name, of]) => [name, of.length]),
    [
      ['', 1],
      ['echo', 2],
    ],
  )
})
