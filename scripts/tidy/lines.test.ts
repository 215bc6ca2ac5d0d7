import assert from 'node:assert/strict'
import { test } from 'node:test'
import { productLines } from './lines.ts'

test('product lines leave out tests, what tests share and what is generated', () => {
  const tree = new Map([
    ['daemon/app.ts', 'a\nb\n'],
    ['daemon/kv/functions.sql', 'a\n'],
    ['daemon/schema.sql', 'a\nb\nc\n'],
    ['daemon/kv/kv.test.ts', 'a\n'],
    ['daemon/testing/daemon.ts', 'a\n'],
    ['libs/postgres/pool.ts', 'a\n'],
    ['sdk/daemon.ts', '// Generated from x\n'],
    ['tests/system/boot.ts', 'a\n'],
    ['README.md', 'a\n'],
  ])
  assert.deepEqual(Object.fromEntries(productLines(tree)), {
    daemon: { files: 2, lines: 2, sql: 1 },
    'libs/postgres': { files: 1, lines: 1, sql: 0 },
  })
})
