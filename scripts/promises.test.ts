import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisesOf, promisesPage } from './promises.ts'

const sources = {
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
}

test('every title of a test is printed, and none from comments, texts and other calls', () => {
  const printed = promisesOf(sources, 'kv')
  assert.equal(
    printed,
    'daemon/kv/a.test.ts\n  the mutant "…" of a|b is caught\n\ndaemon/kv/b.test.ts\n  a write is kept\n',
  )
  assert.equal(promisesOf(sources, 'nothing of that name'), '')
})

test('a system test has its first sentence, its promises with those of its cases, and whether CI runs it', () => {
  assert.equal(
    promisesOf(sources, 'system/kill'),
    [
      'test:system -- kill-again (CI): Another.\n',
      'test:system -- kill: What was acknowledged survives a kill.\n  nothing is lost\n  with … connections\n  and drips\n',
    ].join('\n'),
  )
  const page = promisesPage(sources)
  assert.match(page, /^\| `kill` \| {2}\| What was acknowledged survives a kill\. \|$/m)
  assert.match(page, /^\| `kill-again` \| CI \| Another\. \|$/m)
})
