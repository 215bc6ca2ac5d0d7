import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { queryInteger } from '@loci/contract/wire.ts'
import { z } from 'zod'
import { docsPage } from './docs-page.ts'
import { documentOf } from './documents.ts'
import { open } from './probes.ts'
import { route } from './route.ts'

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
  const { html, contentSecurityPolicy } = page()
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
