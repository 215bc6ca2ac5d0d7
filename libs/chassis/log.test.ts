import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, type LogFields, scrub } from './log.ts'

function logged(fields: object, message = 'm', level: 'debug' | 'info' = 'info'): Record<string, unknown>[] {
  const lines: string[] = []
  const log = createLog({ level: 'info', program: 'test', sink: { write: (line) => void lines.push(line) } })
  log[level](fields as LogFields, message)
  log.flush()
  return lines.map((line) => JSON.parse(line))
}

test('a line is JSON with its time, level, program and message', () => {
  const [line] = logged({ requestId: 'req_1', status: 200 }, 'request')
  assert.match(String(line?.time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  const { time: _, ...rest } = line!
  assert.deepEqual(rest, { level: 'info', program: 'test', requestId: 'req_1', status: 200, message: 'request' })
  assert.deepEqual(logged({}, 'below the level', 'debug'), [])
})

test('a field that is not on the list does not reach the log', () => {
  const [line] = logged({ route: '/x', headers: { cookie: 'c' }, body: 'b', tenant: 't', name: 'n', level2: 1 })
  assert.deepEqual(Object.keys(line!).sort(), ['level', 'message', 'program', 'route', 'time'])
})

test('of an error only what identifies it is kept, down its causes', () => {
  const cause = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (email)=(ada@example.com)' })
  const [line] = logged({ error: new Error('record the cycle', { cause }) })
  const error = line?.error as Record<string, unknown>
  assert.deepEqual([error.type, error.message], ['Error', 'record the cycle'])
  assert.equal((error.cause as Record<string, unknown>).code, '23505')
  assert.ok(String(error.stack).includes('log.test.ts'))
  assert.ok(!JSON.stringify(line).includes('ada@example.com'))
})

test('what is thrown and no error is kept as text', () => {
  assert.deepEqual(logged({ error: 'odd' })[0]?.error, { message: 'odd' })
  assert.deepEqual(logged({ error: undefined })[0]?.error, { message: 'undefined' })
})

const JWT = 'eyJhbGciOiJFZERTQSIsInR5cCI6ImxvY2ktY2FwK2p3dCJ9.eyJhdWQiOiJzdmNfMSJ9.c2lnbmF0dXJlX29m-_canary'
const PEM = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIcanary\n-----END PRIVATE KEY-----'
const CREDENTIALS: Record<string, string> = {
  'a capability': JWT,
  'a capability chain': `${JWT}~${JWT}~${JWT}`,
  'an unsigned token': 'eyJhbGciOiJub25lIn0.eyJvcHMiOlsiY2FuYXJ5Il19.',
  'an API key': 'loci_sk_live_canary0123456789',
  'a partner key': 'loci_ptr_01canary_0123456789abcdef',
  'an admin token': 'loci_adm_-canary_0123456789',
  'a bearer credential': 'Bearer canary.0123456789+/=',
  'a basic credential': 'basic Y2FuYXJ5OmNhbmFyeQ==',
  'a webhook secret': 'whsec_canary+/0123456789=',
  'a private key': PEM,
  'the password of a database': 'postgres://loci_daemon:canary@db.example/loci_cell',
  'the password of a proxy': 'https://user:canary@proxy.example/',
  'a password in JSON': '{"user":"loci_app","password":"canary"}',
  'a password in a connection string': 'host=db user=loci_app password=canary dbname=x',
}

for (const [kind, credential] of Object.entries(CREDENTIALS)) {
  test(`${kind} does not reach the log, wherever it stands`, () => {
    const secret = /canary|Y2FuYXJ5|c2lnbmF0dXJl|b3BzIjpbImNhbmFyeSJd|eyJvcHMi/
    const places: [object, string][] = [
      [{}, `refused ${credential} of a caller`],
      [{ reason: credential }, 'm'],
      [{ url: `/x?y=${credential}&z` }, 'm'],
      [{ error: new Error(`invalid input: "${credential}"`) }, 'm'],
      [{ error: new Error('outer', { cause: new Error(`header ${credential}`) }) }, 'm'],
    ]
    for (const [fields, message] of places) {
      const [line] = logged(fields, message)
      assert.doesNotMatch(JSON.stringify(line), secret)
      assert.match(JSON.stringify(line), /scrubbed/)
    }
  })
}

test('two credentials in one line both go, and the rest of the line stays', () => {
  const clean = scrub(`{"message":"a ${JWT} b loci_sk_canary c postgres://u:canary@h/d e"}`)
  assert.doesNotMatch(clean, /canary/)
  for (const kept of ['"message":"a ', ' b ', ' c postgres://u:', ' e"}']) assert.ok(clean.includes(kept), kept)
  JSON.parse(clean)
})

test('a line without a credential is left as it is', () => {
  for (const line of [
    '{"level":"info","requestId":"req_01jd2x","route":"/v1/kv/entries/{key}","status":200,"message":"request"}',
    '{"route":"/api/v1/tenants/{id}/tokens","code":"UNAUTHENTICATED"}',
    '{"message":"The administration needs its token in the header x-loci-admin-token."}',
    '{"url":"http://127.0.0.1:4410","reason":"postgres://loci_daemon@127.0.0.1/loci_cell"}',
    '{"message":"the secret of good sleep"}',
    '{"reason":"loci_app may not bypass row-level security"}',
  ])
    assert.equal(scrub(line), line)
})
