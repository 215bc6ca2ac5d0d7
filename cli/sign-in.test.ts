// Who signs in, what a profile holds, and what is billed; with a loci of its own.

import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Host } from './host.ts'
import { runHere } from './testing/host.ts'
import { type TestHome, testHome } from './testing/loci.ts'
import { signInWith } from './testing/sign-in.ts'

let home: TestHome
let up: { management: string }

before(async () => {
  home = await testHome()
  const { code, document } = await home.json<typeof up>(['up', '-d', '--port', String(home.port)])
  assert.equal(code, 0, JSON.stringify(document.error))
  up = document.data
})
after(() => home[Symbol.asyncDispose]())

const here = <Data = Record<string, unknown>>(argv: string[], given: Partial<Host> = {}) =>
  runHere<Data>(argv, { home: home.home, env: home.env, ...given })
const jsonHere = <Data = Record<string, unknown>>(argv: string[]) => here<Data>([...argv, '--json'])

// Mutant: isTheirs() leaves the file of the code where it is.
test('a person signs in with a code of loci up code, once', async () => {
  const code = (await home.json<{ code: string }>(['up', 'code'])).document.data.code
  const sessionOf = async (cookie: string) =>
    (await fetch(`${up.management}/api/auth/session`, { headers: { cookie } })).status

  const guessed = await signInWith(up.management, 'AAAAA-AAAAA')
  const { cookie, url } = await signInWith(up.management, code)
  const again = await signInWith(up.management, code)

  assert.deepEqual([guessed.status, again.status], [400, 400])
  assert.equal(new URL(url).pathname, '/services')
  assert.deepEqual([await sessionOf(cookie), await sessionOf(again.cookie)], [200, 401])
})

test('login waits until a person approves its code in a browser, also over SSH, and keeps the key of the person', async () => {
  const { code } = (await home.json<{ code: string }>(['up', 'code'])).document.data
  const { cookie } = await signInWith(up.management, code)
  const config = join(home.home, 'login')
  const env = { ...home.env, LOCI_CONFIG_DIR: config, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22', DISPLAY: ':0' }
  const here = { env, home: home.home, isTerminal: true }
  let told = ''
  const login = (decision: string) =>
    runHere<{ profile: string }>(['login', '--url', up.management, '--json'], {
      ...here,
      err(text) {
        told += text
        const [, userCode] = /^Type +(\S+)$/m.exec(text) ?? []
        if (userCode) void decide(userCode, decision)
      },
    })
  const decide = async (userCode: string, decision: string) => {
    const { body } = await fetch(`${up.management}/cli-login`, {
      method: 'POST',
      headers: { cookie },
      body: new URLSearchParams({ user_code: userCode, organization: await organizationId(), decision }),
    })
    await body?.cancel()
  }
  const organizationId = async () =>
    (await jsonHere<{ organizations: { id: string }[] }>(['whoami'])).document.data.organizations[0]?.id as string

  const denied = await login('deny')
  assert.deepEqual([denied.code, existsSync(join(config, 'credentials.toml'))], [5, false])
  const approved = await login('approve')
  assert.equal(approved.code, 0, JSON.stringify(approved.document.error))
  assert.match(told, new RegExp(`^Open +${up.management}/cli-login$`, 'm'))
  assert.equal(statSync(join(config, 'credentials.toml')).mode & 0o777, 0o600)
  assert.equal((await runHere(['services', 'list', '--json'], here)).code, 0)
})

test('what is billed is shown, and an event of the provider is sent by its secret alone', async () => {
  const shown = await jsonHere<{ plan: string; tenant_id: string }>(['billing', 'show'])
  const { tenant_id: tenantId, plan } = shown.document.data
  const planned = await jsonHere<{ event: object }>([
    'billing',
    'webhook',
    'test',
    '--event',
    'payment.failed',
    '--dry-run',
  ])
  assert.deepEqual(planned.document.data.event, { eventType: 'payment.failed', tenantId, plan, status: 'past_due' })
  assert.equal((await jsonHere(['billing', 'webhook', 'test', '--yes'])).code, 4)
  // loci up has no provider: nobody's events are taken.
  writeFileSync(join(home.home, 'webhook-secret'), 'x'.repeat(43))
  const refused = await jsonHere(['billing', 'webhook', 'test', '--secret-file', 'webhook-secret', '--yes'])
  assert.deepEqual([refused.code, (await here(['billing', 'webhook', 'status'])).code], [9, 0])
  assert.match((await here(['billing', 'webhook', 'secret'])).stdout, /^[\w-]{43}\n$/)
})

test('a part of the profile in use is read and changed, and never its key', async () => {
  const service = (await here(['config', 'get', 'service'])).stdout.trim()
  assert.equal((await here(['config', 'set', 'service', 'another'])).code, 0)
  assert.equal((await here(['config', 'get', 'service'])).stdout, 'another\n')
  assert.equal((await here(['config', 'set', 'service', service])).code, 0)
  assert.match((await here(['config', 'get', 'apiKey'])).stdout, /^loci_sk_.{4}…\n$/)
  assert.deepEqual(
    [(await here(['config', 'get', 'organization'])).code, (await here(['config', 'set', 'url', 'x'])).code],
    [3, 2],
  )
})
