// Mutants: checks of the last page alone; the status of a page that is not the last; a redacted link that counts as
// damaged; isLinked() over cycles that do not follow one another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KvConsistency } from '@loci/sdk/daemon.ts'
import { begunWalk, chainIn, foundIn, isErasable, isLinked, linksOf, shareRead, withPage } from './walk.ts'

const issue = (severity: string, ref: string | null = 'mem_1') => ({
  ...{ severity, type: 'digest_mismatch', domain: 'memory', database: 'default', ref, detail: 'x', repair: 'y' },
})

function page(nextCursor: string | null, given: Partial<KvConsistency> = {}): KvConsistency {
  return {
    ...{ status: nextCursor === null ? 'consistent' : 'unknown', mode: 'full' },
    summary: { rows: 10, bytes: 100, issues: 0 },
    checks: [{ name: 'digest', checked: 10, failed: 0 }],
    ...{ issues: [], rootDigest: 'r', coverage: { complete: nextCursor === null, nextCursor, rowsTotal: 20 } },
    ...{ startedAt: '2026-11-18T12:00:00Z', durationMs: 5 },
    ...given,
  }
}

test('pages are told together, and what they say of the whole is what the last one says', () => {
  const found = { checks: [{ name: 'digest', checked: 7, failed: 1 }], issues: [issue('error')] }
  const first = withPage(begunWalk('full'), page('next', found))
  assert.deepEqual([first.is, first.status, first.pages], ['running', undefined, 1])
  const whole = withPage(first, page(null, { status: 'inconsistent' }))
  assert.deepEqual([whole.is, whole.status, whole.rows, whole.tookMs], ['done', 'inconsistent', 20, 10])
  assert.deepEqual([begunWalk('full'), first, whole].map(shareRead), [undefined, 0.5, 1])
  assert.equal(shareRead({ ...first, rows: 30 }), 1)
  assert.deepEqual(whole.checks, [{ name: 'digest', checked: 17, failed: 1 }])
  assert.equal(whole.issues.length, 1)
})

test('what was found is one sentence', () => {
  assert.equal(foundIn({ issues: [] }), undefined)
  assert.equal(foundIn({ issues: [issue('error')] }), 'One row does not fit its digest.')
  assert.equal(foundIn({ issues: [issue('error'), issue('error')] }), '2 rows do not fit their digests.')
  assert.equal(foundIn({ issues: [issue('warning')] }), 'One sum does not fit the rows.')
})

test('a memory that is damaged can be erased here, and nothing else', () => {
  assert.ok(isErasable(issue('error')))
  assert.ok(!isErasable(issue('error', null)) && !isErasable({ domain: 'kv', ref: 'mem_1' }))
})

test('a link is whole once it was verified, and one whose words were erased is no damage', () => {
  const cycle = (seq: number, rest: object = {}) => ({ seq, prevHash: `h${seq - 1}`, hash: `h${seq}`, ...rest })
  const chain = [cycle(4), cycle(3), cycle(2, { redacted: true as const }), cycle(1)]
  assert.deepEqual(
    linksOf(chain, { checkedThroughSeq: 3, entries: [{ seq: 1 }] }).map(({ link }) => link),
    ['damaged', 'redacted', 'whole', 'waiting'],
  )
  assert.equal(isLinked(chain), true)
  assert.equal(isLinked([cycle(4), cycle(3, { hash: 'other' })]), false)
  assert.equal(isLinked([cycle(4), cycle(2)]), undefined)
})

test('a full walk has verified the chain too, one that is not over or found something has not', () => {
  const chain = (failed: number) => ({ checks: [{ name: 'cycle_chain', checked: 19, failed }] })
  assert.equal(chainIn(withPage(begunWalk('full'), page(null, chain(0))))?.through, 19)
  for (const walk of [
    null,
    withPage(begunWalk('full'), page('next', chain(0))),
    withPage(begunWalk('full'), page(null, chain(1))),
    withPage(begunWalk('incremental'), page(null, chain(0))),
  ])
    assert.equal(chainIn(walk), undefined)
})
