import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchange, obtainCode, signInWorld } from '../testing/sign-in.ts'

// Mutant: the sign-out URL with an id_token_hint.
// specification 222
test('no session route puts a credential into a URL: neither a Location nor an address in an answer holds a token', async () => {
  await using world = await signInWorld()
  const { browser, answer } = await exchange(world.management, await obtainCode(world.provider))
  const answers = [answer]
  for (const line of [
    'GET /api/auth/session',
    'GET /api/auth/get-session',
    'GET /api/auth/token',
    'GET /signed-in/done',
    'GET /dashboard',
    'POST /api/auth/refresh',
    'POST /api/auth/logout',
  ])
    answers.push(await browser.ask(line, line.startsWith('POST') ? { body: {} } : {}))

  const secrets = [...world.provider.issued]
  assert.ok(secrets.length >= 4)
  for (const { status, headers, text } of answers) {
    assert.ok(status < 400, text)
    const urls = [headers.location, headers.link, ...text.matchAll(/https?:[^"'\s<]+/g)].join(' ')
    for (const secret of secrets) assert.ok(!urls.includes(secret), urls.slice(0, 80))
    assert.doesNotMatch(urls, /loci_sh_|eyJ/)
  }
})
