import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { PEOPLE, startIdentityProvider } from '../../testing/identity-provider.ts'
import { PUBLIC_URL, type TestManagement, testManagement } from '../../testing/management.ts'
import { oidcSettings } from '../../testing/sign-in.ts'

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

const DASHBOARD = [
  '/',
  '/dashboard',
  '/dashboard/',
  '/dashboard/services',
  '/dashboard/services/',
  '/dashboard/services/a/b',
]

// Mutants: the paths lead to sign-in whoever asks; to the console also who has no organization.
// specification 220
test('an older dashboard path leads to sign-in, sign-in to the provider and back, and who is signed in to their page', async () => {
  await using world = await startWorld()
  const browser = createBrowser(world.management)
  for (const path of DASHBOARD) {
    const stranger = await createBrowser(world.management).go(path)
    assert.deepEqual([stranger.status, stranger.url.pathname], [200, '/sign-in'], path)
  }
  const start = await browser.go('/dashboard/services')
  assert.match(String(start.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
  const form = await browser.go(linkIn(start))
  assert.equal(form.url.origin, world.provider.issuer)
  const done = await browser.go(form.url.href, 'login=alice')
  assert.deepEqual([done.status, done.url.pathname], [200, '/signed-in/done'], done.text)
  assert.deepEqual([...browser.jar().keys()].sort(), ['loci_access_token', 'loci_refresh_token'])
  for (const path of DASHBOARD) assert.equal((await browser.go(path)).url.pathname, '/signed-in/done', path)
  await world.management.organization({ email: ALICE })
  for (const path of DASHBOARD) assert.equal((await browser.go(path)).url.pathname, '/services', path)
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

// Mutant: errorHeadersOf() left out of problemPage().
test('what goes wrong is a page too, with the request’s id and without what was sent', async () => {
  await using world = await startWorld()
  world.provider.fault = 'stopped'
  const away = await createBrowser(world.management).go('/sign-in/start')
  assert.deepEqual([away.status, away.headers['retry-after']], [503, '5'])
  assert.ok(away.text.includes(String(away.headers['x-request-id'])))
  const forged = await createBrowser(world.management).go('/signed-in?state=%3Cscript%3E&code=x')
  assert.equal(forged.status, 403)
  assert.doesNotMatch(forged.text, /<script>/)
  assert.equal((await world.management.get('/signed-in?state=x&code=x')).error.code, 'FORBIDDEN')
})

async function signedIn(management: TestManagement, login = 'alice') {
  const browser = createBrowser(management)
  const form = await browser.go(linkIn(await browser.go('/sign-in')))
  await browser.go(form.url.href, `login=${login}`)
  return browser
}

// Mutants: makeFirstOrganization() without lockOwned(); the form for somebody who has an organization.
test('who is signed in sees their organizations, and who has none makes one there, once, and is led to the console', async () => {
  await using world = await startWorld()
  const { management } = world
  const browser = await signedIn(management)
  const none = await browser.go('/signed-in/done')
  assert.match(none.text, /<form method="post" action="\/signed-in\/done">/)
  assert.match(String(none.headers['content-security-policy']), /form-action 'self'/)
  const make = (name: string) => browser.go('/signed-in/done', String(new URLSearchParams({ name })))
  assert.equal((await make('')).status, 400)
  const sent = await Promise.all([make('A & <b>B</b>'), make('A & <b>B</b>')])
  for (const made of [...sent, await make('Another')]) assert.equal(made.url.pathname, '/services')
  const shown = await browser.go('/signed-in/done')
  assert.match(shown.text, /<strong>A &amp; &lt;b&gt;B&lt;\/b&gt;<\/strong>: you are an owner/)
  assert.doesNotMatch(shown.text, /<form|<script|<b>|Another/)
  const rows = await management.sql(
    `select o.name, m.role from loci.organizations o join loci.members m on m.organization_id = o.id`,
  )
  assert.deepEqual(rows, [{ name: 'A & <b>B</b>', role: 'owner' }])
  const cookie = [...browser.jar()].map(([name, value]) => `${name}=${value}`).join('; ')
  const foreign = { cookie, 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' }
  const refused = await management.ask('POST /signed-in/done', { headers: foreign, body: 'name=x' })
  assert.equal(refused.error.code, 'ORIGIN_NOT_ALLOWED')
  assert.equal((await createBrowser(management).go('/signed-in/done', 'name=x')).url.pathname, '/sign-in')
})

// Mutants: `prompt=login` left out of authorizeUrl(); the page of who signed in long ago shows the form.
test('who signed in more than ten minutes ago signs in again, at the provider, before a command line is approved', async () => {
  await using world = await startWorld()
  const { management } = world
  const acme = await management.organization({ email: ALICE })
  const browser = await signedIn(management)
  await management.sql(`update loci.sessions set created_at = now() - interval '11 minutes'`)
  const begun = (await management.post('/api/v1/cli-logins', {})).json<Record<string, string>>()
  const fields = { user_code: String(begun.user_code), organization: acme.organizationId, decision: 'approve' }
  const refused = await browser.go('/cli-login', String(new URLSearchParams(fields)))
  const again = await browser.go('/cli-login')
  assert.deepEqual([refused.status, again.status], [403, 200])
  for (const page of [refused, again]) assert.match(page.text, /<h1>Sign in again/)
  // The provider knows the browser, and asks all the same.
  const form = await browser.go(linkIn(again))
  assert.equal(form.url.origin, world.provider.issuer)
  const asked = new URL(browser.visited.find((url) => url.includes('max_age=')) as string)
  assert.equal(asked.searchParams.get('prompt'), 'login consent')
  assert.equal((await browser.go(form.url.href, 'login=alice')).url.pathname, '/cli-login')
  const [row] = await management.sql<{ told: boolean }>(
    'select auth_time is not null as told from loci.sessions order by created_at desc limit 1',
  )
  assert.equal(row?.told, true, 'the provider told when')
  assert.match((await browser.go('/cli-login', String(new URLSearchParams(fields)))).text, /<h1>Approved/)
})

test('the page of sign-out offers to revoke what the session made', async () => {
  await using world = await startWorld()
  const { management } = world
  await management.organization({ email: ALICE })
  const browser = await signedIn(management)
  const cookie = [...browser.jar()].map(([name, value]) => `${name}=${value}`).join('; ')
  const made = await management.post('/api/v1/api-keys', { name: 'k' }, { cookie, 'sec-fetch-site': 'same-origin' })
  const { secret } = made.json<{ secret: string }>()
  assert.match((await browser.go('/sign-out')).text, /<input type="checkbox" name="revoke_issued" value="true">/)
  assert.match((await browser.go('/sign-out', 'revoke_issued=true')).text, /Revoked with the session: 1 API keys/)
  assert.equal((await management.get('/api/v1/services', { 'x-api-key': secret })).status, 401)
})

// Mutant: the form has the code of the address.
test('a command line is approved on a page, by who is signed in, after the code was typed', async () => {
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
  const led = await browser.go(`/cli-login?user_code=${begun.user_code}`)
  for (const { text } of [form, led]) {
    assert.ok(!text.includes(String(begun.user_code)), 'whoever sent the link did not fill it in')
    assert.match(text, /For 30 days the key may do whatever\s+you may do.*Acme \(owner\)/s)
  }
  assert.ok(!String(begun.verification_url).includes(String(begun.user_code)))
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
