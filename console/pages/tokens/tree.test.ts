import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Token } from '../../api/credentials.ts'
import { endsWithIt, isOfConsole, treeOf } from './tree.ts'

const NOW = Date.parse('2026-11-18T12:00:00Z')
const LATER = '2026-11-19T12:00:00Z'
const BEFORE = '2026-11-18T11:00:00Z'
const child = (jti: string, parent_id: string, expires_at = LATER, revoked_at: string | null = null) => {
  return { jti, parent_id, name: null, ops: null, expires_at, registered_at: BEFORE, revoked_at }
}
const TOKEN = {
  token_id: 'cap_root',
  expires_at: LATER,
  revoked_at: null,
  children: [child('planner', 'cap_root'), child('writer', 'cap_root', BEFORE), child('search', 'planner')],
} as unknown as Token

// Mutant: a child of a child stands beside it.
test('children stand below their parent, and what has ended is left out until it is asked for', () => {
  const shown = (withEnded: boolean) =>
    treeOf([TOKEN], { now: NOW, withEnded }).map(({ id, depth }) => `${depth} ${id}`)
  assert.deepEqual(shown(false), ['0 cap_root', '1 planner', '2 search'])
  assert.deepEqual(shown(true), ['0 cap_root', '1 planner', '2 search', '1 writer'])
})

// Mutant: who had ended already is counted among those that die.
test('revoking a token names everything below it, and apart what had ended already', () => {
  const [root, planner] = treeOf([TOKEN], { now: NOW, withEnded: true })
  const ids = (node: NonNullable<typeof root>) => {
    const { alive, ended } = endsWithIt(node, NOW)
    return [alive.map(({ jti }) => jti), ended.map(({ jti }) => jti)]
  }
  assert.ok(root && planner)
  assert.deepEqual(ids(root), [['planner', 'search'], ['writer']])
  assert.deepEqual(ids(planner), [['search'], []])
})

test('what is below a token that has ended has ended too', () => {
  const nodes = treeOf([{ ...TOKEN, revoked_at: BEFORE }], { now: NOW, withEnded: true })
  assert.equal(
    nodes.every(({ hasEnded }) => hasEnded),
    true,
  )
  assert.deepEqual(treeOf([{ ...TOKEN, revoked_at: BEFORE }], { now: NOW, withEnded: false }), [])
})

// Mutant: isOfConsole() by the name alone.
test('those with which the console itself asks are told from those that somebody made and called so', () => {
  const of = (name: string | null, sub: string, minutes: number) =>
    isOfConsole({
      ...{ name, sub, issued_at: new Date(NOW).toISOString() },
      expires_at: new Date(NOW + minutes * 60_000).toISOString(),
    })
  assert.deepEqual([of('console', 'usr_1', 5), of('console', 'console', 15)], [true, true])
  assert.deepEqual([of('console', 'usr_1', 60), of('planner', 'usr_1', 5), of(null, 'usr_1', 5)], [false, false, false])
})
