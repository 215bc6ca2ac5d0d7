import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSource } from './source.ts'

test('the scanner reads every form of import and its line', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      "import zero from './zero.ts'",
      "import type { One } from './one.ts'",
      'import {\n  two as deux,\n  type Three,\n} from "./two.ts"',
      "import * as four from './four.ts'",
      "import './five.ts'",
      "export { six } from './six.ts'",
      "export * from './seven.ts'",
      "const eight = await import('./eight.ts')",
      "const nine = import.meta.resolve('./nine.ts')",
      "import { type Ten } from './ten.ts'",
    ].join('\n'),
  )
  const seen = source.imports.map(({ specifier, line, typeOnly }) => `${line} ${specifier}${typeOnly ? ' type' : ''}`)
  assert.deepEqual(seen.toSorted(), [
    '1 ./zero.ts',
    '10 ./seven.ts',
    '11 ./eight.ts',
    '12 ./nine.ts',
    '13 ./ten.ts type',
    '2 ./one.ts type',
    '3 ./two.ts',
    '7 ./four.ts',
    '8 ./five.ts',
    '9 ./six.ts',
  ])
})

test('the scanner sees no import in comments, strings, templates and regular expressions', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      "// import './a.ts'",
      "/* import './b.ts'\n import './c.ts' */",
      'const text = "import \'./d.ts\'"',
      "const long = `import './e.ts' ${nested(`import './f.ts' ${'}'}`)} import './g.ts'`",
      "const pattern = /import '.\\/h.ts'[/'\"]/",
      "const ratio = one / two; import './real.ts' // a / b",
    ].join('\n'),
  )
  assert.deepEqual(
    source.imports.map(({ specifier }) => specifier),
    ['./real.ts'],
  )
})

test('the scanner keeps the code inside a template and survives an apostrophe in JSX', () => {
  const template = readSource('daemon/a.ts', 'const url = `/x/${process.env.HOME}/y`')
  assert.match(template.code, /process\.env\.HOME/)
  const jsx = readSource('console/a.tsx', "const a = <p>don't</p>\nimport { b } from './b.ts'\nconst c = <br />")
  assert.deepEqual(
    jsx.imports.map(({ specifier }) => specifier),
    ['./b.ts'],
  )
})

test('the scanner lists every exported name but those of types, which belong to what is exported with them', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      'export const one = 1, hidden = 2',
      'export async function two() {}',
      'export type Three = string',
      'export class Four {}',
      'const five = 5\nexport { five, five as six }',
      'export const { seven, eight: nine } = two()',
      'export default five',
    ].join('\n'),
  )
  const names = source.exports.map(({ name }) => name).toSorted()
  assert.deepEqual(names, ['Four', 'default', 'five', 'nine', 'one', 'seven', 'six', 'two'])
})
