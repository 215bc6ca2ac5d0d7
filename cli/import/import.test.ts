// What each importer makes of its format. The fixtures have the schema of real exports and APIs, with the traps that
// were met in them; what they say is invented.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { jsonItems } from './json-items.ts'
import type { Draft, Kind } from './kind.ts'
import { kindOf } from './kinds.ts'
import { databaseOf, databaseOfField } from './people.ts'
import { partsOf, piecesOf } from './pieces.ts'
import { type Report, tallyOf } from './report.ts'
import { choosing, runImport } from './run.ts'
import { itemsOfFile } from './source.ts'
import type { Writable } from './writer.ts'

type Kept = Record<string, Record<string, unknown>>
interface Imported {
  /** By database and source event. */
  kept: Record<string, Kept>
  report: Report
}

const FIXTURES = path.join(import.meta.dirname, 'testing')

async function imported(
  name: string,
  file: string,
  { fields = [], user }: { fields?: string[]; user?: string } = {},
  kind: Kind = kindOf(name),
): Promise<Imported> {
  const kept: Record<string, Kept> = {}
  const tally = tallyOf({ kind: name, source: file, isDry: false })
  const { signal } = new AbortController()
  await runImport({
    kind,
    items: itemsOfFile(path.join(FIXTURES, file), kind, signal),
    tally,
    writer: {
      async add(database: string, records: readonly Writable[]) {
        for (const { record } of records) {
          const { sourceEventId, ...rest } = record
          kept[database] = { ...kept[database], [sourceEventId as string]: rest }
        }
      },
      async end() {},
    },
    whose: choosing(kind, { user, fields, fallback: 'me' }),
    say: () => {},
    signal,
  })
  return { kept, report: tally.report() }
}

const whys = ({ skipped }: Report) =>
  Object.fromEntries(skipped.map(({ what, why, count }) => [`${what}: ${why}`, count]))
const lost = ({ no_place }: Report) => Object.fromEntries(no_place.map(({ what, count }) => [what, count]))

// Mutants: draftOf() without run_id; without scope (then everything is skipped); occurredAt of updated_at.
test('mem0: a memory has its text, its time, its conversation, and the database of its user or else of its agent', async () => {
  const { kept, report } = await imported('mem0', 'mem0.json')
  assert.deepEqual(kept, {
    ada: {
      'mem0:6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b01': {
        content: 'Ada prefers replies in Dutch',
        contextId: 'chat-1',
        actor: 'ada',
        occurredAt: '2026-03-02T17:11:12.345Z',
        metadata: {
          category: 'language',
          mem0: {
            id: '6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b01',
            user_id: 'ada',
            run_id: 'chat-1',
            actor_id: 'ada',
            role: 'user',
          },
        },
      },
    },
    __42en__40__45xample__2eorg: {
      'mem0:6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b02': {
        content: 'Ben is allergic to shellfish',
        occurredAt: '2026-03-03T08:00:00.000Z',
        tags: ['health', 'food'],
        metadata: {
          mem0: {
            id: '6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b02',
            user_id: 'Ben@Example.org',
            updated_at: '2026-03-04T08:00:00+00:00',
            categories: ['health', 'food'],
          },
        },
      },
    },
    'agent_id__-support': {
      'mem0:6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b03': {
        content: 'The refund tool wants the order number first',
        occurredAt: '2026-03-05T08:00:00.000Z',
        tags: ['agent:support'],
        metadata: { mem0: { id: '6f5a8a52-0f8e-4a7c-9d52-6d1f7e0f3b03', agent_id: 'support' } },
      },
    },
  })
  assert.deepEqual(whys(report), {
    'memory: it has no text': 1,
    'memory: it has no user_id, no agent_id, no run_id, no app_id: --user names whose it is': 1,
    'memory: the source would have forgotten it by now': 1,
    'relation of the graph: records have no edges': 1,
  })
  assert.deepEqual(lost(report), { hash: 3 })
  assert.deepEqual([report.read, report.records], [7, 3])
})

test('ams: topics and entities are tags, the session is the context, and what happened when is told by event_date', async () => {
  const { kept, report } = await imported('ams', 'ams.json')
  assert.deepEqual(kept.ada, {
    'ams:01JNF3A0000000000000000001': {
      content: 'Ada prefers replies in Dutch',
      kind: 'semantic',
      contextId: 'session-1',
      occurredAt: '2026-03-02T10:11:12.000Z',
      tags: ['language', 'preferences', 'entity:Ada', 'namespace:support'],
      evidenceRefs: ['01JNF39Z'],
      metadata: {
        channel: 'mail',
        ams: {
          id: '01JNF3A0000000000000000001',
          user_id: 'ada',
          namespace: 'support',
          session_id: 'session-1',
          topics: ['language', 'preferences'],
          entities: ['Ada'],
          created_at: '2026-03-02T10:11:12Z',
          updated_at: '2026-03-02T10:11:12Z',
        },
      },
    },
  })
  assert.equal(kept.ben?.['ams:01JNF3A0000000000000000002']?.occurredAt, '2026-03-08T18:00:00.000Z')
  assert.deepEqual(whys(report), { 'memory: it has no text': 1 })
  assert.deepEqual(lost(report), { access_count: 1, last_accessed: 1, memory_hash: 1, persisted_at: 1, pinned: 1 })
})

// Mutant: the version left out of the source event, so that an item that was written again stays as it was.
test('langgraph: an item is the current one under its path, from JSON lines and CSV alike', async () => {
  const { kept, report } = await imported('langgraph', 'langgraph.ndjson', { fields: ['namespace.0'] })
  assert.deepEqual(Object.keys(kept).sort(), ['ada', 'ben'])
  const language = 'langgraph:ada.memories/language/2026-03-02T10:11:12.123456+00:00'
  assert.deepEqual(kept.ada, {
    [language]: {
      content: 'Ada prefers replies in Dutch',
      key: 'ada.memories/language',
      occurredAt: '2026-03-02T10:11:12.123Z',
      metadata: {
        langgraph: {
          prefix: 'ada.memories',
          key: 'language',
          created_at: '2026-03-02T10:11:12.123456+00:00',
          updated_at: '2026-03-02T10:11:12.123456+00:00',
          value: { kind: 'Memory' },
        },
      },
    },
  })
  const contents = Object.values(kept.ben ?? {}).map(({ content }) => content)
  assert.deepEqual(contents, ['Ben is allergic to shellfish', '{"age":40,"city":"Oslo"}'])
  assert.deepEqual(whys(report), { 'item: it has no value': 1 })
  assert.deepEqual(lost(report), { 'an end more than ten years away': 1, ttl_minutes: 1 })

  const table = await imported('langgraph', 'langgraph.csv', { fields: ['namespace.0'] })
  assert.deepEqual(
    Object.values(table.kept.ben ?? {}).map(({ content }) => content),
    ['Ben, is allergic\nto shellfish'],
  )
  assert.equal(Object.values(table.kept.ada ?? {})[0]?.occurredAt, '2026-03-02T10:11:12.123Z')
})

test('letta: of a file the blocks of an agent and what was said; instructions, tools and secrets stay behind', async () => {
  const { kept, report } = await imported('letta', 'letta.af')
  const own = Object.values(kept['agent_name__-customer_service'] ?? {})
  assert.deepEqual(
    own.map(({ content, kind, actor, key }) => [content, kind, actor ?? key]),
    [
      ['Ada prefers replies in Dutch', 'message', 'user'],
      ['Dat onthoud ik', 'message', 'assistant'],
      ['First name: Ada', 'block', 'block/human'],
    ],
  )
  assert.ok(!JSON.stringify(kept).includes('never'))
  assert.deepEqual(whys(report), {
    'agent: instructions, models, tools and secrets of an agent are not memories': 1,
    'block: it is empty': 1,
    'block: no agent of the file has it': 1,
    'message: of Letta: login': 1,
    'message: of system': 1,
    'message: of tool': 1,
    'tools: it is no memory': 1,
  })
})

// Mutants: pathOf() that takes every node; that follows children; without `seen` the second one never ends.
test('chatgpt: what was said on the way to the current node, once, and not what was edited away', async () => {
  const { kept, report } = await imported('chatgpt', 'chatgpt.json', { user: 'ada' })
  assert.deepEqual(
    Object.values(kept.ada ?? {}).map(({ content, kind, actor, occurredAt }) => [content, kind, actor, occurredAt]),
    [
      ['I live in Utrecht', 'instructions', 'user', undefined],
      ['Be brief', 'instructions', 'user', undefined],
      ['Ada prefers replies in Dutch', 'message', 'user', '2026-03-02T10:11:20.250Z'],
      ['Prefers Dutch.', 'memory', undefined, '2026-03-02T10:11:21.000Z'],
      ['Dat onthoud ik.', 'message', 'assistant', '2026-03-02T10:11:23.000Z'],
      ['A tree that goes round', 'message', 'user', '2026-03-02T10:11:12.000Z'],
    ],
  )
  assert.deepEqual(whys(report), {
    'message: answer of a tool': 1,
    'message: it was edited or made again: another branch is the current one': 1,
    'message: thoughts of the model': 1,
  })
  assert.deepEqual(lost(report), { 'pictures and recordings': 1 })
})

// Mutant: saidIn() that takes `text` before its blocks: the placeholder of a block is stored as what was said.
test('claude: words of both, each account apart; memories and projects under keys of their own', async () => {
  const { kept, report } = await imported('claude', 'claude.json')
  const said = (database: string) => Object.values(kept[database] ?? {}).map(({ content, actor }) => [content, actor])
  assert.deepEqual(said('acc-ada'), [
    ['Ada prefers replies in Dutch', 'human'],
    ['Goed.', 'assistant'],
  ])
  assert.deepEqual(said('acc-ben'), [['Ben is allergic to shellfish', 'human']])
  assert.deepEqual(whys(report), { 'message: it has no words: thoughts and tools': 1 })
  assert.deepEqual(lost(report), { attachments: 1, 'calls and answers of tools': 1, thoughts: 1 })

  const memories = await imported('claude', 'claude-memories.json')
  assert.deepEqual(
    Object.values(memories.kept['acc-ada'] ?? {}).map(({ key, content }) => [key, content]),
    [
      ['claude/memory', 'Ada works on small projects.'],
      ['claude/project/p-1/memory', 'The kitchen closes at ten.'],
    ],
  )
  const projects = await imported('claude', 'claude-projects.json')
  assert.deepEqual(
    Object.values(projects.kept['acc-ada'] ?? {}).map(({ content }) => content),
    ['Kitchen\n\nAll about the kitchen\n\nAnswer in Dutch.'],
  )
  assert.deepEqual(lost(projects.report), { 'documents of a project': 1 })
})

test('ndjson: the names of the API, the source event that is given, and databases as they are named', async () => {
  const { kept, report } = await imported('ndjson', 'records.ndjson')
  assert.deepEqual(kept, {
    ada: {
      'mail:17': {
        content: 'Ada prefers replies in Dutch',
        key: 'language',
        contextId: 'chat-1',
        actor: 'ada',
        occurredAt: '2026-03-02T10:11:12.000Z',
        kind: 'preference',
        tags: ['language'],
        metadata: { channel: 'mail' },
      },
    },
    ben: { 'ndjson:mem_01k9aaaaaaaaaaaaaaaaaaaaaa': { content: 'Ben is allergic to shellfish', salience: 0.1 } },
  })
  assert.deepEqual(whys(report), {
    'memory: it has no database: --user names whose it is': 1,
    'memory: its database has no name of a-z, 0-9, _ and -': 1,
    'record: another one had taken its place': 1,
  })
  assert.deepEqual(lost(report), { source: 1 })
})

test('the line that the document shows has a field for everything, and nothing that has no place', () => {
  const shown =
    /```json\n(.*)\n```/.exec(readFileSync(path.join(FIXTURES, '../../../docs/import.md'), 'utf8'))?.[1] ?? ''
  const found = kindOf('ndjson')
    .start()
    .read({ path: [], value: JSON.parse(shown) })?.[0] as Draft
  const { database, ...fields } = JSON.parse(shown)
  assert.deepEqual([found.record, found.scope, found.noPlace], [fields, { database }, []])
  assert.equal(piecesOf(found).why, undefined)
})

test('a file of another kind is refused with the kind that it looks like', async () => {
  const hints = async (name: string, file: string) =>
    imported(name, file, { user: 'ada' }).then(
      () => 'taken',
      (error: { fields: { hint?: string } }) => error.fields.hint,
    )
  assert.match((await hints('claude', 'chatgpt.json')) ?? '', /loci import chatgpt/)
  assert.match((await hints('chatgpt', 'claude.json')) ?? '', /loci import claude/)
  assert.match((await hints('ams', 'mem0.json')) ?? '', /loci import mem0/)
  assert.match((await hints('mem0', 'ams.json')) ?? '', /loci import ams/)
  assert.match((await hints('mem0', 'letta.af')) ?? '', /loci import letta/)
  assert.match((await hints('mem0', 'langgraph.ndjson')) ?? '', /loci import langgraph/)
  assert.match((await hints('letta', 'records.ndjson')) ?? '', /loci import ndjson/)
})

// Mutants: escaped() that leaves `_` alone before an escape, or makes everything small.
test('a user id becomes the name of one database, which says the id again; no two ids share one', () => {
  const ids = [
    'ada',
    'Ada',
    'user_17',
    'a__b',
    'a_',
    'a_@',
    '_',
    '__',
    '__41',
    'A',
    'ada@example.org',
    'Ünï',
    '用户',
    'a-_b',
    'a_-b',
  ]
  const names = ids.map(databaseOf)
  assert.deepEqual(names.map(idOfDatabase), ids)
  assert.equal(new Set(names).size, ids.length)
  for (const name of names) assert.match(name, /^[a-z0-9_-]{1,64}$/)
  assert.deepEqual(['ada', 'user_17'].map(databaseOf), ['ada', 'user_17'])
  const long = ['x'.repeat(65), 'y'.repeat(65)].map(databaseOf)
  assert.equal(new Set(long).size, 2)
  for (const name of [...long, databaseOfField('agent_id', 'bot')]) {
    assert.match(name, /^[a-z0-9_-]{1,64}$/)
    assert.equal(idOfDatabase(name), undefined)
  }
})

// Mutant: partsOf() that trims its parts.
test('a text that is longer than a record is cut where a reader pauses, and its parts are the text', () => {
  const paragraph = `${'Ada said that the ünïcode words of 用户 stay whole. '.repeat(40)}\n\n`
  for (const text of [paragraph.repeat(20), 'x'.repeat(50_000), '𝄞'.repeat(10_000), 'short']) {
    const parts = partsOf(text)
    assert.equal(parts.join('').trimEnd(), text.trimEnd())
    for (const part of parts) assert.ok(Buffer.byteLength(part) <= 16_384 && part.isWellFormed())
  }
  const { records } = piecesOf({
    record: { content: paragraph.repeat(20), key: 'k', sourceEventId: 'mem0:1', metadata: { mem0: { id: 1 } } },
    scope: {},
    noPlace: [],
  })
  assert.deepEqual(
    records.slice(0, 2).map(({ sourceEventId, key, metadata }) => [sourceEventId, key, metadata?.part]),
    [
      ['mem0:1', 'k', { number: 1, of: records.length }],
      ['mem0:1#2', 'k#2', { number: 2, of: records.length }],
    ],
  )
})

test('a document is read item by item, however its bytes are cut', async () => {
  const value = { a: [{ b: '[{"\\' }, 1.5, 'x,y', null, [[]], true], c: { d: 'é𝄞' }, e: [], f: -2e3, g: 'h' }
  const text = JSON.stringify(value, null, 1)
  const read = async (size: number, given: string) => {
    const found: unknown[] = []
    const chunks = async function* () {
      for (let at = 0; at < given.length; at += size) yield given.slice(at, at + size)
    }
    for await (const {
      path: [name],
      value: one,
    } of jsonItems(chunks()))
      found.push([name, one])
    return found
  }
  const expected = [...value.a.map((one) => ['a', one]), ['c', value.c], ['f', -2000], ['g', 'h']]
  for (const size of [1, 2, 3, 7, 1_000]) assert.deepEqual(await read(size, text), expected, String(size))
  assert.deepEqual(await read(2, '[1,"]",{"a":[2]}]'), [
    [undefined, 1],
    [undefined, ']'],
    [undefined, { a: [2] }],
  ])
  await assert.rejects(read(5, text.slice(0, -3)), /it was cut off/)
  await assert.rejects(read(5, '{"a":1}\n{"a":2}'), /NDJSON/)
  await assert.rejects(read(5, '[{"a":tru}]'), /is not JSON at/)
})

/** The id that a name stands for; undefined for one that was shortened or is a field's. */
function idOfDatabase(name: string): string | undefined {
  if (name.includes('__-')) return undefined
  const bytes: number[] = []
  for (let at = 0; at < name.length; at += 1) {
    const [, code] = /^__([0-9a-f]{2})/.exec(name.slice(at)) ?? []
    bytes.push(code === undefined ? name.charCodeAt(at) : Number.parseInt(code, 16))
    if (code !== undefined) at += 3
  }
  return Buffer.from(bytes).toString('utf8')
}
