import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newId } from './ids.ts'
import { formatSecretToken, readSecretToken } from './secret-token.ts'

test('a secret token yields its id, and one with a single wrong character none', () => {
  const id = newId('ptr')
  const token = formatSecretToken('ptr', id, randomBytes(32).toString('base64url'))

  assert.match(token, /^loci_ptr_[0-9a-z]{26}_[\w-]{43}[0-9a-f]{8}$/)
  assert.equal(readSecretToken('ptr', token), id.slice('ptr_'.length))
  assert.equal(readSecretToken('sk', token), undefined)
  for (let at = 0; at < token.length; at += 1) {
    const wrong = token.slice(0, at) + (token[at] === 'a' ? 'b' : 'a') + token.slice(at + 1)
    assert.equal(readSecretToken('ptr', wrong), undefined, `position ${at}`)
  }
})
