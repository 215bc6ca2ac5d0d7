// Byte streams that look like requests until they do not. Stream i of a seed is always the same, so a failure is one
// line.

export interface Operation {
  method: string
  path: string
  /** What else of the same method reaches it: `/v1/kv/entries/{key}` also takes the path of the batch. */
  template?: RegExp
}

/** By the beginning of a path what its `{id}` is: a real thing gets further than an x. */
export type Things = Record<string, string>

/** Every operation of an OpenAPI document, with its parameters filled in. */
export function operationsOf(
  document: { paths: Record<string, Record<string, unknown>> },
  things: Things = {},
): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => ({
      method: method.toUpperCase(),
      path: fill(path, things).replaceAll(/\{\w+\}/g, 'x'),
      template: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    })),
  )
}

function fill(path: string, things: Things): string {
  const [start] = Object.keys(things).filter((one) => path.startsWith(one))
  return start === undefined ? path : path.replace('{id}', things[start] as string)
}

/** Routes that stream have no HEAD, which would hold one open. */
export function methodsOf({ method, path }: Operation): string[] {
  return method === 'GET' && !/^\/(api\/)?v1\/events$|\/proxy\//.test(path) ? ['GET', 'HEAD'] : [method]
}

/** Headers of every request: each route takes the credential that it knows. */
export type Credentials = Record<string, string>

export function headerLines(credentials: Credentials): string[] {
  return Object.entries(credentials).map(([name, value]) => `${name}: ${value}`)
}

const MANAGEMENT_BODIES: [end: string, body: string][] = [
  ['/api/v1/tenants', '{"name":"x"}'],
  ['/api/v1/organizations', '{"name":"x"}'],
  ['/api/v1/api-keys', '{"name":"x","scopes":["tenants:read"],"expires_in":60}'],
  ['/api/v1/services', '{"name":"x","service_type":"kv"}'],
  ['/tokens', '{"ops":["kv:read"],"ttl_seconds":60}'],
  ['/partner-credentials', '{"name":"x","database":"default","expires_in":60}'],
  ['/invitations', '{"email":"x@example.com","role":"viewer"}'],
  ['/webhooks/billing', '{"eventType":"subscription.updated","tenantId":"ten_x","plan":"pro","status":"active"}'],
]

/** What the route would accept, so that a stream that is changed a little gets far. */
function bodyOf(method: string, path: string): string {
  if (method === 'PUT') return '{"value":{"a":[1,2]},"ttlMs":60000}'
  if (path.endsWith('/batch')) return '{"operations":[{"op":"put","key":"x","value":1},{"op":"delete","key":"y"}]}'
  if (path === '/admin/revocations') return '{"jti":"cap_00000000000000000000000000"}'
  const [, body] = MANAGEMENT_BODIES.find(([end]) => path.endsWith(end)) ?? []
  return body ?? '{"services":["mcp"],"dry_run":true}'
}

export function corpusOf(operations: Operation[], credentials: Credentials): Buffer[] {
  return operations
    .flatMap(({ method, path }) => {
      const body = bodyOf(method, path)
      const lines = ['Host: loci.example', ...headerLines(credentials)].join('\r\n')
      const head = `${method} ${path} HTTP/1.1\r\n${lines}\r\n`
      const whole =
        method === 'GET'
          ? `${head}\r\n`
          : `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      const chunked = `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      return [whole, chunked, `${head}Connection: keep-alive\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\n\r\n`]
    })
    .map((text) => Buffer.from(text, 'latin1'))
}

const NEXT = 'GET /smuggled HTTP/1.1\r\nHost: loci.example\r\n\r\n'
const HOST = 'Host: loci.example\r\n'

/** Two readers of these could disagree where the request ends: each must be refused, and nothing after it answered. */
export const SMUGGLING: Record<string, string> = {
  'length and chunked': `POST /admin/services/enable HTTP/1.1\r\n${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${NEXT}`,
  'chunked and length': `POST /admin/services/enable HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${NEXT}`,
  'two lengths': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${NEXT}`,
  'lengths in a list': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: 0, 44\r\n\r\n${NEXT}`,
  'length with a sign': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: +0\r\n\r\n${NEXT}`,
  'negative length': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n${NEXT}`,
  'hex length': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: 0x0\r\n\r\n${NEXT}`,
  'huge length': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length: 99999999999999999999999\r\n\r\n${NEXT}`,
  'space before the colon': `POST /health/live HTTP/1.1\r\n${HOST}Content-Length : 0\r\n\r\n${NEXT}`,
  xchunked: `POST /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${NEXT}`,
  'chunked, identity': `POST /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${NEXT}`,
  'two encodings': `POST /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: identity\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n${NEXT}`,
  'folded header': `GET /health/live HTTP/1.1\r\n${HOST}X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n${NEXT}`,
  'bare LF': `GET /health/live HTTP/1.1\n${HOST}\n${NEXT}`,
  'bare CR': `GET /health/live HTTP/1.1\r\nX-A: 1\rTransfer-Encoding: chunked\r\n${HOST}\r\n${NEXT}`,
  'NUL in a header': `GET /health/live HTTP/1.1\r\n${HOST}X-A: a\0b\r\n\r\n${NEXT}`,
  'bad chunk size': `POST /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${NEXT}`,
  'chunk size overflow': `POST /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n${NEXT}`,
  'chunk longer than said': `POST /admin/services/enable HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n${NEXT}`,
}

/** Odd, but not ambiguous: any answer of ours will do. */
const ODD = [
  'GET /\r\n',
  'GET / HTTP/0.9\r\n\r\n',
  'GET /health/live HTTP/1.0\r\n\r\n',
  `GET /health/live HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`,
  `GET /health/live HTTP/1.2\r\n${HOST}\r\n`,
  `GET /health/live HTTP/9.9\r\n${HOST}\r\n`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
  '\x80\x2e\x01\x03\x01',
  'SSH-2.0-OpenSSH_9.2\r\n',
  `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`,
  `GET * HTTP/1.1\r\n${HOST}\r\n`,
  `GET http://evil.example/health/live HTTP/1.1\r\n${HOST}\r\n`,
  `GET http:// HTTP/1.1\r\n${HOST}\r\n`,
  `GET //evil.example/health/live HTTP/1.1\r\n${HOST}\r\n`,
  `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`,
  `TRACE / HTTP/1.1\r\n${HOST}\r\n`,
  `GET /health/live HTTP/1.1\r\n${HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  `GET /health/live HTTP/1.1\r\n${HOST}Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  `POST /admin/services/enable HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  `POST /admin/services/enable HTTP/1.1\r\n${HOST}Expect: nonsense\r\nContent-Length: 2\r\n\r\n{}`,
  `GET /health/live HTTP/1.1\r\n${HOST}${HOST}\r\n`,
  'GET /health/live HTTP/1.1\r\nHost:\r\n\r\n',
  'GET /health/live HTTP/1.1\r\n\r\n',
  `GET /%zz%c0%ae HTTP/1.1\r\n${HOST}\r\n`,
  `GET /\xff\xfe HTTP/1.1\r\n${HOST}\r\n`,
  `G\xcbT / HTTP/1.1\r\n${HOST}\r\n`,
  '\r\n\r\n\r\n\r\n',
  `\r\n\r\nGET /health/live HTTP/1.1\r\n${HOST}\r\n`,
  'GET',
  '',
  '\0'.repeat(100),
  `GET /health/live HTTP/1.1\r\n${HOST}\r\n`.repeat(20),
  `POST /admin/services/enable HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n2;x=${'y'.repeat(3000)}\r\n{}\r\n0\r\nTrailer: x\r\n\r\n`,
].map((text) => Buffer.from(text, 'latin1'))

export function streamOf(corpus: Buffer[], seed: number, index: number): Buffer {
  const random = randomOf(seed, index)
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <Item>(items: readonly Item[]) => items[below(items.length)] as Item
  const smuggling = Object.values(SMUGGLING)
  const kind = random()
  if (kind < 0.03) return Buffer.from(Array.from({ length: below(300) }, () => below(256)))
  let bytes = kind < 0.15 ? pick(ODD) : kind < 0.25 ? Buffer.from(pick(smuggling), 'latin1') : pick(corpus)
  const times = kind < 0.2 ? below(2) : 1 + below(4)
  for (let i = 0; i < times; i += 1) bytes = mutate(bytes, pick(corpus), below)
  return bytes
}

function mutate(bytes: Buffer, other: Buffer, below: (limit: number) => number): Buffer {
  const at = below(bytes.length + 1)
  const text = () => bytes.toString('latin1')
  const latin = (changed: string) => Buffer.from(changed, 'latin1')
  switch (below(12)) {
    case 0: {
      const flipped = Buffer.from(bytes)
      for (let i = 1 + below(12); i > 0 && flipped.length > 0; i -= 1) {
        const place = below(flipped.length)
        flipped[place] = (flipped[place] as number) ^ (1 << below(8))
      }
      return flipped
    }
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return Buffer.concat([bytes.subarray(0, at), other.subarray(below(other.length + 1))])
    case 3:
      return Buffer.concat([bytes, other])
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(Array.from({ length: 1 + below(20) }, () => below(256))),
        bytes.subarray(at),
      ])
    case 5:
      return latin(text().replaceAll('\r\n', '\n'))
    case 6: {
      const lines = text().split('\r\n')
      const line = lines[below(lines.length)] as string
      lines.splice(below(lines.length), 0, line)
      return latin(lines.join('\r\n'))
    }
    case 7: {
      const lines = text().split('\r\n')
      lines.splice(below(lines.length), 1)
      return latin(lines.join('\r\n'))
    }
    case 8:
      return latin(text().replace('\r\n', `\r\n${HEADER_LINES[below(HEADER_LINES.length)]}\r\n`))
    case 9:
      return latin(text().replace(/Content-Length: \d+/, `Content-Length: ${LENGTHS[below(LENGTHS.length)]}`))
    case 10:
      return latin(text().replace(/\{.*\}/s, () => JSON_TEXTS[below(JSON_TEXTS.length)] as string))
    default:
      return latin(text().replace(/ \/[^ ]*/, (path) => path + PATH_ENDS[below(PATH_ENDS.length)]))
  }
}

const HEADER_LINES = [
  'Transfer-Encoding: chunked',
  'Content-Length: 5',
  'Content-Encoding: gzip',
  'Connection: close, x-loci-admin-token',
  'Connection: upgrade',
  'X-Forwarded-For: 127.0.0.1',
  'Host: other.example',
  'traceparent: 00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01',
  'traceparent: 00-0-0-0',
  'If-Match: "18446744073709551616"',
  'x-loci-database: ../other',
  'Idempotency-Key: "\xff"',
  'x-loci-tenant: ten_forged',
  ' folded: line',
  'no colon at all',
  ': no name',
  'x\0y: z',
  'Expect: 100-continue',
  'x-request-id: req_forged',
  '__proto__: x',
  'Cookie: a=b; a=c; \xff',
]
const LENGTHS = ['0', '1', '9', '36', '4096', '1048577', '4294967296', '-1', '1e3', ' 35', '35 35', '']
const JSON_TEXTS = [
  '{',
  '[]',
  'null',
  '{"services":[]}',
  '{"a":1e999}',
  '"\\ud800"',
  '{"service":"\\u0000"}',
  '\xff',
  '{"__proto__":{}}',
  '{"value":"\\u0000"}',
  '{"value":1e400}',
  '{"value":null,"ttlMs":9007199254740993}',
  '{"operations":[{"op":"put"}]}',
]
const PATH_ENDS = [
  '?',
  '?a&a',
  '?%',
  '#x',
  '/',
  '/..',
  '//',
  '%00',
  '%2e%2e%2f',
  '\\',
  ';x=y',
  '?a=%zz',
  '?cursor=AAAA',
  '?limit=0',
  '*',
  '\x01',
]

/** mulberry32, started from seed and index. */
function randomOf(seed: number, index: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
