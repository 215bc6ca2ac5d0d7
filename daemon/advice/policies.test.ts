import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesGlob } from './policies.ts'

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
    assert.equal(matchesGlob(pattern, text), expected, `${pattern} ${text}`)
})
