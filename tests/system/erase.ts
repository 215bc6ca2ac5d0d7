// Deleted is gone, also after a restore. A value is told in every way that the cell can hold it, its database is
// dumped, the value is erased, and the dump is put in the place of the database under running daemons that are asked
// all the time: none serves it for a moment, no table has it once they serve again, and nothing learns it again. So
// with a person, whose whole database is erased. What was stored again by an override before the backup stays.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { dumpCell, putInPlace, restoreBeside, tracesIn } from '../robustness/cell-backup.ts'
import { consistencyOf } from '../robustness/kv-tables.ts'
import { disagreeingHeads } from '../robustness/record-tables.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
/** Values that are erased after the backup beside the one that is told everywhere. */
const FURTHER = isShort ? 5 : 300
const ROUNDS_MIN = isShort ? 20 : 100
const READY_MS_MAX = 120_000

const WORD = `tulip${randomBytes(5).toString('hex')}`
const SECRET = `The launch code is ${WORD}`
const QUESTION = 'What is the launch code?'
const AGAIN = `The spare code is rose${randomBytes(5).toString('hex')}`
const LATE = `The late code is lily${randomBytes(5).toString('hex')}`

/** A database of its own, which is erased whole. */
const PERSON = 'person'

const MUTANTS: { name: string; edits: Edit[]; gaveAway: keyof Verdict }[] = [
  {
    name: 'the ledger is not replayed',
    edits: [
      {
        file: 'daemon/feed/applier.ts',
        from: 'const values = await options.replayErasures(page.deletions.flatMap(ledgerValueOf))',
        to: 'const values = page.deletions.flatMap(ledgerValueOf).length',
      },
    ],
    gaveAway: 'isServed',
  },
  {
    name: 'one table is left out of the replay',
    edits: [{ file: 'daemon/app.ts', from: 'lifeOf), forgets },', to: 'lifeOf), forgets: forgets.slice(1) },' }],
    gaveAway: 'traces',
  },
  {
    name: 'the replay does not look at the number',
    edits: [
      {
        file: 'daemon/memory/replay/store.ts',
        from: 'erased_through as through',
        to: '9007199254740991 as through',
      },
    ],
    gaveAway: 'isAgainGone',
  },
]

interface Told {
  id: string
  againId: string
  cycleId: string
}

/** Of a restored cell. */
interface Verdict {
  isServed: boolean
  traces: string[]
  isAgainGone: boolean
}

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 2 })
  const directory = mkdtempSync(join(tmpdir(), 'loci-erase-'))
  try {
    const tenant = await addTenant(world, { name: 'ada', plan: 'enterprise' })
    const told = await tell(world, tenant)
    const file = await dumpCell(world.postgres, directory)
    await eraseAll(report, world, tenant, told)
    await staysErased(report, world, { tenant, told, file })
    await Promise.all(world.daemons.map((daemon) => daemon.stop()))
    const real = await judge(world, { tenant, told, file, name: 'whole' }, startProgram)
    report.promise(
      'a replay of the whole ledger leaves what was stored again by an override',
      !real.isServed && real.traces.length === 0 && !real.isAgainGone,
      `served ${real.isServed}, in ${real.traces.length} tables, stored again: ${real.isAgainGone ? 'gone' : 'there'}`,
    )
    for (const [n, { name, edits, gaveAway }] of MUTANTS.entries()) {
      await using copy = await plantMutant(edits)
      const verdict = await judge(world, { tenant, told, file, name: `mutant${n}` }, copy.startProgram)
      const found = verdict[gaveAway]
      const isCaught = Array.isArray(found) ? found.length > 0 : found
      report.mutant(name, isCaught ? `${gaveAway}: ${found}` : undefined)
    }
  } finally {
    await world.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})

type Call = (line: string, body?: unknown, token?: string, database?: string) => Promise<TestAnswer>

/** A busy machine says 503: nothing was done, by its own word. */
function callerOf(url: string, { operator }: Pick<WorldTenant, 'operator'>): Call {
  return async (line, body, token = operator.token, database = 'default') => {
    for (let tries = 0; ; tries += 1) {
      const headers = { 'x-loci-capability': token, 'x-loci-database': database }
      const answer = await ask(url, line, { body, headers })
      if (answer.status !== 503 || tries === 100) return answer
      await sleep(50)
    }
  }
}

async function good(answer: Promise<TestAnswer>): Promise<TestAnswer> {
  const { status, text } = await answer
  if (status !== 200) throw new Error(`${status} ${text}`)
  return answer
}

/** In every way that content comes into a cell. */
async function tell(world: World, tenant: WorldTenant): Promise<Told> {
  const call = callerOf(firstOf(world), tenant)
  const store = async (content: string, more = {}) =>
    (await good(call('POST /v1/memory/records', { content, ...more }))).json<{ id: string }>().id
  const erased = await store(AGAIN)
  await good(call(`DELETE /v1/memory/records/${erased}`))
  const againId = await store(AGAIN, { override: true })
  await store(SECRET, { key: 'code', contextId: 'chat' })
  const id = await store(SECRET.toLowerCase(), { actor: 'Bob' })
  const cycle = await good(
    call('POST /v1/cognitive/cycles', {
      focus: SECRET,
      metadata: { note: SECRET },
      observations: [{ content: SECRET }],
    }),
  )
  const put = (key: string, value: string) =>
    good(call(`PUT /v1/working-memory/slots/${key}`, { value, ephemeral: true }))
  await put('kept', SECRET)
  await put('changed', SECRET)
  await put('changed', 'Something else')
  await put('left', SECRET)
  await good(call('DELETE /v1/working-memory/slots/left'))
  // Events wait where no cycle takes them in.
  await good(call('PUT /v1/cognitive/config', { maxEvents: 0 }))
  await project(world, tenant, [
    { projection_class: 'event', source_event_id: 'e1', payload: SECRET },
    ...[{ projection_class: 'tool_outcome', source_event_id: 'o1', task_class: 'open', task_intent: SECRET }].map(
      (outcome) => ({ ...outcome, tools: [{ tool_id: 'door', outcome: 'success' }] }),
    ),
  ])
  for (const [line, body] of [
    ['POST /v1/memory/records', { content: SECRET, contextId: 'chat' }],
    ['PUT /v1/working-memory/slots/note', { value: SECRET }],
    ['PUT /v1/kv/entries/note', { value: SECRET }],
    ['POST /v1/cognitive/cycles', { focus: SECRET }],
  ] as const)
    await good(call(line, body, undefined, PERSON))
  // Enough for a segment.
  for (let batch = 0; batch < 3; batch += 1) {
    const records = Array.from({ length: 100 }, (_, n) => ({ content: `The room number ${batch * 100 + n} is empty` }))
    await good(call('POST /v1/memory/records/batch', { records }))
  }
  const cell = world.postgres.adminUrl('loci_cell')
  await until(async () => (await runSql(cell, 'select from loci.segments')).length > 0)
  return { id, againId, cycleId: cycle.json<{ id: string }>().id }
}

async function project(world: World, { partner }: WorldTenant, body: object[]): Promise<TestAnswer> {
  const headers = { authorization: `Bearer ${partner.token}` }
  // 401 until the feed has brought the new credential to the cell; 503: a busy machine, nothing was done.
  let answer: TestAnswer | undefined
  await until(async () => {
    answer = await ask(firstOf(world), 'POST /v1/partner/projections', { body, headers })
    return answer.status !== 401 && answer.status !== 503
  })
  return good(Promise.resolve(answer as TestAnswer))
}

async function eraseAll(report: Report, world: World, tenant: WorldTenant, { id }: Told): Promise<void> {
  const call = callerOf(firstOf(world), tenant)
  const cell = world.postgres.adminUrl('loci_cell')
  const held = await tracesIn(cell, WORD)
  const { ledgered, checked } = (await good(call(`DELETE /v1/memory/records/${id}`))).json<{
    ledgered: string
    checked: { place: string; erased: number }[]
  }>()
  await good(call(`DELETE /v1/databases/${PERSON}`))
  for (let n = 0; n < FURTHER; n += 1) {
    const content = n === 0 ? LATE : `The ${n}th further code is ${randomBytes(4).toString('hex')}`
    const { id: own } = (await good(call('POST /v1/memory/records', { content }))).json<{ id: string }>()
    await good(call(`DELETE /v1/memory/records/${own}`))
  }
  const left = await tracesIn(cell, WORD)
  const places = checked.filter(({ erased }) => erased > 0).map(({ place }) => place)
  report.promise(
    'what is deleted stands in no table of the live cell',
    held.length >= 5 && left.length === 0 && ledgered === 'cell',
    `in ${held.length} tables before (${held.join(', ')}), ${left.length} after; erased from ${places.join(', ')}; ledgered: ${ledgered}`,
  )
  await until(async () => (await runSql(cell, 'select from loci.deletions where reported_at is null')).length === 0)
  const rows = await runSql(world.postgres.adminUrl('loci_control'), `select from loci.deletions where value_mac <> ''`)
  const traces = await tracesIn(world.postgres.adminUrl('loci_control'), WORD)
  report.promise(
    'management has a row of the ledger for each erased value, and nothing of it',
    rows.length === FURTHER + 3 && traces.length === 0,
    `${rows.length} rows for ${FURTHER + 2} erasures and an override, content in ${traces.length} tables`,
  )
}

function readsOf({ id, cycleId }: Told): [line: string, body?: object | undefined, database?: string][] {
  return [
    [`GET /v1/memory/records/${id}`],
    ['GET /v1/memory/records?limit=200'],
    // Without the word: the reason of a recall that abstains names the words that nothing stored has.
    ['POST /v1/memory/recall', { query: QUESTION }],
    ['GET /v1/working-memory/slots'],
    ['GET /v1/working-memory/slots/kept'],
    ['GET /v1/working-memory/slots/kept/history'],
    ['GET /v1/working-memory/slots/changed/history'],
    ['GET /v1/working-memory/slots/left/history'],
    ['GET /v1/working-memory/evictions'],
    ['GET /v1/cognitive/cycles'],
    [`GET /v1/cognitive/cycles/${cycleId}`],
    [`GET /v1/cognitive/cycles/${cycleId}/decisions`],
    [
      'POST /v1/advice/rank',
      { taskClass: 'open', taskIntent: 'open the door', sourceEventId: 'e', candidateTools: ['door'] },
    ],
    ['GET /v1/events?after=0&wait=0'],
    ['GET /v1/memory/records', undefined, PERSON],
    ['GET /v1/working-memory/slots/note', undefined, PERSON],
    ['GET /v1/kv/entries/note', undefined, PERSON],
    ['GET /v1/cognitive/cycles', undefined, PERSON],
  ]
}

/** Reads everything again and again, and counts what was answered and who said the word. */
function watch(url: string, tenant: WorldTenant, told: Told) {
  const seen = { answers: 0, refused: 0, leaks: [] as string[] }
  let isOver = false
  const round = async () => {
    for (const [line, body, database = 'default'] of readsOf(told)) {
      const headers = { 'x-loci-capability': tenant.operator.token, 'x-loci-database': database }
      const answer = await ask(url, line, { body, headers, beginning: true }).catch(() => undefined)
      if (answer === undefined || answer.status >= 500) seen.refused += 1
      else seen.answers += 1
      if (answer?.text.toLowerCase().includes(WORD)) seen.leaks.push(`${line}: ${answer.status}`)
    }
  }
  const running = (async () => {
    while (!isOver) await round()
  })()
  return {
    seen,
    async stop() {
      isOver = true
      await running
    },
  }
}

async function staysErased(
  report: Report,
  world: World,
  { tenant, told, file }: { tenant: WorldTenant; told: Told; file: string },
): Promise<void> {
  const { postgres, daemons } = world
  const urls = daemons.map(({ url }) => url)
  await restoreBeside(postgres, file, 'loci_cell_restored')
  const watchers = urls.flatMap((url) => [watch(url, tenant, told), watch(url, tenant, told)])
  await sleep(500)
  const startedAt = performance.now()
  await putInPlace(postgres, 'loci_cell_restored')
  const cell = postgres.adminUrl('loci_cell')
  await until(
    async () =>
      (await runSql(cell, `select from loci.cell where life like '%.%' and ledger_acked >= $1`, [FURTHER + 4])).length >
      0,
  )
  await Promise.all(urls.map((url) => untilServing(url, tenant)))
  const readyMs = Math.round(performance.now() - startedAt)
  const before = watchers.map(({ seen }) => seen.answers)
  await until(async () => watchers.every(({ seen }, n) => seen.answers > (before[n] as number) + ROUNDS_MIN))
  await Promise.all(watchers.map(({ stop }) => stop()))
  const leaks = watchers.flatMap(({ seen }) => seen.leaks)
  const count = (of: 'answers' | 'refused') => watchers.reduce((sum, { seen }) => sum + seen[of], 0)
  for (const leak of leaks.slice(0, 5)) report.note(leak)
  report.promise(
    'a restored cell serves nothing of it, not for a moment',
    leaks.length === 0 && count('refused') > 0 && readyMs < READY_MS_MAX,
    `${leaks.length} of ${count('answers')} answers, ${count('refused')} refused while it was restored; served again after ${readyMs} ms with ${FURTHER + 1} values to erase`,
  )
  const traces = await tracesIn(cell, WORD)
  report.promise(
    'no table of the restored cell has it',
    traces.length === 0,
    `${traces.length} tables ${traces.join(', ')}`,
  )
  await learnsNothing(report, world, tenant)
  const heads = await disagreeingHeads(postgres)
  const consistency = await consistencyOf(urls[0] as string, tenant.operator.token)
  const cycles = (await good(callerOf(urls[0] as string, tenant)('GET /v1/cognitive/cycles'))).json<{
    corruption: { status: string }
  }>()
  report.promise(
    'digests, counts, set sums and the chain of cycles hold',
    heads.wrong.length === 0 && consistency === 'consistent' && cycles.corruption.status === 'clean',
    `${heads.wrong.length} of ${heads.heads} heads wrong ${heads.wrong.join('; ')}, ${consistency}, chain ${cycles.corruption.status}`,
  )
}

/** By a record, by an observation of a cycle, by a fact and an event of a partner. */
async function learnsNothing(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const call = callerOf(firstOf(world), tenant)
  const codes: string[] = []
  for (const content of [SECRET, LATE, SECRET.toUpperCase()])
    codes.push((await call('POST /v1/memory/records', { content })).error?.code ?? 'stored')
  await good(call('PUT /v1/cognitive/config', {}))
  await project(world, tenant, [
    { projection_class: 'fact', source_event_id: 'f2', payload: SECRET },
    { projection_class: 'event', source_event_id: 'e2', payload: SECRET },
  ])
  await good(call('POST /v1/cognitive/cycles', { observations: [{ content: SECRET }, { content: LATE }] }))
  await good(call('POST /v1/cognitive/cycles', {}))
  const learned = await runSql(
    world.postgres.adminUrl('loci_cell'),
    `select body from loci.records where body ilike '%' || $1 || '%' or body ilike '%' || $2 || '%'`,
    [SECRET, LATE],
  )
  report.promise(
    'it is not learned again by a record, a cycle, a fact or an event',
    codes.every((code) => code === 'MEMORY_FORGOTTEN') && learned.length === 0,
    `${codes.join(', ')}; ${learned.length} records`,
  )
}

/** A daemon alone on a copy of the backup that replays the whole ledger. */
async function judge(
  world: World,
  { tenant, told, file, name }: { tenant: WorldTenant; told: Told; file: string; name: string },
  start: typeof startProgram,
): Promise<Verdict> {
  const database = `loci_cell_${name}`
  await restoreBeside(world.postgres, file, database)
  const url = world.postgres.adminUrl(database)
  await runSql(url, 'update loci.cell set ledger_acked = 0')
  const settings = world.daemonSettings({ LOCI_DATABASE_URL: world.postgres.url('loci_daemon', database) })
  const daemon: LociProcess = await start('daemon', settings)
  try {
    await untilReady(daemon.url)
    const call = callerOf(daemon.url, tenant)
    const again = await call(`GET /v1/memory/records/${told.againId}`)
    const traces = await tracesIn(url, WORD)
    const isServed = (await call(`GET /v1/memory/records/${told.id}`)).text.toLowerCase().includes(WORD)
    return { isServed, traces, isAgainGone: again.status === 404 }
  } finally {
    await daemon.stop()
  }
}

async function untilServing(url: string, { operator }: WorldTenant): Promise<void> {
  const headers = { 'x-loci-capability': operator.token }
  await until(
    async () => (await ask(url, 'GET /v1/memory/records', { headers }).catch(() => undefined))?.status === 200,
  )
}

async function until(isSo: () => Promise<boolean>, withinMs = READY_MS_MAX): Promise<void> {
  for (const endsAt = performance.now() + withinMs; !(await isSo()); await sleep(50))
    if (performance.now() > endsAt) throw new Error(`not so after ${withinMs} ms: ${isSo}`)
}

function firstOf({ daemons }: World): string {
  return (daemons[0] as LociProcess).url
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
