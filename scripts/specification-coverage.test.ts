import assert from 'node:assert/strict'
import { test } from 'node:test'
import { specificationCoverage } from './specification-coverage.ts'

const STATEMENTS = [
  { id: 1, section: 'S', statement: 'one' },
  { id: 2, section: 'S', statement: 'two' },
  { id: 3, section: 'S', statement: 'three', built: false },
]
const mark = (...ids: number[]) => `// specification ${ids.join(' ')}\n`
const problemsOf = (text: string) => specificationCoverage(STATEMENTS, new Map([['a.test.ts', text]])).problems

test('a statement that is built and named by no test is found, one that is not built is not', () => {
  assert.deepEqual(problemsOf(`${mark(1)}// Mutant: x.\ntest('says one', () => {})\n`), [
    'statement 2 is built and no test names it: two',
  ])
  assert.deepEqual(problemsOf(`${mark(1, 2)}test('says both', () => {})\n`), [])
})

test('a number that nobody knows and a marker above no test are found', () => {
  assert.deepEqual(problemsOf(`${mark(1, 2)}test('t', () => {})\n${mark(9)}test('u', () => {})\n`), [
    'a.test.ts: there is no statement 9 in docs/specification-statements.json',
  ])
  assert.deepEqual(problemsOf(`${mark(1, 2)}const x = 1\n`).slice(0, 1), [
    "a.test.ts: '// specification 1 2' stands above no test",
  ])
})

test('the page names file and title, also a title on a line of its own', () => {
  const text = `${mark(1)}test('says one', () => {})\n${mark(2)}test(\n  'says | two',\n  () => {},\n)\n`
  const { page } = specificationCoverage(STATEMENTS, new Map([['a.test.ts', text]]))
  assert.match(page, /\| 1 \| S \| one \| `a\.test\.ts` says one \|/)
  assert.match(page, /\| 2 \| S \| two \| `a\.test\.ts` says \\\| two \|/)
  assert.match(page, /\| 3 \| S \| three \| not built \|/)
  assert.match(page, /2 of 3 are built/)
})
