import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisesPage } from './promises.ts'

const page = promisesPage({
  tests: new Map([
    [
      'daemon/kv/b.test.ts',
      [
        "test('a write is kept', () => {})",
        "// test('a comment', () => {})",
        'const text = "test(\'a text\', 1)"',
      ].join('\n'),
    ],
    [
      'daemon/kv/a.test.ts',
      "for (const name of NAMES) {\n  test(\n    `the mutant \"${name('}')}\" of a|b is caught`,\n    () => {},\n  )\n}\nreason.test('no test')\n",
    ],
  ]),
  system: new Map([
    [
      'tests/system/kill.ts',
      "// What was acknowledged survives\n// a kill. More of it.\n\nimport { flood } from '../robustness/flood.ts'\n\nreport.promise('nothing is lost', true, '')\n",
    ],
    ['tests/system/kill-again.ts', '// Another.\n\n'],
    [
      'tests/robustness/flood.ts',
      "import { drip } from './drip.ts'\n\nreport.promise(\n  `with ${count} connections`,\n  true,\n)\n",
    ],
    ['tests/robustness/drip.ts', "report.promise('and drips', true, '')\n"],
  ]),
  ci: '    system kill-again --short\n',
})

test('the page has every title of a test and none from comments, texts and other calls', () => {
  assert.match(
    page,
    /\*\*`daemon\/kv\/a\.test\.ts`\*\*\n\n- the mutant "…" of a\\\|b is caught\n\n\*\*`daemon\/kv\/b\.test\.ts`\*\*\n\n- a write is kept\n$/,
  )
  assert.match(page, /2 tests beside the code/)
})

test('a system test has its first sentence, its promises with those of its cases, and whether CI runs it', () => {
  assert.match(
    page,
    /\*\*kill\*\*: What was acknowledged survives a kill\.\n\n- nothing is lost\n- with … connections\n- and drips\n/,
  )
  assert.match(page, /\*\*kill-again\*\* · \*CI\*: Another\./)
})
