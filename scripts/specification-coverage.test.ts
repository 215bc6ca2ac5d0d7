import assert from 'node:assert/strict'
import { test } from 'node:test'
import { specificationCoverage } from './specification-coverage.ts'

const STATEMENTS = [
  { id: 1, section: 'S', statement: 'one' },
  { id: 2, section: 'S', statement: 'two', reading: 'two or more' },
]
const mark = (...ids: number[]) => `// specification ${ids.join(' ')}\n`
const problemsOf = (text: string) => specificationCoverage(STATEMENTS, new Map([['a.test.ts', text]])).problems

test('a statement that no test names is found', () => {
  assert.deepEqual(problemsOf(`${mark(1)}// Mutant: x.\ntest('says one', () => {})\n`), [
    'no test names statement 2: two',
  ])
  assert.deepEqual(problemsOf(`${mark(1, 2)}test('says both', () => {})\n`), [])
})

test('a number that nobody knows and a marker above no test are found', () => {
  assert.deepEqual(problemsOf(`${mark(1, 2)}test('t', () => {})\n${mark(9)}test('u', () => {})\n`), [
    'a.test.ts: there is no statement 9 in docs/specification-statements.json',
  ])
  assert.deepEqual(problemsOf(`${mark(1, 2)}const x = 1\n`).slice(0, 1), [
    "a.test.ts: '// specification 1 2' stands above no test and in none",
  ])
})

test('a marker above an assertion belongs to the test that holds it, and one between two tests to neither', () => {
  const inside = `test('says both', () => {\n  ${mark(1)}  assert(1)\n  ${mark(2)}  assert(2)\n})\n`
  assert.deepEqual(problemsOf(inside), [])
  assert.deepEqual(problemsOf(`${inside}  ${mark(1)}const x = 1\n`), [
    "a.test.ts: '// specification 1' stands above no test and in none",
  ])
})

test('more than five numbers in one marker are found', () => {
  assert.deepEqual(problemsOf(`${mark(1, 2, 1, 2, 1, 2)}test('t', () => {})\n`), [
    "a.test.ts: '// specification 1 2 1 2 1 2' has more than 5 numbers: put them above their assertions",
  ])
})

test('the page names file and title, also a title on a line of its own', () => {
  const text = `${mark(1)}test('says one', () => {})\n${mark(2)}test(\n  'says | two',\n  () => {},\n)\n`
  const { page } = specificationCoverage(STATEMENTS, new Map([['a.test.ts', text]]))
  assert.match(page, /\| 1 \| S \| one \| `a\.test\.ts` says one \|/)
  assert.match(page, /\| 2 \| S \| two<br>\*read as\*: two or more \| `a\.test\.ts` says \\\| two \|/)
  assert.match(page, /^1 of them|statements.*\. 1 of them/m)
})
