// Imports into a service of a real loci. Servers of other products are played by one that has their routes and pages.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Host } from '../host.ts'
import { runHere } from '../testing/host.ts'
import { type TestHome, testHome } from '../testing/loci.ts'
import type { Report } from './report.ts'
import {
  agentMemoryServer,
  KEY,
  lettaServer,
  mem0Platform,
  type SourceServer,
  sourceServer,
} from './testing/sources.ts'

const FIXTURES = join(import.meta.dirname, 'testing')
const fixture = (name: string) => join(FIXTURES, name)

let home: TestHome
before(async () => {
  home = await testHome()
  const { code, document } = await home.json(['up', '-d', '--port', String(home.port)])
  assert.equal(code, 0, JSON.stringify(document.error))
  writeFileSync(join(home.home, 'key'), `${KEY}\n`)
})
after(() => home[Symbol.asyncDispose]())

const here = <Data = Report>(argv: string[], given: Partial<Host> = {}) =>
  runHere<Data>([...argv, '--json'], { home: home.home, env: home.env, ...given })

/** In a service of its own, so that no test sees what another one imported. */
async function serviceFor(name: string, plan = 'pro'): Promise<string> {
  const { code, document } = await here<{ slug: string }>(['services', 'create', name, '--plan', plan])
  assert.equal(code, 0, JSON.stringify(document.error))
  return document.data.slug
}

interface Row {
  id: string
  content: string
  sourceEventId: string
  validTo: string | null
  expiresAt: string | null
}

async function recordsOf(service: string, user: string): Promise<Row[]> {
  const path = '/v1/memory/records?order=asc&limit=200'
  const { document } = await here<{ body?: { records: Row[] }; records?: Row[] }>([
    ...['api', 'GET', path, '--user', user, '--service', service],
  ])
  return document.data.records ?? document.data.body?.records ?? []
}

const contents = async (service: string, user: string) => (await recordsOf(service, user)).map(({ content }) => content)

function numbers({ read, stored, already_there, changed }: Report) {
  return { read, stored, already_there, changed }
}

const FILES: [kind: string, file: string, more: string[], stored: number, databases: Record<string, number>][] = [
  ['mem0', 'mem0.json', [], 3, { ada: 1, __42en__40__45xample__2eorg: 1, 'agent_id__-support': 1 }],
  ['ams', 'ams.json', [], 2, { ada: 1, ben: 1 }],
  ['langgraph', 'langgraph.ndjson', ['--users-from', 'namespace.0'], 3, { ada: 1, ben: 2 }],
  ['langgraph', 'langgraph.csv', ['--users-from', 'namespace.0'], 2, { ada: 1, ben: 1 }],
  ['letta', 'letta.af', [], 3, { 'agent_name__-customer_service': 3 }],
  ['chatgpt', 'chatgpt.json', ['--user', 'ada'], 6, { ada: 6 }],
  ['claude', 'claude.json', [], 3, { 'acc-ada': 2, 'acc-ben': 1 }],
  ['claude', 'claude-memories.json', [], 2, { 'acc-ada': 2 }],
  ['claude', 'claude-projects.json', [], 1, { 'acc-ada': 1 }],
  ['ndjson', 'records.ndjson', [], 2, { ada: 1, ben: 1 }],
]

// Mutants: sourceIdOf() that makes an id of its own each time (stored twice); choosing() that names one database for
// everybody (people list, contents); a dry run that has a writer.
for (const [kind, file, more, stored, databases] of FILES)
  test(`${kind}: ${file} is stored once, each for whom it is, however often it is imported`, async () => {
    const service = await serviceFor(`Import of ${file}`)
    const argv = ['import', kind, fixture(file), ...more, '--service', service]
    const dry = await here([...argv, '--dry-run'])
    assert.equal(dry.code, 0, JSON.stringify(dry.document.error))
    assert.deepEqual(numbers(dry.document.data), {
      read: dry.document.data.read,
      stored: 0,
      already_there: 0,
      changed: 0,
    })
    assert.equal(dry.document.data.examples.length, Math.min(3, stored))
    for (const user of Object.keys(databases)) assert.deepEqual(await contents(service, user), [])

    const first = await here(argv)
    assert.equal(first.code, 0, JSON.stringify(first.document.error))
    assert.equal(first.document.data.stored, stored)
    assert.equal(first.document.data.read, dry.document.data.read)
    assert.deepEqual(first.document.data.skipped, dry.document.data.skipped)
    const told = Object.fromEntries(first.document.data.databases.map(({ database, records }) => [database, records]))
    assert.deepEqual(told, databases)
    const kept = await Promise.all(Object.keys(databases).map((user) => recordsOf(service, user)))
    assert.deepEqual(
      kept.map((records) => records.length),
      Object.values(databases),
    )
    const again = await here(argv)
    const { read } = first.document.data
    assert.deepEqual(numbers(again.document.data), { read, stored: 0, already_there: stored, changed: 0 })
    assert.deepEqual(await Promise.all(Object.keys(databases).map((user) => recordsOf(service, user))), kept)
  })

// Mutant: choosing() that ignores the field: Ben's memory answers Ada.
test('two users of a source never meet, and one whose name has other letters is not another one', async () => {
  const service = await serviceFor('Two users')
  const lines = ['Ada', 'ada', 'ben'].map((user_id, at) => ({
    ...{ id: `m-${at}`, memory: `The colour of ${user_id} is number ${at}`, user_id },
  }))
  const file = join(home.home, 'two.json')
  writeFileSync(file, JSON.stringify(lines))
  assert.equal((await here(['import', 'mem0', file, '--service', service])).code, 0)
  for (const [user, own] of Object.entries({ __41da: 0, ada: 1, ben: 2 }))
    assert.deepEqual(await contents(service, user), [lines[own]?.memory])
  const together = await here(['import', 'mem0', file, '--service', service, '--user', 'all'])
  assert.equal(together.document.data.stored, 3)
  assert.equal((await contents(service, 'all')).length, 3)
})

test('what changed in the source is told and not written over; an item under a key takes the place of the one before', async () => {
  const service = await serviceFor('Changed')
  const [memory, item] = [join(home.home, 'memory.json'), join(home.home, 'item.ndjson')]
  const write = (text: string, at: string) => {
    writeFileSync(memory, JSON.stringify([{ id: 'm', memory: text, user_id: 'ada' }]))
    writeFileSync(item, JSON.stringify({ prefix: 'ada', key: 'k', value: { text }, updated_at: at }))
  }
  const run = async (kind: string, file: string, ...more: string[]) =>
    numbers((await here(['import', kind, file, '--service', service, ...more])).document.data)
  write('The first', '2026-01-01T00:00:00Z')
  await run('mem0', memory)
  await run('langgraph', item, '--user', 'items')
  write('The second', '2026-02-01T00:00:00Z')
  assert.deepEqual(await run('mem0', memory), { read: 1, stored: 0, already_there: 1, changed: 1 })
  assert.deepEqual(await run('langgraph', item, '--user', 'items'), {
    read: 1,
    stored: 1,
    already_there: 0,
    changed: 0,
  })
  assert.deepEqual(await contents(service, 'ada'), ['The first'])
  const current = (await recordsOf(service, 'items')).filter(({ validTo }) => validTo === null)
  assert.deepEqual(
    current.map(({ content }) => content),
    ['The second'],
  )
})

// Mutant: store() of writer.ts that gives up where one of a batch is refused.
test('one that was forgotten here stays forgotten, and the others of its batch are stored', async () => {
  const service = await serviceFor('Forgotten')
  const memories = Array.from({ length: 20 }, (_, at) => ({
    id: `m-${at}`,
    memory: `Fact number ${at}`,
    user_id: 'ada',
  }))
  const file = join(home.home, 'forgotten.json')
  writeFileSync(file, JSON.stringify(memories.slice(0, 3)))
  await here(['import', 'mem0', file, '--service', service])
  const [first] = await recordsOf(service, 'ada')
  assert.equal(
    (await here(['memory', 'forget', first?.id as string, '--user', 'ada', '--yes', '--service', service])).code,
    0,
  )
  writeFileSync(file, JSON.stringify(memories))
  const { data } = (await here(['import', 'mem0', file, '--service', service])).document
  assert.deepEqual(numbers(data), { read: 20, stored: 17, already_there: 2, changed: 0 })
  assert.deepEqual(data.skipped, [{ what: 'record', why: 'it was forgotten here, and is not learned again', count: 1 }])
  assert.equal((await recordsOf(service, 'ada')).length, 19)
})

test('long texts, strange characters and times are stored as they are told, whole', async () => {
  const service = await serviceFor('Strange')
  const long = 'A long story of Ada. '.repeat(2_000)
  const lines = [
    { database: 'ada', content: long, sourceEventId: 'long', key: 'story' },
    { database: 'ada', content: 'a\u0000b \ud800 𝄞', sourceEventId: 'strange', metadata: { note: 'x\u0000' } },
    {
      database: 'ada',
      content: 'It lasts',
      sourceEventId: 'lasts',
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      metadata: { big: 'x'.repeat(20_000) },
    },
    { database: 'ada', content: 'Far', sourceEventId: 'for ever', expiresAt: '2999-01-01T00:00:00Z' },
    { database: 'ada', content: 'wrong', sourceEventId: 'wrong', salience: 17 },
  ]
  const file = join(home.home, 'strange.ndjson.gz')
  writeFileSync(file, gzipSync(lines.map((line) => JSON.stringify(line)).join('\n')))
  const { code, document } = await here(['import', 'ndjson', file, '--service', service])
  assert.equal(code, 0, JSON.stringify(document.error))
  const { split, skipped, no_place } = document.data
  assert.deepEqual([split, skipped.length], [{ texts: 1, parts: 3 }, 1])
  assert.match(skipped[0]?.why ?? '', /not valid: salience/)
  assert.deepEqual(no_place.map(({ what }) => what).sort(), [
    'an end more than ten years away',
    'characters that no text may have (replaced by �)',
    'metadata beyond 16 KiB',
  ])
  const records = await recordsOf(service, 'ada')
  const parts = records.filter(({ sourceEventId }) => sourceEventId.startsWith('long'))
  assert.equal(parts.map(({ content }) => content).join(''), long)
  assert.equal(records.find(({ sourceEventId }) => sourceEventId === 'strange')?.content, 'a�b � 𝄞')
  assert.ok(records.find(({ sourceEventId }) => sourceEventId === 'lasts')?.expiresAt)
  assert.equal(records.find(({ sourceEventId }) => sourceEventId === 'for ever')?.expiresAt, null)
})

// It once took a time that grew with the square of the line.
test('a document of one long line is read in the time of its length', async () => {
  const memories = Array.from({ length: 20_000 }, (_, at) => ({
    id: `m-${at}`,
    memory: `Fact number ${at}`,
    user_id: 'ada',
  }))
  const file = join(home.home, 'line.json')
  writeFileSync(file, JSON.stringify({ results: memories }))
  const { document } = await here(['import', 'mem0', file, '--dry-run'])
  assert.equal(document.data.read, 20_000)
})

// Mutants: run.ts without its look at the depth of an item (a full stack ended the whole import); fittingMetadata()
// without its own (the daemon refuses the batch of 29 levels, and the memory is lost).
test('what is nested too deep costs its metadata or itself, and never the import', async () => {
  const service = await serviceFor('Deep')
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const lines = [28, 29, 60, 5_000, 100_000].map((depth) => `{"content":"${depth} levels","metadata":${nested(depth)}}`)
  const file = join(home.home, 'deep.ndjson')
  writeFileSync(file, `{"content":"The first"}\n${lines.join('\n')}\n{"content":"The last"}`)
  const { document } = await here(['import', 'ndjson', file, '--user', 'ada', '--service', service])
  assert.deepEqual(document.data?.skipped, [{ what: 'thing', why: 'it is nested deeper than 64 levels', count: 2 }])
  assert.deepEqual(document.data.no_place, [{ what: 'metadata nested deeper than 28 levels', count: 2 }])
  assert.deepEqual(await contents(service, 'ada'), ['The first', '28 levels', '29 levels', '60 levels', 'The last'])
  const [, whole] = (await recordsOf(service, 'ada')) as (Row & { metadata?: object })[]
  assert.equal(JSON.stringify(whole?.metadata), nested(28))
})

test('what cannot be read is refused with what to do, and nothing is stored', async () => {
  const at = (name: string, bytes: string | Buffer) => {
    writeFileSync(join(home.home, name), bytes)
    return name
  }
  const tell = async (...argv: string[]) => {
    const { code, document } = await here(['import', ...argv], { cwd: home.home })
    return `${code} ${document.error?.code}: ${document.error?.message} ${document.error?.hint ?? ''}`
  }
  const whole = readFileSync(fixture('mem0.json'))
  assert.match(await tell('mem0', at('empty.json', ' \n')), /^2 EMPTY_FILE/)
  assert.match(
    await tell('chatgpt', at('export.zip', 'PK\u0003\u0004…')),
    /^2 USAGE: .*zip archive.*unzip -p export\.zip/,
  )
  assert.match(await tell('mem0', at('cut.json.gz', gzipSync(whole).subarray(0, 200))), /^2 USAGE: .*gzip, and damaged/)
  assert.match(await tell('mem0', at('cut.json', whole.subarray(0, 900))), /^2 BROKEN_SOURCE: .*cut off/)
  assert.match(
    await tell('mem0', at('latin.json', Buffer.from('[{"id":"1","memory":"caf\u00e9"}]', 'latin1'))),
    /not UTF-8/,
  )
  assert.match(await tell('claude', fixture('mem0.json')), /^2 USAGE: .*It looks like mem0: loci import mem0/)
  assert.match(await tell('mem0', at('other.json', '{"name":"x","version":1}')), /^2 USAGE: .*Known are: mem0, ams/)
  assert.match(await tell('mem0', 'nowhere.json'), /^2 USAGE: .*cannot be read \(ENOENT\)/)
  assert.match(await tell('langgraph', fixture('langgraph.ndjson')), /--users-from namespace\.0/)
  assert.match(await tell('langgraph', 'postgres://u@h/d', '--user', 'ada'), /psql .*row_to_json/)
  assert.match(await tell('claude', 'https://claude.ai/x'), /read from a file/)
  assert.match(await tell('mem0', 'https://user:secret@x/memories'), /--key-file/)
  assert.match(await tell('mem1', 'x'), /Did you mean mem0/)
  assert.match(await tell('mem0', fixture('mem0.json'), '--user', 'a', '--users-from', 'b'), /not both/)
})

// Mutant: stopped() that leaves out the report.
test('a quota that is used up ends the import with what was stored, and it goes on where there is room', async () => {
  const service = await serviceFor('Small', 'free')
  const memories = Array.from({ length: 120 }, (_, at) => ({
    id: `m-${at}`,
    memory: `Of user ${at}`,
    user_id: `user-${at}`,
  }))
  const file = join(home.home, 'many-users.json')
  writeFileSync(file, JSON.stringify({ results: memories }))
  const argv = ['import', 'mem0', file, '--service', service]
  const { code, document } = await here(argv)
  const { error } = document as unknown as { error: { code: string; hint: string; details: Report } }
  assert.deepEqual([code, error.code], [7, 'QUOTA_EXCEEDED'])
  assert.match(error.hint, /100 stored.*Run the same command again/s)
  assert.equal(error.details.stored, 100)
  const together = await here([...argv, '--user', 'user-0'])
  assert.deepEqual(numbers(together.document.data), { read: 120, stored: 119, already_there: 1, changed: 0 })
})

test('Ctrl-C ends it between two batches, says how to go on, and the same command goes on', async () => {
  const service = await serviceFor('Stopped')
  const memories = Array.from({ length: 9 }, (_, at) => ({ id: `m-${at}`, text: `Fact ${at}`, user_id: `u-${at % 2}` }))
  const stopping = new AbortController()
  const answers = agentMemoryServer(memories)
  await using source = await sourceServer(
    (request) => {
      if ((request.body as { offset: number }).offset === 4) stopping.abort()
      return answers(request)
    },
    { needsKey: false },
  )
  const argv = ['import', 'ams', source.url, '--service', service]
  const stopped = await here(argv, { signal: stopping.signal })
  assert.deepEqual([stopped.code, stopped.document.error.code], [130, 'INTERRUPTED'])
  assert.match(stopped.document.error.hint ?? '', /Run the same command again/)
  const { document } = await here(argv)
  assert.equal(document.data.stored + document.data.already_there, 9)
  const kept = await Promise.all(['u-0', 'u-1'].map((user) => contents(service, user)))
  assert.deepEqual(
    kept.map((texts) => texts.length),
    [5, 4],
  )
})

const AGENTS = [
  {
    agent: { id: 'agent-1f', name: 'support', secrets: [{ key: 'TOKEN', value: 'never' }] },
    blocks: [{ id: 'block-1', label: 'human', value: 'Ada prefers replies in Dutch', limit: 5_000 }],
    passages: Array.from({ length: 130 }, (_, at) => ({
      ...{ id: `passage-${at}`, text: `Passage ${at}`, created_at: '2026-03-02T10:11:12Z', embedding: [0.1, 0.2] },
      ...{ tags: ['archive'], metadata: {} },
    })),
    messages: [
      { id: 'message-1', message_type: 'system_message', date: '2026-03-02T10:11:12Z', content: 'You are…' },
      { id: 'message-2', message_type: 'user_message', date: '2026-03-02T10:11:13Z', content: 'Which language?' },
      { id: 'message-2', message_type: 'reasoning_message', date: '2026-03-02T10:11:14Z', reasoning: 'hm' },
      {
        id: 'message-3',
        message_type: 'assistant_message',
        date: '2026-03-02T10:11:15Z',
        content: [{ type: 'text', text: 'Dutch' }],
      },
    ],
  },
  {
    agent: { id: 'agent-2e', name: 'support' },
    blocks: [],
    passages: [{ id: 'passage-0', text: 'Another one' }],
    messages: [],
  },
]

test('an address is read page by page, with its key, patiently; two agents of one name are two', async () => {
  const service = await serviceFor('Addresses')
  const run = async (kind: string, address: string, ...more: string[]) => {
    const argv = ['import', kind, address, '--key-file', join(home.home, 'key'), '--service', service, ...more]
    const { code, document } = await here(argv)
    assert.equal(code, 0, JSON.stringify(document.error))
    return document.data
  }
  const memories = Array.from({ length: 8 }, (_, at) => ({ id: `m-${at}`, memory: `Fact ${at}`, user_id: 'platform' }))
  let platform: SourceServer | undefined
  await using own = await sourceServer(
    mem0Platform(memories, () => platform?.url ?? ''),
    { refuse: 2 },
  )
  platform = own
  assert.deepEqual(numbers(await run('mem0', own.url)), { read: 8, stored: 8, already_there: 0, changed: 0 })
  assert.ok(own.asked.every(({ key }) => key === `Token ${KEY}`))
  assert.equal(own.asked.length, 5)

  await using server = await sourceServer(({ path, query }) =>
    path === '/memories' && query.get('user_id') === 'ada' ? { results: memories } : undefined,
  )
  assert.equal((await run('mem0', `${server.url}/memories?user_id=ada`, '--user', 'server')).stored, 8)
  assert.equal(server.asked[0]?.line, 'GET /memories?user_id=ada&top_k=1000')

  const found = Array.from({ length: 7 }, (_, at) => ({
    id: `a-${at}`,
    text: `Found ${at}`,
    user_id: 'redis',
    memory_type: 'semantic',
  }))
  await using ams = await sourceServer(agentMemoryServer(found))
  assert.equal((await run('ams', ams.url)).stored, 7)
  assert.deepEqual(
    ams.asked.map(({ body }) => (body as { offset: number }).offset),
    [0, 2, 4, 6],
  )

  await using letta = await sourceServer(lettaServer(AGENTS))
  const report = await run('letta', letta.url)
  assert.equal(report.stored, 134)
  assert.equal((await recordsOf(service, 'agent-1f')).length, 133)
  assert.deepEqual(await contents(service, 'agent-2e'), ['Another one'])
  assert.equal((await run('letta', letta.url)).already_there, 134)
  assert.ok(!JSON.stringify(report).includes('never'))

  const refused = await here(['import', 'letta', letta.url, '--service', service])
  assert.deepEqual([refused.code, refused.document.error.code], [4, 'SOURCE_REFUSED'])
  const gone = await here(['import', 'letta', `${letta.url}/nowhere`, '--key-file', join(home.home, 'key')])
  assert.deepEqual([gone.code, gone.document.error.code], [1, 'SOURCE_REFUSED'])
})
