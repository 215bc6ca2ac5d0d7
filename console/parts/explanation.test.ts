// What is shown as the reason of a number. Mutants: a penalty drawn behind the end (`from: (end + length) / scale`);
// addsUp() within 1e-3; familyOf() by name alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addsUp, familyOf, inOrder, stretches } from './explanation.ts'

const part = (name: string, contribution: number) => ({ name, value: contribution, weight: 1, contribution })

test('parts of a score stand by family, the largest of each first, and what takes off comes last', () => {
  const parts = [part('salience', 0.5), part('echo', -1), part('near', 2), part('due', 4), part('cue', 3)]

  const names = inOrder([...parts, part('hint', 0)]).map(({ name }) => name)

  assert.deepEqual(names, ['cue', 'near', 'salience', 'due', 'echo'])
})

test('a part that takes off is told as that, whatever its name, and a name that is new has a family', () => {
  assert.equal(familyOf(part('base', -1.3)), 'penalty')
  assert.equal(familyOf(part('base', 1.3)), 'strength')
  assert.equal(familyOf(part('rhyme', 1)), 'words')
})

test('the plain end of the bar is the score: what was taken off lies over the end', () => {
  const [cue, base, echo] = stretches([part('echo', -1.5), part('cue', 4), part('base', 1)], 10)

  assert.deepEqual([cue?.from, cue?.width], [0, 0.4])
  assert.deepEqual([base?.from, base?.width], [0.4, 0.1])
  assert.deepEqual([echo?.from, echo?.width, echo?.family], [0.35, 0.15, 'penalty'])
})

test('no more is taken off than was there', () => {
  const [, base] = stretches([part('cue', 1), part('base', -3)], 10)

  assert.deepEqual([base?.from, base?.width], [0, 0.1])
})

test('parts that miss the score by a thousandth do not add up', () => {
  const parts = [part('cue', 2.1), part('near', 0.700001)]

  assert.equal(addsUp(2.800001, parts), true)
  assert.equal(addsUp(2.801, parts), false)
})
