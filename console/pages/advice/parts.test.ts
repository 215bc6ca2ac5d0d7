// Mutants: a share of 0.4 % told as 0 %; axisFrom() always 0.5; an interval that was never known drawn as one; a limit
// that is no number sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RankedTool } from '@loci/sdk/daemon.ts'
import {
  amountOf,
  axisFrom,
  curlOf,
  factorsOf,
  healthOf,
  isIntervalKnown,
  placed,
  productText,
  rankRequest,
  ruleOf,
  shareText,
} from './parts.ts'

const told = (lower95: number, upper95: number, successes = 9, failures = 1) => ({
  confidence: { lower95, upper95, effective: { successes, failures } },
})
function explained(parts: Record<string, number>): Pick<RankedTool, 'explain'> {
  const of = Object.entries(parts).map(([name, contribution]) => ({
    name,
    value: contribution,
    weight: 1,
    contribution,
  }))
  return { explain: { score: 0, parts: of as never, partners: [] } }
}

test('an address asks what it says and nothing else', () => {
  assert.equal(rankRequest({ class: 'refund' }), undefined)
  assert.deepEqual(rankRequest({ class: 'refund', intent: 'pay back', cost: '0,05', latency: 'soon', effects: 'no' }), {
    ...{ taskClass: 'refund', taskIntent: 'pay back', sourceEventId: 'console', limit: 20, explain: true },
    constraints: { maxCostUsd: 0.05, forbidSideEffects: true },
  })
  assert.deepEqual([amountOf(''), amountOf('-1'), amountOf('0')], [undefined, undefined, 0])
})

test('a score is told as a share, and a small one is not nothing', () => {
  assert.deepEqual([shareText(0.482), shareText(0.004), shareText(0), shareText(1)], ['48 %', '< 1 %', '0 %', '100 %'])
})

test('parts are factors that multiply to the share', () => {
  const tool = explained({ text: Math.log(0.6), reliability: Math.log(0.92), explore: 0, health: Math.log(0.87) })
  assert.equal(productText(factorsOf(tool)), 'fit 60 % × 0.92 × 0.87')
  assert.equal(healthOf(tool)?.toFixed(2), '0.87')
  assert.equal(factorsOf(explained({ explore: -0.1 })).length, 1)
})

test('the axis begins at 50 % where every tool works, and at 0 where one may not', () => {
  assert.equal(axisFrom([told(0.6, 0.9), told(0, 1)]), 0.5)
  assert.equal(axisFrom([told(0.6, 0.9), told(0.2, 0.9)]), 0)
  assert.equal(isIntervalKnown(told(0, 1)), false)
  assert.deepEqual(placed(told(0.75, 1), 0.5), { left: 0.5, right: 0, at: 0.8 })
})

test('a rule is told by its place, a limit of the request is none', () => {
  assert.equal(ruleOf({ policy: 'loci://policy/default', index: 3 })?.index, 3)
  assert.equal(ruleOf({ maxCostUsd: 1 }), undefined)
})

test('what was typed cannot leave its quotes in a shell', () => {
  const line = curlOf('http://x', 'ada', { taskClass: 'a', taskIntent: `it's $(x)`, sourceEventId: 'e' })
  assert.ok(line.includes(`it'\\''s $(x)`), line)
})
