import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { TOOL_NAMES, TOOLS } from './tools.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const OPS = OPERATION_NAMES.filter((one) => one !== 'operator')
const ACCEPT = { accept: 'application/json, text/event-stream' }
const everything = () => own.root({ ops: OPS, ks: ['*/*'] })
let last = 0
const fresh = () => {
  last += 1
  return `db-${last}`
}

interface Message {
  result?: { isError?: boolean; content: { text: string }[]; tools: { name: string; description: string }[] }
  error?: { code: number; message: string }
}

function send(body: unknown, headers: Record<string, string>): Promise<TestAnswer> {
  return daemon.ask('POST /mcp', { body, headers: { ...ACCEPT, ...headers } })
}

async function rpc(token: string, method: string, params: object = {}, db = 'default'): Promise<Message> {
  const headers = { 'x-loci-capability': token, 'x-loci-database': db, 'mcp-protocol-version': '2025-06-18' }
  const answer = await send({ jsonrpc: '2.0', id: 1, method, params }, headers)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Message>()
}

/** What a tool says, parsed; with `isError` when it failed. */
async function use(token: string, name: string, args: object, db?: string) {
  const { result, error } = await rpc(token, 'tools/call', { name, arguments: args }, db)
  if (!result) return { isError: true, said: error as never, text: JSON.stringify(error) }
  const text = result.content[0]?.text ?? ''
  return { isError: result.isError ?? false, said: result.isError ? text : JSON.parse(text), text }
}

const listed = async (token: string) => ((await rpc(token, 'tools/list')).result?.tools ?? []).map(({ name }) => name)
const isBuilt = (route: string) => daemon.daemon.routes.some(({ spec }) => `${spec.method} ${spec.path}` === route)
const built = () => TOOL_NAMES.filter((name) => isBuilt(TOOLS[name].route))

test('a client is greeted, its notifications are taken, and what is no message is refused in the form of the protocol', async () => {
  const token = everything()
  const clientInfo = { name: 'test', version: '1' }
  const hello = await rpc(token, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  assert.equal((hello.result as never as { serverInfo: { name: string } }).serverInfo.name, 'loci')
  const headers = { 'x-loci-capability': token }
  assert.equal((await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers)).status, 202)
  for (const body of [[], null, 5, 'x', {}, { jsonrpc: '2.0' }, { id: 1, method: 'nothing' }]) {
    const { status, text } = await send(JSON.stringify(body), { ...headers, 'content-type': 'application/json' })
    assert.ok(status >= 400 && status < 500, `${status} ${text} for ${JSON.stringify(body)}`)
  }
})

test('the tools are at most eight, their definitions at most 6 KB, and every one has a description and a schema', async () => {
  const { result } = await rpc(everything(), 'tools/list')
  const tools = result?.tools ?? []
  assert.deepEqual(tools.map(({ name }) => name).sort(), built().sort())
  assert.ok(TOOL_NAMES.length <= 8)
  assert.ok(Buffer.byteLength(JSON.stringify(tools)) <= 6 * 1024)
  for (const tool of tools) assert.ok(tool.description, tool.name)
})

// Mutants: `isOffered` always true; no `authorize` in callRoute().
test('a capability without the operation of a tool does not see it and cannot call it', async () => {
  for (const name of built()) {
    const operation = daemon.daemon.routes.find(({ spec }) => `${spec.method} ${spec.path}` === TOOLS[name].route)?.spec
      .access.operation
    const without = own.root({ ops: OPS.filter((one) => one !== operation), ks: ['*/*'] })
    assert.deepEqual(
      await listed(without),
      (await listed(everything())).filter((one) => !sharesOperation(one, operation)),
    )
    assert.ok((await use(without, name, {})).isError, name)
  }
  assert.deepEqual(await listed(own.root({ ops: ['kv:read'], ks: ['kv/*'] })), [])
})

function sharesOperation(name: string, operation: string | undefined): boolean {
  const { route } = TOOLS[name as keyof typeof TOOLS]
  return daemon.daemon.routes.some(
    ({ spec }) => `${spec.method} ${spec.path}` === route && spec.access.operation === operation,
  )
}

test('what is remembered is recalled, corrected and forgotten, in the database of the header alone', async () => {
  const [token, db] = [everything(), fresh()]
  const { said } = await use(token, 'remember', { text: 'Ada prefers replies in Dutch', tags: ['ada'] }, db)
  const found = await use(token, 'recall', { query: 'Ada replies', limit: 3, tags: ['ada'], max_tokens: 500 }, db)
  assert.deepEqual(
    found.said.memories.map(({ id, content }: Record<string, string>) => [id, content]),
    [[said.id, 'Ada prefers replies in Dutch']],
  )
  assert.deepEqual((await use(token, 'recall', { query: 'Ada replies' }, fresh())).said.memories, [])
  const corrected = await use(token, 'remember', { text: 'Ada prefers replies in French', replaces: said.id }, db)
  assert.ok(!(await use(token, 'recall', { query: 'Ada replies' }, db)).text.includes('Dutch'))
  const gone = await use(token, 'forget', { id: corrected.said.id, reason: 'asked to' }, db)
  assert.equal(gone.said.deleted, true)
  const again = await use(token, 'remember', { text: 'Ada prefers replies in French' }, db)
  assert.ok(again.isError && again.text.includes('MEMORY_FORGOTTEN'), again.text)
  const [entry] = await daemon.sql(`select action from loci.audit where chain = $1 order by seq desc limit 1`, [
    own.svc,
  ])
  assert.deepEqual(entry, { action: 'memory.erase' })
})

test('the focus is in working memory, with what was pushed out where it is asked for', async () => {
  const [token, db] = [everything(), fresh()]
  await use(token, 'focus', { text: 'replies to Ada', ttl_minutes: 10 }, db)
  const { said } = await use(token, 'working_memory', { include_evicted: true }, db)
  assert.deepEqual([said.slots[0].key, said.slots[0].value, said.count], ['focus', 'replies to Ada', 1])
  assert.deepEqual(said.evicted.evictions, [])
  assert.ok(!('evicted' in (await use(token, 'working_memory', {}, db)).said))
})

// Before, it was said to have been asked for by HTTP. Mutant: callRoute() without `via`.
test('a cycle that a tool runs takes in what waits, and its record says by which way it was asked for', async () => {
  const [token, db] = [everything(), fresh()]
  await use(token, 'remember', { text: 'Ada prefers replies in Dutch' }, db)
  const { said } = await use(token, 'run_cycle', { focus: 'Which replies does Ada prefer?' }, db)
  const headers = { 'x-loci-database': db }
  const record = (await own.call(token, `GET /v1/cognitive/cycles/${said.id}`, { headers })).json<{
    trigger: string
    focus: string
  }>()
  assert.deepEqual([record.trigger, record.focus, said.broadcast.length], ['mcp', 'Which replies does Ada prefer?', 1])
})

// specification 199
test('arguments and headers never widen: namespace, database and identity of others are refused or not heard', async () => {
  const other = await authority.addInstance()
  const db = fresh()
  const secret = 'the launch code is tulip'
  await use(other.root({ ops: OPS, ks: ['*/*'] }), 'remember', { text: secret }, db)
  await use(everything(), 'remember', { text: secret }, 'hidden')
  const narrow = own.root({ ops: OPS, ks: [`memory/${db}`] })
  const namespace = `${other.org}/${other.ten}/${other.svc}/${db}`
  const args = { query: 'launch code', database: 'hidden', namespace, service: other.svc, instance_id: other.svc }
  assert.ok(!(await use(narrow, 'recall', args, db)).text.includes('tulip'))
  const elsewhere = await use(narrow, 'recall', args, 'hidden')
  assert.ok(elsewhere.isError && elsewhere.text.includes('DATABASE_MISMATCH'), elsewhere.text)
  const headers = { 'x-loci-capability': narrow, 'x-loci-service': other.svc }
  const { status, error } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)
  assert.deepEqual([status, error.code], [403, 'IDENTITY_MISMATCH'])
})

test('the credential may come as a bearer; without one, or with another kind, it is 401, and from a page 403', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const authorization = `Bearer ${everything()}`
  assert.equal((await send(ping, { authorization })).status, 200)
  const partner = await partnerToken(authority, own, ['event'])
  for (const headers of [{}, { authorization: `${authorization}x` }, { authorization: `Bearer ${partner}` }] as Record<
    string,
    string
  >[])
    assert.equal((await send(ping, headers)).status, 401)
  const page = await send(ping, { authorization, origin: 'https://evil.example' })
  assert.deepEqual([page.status, page.error.code], [403, 'ORIGIN_NOT_ALLOWED'])
  const get = await daemon.get('/mcp', { authorization })
  assert.deepEqual([get.status, get.headers.allow], [405, 'POST'])
})

// Mutants: requireKnownNames() left out of register(); MCP_TOOLS' own schema in the place of HEARD.
test('a misspelt argument is an error of the tool that names the known one, and nothing is done; others are ignored', async () => {
  const [token, db] = [everything(), fresh()]
  for (const [tool, args, meant] of [
    ['remember', { text: 'Ada lives in Delft', tag: ['ada'] }, 'tags'],
    ['recall', { query: 'Ada', Limit: 1 }, 'limit'],
    ['recall', { query: 'Ada', maxTokens: 10 }, 'max_tokens'],
    ['focus', { text: 'Ada', ttl: 5 }, 'ttl_minutes'],
  ] as const) {
    const refused = await use(token, tool, args, db)
    assert.ok(refused.isError && refused.text.includes('VALIDATION_ERROR'), refused.text)
    assert.ok(refused.text.includes(`did you mean \`${meant}\`?`), refused.text)
  }
  assert.deepEqual((await use(token, 'recall', { query: 'Ada', colour: 'red' }, db)).said.memories, [])
  assert.equal((await use(token, 'working_memory', {}, db)).said.count, 0)
})

test('a bad argument, a missing memory and a switched-off sub-service are errors of the tool; the others go on', async () => {
  const [token, db] = [everything(), fresh()]
  assert.ok((await use(token, 'recall', { query: '' }, db)).isError)
  assert.ok((await use(token, 'recall', { limit: 'x' }, db)).isError)
  const missing = await use(token, 'forget', { id: 'mem_none', reason: 'x' }, db)
  assert.ok(missing.isError && missing.text.includes('NOT_FOUND'), missing.text)
  await daemon.admin('POST /admin/services/disable', { services: ['memory'] })
  await eventually(async () => (await use(token, 'recall', { query: 'x' }, db)).text.includes('SUBSERVICE_DISABLED'))
  assert.ok(!(await use(token, 'working_memory', {}, db)).isError)
  await daemon.admin('POST /admin/services/enable', { services: ['memory'] })
})

// Mutants: answerOf() that hands the whole batch to answerTo(), or a batch inside of it; refusalToGoOn() that answers
// undefined.
test('the messages of a batch are answered one by one, each for the price of a request; what is over the rate is refused', async () => {
  const listing = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })
  const asked = (own: TestInstance, messages: object[]) =>
    send(messages, { 'x-loci-capability': own.root({ ops: OPS, ks: ['*/*'] }), 'mcp-protocol-version': '2025-03-26' })
  const batch = (count: number) => Array.from({ length: count }, (_, at) => listing(at + 1))
  const over = await asked(own, batch(21))
  assert.deepEqual([over.status, over.error.code], [400, 'VALIDATION_ERROR'])
  assert.match(over.error.message, /at most 20 messages/)
  const nested = await asked(own, [batch(20), batch(20)])
  assert.deepEqual([nested.status, nested.error.code], [400, 'VALIDATION_ERROR'])

  const slow = await authority.addInstance({ limits: { ...own.limits, requests_per_second: 1, burst: 8 } })
  const told = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const startedAt = performance.now()
  const answers = (await asked(slow, [told, ...batch(19)])).json<(Message & { id: number })[]>()
  assert.deepEqual(
    answers.map(({ id }) => id),
    batch(19).map(({ id }) => id),
    'a notification has no answer',
  )
  const done = answers.filter(({ result }) => result).length
  const affordable = 9 + (performance.now() - startedAt) / 1_000
  assert.ok(done >= 1 && done <= affordable, `${done} of 19 are done with a burst of 8`)
  assert.ok(answers.slice(0, done).every(({ result }) => result))
  for (const { error } of answers.slice(done)) assert.equal(error?.code, -32_000)
})
