import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyWrite } from '@loci/contract/advice.ts'
import { boundedDenials, denialOf, rulesFor } from './policies.ts'

const RECENT = () => ({ attempts: 0, failures: 0 })

function isDenied(tool: string, toolId: string): boolean {
  const rules = rulesFor([{ effect: 'deny', tool }], { taskClass: 'support' })
  return denialOf(rules, { toolId }, undefined, RECENT) !== undefined
}

test('a star stands for any characters, and no pattern makes the match slow', () => {
  for (const [pattern, text, expected] of [
    ['refund', 'refund', true],
    ['refund', 'refund-all', false],
    ['refund*', 'refund-all', true],
    ['*', '', true],
    ['*.send', 'mail.send', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['ab*ba', 'aba', false],
    [`${'*a'.repeat(100)}b`, 'a'.repeat(256), false],
  ] as const)
    assert.equal(isDenied(pattern, text), expected, `${pattern} ${text}`)
})

// Mutant: rulesFor() that leaves scopes to matches(), so that the key of a scope is made for each rule and tool.
test('what does not depend on the tool is asked once for a request, not for each of 4,096 tools', () => {
  const looks = { asked: 0, rules: 0 }
  const counted = (name: 'asked' | 'rules') => ({
    get team() {
      looks[name] += 1
      return 'sales'
    },
  })
  const rules = Array.from({ length: 256 }, () => ({ effect: 'deny' as const, tool: '*x', scope: counted('rules') }))
  const held = rulesFor(rules, { taskClass: 'support', scope: counted('asked') })
  for (let n = 0; n < 4_096; n += 1) assert.equal(denialOf(held, { toolId: `tool-${n}` }, undefined, RECENT), undefined)
  assert.deepEqual(looks, { asked: 1, rules: 256 })
  assert.deepEqual(rulesFor(rules, { taskClass: 'support', scope: { team: 'support' } }), [])
})

// Mutant: the look at `told` left out.
test('denied tools are all named, and their rules told in full until they have a quarter of a mebibyte', () => {
  const reason = 'x'.repeat(1_024)
  const rules = rulesFor([{ effect: 'deny', tool: '*', reason, scope: 'y'.repeat(4_000) }], {
    ...{ taskClass: 'support', scope: 'y'.repeat(4_000) },
  })
  const denials = Array.from({ length: 4_096 }, (_, n) => denialOf(rules, { toolId: `tool-${n}` }, undefined, RECENT))
  const told = boundedDenials(denials.flatMap((denial) => denial ?? []))
  assert.deepEqual([told.length, told[0], told[4_095]?.toolId], [4_096, denials[0], 'tool-4095'])
  assert.deepEqual(told[4_095]?.rule, { policy: 'loci://policy/default', index: 0 })
  assert.ok(JSON.stringify(told).length < 1024 * 1024, `${JSON.stringify(told).length}`)
})

test('a pattern has at most eight stars', () => {
  const isTaken = (tool: string) => policyWrite.safeParse({ rules: [{ effect: 'deny', tool }] }).success
  assert.deepEqual([isTaken('a*'.repeat(8)), isTaken('a*'.repeat(9)), isTaken('*')], [true, false, true])
})
