// Trees that people have pruned: nodes that are named and not there any more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHATGPT } from './chatgpt.ts'
import { type Found, isDraft } from './kind.ts'

interface Node {
  id: string
  parent?: string
  children: string[]
  at?: number | string
}

function readTree(nodes: readonly Node[], current?: string): { said: string[]; skipped: string[] } {
  const entries = nodes.map(({ id, parent, children, at: create_time = 1_772_446_272 }) => {
    const content = { content_type: 'text', parts: [id] }
    return [id, { id, parent, children, message: { id, author: { role: 'user' }, create_time, content } }]
  })
  const value = { id: 'c-1', current_node: current, mapping: Object.fromEntries(entries) }
  const found: readonly Found[] = CHATGPT.start().read({ path: [], value }) ?? []
  return {
    said: found.flatMap((one) => (isDraft(one) ? [one.record.content] : [])),
    skipped: found.flatMap((one) => (isDraft(one) ? [] : [one.why])),
  }
}

// Mutants: isLeaf() that counts children which are not there; parents as they are named; `current` only where it is
// there; writtenAt() by Number.
test('chatgpt: where nodes were deleted, what was said before and after them is read', () => {
  const whole = { said: ['first', 'second', 'third'], skipped: [] }
  const [first, second, third] = [
    { id: 'first', children: ['second'] },
    { id: 'second', parent: 'first', children: ['third'] },
    { id: 'third', parent: 'second', children: ['gone'] },
  ]
  assert.deepEqual(readTree([first, second, third]), whole, 'the last one, and none is said to be current')
  assert.deepEqual(readTree([first, second, third], 'gone'), whole, 'the current one')
  const bridged = [
    { ...second, children: ['cut'] },
    { ...third, parent: 'cut' },
  ]
  assert.deepEqual(readTree([first, ...bridged], 'third'), whole, 'one in the middle')
  const other = { id: 'other', parent: 'first', children: [], at: 1_772_446_000 }
  const dated = { ...third, at: '2026-03-03T00:00:00Z' }
  const { said, skipped } = readTree([{ ...first, children: ['second', 'other'] }, other, second, dated])
  assert.deepEqual([said, skipped.length], [whole.said, 1], 'times as text')
  const stillThere = { id: 'late', parent: 'first', children: [], at: 1_900_000_000 }
  const pruned = [{ ...first, children: ['second', 'late'] }, second, third, stillThere]
  assert.deepEqual(readTree(pruned, 'gone').said, whole.said, 'the branch of the current one, not the newest')
})
