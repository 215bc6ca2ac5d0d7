// The webhook of a process that has never had its store: authentication runs first (specification, "Management: billing
// webhook").

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcess, untilState } from '@loci/chassis/testing/process.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { event, HOOK } from '../testing/billing-provider.ts'

const SECRET = 'a-secret-of-the-provider-0123456789'
const MAIN = join(import.meta.dirname, '../main.ts')
const GET = 'GET /api/webhooks/billing'

async function startWithoutStore(settings: Record<string, string>) {
  const started = startProcess(MAIN, {
    LOCI_DATABASE_URL: 'postgres://loci_management@127.0.0.1:1/nowhere',
    LOCI_PUBLIC_URL: 'http://127.0.0.1:4400',
    LOCI_SEALING_KEYS: `a:${randomBytes(32).toString('base64')}`,
    ...settings,
  })
  const url = await started.url
  await untilState(`${url}/health/lifecycle`, 'migrating')
  return {
    ask: async (line: string, body?: string, secret?: string) => {
      const headers = { 'content-type': 'application/json', ...(secret ? { authorization: `Bearer ${secret}` } : {}) }
      const answer = await ask(url, line, { headers, ...(body === undefined ? {} : { body }) })
      return [answer.status, JSON.parse(answer.text), answer.headers['retry-after'] !== undefined] as const
    },
    [Symbol.dispose]: () => started.child.kill('SIGKILL'),
  }
}

// Mutant: the routes of the webhook without `inEveryState`.
// specification 152 155 158 209 228
test('with the store away from the start it is 401, then 400, then 500, and GET answers', async () => {
  using webhook = await startWithoutStore({ LOCI_BILLING_WEBHOOK_SECRETS: SECRET })

  for (const secret of [undefined, 'wrong']) {
    const [status, body] = await webhook.ask(HOOK, '{"broken', secret)
    assert.equal(status, 401)
    assert.deepEqual(Object.keys(body), ['error'])
  }
  const [status, body] = await webhook.ask(HOOK, '{"broken', SECRET)
  assert.deepEqual([status, body.error], [400, 'Invalid billing event'])
  const failed = { error: 'Failed to process billing event' }
  assert.deepEqual(await webhook.ask(HOOK, JSON.stringify(event()), SECRET), [500, failed, true])
  const [got, told] = await webhook.ask(GET)
  assert.deepEqual([got, told.status, told.configured], [200, 'active', true])
})

// specification 154 208 227
test('with the store away from the start and no secret it is 503, and GET answers', async () => {
  using webhook = await startWithoutStore({})

  const answer = [503, { error: 'Billing webhook is not configured' }, false]
  assert.deepEqual(await webhook.ask(HOOK, '{"broken', SECRET), answer)
  const [got, told] = await webhook.ask(GET)
  assert.deepEqual([got, told.status, told.configured], [200, 'active', false])
})
