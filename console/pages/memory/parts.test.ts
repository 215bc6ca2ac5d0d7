// What an address asks of memory. Mutants: `anyway` left out of recallRequest(); quoted() without its replacement;
// lacks() sorted the other way round; momentOf() always local.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlOf, isRecordId, lacks, leading, listQuery, momentOf, ordinal, recallRequest, seen } from './parts.ts'

const part = (name: string, contribution: number) => ({ name, value: contribution, weight: 1, contribution })

test('an address without a question asks nothing; with one it asks with every filter', () => {
  assert.equal(recallRequest({ actor: 'Ada' }), undefined)
  assert.deepEqual(recallRequest({ q: 'where?' }), { query: 'where?', limit: 10, explain: true })
  const filters = {
    actor: 'Ada',
    kind: 'k',
    tag: 't',
    context: 'c',
    key: 'x',
    since: '2026-01-01',
    until: '2026-02-01',
  }

  const request = recallRequest({ q: 'where?', ...filters, as_of: '2026-01-15', limit: '25', anyway: 'yes' })

  assert.deepEqual(request, {
    query: 'where?',
    limit: 25,
    explain: true,
    abstain: false,
    asOf: '2026-01-15',
    actors: ['Ada'],
    kinds: ['k'],
    tags: ['t'],
    contextIds: ['c'],
    keys: ['x'],
    since: '2026-01-01',
    until: '2026-02-01',
  })
})

test('the list is narrowed by the same filters, and by nothing that is of a question alone', () => {
  const asked = listQuery({ q: 'where?', as_of: '2026-01-15', actor: 'Ada', context: 'c', order: 'asc', limit: '25' })

  assert.deepEqual(asked, { actor: 'Ada', contextId: 'c', order: 'asc' })
})

test('what is copied for a shell is one request, whatever the question says', () => {
  const request = { query: `it's; rm -rf "$HOME" \`id\``, limit: 10 }

  const line = curlOf({ endpoint: 'http://127.0.0.1:4410/', database: 'ada', request })

  assert.match(line, /^curl -s 'http:\/\/127\.0\.0\.1:4410\/v1\/memory\/recall' \\\n/)
  assert.ok(line.includes('-H "x-loci-database: ada"'))
  assert.ok(line.includes(`'{"query":"it'\\''s; rm -rf`), line)
})

test('what counts most is named first, and what takes off is not named', () => {
  const parts = [part('base', -0.2), part('cue', 4), part('salience', 1), part('near', 2), part('when', 0.5)]

  assert.deepEqual(leading(parts), ['cue', 'near', 'salience'])
})

test('beside another one it is told what is lacking, the most first, and what it has more of last', () => {
  const found = lacks([part('cue', 1), part('salience', 2)], [part('cue', 4), part('near', 1), part('salience', 1)])

  assert.deepEqual(found, [
    { name: 'cue', own: 1, other: 4 },
    { name: 'near', own: 0, other: 1 },
    { name: 'salience', own: 2, other: 1 },
  ])
})

test('the id of a memory is told from words', () => {
  assert.equal(isRecordId(' mem_01m7r93ptdfdhr99ax06555kj9 '), true)
  for (const words of ['mem_short', 'the parcel', 'cyc_01m7r93ptdfdhr99ax06555kj9'])
    assert.equal(isRecordId(words), false)
})

test('ranks are said as people say them', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 11, 12, 13, 22, 103].map(ordinal).join(' '),
    '1st 2nd 3rd 4th 11th 12th 13th 22nd 103rd',
  )
})

test('what may be chosen is what was met, each once', () => {
  assert.deepEqual(seen(['shop', null, 'Ada', 'shop', '']), ['Ada', 'shop'])
})

test('a moment that was typed is one of the zone that times are shown in', () => {
  assert.equal(momentOf('2026-11-18T11:46', 'utc'), '2026-11-18T11:46:00.000Z')
  assert.equal(momentOf('2026-11-18T11:46', 'local'), new Date(2026, 10, 18, 11, 46).toISOString())
  assert.equal(momentOf('', 'utc'), undefined)
})
