import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { queryInteger } from '@loci/contract/wire.ts'
import { z } from 'zod'
import { docsPage } from './docs-page.ts'
import { documentOf } from './documents.ts'
import { html as answerWith } from './pages.ts'
import { open } from './probes.ts'
import { type Access, route } from './route.ts'

const hostile = '<script src="https://evil.example/x.js">alert(1)</script>\' onload="x'
const routes = [
  route(
    {
      method: 'POST',
      path: '/v1/things/{id}',
      access: open,
      summary: hostile,
      tag: 'things',
      params: z.object({ id: z.string() }),
      query: z.object({ limit: queryInteger({ min: 1, max: 9, fallback: 3 }) }),
      body: z.object({ name: z.string() }).meta({ id: 'Thing', description: hostile }),
      answers: { 200: z.object({ ok: z.boolean() }) },
    },
    () => ({ ok: true }),
  ),
]

function page() {
  const options = {
    title: hostile,
    version: '1',
    description: hostile,
    letterCase: 'camel' as const,
    tags: { things: hostile },
    address: 'D',
    securitySchemes: {},
  }
  return docsPage(documentOf(routes, options))
}

test('the page refers to nothing outside of itself', () => {
  const { html } = page()
  const tags = html.match(/<[a-z][^>]*>/gi) ?? []
  const references = tags.flatMap((tag) =>
    [...tag.matchAll(/\s(?:src|href|action|data|poster|srcset)\s*=\s*["']?([^"'\s>]*)/gi)].map(([, url]) => url),
  )
  assert.ok(references.length > 0)
  for (const url of references) assert.match(String(url), /^(#|\/(?!\/))/)
  const [, style] = /<style>([\s\S]*?)<\/style>/.exec(html) as RegExpExecArray
  assert.doesNotMatch(String(style), /url\(|@import|\/\//)
})

test('the page has no script, whatever a description contains', () => {
  assert.doesNotMatch(page().html, /<script|<iframe|<img|<link|\son\w+\s*=\s*"/i)
})

test('its policy forbids everything but its own style', () => {
  const { html, policy } = page()
  const contentSecurityPolicy = String(answerWith(html, policy).headers['content-security-policy'])
  const [, style] = /<style>([\s\S]*?)<\/style>/.exec(html) as RegExpExecArray
  const digest = createHash('sha256').update(String(style)).digest('base64')
  const directives = contentSecurityPolicy.split('; ')
  assert.ok(directives.includes("default-src 'none'"))
  assert.ok(directives.includes(`style-src 'sha256-${digest}'`))
  assert.ok(directives.includes("frame-ancestors 'none'"))
  assert.doesNotMatch(contentSecurityPolicy, /unsafe|https?:|\*/)
})

test('every operation, parameter and schema is on it', () => {
  const { html } = page()
  for (const text of ['/v1/things/{id}', 'POST', '<code>limit</code>', 'id="schema-Thing"', 'VALIDATION_ERROR'])
    assert.ok(html.includes(text), text)
})

const capability: Access<undefined> = {
  class: 'capability',
  operation: 'kv:write',
  schemes: [['capability']],
  errors: ['UNAUTHENTICATED'],
  authorize: () => undefined,
}
const spec = { access: capability, summary: 'Puts `one`.', answers: { 200: z.object({ ok: z.boolean() }) } }
const ok = () => ({ ok: true })

function described() {
  const given = [
    route({ ...spec, access: open, method: 'GET', path: '/health/live', tag: 'health' }, ok),
    route({ ...spec, access: open, method: 'GET', path: '/admin/x', tag: 'admin' }, ok),
    route({ ...spec, method: 'GET', path: '/v1/kv/consistency', tag: 'kv' }, ok),
    route(
      {
        ...spec,
        method: 'PUT',
        path: '/v1/kv/entries/{key}',
        tag: 'kv',
        params: z.object({ key: z.string() }),
        body: z
          .object({ value: z.unknown().refine(() => true), kind: z.enum(['it’s', 'b']), ttlMs: z.int().optional() })
          .meta({ id: 'Entry' }),
      },
      ok,
    ),
  ]
  const securitySchemes = {
    capability: { type: 'apiKey', in: 'header', name: 'x-loci-capability', description: 'One.' },
  }
  const tags = { health: 'd', admin: 'd', kv: 'd' }
  const options = {
    title: 't',
    version: '1',
    description: 'd',
    letterCase: 'camel' as const,
    address: 'D',
    tags,
    securitySchemes,
  }
  return docsPage(documentOf(given, options)).html
}

test('each route names its header and has a line to paste, with a body that its schema takes', () => {
  const html = described()
  assert.ok(html.includes('x-loci-capability, kv:write'))
  assert.ok(html.includes('<code>$CAP</code></th><td><code>x-loci-capability: </code>'))
  const line = [...html.matchAll(/<pre[^>]*>(curl [\s\S]*?)<\/pre>/g)].map(([, one]) => decoded(String(one)))
  assert.deepEqual(
    line.find((one) => one.includes('PUT')),
    [
      'curl -s -X PUT "$D/v1/kv/entries/$ENTRY_KEY" \\',
      '  -H "$CAP" \\',
      '  -H "$J" \\',
      `  -d '{"value":"tea","kind":"it’s"}'`,
    ].join('\n'),
  )
  assert.ok(line.includes('curl -s "$D/health/live"'))
})

test('what everybody needs stands first, probes and administration last; headings in order; links lead to what is shown', () => {
  const html = described()
  const order = [
    'id="kv"',
    '/v1/kv/entries/{key}',
    '/v1/kv/consistency',
    'id="admin"',
    'id="health"',
    'id="errors"',
    'id="schemas"',
  ]
  const places = order.map((one) => html.indexOf(one))
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.ok(!places.includes(-1))
  const levels = [...html.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
  for (const [at, level] of levels.entries())
    assert.ok(level <= (levels[at - 1] ?? 0) + 1, `h${level} after h${levels[at - 1]}`)
  assert.equal(html.split('<main>').length, 2)
  for (const [, id] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(html.includes(`id="${id}"`), id)
  assert.ok(html.indexOf('id="schema-Entry"') > html.lastIndexOf('</details>'), 'not inside a closed box')
  for (const [tag] of html.matchAll(/<pre[^>]*>|<div class="t"[^>]*>/g)) assert.match(tag, /tabindex="0"/)
  assert.ok(html.includes('id="error-UNAUTHENTICATED"'))
  assert.ok(html.includes('Puts <code>one</code>.'))
})

test('an example is what is pasted and what comes back, and nothing of it becomes markup', () => {
  const given = route(
    {
      ...spec,
      method: 'PUT',
      path: '/v1/things/{id}',
      tag: 'kv',
      params: z.object({ id: z.string() }),
      query: z.object({ limit: queryInteger({ min: 1, max: 9, fallback: 3 }) }),
      body: z.object({ name: z.string() }),
      errors: ['NOT_FOUND'],
    },
    ok,
  )
  const options = { title: 't', version: '1', description: 'd', letterCase: 'camel' as const, securitySchemes: {} }
  const example = {
    path: { id: 'a:b/c' },
    query: { limit: '2' },
    body: { name: "it's" },
    status: 200,
    answer: { hostile },
  }
  const examples = { 'PUT /v1/things/{id}': example }
  const { html } = docsPage(documentOf([given], { ...options, address: 'D', tags: { kv: 'd' }, examples }))
  const [line, answer] = [...html.matchAll(/<pre[^>]*>([\s\S]*?)<\/pre>/g)].map(([, one]) => decoded(String(one)))
  assert.match(String(line), /^curl -s -X PUT "\$D\/v1\/things\/a:b%2Fc\?limit=2"/)
  assert.ok(line?.endsWith(`-d '{"name":"it'\\''s"}'`), line)
  assert.deepEqual(JSON.parse(String(answer)), { hostile })
  assert.doesNotMatch(html, /<script/)
  assert.match(html, /<details><summary>Errors: 400, .*404/)
})

function decoded(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
