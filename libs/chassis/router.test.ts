import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { open } from './probes.ts'
import { type Method, route } from './route.ts'
import { createRouter } from './router.ts'

const at = (method: Method, path: string) =>
  route({ method, path, access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } }, () => ({}))

const router = createRouter([
  at('GET', '/'),
  at('GET', '/entries'),
  at('GET', '/entries/{key}'),
  at('PUT', '/entries/{key}'),
  at('POST', '/entries/batch'),
  at('GET', '/entries/{key}/history/{version}'),
  at('POST', '/advice/tools:rank'),
  at('GET', '/admin/status'),
])

function found(method: string, path: string): unknown {
  const match = router.find(method, path)
  return 'route' in match ? [match.route.spec.path, { ...match.params }] : match.isMalformed ? 'malformed' : match.allow
}

test('a path finds its template, with its parameters decoded', () => {
  assert.deepEqual(found('GET', '/'), ['/', {}])
  assert.deepEqual(found('GET', '/entries/a%2Fb'), ['/entries/{key}', { key: 'a/b' }])
  assert.deepEqual(found('GET', '/entries/k/history/3'), [
    '/entries/{key}/history/{version}',
    { key: 'k', version: '3' },
  ])
  assert.deepEqual(found('HEAD', '/entries/k'), ['/entries/{key}', { key: 'k' }])
})

test('HEAD of a stream is none', () => {
  const spec = { access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } }
  const { find } = createRouter([
    route({ ...spec, method: 'GET', path: '/events', deadline: 'stream' }, () => ({})),
    route({ ...spec, method: 'GET', path: '/{id}/events', deadline: 'stream' }, () => ({})),
  ])
  for (const path of ['/events', '/x/events']) {
    assert.ok('route' in find('GET', path))
    assert.deepEqual((find('HEAD', path) as { allow: string[] }).allow, ['GET'])
  }
})

test('a literal wins where it has the method, and does not hide a parameter where it has not', () => {
  assert.deepEqual(found('POST', '/entries/batch'), ['/entries/batch', {}])
  assert.deepEqual(found('PUT', '/entries/batch'), ['/entries/{key}', { key: 'batch' }])
  assert.deepEqual(found('DELETE', '/entries/batch'), ['GET', 'HEAD', 'POST', 'PUT'])
})

test('a colon is a character like others', () => {
  assert.deepEqual(found('POST', '/advice/tools:rank'), ['/advice/tools:rank', {}])
  assert.deepEqual(found('POST', '/advice/toolsXYZ'), [])
})

// Mutants: `literals.get(segment)` in literalOf(); the same without the depth.
test('a percent-encoded character is that character, but in the first segment; an encoded slash divides nothing', () => {
  for (const path of ['/advice/tools%3Arank', '/advice/tools%3arank', '/advice/%74ools%3Aran%6B'])
    assert.deepEqual(found('POST', path), ['/advice/tools:rank', {}], path)
  assert.deepEqual(found('PATCH', '/advice/tools%3Arank'), ['POST'])
  assert.deepEqual(found('POST', '/entries/b%61tch'), ['/entries/batch', {}])
  assert.deepEqual(found('GET', '/entries/k/h%69story/3'), [
    '/entries/{key}/history/{version}',
    { key: 'k', version: '3' },
  ])
  for (const path of [
    '/%61dmin/status',
    '/%61dvice/tools%3Arank',
    '/advice%2Ftools:rank',
    '/advice/%2e%2e/admin/status',
    '/advice/..%2fadmin/status',
    '/advice/tools%253Arank',
    '/advice/tools%3',
    '/advice/tools:rank%00',
  ])
    assert.deepEqual([found('GET', path), found('POST', path)], [[], []], path)
})

test('what is not exactly a path of ours is none', () => {
  for (const path of [
    '',
    '//',
    '/entries/',
    '/entries//history/3',
    '/ENTRIES',
    '/entries/k/',
    '/%65ntries',
    '/__proto__',
    '/constructor',
  ])
    assert.deepEqual(found('GET', path), [], path)
})

test('a parameter that is not percent-encoded UTF-8 is malformed', () => {
  for (const key of ['%', '%zz', '%ed%a0%80', '%c0%ae']) assert.equal(found('GET', `/entries/${key}`), 'malformed', key)
})

test('two routes for one method and path cannot be registered', () => {
  assert.throws(() => createRouter([at('GET', '/a/{b}'), at('GET', '/a/{c}')]), /registered twice/)
})

// Mutants: decode the tail as a whole (a%2Fb becomes a path of two); let `..` pass; look at the tail before the
// parameter; let every segment be empty.
test('a tail takes the rest of a path, decoded segment by segment, and nothing that climbs', () => {
  const { find } = createRouter([
    at('GET', '/files/{path...}'),
    at('GET', '/files/{name}'),
    at('GET', '/files/{name}/about'),
    at('PUT', '/files/{path...}'),
    at('GET', '/{org}/docs/{path...}'),
  ])
  const match = (method: string, path: string) => {
    const one = find(method, path)
    return 'route' in one ? [one.route.spec.path, { ...one.params }] : one.isMalformed ? 'malformed' : one.allow
  }
  assert.deepEqual(match('GET', '/files/a'), ['/files/{name}', { name: 'a' }])
  assert.deepEqual(match('PUT', '/files/a'), ['/files/{path...}', { path: 'a' }])
  assert.deepEqual(match('GET', '/files/a/about'), ['/files/{name}/about', { name: 'a' }])
  assert.deepEqual(match('GET', '/files/a/b%20c/d.txt'), ['/files/{path...}', { path: 'a/b c/d.txt' }])
  assert.deepEqual(match('GET', '/files/a/b/'), ['/files/{path...}', { path: 'a/b/' }])
  assert.deepEqual(match('HEAD', '/files/a/b'), ['/files/{path...}', { path: 'a/b' }])
  assert.deepEqual(match('GET', '/acme/docs/x/y'), ['/{org}/docs/{path...}', { org: 'acme', path: 'x/y' }])
  for (const bad of ['a/../b', 'a/..', './a', 'a//b', 'a//', 'a/%2e%2e/b', 'a%2Fb/c', 'a%5Cb/c', 'a%00/b', 'a/%ff'])
    assert.equal(match('GET', `/files/${bad}`), 'malformed', bad)
  assert.deepEqual(match('POST', '/files/a/b'), ['GET', 'HEAD', 'PUT'])
  assert.deepEqual(match('GET', '/files/'), [])
  assert.deepEqual(match('GET', `/files/${'a/'.repeat(40)}a`), ['/files/{path...}', { path: `${'a/'.repeat(40)}a` }])
  assert.throws(() => createRouter([at('GET', '/{path...}/more')]), /tail before its end/)
})
