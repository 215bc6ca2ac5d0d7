import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { PEOPLE, startIdentityProvider } from '../testing/identity-provider.ts'
import { PUBLIC_URL, type TestManagement, testManagement } from '../testing/management.ts'
import { oidcSettings } from '../testing/sign-in.ts'

const ALICE = PEOPLE[0]?.email as string

/** A browser that keeps the cookies of every origin, follows links and sends forms. */
function createBrowser(management: TestManagement) {
  const jars = new Map<string, Map<string, string>>()
  const visited: string[] = []
  async function go(to: string, form?: string): Promise<TestAnswer & { url: URL }> {
    let url = new URL(to, PUBLIC_URL)
    let body = form
    for (let step = 0; step < 12; step += 1) {
      visited.push(url.href)
      const jar = jars.get(url.origin) ?? new Map<string, string>()
      jars.set(url.origin, jar)
      // Management listens elsewhere than browsers are told.
      const server = url.origin === PUBLIC_URL ? management.url : url.origin
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const type =
        body === undefined
          ? {}
          : { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', origin: url.origin }
      const answer = await ask(server, `${body === undefined ? 'GET' : 'POST'} ${url.pathname}${url.search}`, {
        headers: { accept: 'text/html', ...(cookie ? { cookie } : {}), ...type },
        ...(body === undefined ? {} : { body }),
      })
      for (const line of answer.headers['set-cookie'] ?? []) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === '') jar.delete(name as string)
        else jar.set(name as string, value as string)
      }
      if (answer.headers.location === undefined) return Object.assign(answer, { url })
      url = new URL(answer.headers.location, url)
      body = undefined
    }
    throw new Error('too many redirects')
  }
  return { go, visited, jar: () => jars.get(PUBLIC_URL) ?? new Map<string, string>() }
}

async function startWorld() {
  const provider = await startIdentityProvider({ redirectUri: `${PUBLIC_URL}/signed-in` })
  const management = await testManagement({ settings: oidcSettings(provider) })
  return {
    provider,
    management,
    async [Symbol.asyncDispose]() {
      await management[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

const linkIn = ({ text }: TestAnswer) => /href="(\/[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') as string

// specification 220
test('an older dashboard path leads to sign-in, sign-in to the provider and back, and no page has a script', async () => {
  await using world = await startWorld()
  const browser = createBrowser(world.management)
  const start = await browser.go('/dashboard/services')
  assert.deepEqual([start.status, start.url.pathname], [200, '/sign-in'])
  assert.match(String(start.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
  const form = await browser.go(linkIn(start))
  assert.equal(form.url.origin, world.provider.issuer)
  const done = await browser.go(form.url.href, 'login=alice')
  assert.deepEqual([done.status, done.url.pathname], [200, '/signed-in/done'], done.text)
  assert.deepEqual([...browser.jar().keys()].sort(), ['loci_access_token', 'loci_refresh_token'])
  const out = await browser.go('/sign-out')
  assert.match(String(out.headers['content-security-policy']), /form-action 'self'/)
  assert.match((await browser.go('/sign-out', '')).text, /You are signed out/)
  assert.equal(browser.jar().size, 0)
  assert.deepEqual(await world.management.sql(`select end_reason from loci.sessions`), [{ end_reason: 'signed_out' }])
  for (const { text } of [start, done, out]) assert.doesNotMatch(text, /<script|onload|javascript:/i)
})

// Mutant: the comparison of the state left out of pending.end().
test('a sign-in that this browser did not begin signs nobody in, and a return address leads nowhere else', async () => {
  await using world = await startWorld()
  const attacker = createBrowser(world.management)
  const form = await attacker.go('/sign-in/start')
  // The attacker stops before the last step, and gives the address to the victim.
  const stopped = createBrowser(world.management)
  await attacker.go(form.url.href, 'login=bob')
  const address = attacker.visited.find((url) => url.startsWith(`${PUBLIC_URL}/signed-in?`)) as string
  for (const victim of [stopped, createBrowser(world.management)]) {
    if (victim === stopped) await victim.go('/sign-in/start')
    const answer = await victim.go(address)
    assert.equal(answer.status, 403)
    assert.ok(!victim.jar().has('loci_access_token'))
  }
  for (const evil of ['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)']) {
    const browser = createBrowser(world.management)
    const asked = await browser.go(`/sign-in/start?${new URLSearchParams({ return_to: evil })}`)
    const done = await browser.go(asked.url.href, 'login=alice')
    assert.equal(`${done.url.origin}${done.url.pathname}`, `${PUBLIC_URL}/signed-in/done`, evil)
  }
})

test('what goes wrong is a page too, with the request’s id and without what was sent', async () => {
  await using world = await startWorld()
  world.provider.fault = 'stopped'
  const away = await createBrowser(world.management).go('/sign-in/start')
  assert.equal(away.status, 503)
  assert.ok(away.text.includes(String(away.headers['x-request-id'])))
  const forged = await createBrowser(world.management).go('/signed-in?state=%3Cscript%3E&code=x')
  assert.equal(forged.status, 403)
  assert.doesNotMatch(forged.text, /<script>/)
  assert.equal((await world.management.get('/signed-in?state=x&code=x')).error.code, 'FORBIDDEN')
})

test('a command line is approved on a page, by who is signed in, after the code was compared', async () => {
  await using world = await startWorld()
  const { management } = world
  const acme = await management.organization({ email: ALICE })
  const begun = (await management.post('/api/v1/cli-logins', {})).json<Record<string, string>>()
  const browser = createBrowser(management)
  const start = await browser.go(String(begun.verification_url))
  assert.equal(start.url.pathname, '/sign-in')
  const provider = await browser.go(linkIn(start))
  const form = await browser.go(provider.url.href, 'login=alice')
  assert.equal(form.url.pathname, '/cli-login')
  assert.ok(form.text.includes(String(begun.user_code)) && form.text.includes('Acme'))
  const fields = { user_code: String(begun.user_code), organization: acme.organizationId, decision: 'approve' }
  const foreign = await browser.go('/cli-login', String(new URLSearchParams({ ...fields, organization: 'org_x' })))
  assert.equal(foreign.status, 403)
  const approved = await browser.go('/cli-login', String(new URLSearchParams(fields)))
  assert.match(approved.text, /<h1>Approved/)
  const polled = await management.post(`/api/v1/cli-logins/${begun.id}/poll`, begun)
  assert.match(polled.json<{ api_key: string }>().api_key, /^loci_sk_/)
})

// Mutant: sign-out.ts that looks at the access cookie alone.
test('the page signs out whoever has a session, also when its access token has expired', async () => {
  await using world = await startWorld()
  const browser = createBrowser(world.management)
  const form = await browser.go(linkIn(await browser.go('/sign-in')))
  await browser.go(form.url.href, 'login=alice')
  browser.jar().delete('loci_access_token')
  const out = await browser.go('/sign-out', '')
  assert.deepEqual([out.status, [...browser.jar().keys()]], [200, []])
  const rows = await world.management.sql('select end_reason, sealed from loci.sessions')
  assert.deepEqual(rows, [{ end_reason: 'signed_out', sealed: null }])
})
