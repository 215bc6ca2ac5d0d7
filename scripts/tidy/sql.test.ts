import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tree } from './source.ts'
import { checkSqlShape, edgeCount, sqlShape } from './sql.ts'

const fn = (name: string, parameters: string, body: string) =>
  `create or replace function loci.${name}(${parameters}) returns void language sql as $$\n  -- As loci.mem() does.\n  ${body}\n$$;\n`

const TREE: Tree = new Map([
  [
    'daemon/kv/functions.sql',
    fn('kv_put', 'p_key text, p_value numeric(10, 2), out version bigint', 'select loci.enter(p_key)'),
  ],
  ['daemon/kv/walk/functions.sql', fn('kv_walk', 'p_limit int default least(1, 2)', 'select * from loci.records')],
  [
    'daemon/databases/functions.sql',
    fn('enter', Array.from({ length: 13 }, (_, n) => `p${n} text`).join(), 'select 1'),
  ],
  ['daemon/memory/functions.sql', fn('mem', '', 'select * from loci.records r')],
  ['daemon/memory/testing/functions.sql', fn('mem_test', '', 'select loci.kv_put()')],
])

// Mutants: parameters counted with `out`; comments read as code; tables left out; testing/ counted.
test('calls and tables of SQL are edges between rooms, and parameters are those that are handed in', () => {
  const shape = sqlShape(TREE, 'daemon')
  assert.deepEqual(
    shape.functions.map(({ name, parameters }) => [name, parameters]),
    [
      ['kv_put', 2],
      ['kv_walk', 1],
      ['enter', 13],
      ['mem', 0],
    ],
  )
  assert.deepEqual([...shape.edges], [['kv', new Set(['databases', 'memory'])]])
  assert.deepEqual([edgeCount(shape), shape.circle, shape.wide.map(({ name }) => name)], [2, [], ['enter']])
})

// Mutant: circleOf() that looks at neighbours alone.
test('rooms that need each other, by whatever way, are a circle', () => {
  const tree = new Map(TREE)
  tree.set('daemon/memory/functions.sql', fn('mem', '', 'select loci.adv()'))
  tree.set('daemon/advice/functions.sql', fn('adv', '', 'select loci.kv_put()'))
  assert.deepEqual(sqlShape(tree, 'daemon').circle, ['advice', 'kv', 'memory'])
})

// Mutant: checkSqlShape() without one of its words.
test('more than there may be is a problem, each by itself', () => {
  const enough = { functions: 4, lines: 20, edges: 2, circle: 0, wide: 1 }
  assert.deepEqual(checkSqlShape(TREE, { daemon: enough }), [])
  for (const name of ['functions', 'lines', 'edges', 'wide'] as const) {
    const problems = checkSqlShape(TREE, { daemon: { ...enough, [name]: 0 } })
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['daemon/app.ts'],
      name,
    )
  }
})
