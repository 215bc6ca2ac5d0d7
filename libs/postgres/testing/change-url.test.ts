import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeUrl } from './change-url.ts'

test('another role or database on the same server keeps everything else', () => {
  const url = 'postgres://ann:secret@/loci?host=%2Frun%2Fpg&port=5433'
  assert.equal(changeUrl(url, { database: 'other' }), 'postgres://ann:secret@/other?host=%2Frun%2Fpg&port=5433')
  assert.equal(changeUrl(url, { user: 'bob' }), 'postgres://bob@/loci?host=%2Frun%2Fpg&port=5433')
  assert.equal(
    changeUrl('postgres://a@[::1]:1/b?sslmode=verify-full', { user: 'c', password: 'd' }),
    'postgres://c:d@[::1]:1/b?sslmode=verify-full',
  )
})
