// The poison list, served to every route with every method. What we say to it is known: a refusal of the right kind.

import { type Credentials, headerLines, methodsOf, type Operation } from './byte-streams.ts'

export interface Poison {
  name: string
  bytes: Buffer
  /** The statuses that are right; undefined = any below 500. */
  expected?: number[]
  /** What a 405 must say that there is. */
  allow?: string[]
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']
/** The body may be refused before the path is missed, and a method that no path has is refused before both. */
const NOT_THERE = [404, 405, 413, 415]
const SWITCH = '/admin/services/enable'

const PATHS = [
  '%00',
  '/..%2f..%2fetc%2fpasswd',
  '/../../etc/passwd',
  '%c0%ae',
  '%ff',
  '%',
  '/%2e%2e/',
  `/${'a'.repeat(8000)}`,
  '/\u202e'.normalize(),
  ';a=b',
]
const QUERIES = [
  'a=1&a=2',
  'offset=99999999999999999999',
  'limit=1e999',
  'limit=-1',
  'a=%00',
  'a=%ff%fe',
  'a=%ud800',
  '__proto__[x]=1',
  'constructor=1',
  '&&&===',
  `a=${'x'.repeat(8000)}`,
  'a[]=1&a[b]=2',
  'cursor=AAAA&limit=1',
  'cursor=%00',
  'prefix=%00',
  'prefix=%ff',
  'mode=full&cursor=x',
  'mode=__proto__',
]
const HEADERS: [string, string][] = [
  ['20 KB in one header', `x-big: ${'a'.repeat(20_000)}`],
  ['2,000 headers', Array.from({ length: 2_000 }, (_, i) => `a${i}: `).join('\r\n')],
  ['bidi', 'x-a: \u202e\u2066'],
  ['forged identity', 'x-loci-user: root\r\nx-consumer-id: root\r\nx-request-id: req_forged'],
  ['no value', 'x-a:'],
  ['__proto__', '__proto__: x\r\nconstructor: y'],
  ['traceparent', `traceparent: ${'0'.repeat(300)}`],
  ['if-match beyond every number', 'if-match: "99999999999999999999"'],
  ['if-match that is none', 'if-match: W/"1", *'],
  ['database that is a path', 'x-loci-database: ../default'],
  ['database twice', 'x-loci-database: a\r\nx-loci-database: b'],
  ['long idempotency key', `idempotency-key: ${'k'.repeat(300)}`],
  ['identity of another', 'x-loci-tenant: ten_forged\r\nx-loci-service: svc_forged'],
  ['ranges', 'range: bytes=0-0,1-1,2-2\r\nif-none-match: *\r\nif-modified-since: never'],
]

const json = (text: string): [string, string | Buffer] => ['application/json', text]
const DEEP = 500_000

const BODIES: { name: string; body: [type: string, body: string | Buffer]; extra?: string; expected?: number[] }[] = [
  { name: 'NUL', body: json('{"service":"a\\u0000b"}'), expected: [400] },
  { name: 'raw NUL', body: json('{"service":"a\0b"}'), expected: [400] },
  { name: 'lone surrogate', body: json('{"service":"\\ud800"}'), expected: [400] },
  {
    name: 'invalid UTF-8',
    body: ['application/json', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    expected: [400],
  },
  { name: 'depth 500,000', body: json('['.repeat(DEEP) + ']'.repeat(DEEP)), expected: [400] },
  { name: 'depth 500,000 objects', body: json('{"a":'.repeat(150_000)), expected: [400] },
  { name: '1e999', body: json('{"services":["mcp"],"x":1e999}'), expected: [400] },
  { name: '-1e999', body: json('{"services":["mcp"],"auto_revert_ms":-1e999}'), expected: [400] },
  { name: '__proto__', body: json('{"services":["mcp"],"__proto__":{"dry_run":true}}'), expected: [400] },
  { name: 'constructor', body: json('{"constructor":{"prototype":{"x":1}}}'), expected: [400] },
  { name: 'bidi', body: json('{"service":"\u202emcp","dry_run":true}'), expected: [200] },
  {
    name: 'prototype as a name',
    body: json('{"services":["__proto__","constructor","toString"],"dry_run":true}'),
    expected: [200],
  },
  { name: 'wrong types', body: json('{"services":{"length":1},"dry_run":"yes"}'), expected: [400] },
  { name: 'huge number', body: json('{"services":["mcp"],"auto_revert_ms":99999999999999999999}'), expected: [400] },
  { name: 'fraction', body: json('{"services":["mcp"],"drain_timeout_ms":0.5}'), expected: [400] },
  { name: 'long name', body: json(`{"service":"${'a'.repeat(500_000)}"}`), expected: [400] },
  { name: '15,000 names', body: json(`{"services":[${'"mcp",'.repeat(15_000)}"mcp"]}`), expected: [400] },
  // More elements than any body may have: refused by their number, before they are parsed.
  { name: '50,000 names', body: json(`{"services":[${'"mcp",'.repeat(50_000)}"mcp"]}`), expected: [413] },
  { name: 'duplicate keys', body: json('{"service":"kv","service":"mcp","dry_run":true}') },
  { name: 'a number', body: json('1'), expected: [400] },
  { name: 'null', body: json('null'), expected: [400] },
  { name: 'nothing', body: json(''), expected: [400] },
  { name: 'byte order mark', body: json('\ufeff{}'), expected: [400] },
  { name: 'NUL in a value', body: json('{"value":"\\u0000"}') },
  { name: 'lone surrogate in a value', body: json('{"value":{"\\ud800":1}}') },
  { name: 'number beyond all', body: json('{"value":1e999}') },
  { name: 'ttl beyond all', body: json('{"value":1,"ttlMs":9007199254740991}') },
  { name: 'ttl below nothing', body: json('{"value":1,"ttlMs":-1}') },
  {
    name: '2,000 operations',
    body: json(`{"operations":[${'{"op":"put","key":"k","value":1},'.repeat(1_999)}{"op":"delete","key":"k"}]}`),
  },
  {
    name: 'the same key twice',
    body: json(
      '{"operations":[{"op":"put","key":"k","value":1},{"op":"delete","key":"k"},{"op":"put","key":"k","value":2}]}',
    ),
  },
  { name: 'no operation of ours', body: json('{"operations":[{"op":"__proto__","key":"k"},null,7]}') },
  { name: 'a time that is none', body: json('{"org":"org_x","not_before":"+275760-09-13T00:00:00.001Z"}') },
  { name: 'form', body: ['application/x-www-form-urlencoded', 'service=mcp'], expected: [415] },
  { name: 'multipart', body: ['multipart/form-data; boundary=x', '--x--'], expected: [415] },
  { name: 'no type', body: ['', '{}'], expected: [415] },
  { name: 'odd type', body: ['application/json; charset=utf-16', '{}'], expected: [415] },
  { name: 'type that is none', body: ['////;;;===', '{}'], expected: [415] },
  { name: 'gzip', body: json('{}'), extra: 'content-encoding: gzip', expected: [415] },
  { name: 'encodings', body: json('{}'), extra: 'content-encoding: br, gzip, deflate', expected: [415] },
  { name: '2 MB', body: json(`"${'a'.repeat(2_000_000)}"`), expected: [413] },
]

export function poisonList(operations: Operation[], credentials: Credentials): Poison[] {
  const paths = [...new Set(operations.map(({ path }) => path))]
  return paths.flatMap((path): Poison[] => {
    const own = new Set(operations.filter((one) => one.path === path || one.template?.test(path)).flatMap(methodsOf))
    const make = (
      name: string,
      method: string,
      target: string,
      lines = '',
      body: string | Buffer = '',
      expected?: number[],
    ): Poison => ({
      name: `${method} ${path.slice(0, 60)}: ${name}`,
      bytes: requestBytes(method, target, credentials, lines, body),
      ...(expected ? { expected } : {}),
      allow: [...own],
    })
    const takesBody = path.startsWith('/admin/services/') && own.has('POST')
    return METHODS.flatMap((method) => {
      const refused = own.has(method) ? undefined : own.has('NONE') ? NOT_THERE : [405]
      return [
        make('plain', method, path, '', '', refused),
        ...PATHS.map((end) => make(`path ${end.slice(0, 20)}`, method, path + end)),
        ...QUERIES.map((query) => make(`query ${query.slice(0, 20)}`, method, `${path}?${query}`)),
        ...HEADERS.map(([name, lines]) => make(`header ${name}`, method, path, lines)),
        ...(['POST', 'PUT', 'DELETE', 'GET'].includes(method) ? BODIES : BODIES.slice(0, 3)).map(
          ({ name, body: [type, body], extra, expected }) =>
            make(
              `body ${name}`,
              method,
              path,
              `${type === '' ? 'x-a: b' : `content-type: ${type}`}${extra ? `\r\n${extra}` : ''}`,
              body,
              takesBody && method === 'POST' ? expected : refused,
            ),
        ),
      ]
    })
  })
}

/** The few that a mutant must trip over. */
export function poisonSample(credentials: Credentials): Poison[] {
  return poisonList(
    [
      { method: 'POST', path: SWITCH },
      { method: 'NONE', path: '/nothing/here' },
    ],
    credentials,
  )
}

function requestBytes(
  method: string,
  target: string,
  credentials: Credentials,
  lines: string,
  body: string | Buffer,
): Buffer {
  const bytes = Buffer.from(body)
  const head = [
    `${method} ${target} HTTP/1.1`,
    'host: loci.example',
    ...headerLines(credentials),
    'connection: close',
    ...(lines ? [lines] : []),
    ...(bytes.length > 0 || method === 'POST' ? [`content-length: ${bytes.length}`] : []),
  ].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])
}
