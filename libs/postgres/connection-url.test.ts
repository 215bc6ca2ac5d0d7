import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUrl, serversOf, tlsOf } from './connection-url.ts'

test('a url may point at a host, an address or a socket', () => {
  assert.deepEqual(parseUrl('postgres://ann:p%40ss@db.example.com:6432/loci'), {
    host: 'db.example.com',
    port: 6432,
    user: 'ann',
    password: 'p@ss',
    database: 'loci',
  })
  assert.deepEqual(parseUrl('postgresql://ann@[::1]/loci'), { host: '::1', port: 5432, user: 'ann', database: 'loci' })
  const socket = { host: '/run/pg', port: 5433, user: 'ann', database: 'loci' }
  assert.deepEqual(parseUrl('postgres://ann@/loci?host=/run/pg&port=5433'), socket)
  assert.deepEqual(parseUrl('postgres:///loci?host=%2Frun%2Fpg&port=5433&user=ann'), socket)
})

test('a url may name several servers, each with its port and one login for all', () => {
  const login = { user: 'ann', password: 'p@s/s', database: 'loci', sslmode: 'verify-full' }
  assert.deepEqual(serversOf('postgres://ann:p%40s%2Fs@one.example:6432,10.0.0.2,[::1]:7/loci?sslmode=verify-full'), [
    { host: 'one.example', port: 6432, ...login },
    { host: '10.0.0.2', port: 5432, ...login },
    { host: '::1', port: 7, ...login },
  ])
  assert.deepEqual(serversOf('postgres://ann@one/loci'), [parseUrl('postgres://ann@one/loci')])
  for (const url of ['postgres://ann@one,/loci', 'postgres://ann@/loci?host=one,two', 'postgres://ann@one,two:x/loci'])
    assert.throws(() => serversOf(url), /names no host|several hosts|cannot be read/, url)
})

test('a url that cannot work is refused without repeating its password', () => {
  for (const url of [
    'db.example.com',
    'postgres://ann:secret@/loci',
    'postgres://ann:secret@a,b/x',
    'http://secret@x/',
  ]) {
    assert.throws(
      () => parseUrl(url),
      (error: Error) => !error.message.includes('secret'),
      url,
    )
  }
})

test('TLS is verified off this machine, whatever the url says, and optional on it', () => {
  const tls = (url: string) => tlsOf(parseUrl(url), 'CA')
  const verified = { rejectUnauthorized: true, ca: 'CA', servername: 'db.example.com' }
  assert.deepEqual(tls('postgres://a@db.example.com/b'), verified)
  assert.deepEqual(tls('postgres://a@db.example.com/b?sslmode=prefer'), verified)
  assert.deepEqual(tls('postgres://a@10.0.0.7/b'), { rejectUnauthorized: true, ca: 'CA' })
  for (const weak of ['disable', 'allow', 'no-verify']) {
    assert.throws(() => tls(`postgres://a@db.example.com/b?sslmode=${weak}`), /verified TLS/)
  }
  for (const host of ['localhost', '127.0.0.1', '[::1]', '']) {
    assert.equal(tls(`postgres://a@${host}/b${host === '' ? '?host=/run' : ''}`), false)
  }
  assert.notEqual(tls('postgres://a@localhost/b?sslmode=require'), false)
  // A name that only begins like loopback is somebody else's machine.
  assert.notEqual(tls('postgres://a@127.evil.example/b'), false)
})
