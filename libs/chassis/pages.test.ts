// Answers for browsers, through a real listener.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { readCookie, setCookie } from './cookies.ts'
import { html, redirect } from './pages.ts'
import { open } from './probes.ts'
import { reply, route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const spec = { method: 'GET', access: open, tag: 't', summary: 's' } as const
const page = { contentType: 'text/html', description: 'A page.' }
const session = { maxAgeS: 600, secure: true }

const routes = [
  route({ ...spec, path: '/page', answers: { 200: page } }, () => html('<p>hi', { 'img-src': `'self'` })),
  route({ ...spec, path: '/own', answers: { 303: page } }, () => redirect('/page?from=own')),
  route({ ...spec, path: '/provider', answers: { 307: page } }, () =>
    redirect(new URL('https://id.example/authorize?state=a b'), {}, 307),
  ),
  route({ ...spec, path: '/away', query: z.object({ to: z.string() }), answers: { 303: page } }, ({ query }) =>
    redirect(query.to),
  ),
  route({ ...spec, path: '/sign-in', answers: { 303: page } }, ({ answer }) => {
    setCookie(answer, '__Host-loci_access_token', 'a=1; b', session)
    setCookie(answer, '__Host-loci_refresh_token', 'r', { ...session, sameSite: 'lax' })
    return redirect('/page')
  }),
  route({ ...spec, path: '/both', answers: { 200: z.unknown() } }, ({ answer }) => {
    setCookie(answer, 'one', '1', session)
    return reply(200, {}, { 'set-cookie': ['two=2', 'three=3'], 'x-plain': 'yes' })
  }),
  route({ ...spec, path: '/refused', answers: { 200: z.unknown() } }, ({ answer }) => {
    setCookie(answer, 'gone', '', { ...session, maxAgeS: 0 })
    throw new Error('after the cookie was set')
  }),
  route(
    { ...spec, path: '/files/{path...}', params: z.object({ path: z.string() }), answers: { 200: z.unknown() } },
    ({ params }) => params,
  ),
  route({ ...spec, path: '/me', answers: { 200: z.unknown() } }, ({ headers }) => ({
    session: readCookie(headers, 'session') ?? null,
  })),
]

// Mutants: leave frame-ancestors out of POLICY; let the policy of a page replace POLICY.
test('a page has a policy that allows nothing but what it names', async () => {
  await using server = await testHttpServer(routes)
  const { status, headers, text } = await server.ask('GET /page')
  assert.deepEqual([status, text, headers['content-type']], [200, '<p>hi', 'text/html; charset=utf-8'])
  assert.deepEqual(String(headers['content-security-policy']).split('; ').sort(), [
    `base-uri 'none'`,
    `default-src 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
    `img-src 'self'`,
  ])
  assert.deepEqual([headers['referrer-policy'], headers['x-content-type-options']], ['same-origin', 'nosniff'])
})

// Mutant: OWN_PATH without its look at the second character (//evil.example is followed).
test('a redirect leads to a path of our own, or to a URL that code has made; anything else is a bug', async () => {
  await using server = await testHttpServer(routes)
  const own = await server.ask('GET /own')
  assert.deepEqual([own.status, own.headers.location, own.text], [303, '/page?from=own', ''])
  assert.equal(own.headers['content-type'], undefined)
  const provider = await server.ask('GET /provider')
  assert.deepEqual([provider.status, provider.headers.location], [307, 'https://id.example/authorize?state=a%20b'])
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', 'evil', '', '/a%0d%0ax:y\r\n', '/ä'])
    assert.equal((await server.ask(`GET /away?to=${encodeURIComponent(to)}`)).status, 500, to)
  assert.equal((await server.ask(`GET /away?to=${encodeURIComponent('/page?a=b#c')}`)).status, 303)
})

// Mutant: `header` in place of `append` in setCookie() (one cookie is left).
test('an answer sets several cookies, beside those of its reply and also when it is refused', async () => {
  await using server = await testHttpServer(routes)
  assert.deepEqual((await server.ask('GET /sign-in')).headers['set-cookie'], [
    '__Host-loci_access_token=a%3D1%3B%20b; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Strict',
    '__Host-loci_refresh_token=r; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Lax',
  ])
  const both = await server.ask('GET /both')
  assert.deepEqual(
    [both.headers['set-cookie']?.map((one) => one.split(';')[0]), both.headers['x-plain']],
    [['one=1', 'two=2', 'three=3'], 'yes'],
  )
  const refused = await server.ask('GET /refused')
  assert.deepEqual([refused.status, refused.headers['set-cookie']?.length], [500, 1])
})

// Mutant: take what parseCookie() finds, without counting (200 with the first).
test('a cookie is read by its name; two of one name are refused', async () => {
  await using server = await testHttpServer(routes)
  const me = async (cookie?: string) => {
    const answer = await server.ask('GET /me', cookie === undefined ? {} : { headers: { cookie } })
    return answer.status === 200 ? answer.json<{ session: string | null }>().session : answer.error.code
  }
  assert.deepEqual(
    [await me(), await me('other=1'), await me('other=1; session=a%3D1'), await me('__proto__=x; xsession=1')],
    [null, null, 'a=1', null],
  )
  assert.equal(await me('session=mine; session=theirs'), 'VALIDATION_ERROR')
})

test('a path with a tail is served with its slashes, and one that climbs is refused', async () => {
  await using server = await testHttpServer(routes)
  assert.deepEqual((await server.ask('GET /files/css/a%20b.css')).json(), { path: 'css/a b.css' })
  for (const bad of ['a/../../etc', 'a/%2e%2e/b', 'a%2f..%2fb', 'a//b']) {
    const { status, error } = await server.ask(`GET /files/${bad}`)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], bad)
  }
  const put = await server.ask('PUT /files/a/b')
  assert.deepEqual([put.status, put.headers.allow], [405, 'GET, HEAD'])
})
