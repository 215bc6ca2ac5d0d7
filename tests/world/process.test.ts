import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MALLOC_ARENA_MAX, NODE_FLAGS } from './process.ts'

const page = readFileSync(new URL('../../docs/operations/install.md', import.meta.url), 'utf8')

// V8 takes no code that was compiled under other flags. `migrate` ran without them, so the first process after each
// installation and upgrade took 25 MB more. Mutant: `node $FLAGS` without the flags in a line of the page.
test('the page of installation migrates and starts programs with the flags that the tests use', () => {
  const flags = /FLAGS='([^']*)'/.exec(page)?.[1]
  assert.equal(/ MALLOC_ARENA_MAX=(\d+) /.exec(page)?.[1], MALLOC_ARENA_MAX)
  for (const program of ['daemon', 'management'] as const) {
    assert.equal(flags, NODE_FLAGS[program].join(' '))
    const lines = page.split('\n').filter((line) => new RegExp(`node .*${program}/main\\.ts( migrate)?$`).test(line))
    assert.equal(lines.length, 2, lines.join())
    for (const line of lines) assert.match(line, / node \$FLAGS (daemon|management)\/main\.ts/)
  }
})
