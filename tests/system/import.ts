// Memories of another product come over whole, once, and each to whom it belongs: 10^4 of them into a service of the
// plan pro, twice, with the importer killed on the way; a file that is larger than the importer's memory; rows by
// psql.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, createWriteStream, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Loci } from '@loci/sdk/loci.ts'
import type { Service } from '@loci/sdk/services.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { linkModules } from '../world/mutant.ts'
import { COMPILE_CACHE } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const IS_SHORT = process.argv.includes('--short')
const MEMORIES = IS_SHORT ? 2_000 : 10_000
const USERS = 20
const COMPARED = 100
const EXPORT_BYTES = (IS_SHORT ? 60 : 300) * 1_000_000
/** Of V8, in MB: a file that was held whole would end the importer. */
const HEAP_MB = 100
const SEED = seedOfRun()

interface Source {
  id: string
  memory: string
  user_id: string
  run_id: string
  role: string
  categories: string[]
  metadata: { number: number; note: string }
  created_at: string
}

interface Told {
  read: number
  stored: number
  already_there: number
  changed: number
  skipped: object[]
}

await reportOn(async (report) => {
  report.note(`seed ${SEED}`)
  const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'loci-import-')))
  const world = await startWorld({ replicas: 1 })
  try {
    const { apiKey } = await addOrganization(world, 'acme')
    const url = world.management?.url as string
    const loci = new Loci({ url, apiKey })
    const run = importer(place, { LOCI_URL: url, LOCI_API_KEY: apiKey })
    const memories = memoriesOf(MEMORIES)
    await whole(report, loci, run, place, memories)
    await killed(report, loci, run, place, memories)
    await mutants(report, loci, place, { url, apiKey })
    await large(report, run, place)
    await byPsql(report, world, loci, run, place)
  } finally {
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

interface Importer {
  start(args: string[], more?: Record<string, string>): ChildProcess
  /** To its end, with --json. */
  (args: string[], more?: Record<string, string>): Promise<{ code: number | null; data: Told; output: string }>
}

/** The command line as a process of its own, with nothing of the developer's. */
function importer(home: string, given: Record<string, string>, root = ROOT): Importer {
  const { PATH = '' } = process.env
  const env = { PATH, HOME: home, NODE_COMPILE_CACHE: COMPILE_CACHE, ...given }
  const start = (args: string[], more: Record<string, string> = {}) =>
    spawn(process.execPath, [path.join(root, 'cli/main.ts'), 'import', ...args], {
      cwd: home,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const run = async (args: string[], more?: Record<string, string>) => {
    const child = start([...args, '--json'], more)
    let stdout = ''
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const [code] = (await once(child, 'close')) as [number | null]
    const document = stdout === '' ? {} : (JSON.parse(stdout) as { data?: Told; error?: object })
    return { code, data: document.data ?? ({} as Told), output: `${JSON.stringify(document.error ?? '')} ${output}` }
  }
  return Object.assign(run, { start })
}

/** In an order in which users follow each other, as lists of such products have them. */
function memoriesOf(count: number): Source[] {
  const random = seeded(SEED)
  const words = ['Utrecht', 'chess', 'ünïcode 用户', '"quoted"', 'a\nline', 'back\\slash', '𝄞', 'tea', 'O’Brien', '<b>']
  return Array.from({ length: count }, (_, number) => {
    const user = random.below(USERS)
    const said = Array.from({ length: 3 + random.below(12) }, () => random.pick(words))
    return {
      id: `0b5e2c4a-0000-4000-8000-${String(number).padStart(12, '0')}`,
      memory: `${userName(user)} said ${said.join(' ')}, number ${number}`,
      user_id: userName(user),
      run_id: `chat-${Math.floor(number / 50)}`,
      role: number % 2 === 0 ? 'user' : 'assistant',
      categories: said.slice(0, 2),
      metadata: { number, note: said.join('/') },
      created_at: new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString(),
    }
  })
}

/** Every other one with characters that no name of a database has. */
function userName(user: number): string {
  return user % 2 === 0 ? `user-${user}` : `User.${user}@example.org`
}

function databaseName(user: number): string {
  return user % 2 === 0 ? userName(user) : `__55ser__2e${user}__40example__2eorg`
}

async function whole(report: Report, loci: Loci, run: Importer, place: string, memories: Source[]): Promise<void> {
  const file = path.join(place, 'memories.json')
  writeFileSync(file, JSON.stringify({ results: memories }))
  const service = await loci.services.create({ name: 'Whole', plan: 'pro' }).ready()
  const argv = ['mem0', file, '--service', service.id as string]
  const startedAt = performance.now()
  const first = await run(argv)
  const seconds = (performance.now() - startedAt) / 1_000
  const counts = await countsOf(service)
  // A batch whose answer was lost is sent again, and counts as there already.
  const { stored, already_there, skipped } = first.data
  report.promise(
    `${MEMORIES} memories are imported, and the service has as many`,
    first.code === 0 && stored + already_there === MEMORIES && counts.records === MEMORIES && skipped.length === 0,
    first.code === 0 ? `${counts.records} of ${counts.databases} users in ${seconds.toFixed(1)} s` : first.output,
  )
  const again = await run(argv)
  const after = await countsOf(service)
  report.promise(
    'a second import stores nothing',
    again.data.stored === 0 && again.data.already_there === MEMORIES && isDeepStrictEqual(after, counts),
    `${again.data.stored} stored, ${again.data.already_there} already there, ${after.records} records`,
  )
  const random = seeded(SEED + 1)
  const chosen = Array.from({ length: COMPARED }, () => random.pick(memories))
  const kept = await keptOf(service)
  const different = chosen.filter((memory) => !isSame(memory, kept.get(`mem0:${memory.id}`)))
  report.promise(
    `${COMPARED} of them, by chance, are the same word for word, with time, conversation, speaker, tags and metadata`,
    different.length === 0,
    different.length === 0
      ? `${COMPARED} of ${COMPARED}`
      : JSON.stringify([different[0], kept.get(`mem0:${different[0]?.id}`)]),
  )
  const mixed = await mixedIn(service)
  report.promise('no user has a memory of another one', mixed === 0, `${mixed} of ${MEMORIES} are another one's`)
  const [ada] = memories as [Source]
  const stranger = Array.from({ length: USERS }, (_, user) => user).find(
    (user) => userName(user) !== ada.user_id,
  ) as number
  const hits = await service.user(databaseName(stranger)).recall(ada.memory, { limit: 50, abstain: false })
  report.promise(
    'a recall of one user, in the words of another one’s memory, finds none of it',
    hits.length > 0 && hits.every(({ content }) => content.startsWith(`${userName(stranger)} said`)),
    `${hits.length} hits, all of ${userName(stranger)}`,
  )
}

async function killed(report: Report, loci: Loci, run: Importer, place: string, memories: Source[]): Promise<void> {
  const file = path.join(place, 'memories.json')
  const service = await loci.services.create({ name: 'Killed', plan: 'pro' }).ready()
  const argv = ['mem0', file, '--service', service.id as string]
  const left: number[] = []
  for (const share of [0.2, 0.5, 0.7]) {
    const child = run.start(argv)
    const exited = once(child, 'exit')
    const isThere = async () => (await countsOf(service)).records >= MEMORIES * share
    while (child.exitCode === null && !(await isThere())) await sleep(20)
    child.kill('SIGKILL')
    await exited
    left.push((await countsOf(service)).records)
  }
  const { data, code, output } = await run(argv)
  const { records } = await countsOf(service)
  const kept = await keptOf(service)
  report.promise(
    'after kill -9 of the importer on its way, three times, one more import makes it whole and nothing twice',
    code === 0 && left.every((count) => count < MEMORIES) && records === MEMORIES && kept.size === MEMORIES,
    code === 0 ? `killed at ${left.join(', ')}; then ${data.stored} stored, ${records} records` : output,
  )
  const different = memories.filter((memory) => !isSame(memory, kept.get(`mem0:${memory.id}`)))
  report.promise('and each is the same word for word', different.length === 0, `${different.length} differ`)
}

/** Copies of the command line with a sabotage, held to the same questions. */
async function mutants(report: Report, loci: Loci, place: string, { url, apiKey }: { url: string; apiKey: string }) {
  const file = path.join(place, 'few.json')
  const few = memoriesOf(300)
  writeFileSync(file, JSON.stringify(few))
  const planted = async (name: string, edit: { file: string; from: string; to: string }) => {
    const root = path.join(place, name)
    for (const folder of ['package.json', 'libs', 'sdk', 'cli'])
      cpSync(path.join(ROOT, folder), path.join(root, folder), { recursive: true, verbatimSymlinks: true })
    linkModules(root)
    const text = readFileSync(path.join(root, edit.file), 'utf8')
    const [before, after, ...more] = text.split(edit.from)
    if (after === undefined || more.length > 0) throw new Error(`the mutant of ${edit.file} no longer applies`)
    writeFileSync(path.join(root, edit.file), `${before}${edit.to}${after}`)
    const service = await loci.services.create({ name, plan: 'pro' }).ready()
    const run = importer(place, { LOCI_URL: url, LOCI_API_KEY: apiKey }, root)
    const argv = ['mem0', file, '--service', service.id as string]
    const codes = [(await run(argv)).code, (await run(argv)).code]
    return { service, codes, ...(await countsOf(service)) }
  }
  const nameless = await planted('no-source-event', {
    file: 'cli/import/writer.ts',
    from: 'signal, body: { records } }',
    to: 'signal, body: { records: records.map(({ sourceEventId: _, ...one }) => one) } }',
  })
  report.mutant(
    'the source event is left out',
    nameless.records === few.length ? undefined : `${nameless.records} records of ${few.length}`,
  )
  const together = await planted('no-user', {
    file: 'cli/import/run.ts',
    from: 'database: databaseOf(id)',
    to: "database: 'user-0'",
  })
  const mixed = await mixedIn(together.service)
  report.mutant('the user id is dropped', mixed === 0 ? undefined : `${mixed} memories are another one's`)
}

/** An export of somebody who talked much. */
async function large(report: Report, run: Importer, place: string): Promise<void> {
  const file = path.join(place, 'conversations.json')
  const out = createWriteStream(file)
  const words = 'I prefer replies in Dutch and tea in the morning. '.repeat(20)
  let messages = 0
  let bytes = 0
  for (let n = 0; bytes < EXPORT_BYTES; n += 1) {
    const text = `${n === 0 ? '[' : ',\n'}${JSON.stringify(conversationOf(n, words))}`
    messages += 40
    bytes += text.length
    if (!out.write(text)) await once(out, 'drain')
  }
  out.end(']')
  await once(out, 'close')
  const startedAt = performance.now()
  const { code, data, output } = await run(['chatgpt', file, '--user', 'ada', '--dry-run'], {
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const megabytes = Math.round(bytes / 1_000_000)
  report.promise(
    `an export of ${megabytes} MB is read whole by an importer with a heap of ${HEAP_MB} MB`,
    code === 0 && data.read === messages,
    code === 0 ? `${data.read} messages in ${seconds.toFixed(1)} s` : output.slice(-300),
  )
  rmSync(file)
}

function conversationOf(n: number, words: string): object {
  const nodes = Array.from({ length: 40 }, (_, at) => {
    const id = `node-${n}-${at}`
    const message = {
      ...{
        id,
        author: { role: at % 2 === 0 ? 'user' : 'assistant' },
        create_time: 1_772_446_272 + at,
        recipient: 'all',
      },
      ...{ content: { content_type: 'text', parts: [`${n} ${at} ${words}`] }, weight: 1, metadata: {} },
    }
    const parent = at === 0 ? null : `node-${n}-${at - 1}`
    return [id, { id, message, parent, children: at === 39 ? [] : [`node-${n}-${at + 1}`] }]
  })
  return {
    id: `c-${n}`,
    conversation_id: `c-${n}`,
    title: 'x',
    mapping: Object.fromEntries(nodes),
    current_node: `node-${n}-39`,
  }
}

/** The line of docs/import.md, on a table as LangGraph makes it. */
async function byPsql(report: Report, world: World, loci: Loci, run: Importer, place: string): Promise<void> {
  if (spawnSync('psql', ['--version']).status !== 0) return report.skip('rows of LangGraph by psql', 'psql is not here')
  const url = world.postgres.adminUrl()
  await runSql(
    url,
    `create table store (prefix text not null, key text not null, value jsonb not null, created_at timestamptz default now(),
       updated_at timestamptz default now(), expires_at timestamptz, ttl_minutes int, primary key (prefix, key))`,
  )
  const texts = ['plain', 'a\nline', 'back\\slash \\n', '"quoted", and a comma', '𝄞 用户', "O'Brien | pipe\ttab"]
  for (const [at, text] of texts.entries())
    await runSql(url, 'insert into store (prefix, key, value) values ($1, $2, $3)', [
      `user-${at % 2}.memories`,
      `item-${at}`,
      JSON.stringify({ text, at }),
    ])
  const line = /^psql "\$URL".*$/m.exec(readFileSync(path.join(ROOT, 'docs/import.md'), 'utf8'))?.[0] ?? 'false'
  const made = spawnSync('sh', ['-c', line], { cwd: place, env: { ...process.env, URL: url }, encoding: 'utf8' })
  const service = await loci.services.create({ name: 'By psql' }).ready()
  const { code, data, output } = await run([
    ...[
      'langgraph',
      path.join(place, 'store.ndjson'),
      '--users-from',
      'namespace.0',
      '--service',
      service.id as string,
    ],
  ])
  const kept = await keptOf(service)
  const found = [...kept.values()].map(({ content }) => content).sort()
  report.promise(
    'rows of LangGraph, taken out by the line of docs/import.md, come over word for word',
    made.status === 0 && code === 0 && isDeepStrictEqual(found, texts.toSorted()),
    code === 0 ? `${data.stored} of ${texts.length}` : `${made.stderr} ${output}`,
  )
}

async function countsOf(service: Service): Promise<{ records: number; databases: number }> {
  const users = await service.users().all()
  return { records: users.reduce((sum, { records }) => sum + records, 0), databases: users.length }
}

type Kept = Awaited<ReturnType<ReturnType<Service['user']>['memory']>> & object

/** Of all users, by the source event. */
async function keptOf(service: Service): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (const { name } of await service.users().all())
    for await (const memory of service.user(name).memories()) kept.set(memory.sourceEventId ?? memory.id, memory)
  return kept
}

async function mixedIn(service: Service): Promise<number> {
  let mixed = 0
  for (const { name } of await service.users().all()) {
    const user = Array.from({ length: USERS }, (_, at) => at).find((at) => databaseName(at) === name)
    for await (const { content } of service.user(name).memories())
      if (user === undefined || !content.startsWith(`${userName(user)} said`)) mixed += 1
  }
  return mixed
}

function isSame(memory: Source, kept: Kept | undefined): boolean {
  if (!kept) return false
  const { mem0: _, ...metadata } = kept.metadata ?? {}
  return isDeepStrictEqual(
    [kept.content, kept.occurredAt, kept.contextId, kept.actor, kept.tags, metadata],
    [memory.memory, memory.created_at, memory.run_id, memory.role, [...new Set(memory.categories)], memory.metadata],
  )
}
