// Deleting a memory in a database with 10^6 former slots takes at most 2 s of PostgreSQL's processor time, and nobody
// else who writes to that database is refused meanwhile. `--short`: 10^5 of them.

import { setTimeout as sleep } from 'node:timers/promises'
import { cyclesOf, type TestCycles } from '@loci/daemon/testing/cycles.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import { type RotCell, startRotCell } from '../robustness/rot-cell.ts'
import { cpuTime } from '../world/cpu-time.ts'
import { plantMutant } from '../world/mutant.ts'
import { type Report, reportOn } from '../world/report.ts'

const isShort = process.argv.includes('--short')
const VERSIONS = isShort ? 100_000 : 1_000_000
/** In one statement. */
const LOT = 25_000
const CPU_MS_MAX = isShort ? 400 : 2_000
const DB = 'long'
const SAID = 'Ada lives in Elm Street 5'
/** Of the versions, those that say it. */
const SAYING = 40
const WRITERS = 3
const ERASURES = 5

await reportOn(async (report) => {
  const cell = await startRotCell({ dataChecksums: true, rowsPerDatabase: 1 })
  try {
    const memory = await fill(cell)
    const startedAt = performance.now()
    await fillVersions(cell, memory.tenant)
    report.note(`${VERSIONS} versions of slots loaded in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
    await costs(report, cell, memory)
    await writersGoOn(report, cell, memory)
  } finally {
    await cell.close()
  }
  await mutant(report)
})

interface Memory {
  tenant: TestTenant
  cycles: TestCycles
}

async function fill(cell: RotCell): Promise<Memory> {
  const tenant = await cell.join({ requests_per_second: 1_000_000, burst: 1_000_000, bytes: 2 ** 40 })
  const cycles = cyclesOf(tenant, DB)
  // The version that all the others are copies of.
  await done(cycles, 'PUT /v1/working-memory/slots/state', { value: 'The pump in hall three runs', ephemeral: true })
  return { tenant, cycles }
}

/** Over a week, in the words of the slot that was put. */
async function fillVersions({ sql }: RotCell, { instanceId }: TestTenant): Promise<void> {
  for (let from = 1; from <= VERSIONS; from += LOT)
    await sql(
      `insert into loci.slot_versions
        select v.instance_id, v.database, v.key || g % 20, v.version + g, v.at - g % 7 * interval '1 day', v.text, v.meta, v.expires, v.digest,
          substr(sha256(int8send(g)), 1, 16)
        from (select * from loci.slot_versions where instance_id = $1 and key = 'state') v, generate_series(${from}, ${Math.min(VERSIONS, from + LOT - 1)}) g`,
      [instanceId],
    )
}

/** A memory that slots have said, too; its erasure, with what the receipt says of versions. */
async function eraseOne({ postgres }: RotCell, { cycles }: Memory, said: string) {
  for (let n = 0; n < SAYING; n += 1)
    await done(cycles, 'PUT /v1/working-memory/slots/home', {
      value: n % 2 ? said : said.toUpperCase(),
      ephemeral: true,
    })
  const { id } = (await done(cycles, 'POST /v1/memory/records', { content: said })).json<{ id: string }>()
  const used = () => cpuTime({ daemons: [], postgres }).postgresUs / 1_000
  const before = used()
  const { status, text } = await cycles.call(`DELETE /v1/memory/records/${id}`)
  const cpuMs = used() - before
  const { checked = [] } = JSON.parse(text) as { checked?: { place: string; erased: number }[] }
  return { status, cpuMs, erased: checked.find(({ place }) => place === 'slot_versions')?.erased ?? 0 }
}

async function costs(report: Report, cell: RotCell, memory: Memory): Promise<void> {
  const costly: number[] = []
  let whole = 0
  for (let n = 0; n < ERASURES; n += 1) {
    const { status, erased, cpuMs } = await eraseOne(cell, memory, `${SAID} ${n}`)
    if (status === 200 && erased === SAYING) whole += 1
    costly.push(cpuMs)
  }
  const most = Math.max(...costly)
  report.promise(
    `a memory is erased among ${VERSIONS} versions of slots, each of the ${SAYING} that say it`,
    whole === ERASURES && most <= CPU_MS_MAX,
    `${whole} of ${ERASURES}, ${Math.round(most)} ms of PostgreSQL's processor time (at most ${CPU_MS_MAX})`,
  )
}

async function writersGoOn(report: Report, cell: RotCell, memory: Memory): Promise<void> {
  // What a busy machine refuses without an erasure is no answer of the erasure.
  const alone = await writtenDuring(memory, () => sleep(3_000))
  const beside = await writtenDuring(memory, async () => {
    for (let n = 0; n < ERASURES; n += 1) await eraseOne(cell, memory, `${SAID} beside ${n}`)
  })
  report.promise(
    'no other writer of the database is refused meanwhile',
    beside.written > 0 && beside.refused <= alone.refused,
    `${beside.refused} of ${beside.written + beside.refused} refused beside ${ERASURES} erasures, ${alone.refused} of ${alone.written + alone.refused} without`,
  )
}

/** Slots, entries and records of the same database. */
async function writtenDuring({ tenant }: Memory, work: () => Promise<void>) {
  const token = tenant.mint({ ops: ['wm:write', 'kv:write', 'memory:write'], ks: ['*/*'] })
  const counts = { written: 0, refused: 0 }
  let isOver = false
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; !isOver; n += 1) {
      const content = `Note ${writer}.${n}`
      const [line, body] = [
        ['PUT /v1/working-memory/slots/other', { value: content, ephemeral: true }],
        ['PUT /v1/kv/entries/a', { value: n }],
        ['POST /v1/memory/records', { content }],
      ][n % 3] as [string, object]
      const { status } = await tenant.call(line, body, { db: DB, token })
      if (status < 300) counts.written += 1
      else counts.refused += 1
    }
  })
  await work().finally(() => {
    isOver = true
  })
  await Promise.all(writers)
  return counts
}

async function mutant(report: Report): Promise<void> {
  await using copy = await plantMutant([
    {
      file: 'daemon/working-memory/upkeep/functions.sql',
      from: `    from loci.slot_versions v where v.value_mac >= p_mac and v.value_mac <= p_mac and v.instance_id = p_instance and v.database = p_database
      and v.version <= p_to order by v.value_mac limit p_limit`,
      to: `    from loci.slot_versions v where v.instance_id = p_instance and v.database = p_database
      and case when lower(normalize(v.text, nfkc)) like '%a%' then v.value_mac = p_mac end limit p_limit`,
    },
  ])
  const cell = await startRotCell({
    dataChecksums: true,
    rowsPerDatabase: 1,
    root: copy.root,
    start: copy.startProgram,
  })
  try {
    const memory = await fill(cell)
    await fillVersions(cell, memory.tenant)
    const { status, cpuMs } = await eraseOne(cell, memory, SAID)
    const how = `${status}, ${Math.round(cpuMs)} ms`
    report.mutant('an erasure that walks through the versions', status !== 200 || cpuMs > CPU_MS_MAX ? how : undefined)
  } finally {
    await cell.close()
  }
}

/** A busy machine says 503: nothing was done, by its own word. */
async function done(cycles: TestCycles, line: string, body: object) {
  for (;;) {
    const answer = await cycles.call(line, body)
    if (answer.status < 300) return answer
    if (answer.status !== 503) throw new Error(`${line}: ${answer.text}`)
    await sleep(50)
  }
}
