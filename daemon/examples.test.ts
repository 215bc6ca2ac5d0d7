// The examples of the document are what this daemon answers, and no operation is without one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unmeasured } from '@loci/chassis/testing/steady.ts'
import type { Example } from '@loci/contract/openapi.ts'
import examples from './examples.json' with { type: 'json' }
import { testDaemon } from './testing/daemon.ts'
import { tellExamples } from './testing/examples.ts'

const KEPT: Record<string, Example> = examples

/** Pages, metrics and the document itself; and a route that only refuses. */
const WITHOUT = ['GET /docs', 'GET /metrics', 'GET /mcp', 'GET /openapi.json']

// Mutants: an operation left out of the file; its body left out there.
test('every operation has an example of what is sent, and of the answer when it was done', async () => {
  await using daemon = await testDaemon()
  const lines = daemon.daemon.routes.map(({ spec: { method, path } }) => `${method} ${path}`)
  assert.deepEqual(Object.keys(KEPT).sort(), lines.filter((line) => !WITHOUT.includes(line)).sort())
  for (const { spec } of daemon.daemon.routes) {
    const line = `${spec.method} ${spec.path}`
    const example = KEPT[line]
    if (!example) continue
    assert.ok(example.answer && example.status >= 200 && example.status < 300, line)
    const names = [...spec.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(Object.keys(example.path ?? {}), names, line)
    if (spec.body && !spec.path.endsWith('/slots/clear'))
      assert.notEqual(example.body, undefined, `${line} has no body`)
  }
})

// Mutants: another field in the answer of a route; another value in examples.json; a call left out of tellExamples().
test('the kept examples are what is answered now; node scripts/examples.ts keeps new ones', async () => {
  const told = await tellExamples()
  assert.deepEqual(Object.keys(told), Object.keys(KEPT))
  for (const [line, example] of Object.entries(told))
    assert.deepEqual(unmeasured(example), unmeasured(KEPT[line]), line)
})
