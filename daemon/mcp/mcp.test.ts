import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { MCP_TOOLS, type McpTool } from '@loci/contract/mcp.ts'
import { MCP_DEFINITIONS } from '@loci/contract/mcp-definitions.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { TOOLS } from './tools.ts'

const TOOL_NAMES = Object.keys(TOOLS) as McpTool[]

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

interface Listed {
  name: string
  description: string
  annotations: Record<string, unknown>
  inputSchema: { additionalProperties: boolean; properties: object }
  outputSchema: { type: string; required?: string[] }
}

interface Message {
  result?: { isError?: boolean; content: { text: string }[]; structuredContent?: unknown; tools: Listed[] }
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

/** What a tool says; with `isError` when it failed. */
async function use(token: string, name: string, args: object, db?: string) {
  const { result, error } = await rpc(token, 'tools/call', { name, arguments: args }, db)
  if (!result) return { isError: true, said: error as never, text: JSON.stringify(error) }
  const text = result.content[0]?.text ?? ''
  return { isError: result.isError ?? false, said: result.structuredContent as never as Said, text }
}

/** Any of what the tools say. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows which tool it used.
type Said = any

const listed = async (token: string) => ((await rpc(token, 'tools/list')).result?.tools ?? []).map(({ name }) => name)
const isBuilt = (route: string) => daemon.daemon.routes.some(({ spec }) => `${spec.method} ${spec.path}` === route)
const built = () => TOOL_NAMES.filter((name) => isBuilt(TOOLS[name].route))

test('a client is greeted, its notifications are taken, and what is no message is refused in the form of the protocol', async () => {
  const token = everything()
  const clientInfo = { name: 'test', version: '1' }
  const hello = await rpc(token, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  const { serverInfo, instructions } = hello.result as never as { serverInfo: { name: string }; instructions: string }
  assert.equal(serverInfo.name, 'loci')
  assert.ok(instructions.length <= 400)
  const headers = { 'x-loci-capability': token }
  assert.equal((await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers)).status, 202)
  for (const body of [[], null, 5, 'x', {}, { jsonrpc: '2.0' }, { id: 1, method: 'nothing' }]) {
    const { status, text } = await send(JSON.stringify(body), { ...headers, 'content-type': 'application/json' })
    assert.ok(status >= 400 && status < 500, `${status} ${text} for ${JSON.stringify(body)}`)
  }
})

test('the eight tools say when to use them and what they do to the world, in a list of at most 6 KB', async () => {
  const { result } = await rpc(everything(), 'tools/list')
  const tools = result?.tools ?? []
  assert.deepEqual(tools.map(({ name }) => name).sort(), built().sort())
  assert.equal(TOOL_NAMES.length, 8)
  const whole = Buffer.byteLength(JSON.stringify({ tools: MCP_DEFINITIONS }))
  assert.ok(whole <= 6 * 1024, `${whole} bytes`)
  for (const { name, description, annotations, inputSchema, outputSchema } of tools) {
    assert.match(description, /^Use /, name)
    assert.deepEqual(
      Object.entries(annotations).map(([hint, value]) => [hint, typeof value]),
      [
        ['title', 'string'],
        ...['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].map((hint) => [hint, 'boolean']),
      ],
    )
    assert.deepEqual(
      [inputSchema.additionalProperties, outputSchema.type, annotations.openWorldHint],
      [false, 'object', false],
    )
  }
  const having = (hint: string) => tools.filter(({ annotations }) => annotations[hint]).map(({ name }) => name)
  assert.deepEqual(having('readOnlyHint').sort(), ['rank_tools', 'recall', 'working_memory'])
  assert.deepEqual(having('destructiveHint'), ['forget'])
})

// Mutants: `withoutEmptyWithin` left out of used(); a tool's output schema with one required name more.
test('every result is told as text without empty fields and as content that its output schema takes', async () => {
  const [token, db] = [everything(), fresh()]
  const told = async (name: McpTool, args: object) => {
    const { isError, said, text } = await use(token, name, args, db)
    assert.ok(!isError, text)
    assert.ok(MCP_TOOLS[name].output.safeParse(said).success, `${name}: ${JSON.stringify(said)}`)
    assert.doesNotMatch(text, /"\w+":(null|\[\]|\{\}|"")/, name)
    return said
  }
  const { id } = await told('remember', { text: 'Ada prefers replies in Dutch', tags: ['style'], key: 'language' })
  await told('recall', { query: 'Ada prefers replies in Dutch' })
  const unknown = await told('recall', { query: 'Who won the cup in 1974?' })
  assert.deepEqual([unknown.memories, unknown.abstained], [[], true])
  await told('focus', { text: 'replies to Ada' })
  await told('run_cycle', { focus: 'replies to Ada', observations: ['Ada wrote from Utrecht'] })
  await told('working_memory', { include_evicted: true })
  await told('rank_tools', { task_class: 'support', task_intent: 'refund', candidates: ['refund', 'look-up'] })
  await told('forget', { id, reason: 'asked to' })
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
  assert.deepEqual(said.evicted, [])
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
  assert.deepEqual([record.trigger, record.focus, said.inMind.length], ['mcp', 'Which replies does Ada prefer?', 1])
})

// Mutants: `observations` left out of run_cycle; `evictedOf` of another action.
test('a cycle takes in up to twenty texts and says in words what is in mind now and what left', async () => {
  const [token, db] = [everything(), fresh()]
  const headers = { 'x-loci-database': db }
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  await own.call(operator, 'PUT /v1/working-memory/config', { headers, body: { capacity: 2 } })
  for (const key of ['one', 'two'])
    await own.call(token, `PUT /v1/working-memory/slots/${key}`, {
      headers,
      body: { value: `Old news ${key}`, salience: -2 },
    })
  const observations = ['The launch code is tulip', 'The launch code is "secret"']
  const { text, said } = await use(token, 'run_cycle', { focus: 'the launch code', observations }, db)
  const { slots } = (await own.call(token, 'GET /v1/working-memory/slots', { headers })).json<{
    slots: { value: string }[]
  }>()
  assert.equal(said.inMind.length, slots.length)
  for (const { value } of slots) assert.ok(text.includes(value), `${value} in ${text}`)
  assert.ok(said.left.length > 0, text)
  for (const { key, reason } of said.left) assert.ok(text.includes(`- ${key}: ${reason}`), text)

  const notes = (count: number) => ({ observations: Array.from({ length: count }, (_, at) => `Note number ${at}`) })
  assert.ok(!(await use(token, 'run_cycle', notes(20), db)).isError)
  const over = await use(token, 'run_cycle', notes(21), db)
  assert.ok(over.isError && over.text.includes('observations'), over.text)
  const blind = own.root({ ops: ['cycles:run'], ks: ['*/*'] })
  const unseen = await use(blind, 'run_cycle', {}, db)
  assert.ok(unseen.text.includes('wm:read') && !unseen.text.includes('tulip'), unseen.text)
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
  assert.ok((await use(narrow, 'recall', args, db)).isError)
  assert.deepEqual((await use(narrow, 'recall', { query: 'launch code' }, db)).said.memories, [])
  const elsewhere = await use(narrow, 'recall', { query: 'launch code' }, 'hidden')
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

// Mutant: an input schema that is not strict.
test('an unknown argument is an error of the tool that names it and the known one, and nothing is done', async () => {
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
  for (const name of built()) {
    const colour = await use(token, name, { colour: 'red' }, db)
    assert.ok(colour.isError && colour.text.includes('`colour`'), colour.text)
  }
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

// Mutants: `isAllowed` not asked by shownOf(); readResource() that answers any uri.
test('resources are read by name with the rights of the credential, and what is not there is told so', async () => {
  const [token, db] = [everything(), fresh()]
  const { said } = await use(token, 'remember', { text: 'Ada keeps the bulbs in the cellar' }, db)
  const cycle = await use(token, 'run_cycle', { focus: 'bulbs' }, db)
  const read = async (uri: string, held = token) => {
    const { result, error } = await rpc(held, 'resources/read', { uri }, db)
    const [content] = (result as never as { contents: { text: string }[] } | undefined)?.contents ?? []
    return { content: content && JSON.parse(content.text), error }
  }
  assert.equal((await read(`loci://memory/${said.id}`)).content.content, 'Ada keeps the bulbs in the cellar')
  assert.equal((await read(`loci://cycles/${cycle.said.id}`)).content.focus, 'bulbs')
  assert.equal((await read('loci://working-memory')).content.count, cycle.said.inMind.length)
  const status = (await read('loci://status')).content
  assert.deepEqual([status.service, status.database, status.state], [own.svc, db, 'active'])
  for (const uri of [`loci://memory/${said.id}x`, 'loci://memory/../cycles', 'loci://nothing', 'file:///etc/passwd'])
    assert.ok((await read(uri)).error, uri)

  const blind = own.root({ ops: ['wm:read'], ks: ['*/*'] })
  const refused = await read(`loci://memory/${said.id}`, blind)
  assert.ok(refused.error && !JSON.stringify(refused).includes('cellar'))
  const names = async (held: string, method: string) =>
    Object.values((await rpc(held, method)).result as object)
      .flatMap((list) => (Array.isArray(list) ? list : []))
      .map(({ name }: { name: string }) => name)
  assert.deepEqual(await names(blind, 'resources/list'), ['working-memory', 'status'])
  assert.deepEqual(await names(blind, 'resources/templates/list'), [])
  assert.deepEqual(await names(token, 'resources/templates/list'), ['memory', 'cycle'])
  assert.deepEqual(await names(token, 'prompts/list'), ['resume-task', 'handoff-summary'])
  const prompt = await rpc(token, 'prompts/get', { name: 'resume-task', arguments: { task: 'the bulbs' } })
  assert.ok(JSON.stringify(prompt.result).includes('the bulbs'))
  for (const asked of [{ name: 'toString' }, { name: 'resume-task', arguments: { tasks: 'x' } }])
    assert.ok((await rpc(token, 'prompts/get', asked)).error)
})

// Mutants: answerOf() that hands the whole batch to answerTo(), or a batch inside of it; refusalToGoOn() that answers
// undefined.
test('the messages of a batch are answered one by one, each charged what it used; what is over the rate is refused', async () => {
  const listing = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })
  const asked = (own: TestInstance, messages: object[]) =>
    send(messages, { 'x-loci-capability': own.root({ ops: OPS, ks: ['*/*'] }), 'mcp-protocol-version': '2025-03-26' })
  const batch = (count: number) => Array.from({ length: count }, (_, at) => listing(at + 1))
  const over = await asked(own, batch(21))
  assert.deepEqual([over.status, over.error.code], [400, 'VALIDATION_ERROR'])
  assert.match(over.error.message, /at most 20 messages/)
  const nested = await asked(own, [batch(20), batch(20)])
  assert.deepEqual([nested.status, nested.error.code], [400, 'VALIDATION_ERROR'])

  // While a route is new to the process it is cheaper: the rate below would pay for all of them.
  for (let run = 0; run < 20; run += 1) assert.equal((await asked(own, batch(2))).status, 200)
  const slow = await authority.addInstance({ limits: { ...own.limits, requests_per_second: 1, burst: 1 } })
  const told = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const answers = (await asked(slow, [...batch(19), told])).json<(Message & { id: number })[]>()
  assert.deepEqual(
    answers.map(({ id }) => id),
    batch(19).map(({ id }) => id),
    'a notification has no answer',
  )
  const done = answers.filter(({ result }) => result).length
  assert.ok(done >= 1 && done < 19, `${done} of 19 are done with a burst of 1`)
  assert.ok(answers.slice(0, done).every(({ result }) => result))
  for (const { error } of answers.slice(done)) assert.equal(error?.code, -32_000)
})
