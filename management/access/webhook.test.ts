import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@loci/chassis/api-error.ts'
import { webhookAccess } from './webhook.ts'

const SECRET = 'a-secret-of-the-provider'

/** 'ok', or the status of the refusal. */
function ask(authorization: string | string[] | undefined, secrets: string[] = [SECRET]): 'ok' | number {
  const arrival = { method: 'POST', target: '/', headers: { authorization }, peer: '', requestId: '' }
  try {
    void webhookAccess(secrets).authorize({ ...arrival, answer: { header() {}, append() {} } })
    return 'ok'
  } catch (error) {
    return (error as ApiError).status
  }
}

test('a configured secret is good, the older of two as well', () => {
  assert.equal(ask(`Bearer ${SECRET}`), 'ok')
  assert.equal(ask(`Bearer ${SECRET}`, ['the-next-one', SECRET]), 'ok')
  assert.equal(ask(`Bearer ${SECRET}`, [SECRET, 'the-one-before']), 'ok')
})

test('no header, another secret, a prefix, a longer one, another scheme and another case are refused', () => {
  const wrong = [SECRET, `Basic ${SECRET}`, `Bearer ${SECRET.slice(0, -1)}`, `Bearer ${SECRET}x`, `Bearer  ${SECRET}`]
  const wrongToo = [
    `Bearer ${SECRET.toUpperCase()}`,
    `bearer ${SECRET}`,
    'Bearer',
    'Bearer ',
    'Bearer  ',
    '',
    undefined,
  ]
  for (const authorization of [...wrong, ...wrongToo]) assert.equal(ask(authorization), 401, authorization)
})

test('an empty secret lets nobody in, and without any there is no webhook', () => {
  for (const authorization of ['Bearer ', 'Bearer', '']) assert.equal(ask(authorization, ['']), 401)
  assert.equal(ask(`Bearer ${SECRET}`, []), 503)
})

test('a repeated authorization header is refused, even when both are right', () => {
  assert.equal(ask([`Bearer ${SECRET}`, `Bearer ${SECRET}`]), 401)
})

test('every refusal has one text, and the missing webhook the specification’s', () => {
  const textOf = (authorization: string, secrets: string[]) => {
    const arrival = { method: 'POST', target: '/', headers: { authorization }, peer: '', requestId: '' }
    try {
      return webhookAccess(secrets).authorize({ ...arrival, answer: { header() {}, append() {} } })
    } catch (error) {
      assert.ok(error instanceof ApiError)
      return error.message
    }
  }
  assert.equal(textOf('Bearer wrong', [SECRET]), textOf('', [SECRET]))
  assert.equal(textOf('', []), 'Billing webhook is not configured')
})
