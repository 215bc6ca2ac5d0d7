// Recall over many databases of 10^3 records, and how its cost grows with the records of the cell. One database is
// stored over HTTP; the others are its copies.

import { copyDatabases, requireConsistent } from './recall-copies.ts'
import { corpusOf } from './recall-corpus.ts'
import {
  type Asked,
  askQuestions,
  holdUntil,
  indexed,
  median,
  memoryOf,
  type RecallWorld,
  shown,
  storeAll,
  withRecallWorld,
} from './recall-world.ts'

const ITEMS = 1_000
/** Of them in no segment yet, by the names of databases: m rests, w was written to in the last ten minutes. */
const TAIL = { m: 15, w: 128 } as const
/** Of ten thousand, those that were. */
const WRITTEN = 10
const P99_MS = 50
const CPU_MS = 5
const MEMORY_MB = 256
const INDEX_MB = 64
/** The cost of a recall in a cell of 10^6 records, as a multiple of that in one of 10^3. */
const GROWTH = 1.5

export interface ManyOptions {
  short: boolean
  /** What is loaded is measured when there is such a file. */
  hold?: string | undefined
}

export async function measureMany(databases: number, { short, hold }: ManyOptions): Promise<boolean> {
  const seconds = short ? 4 : 15
  return withRecallWorld({ LOCI_INDEX_BYTES_MAX: String(INDEX_MB * 1024 ** 2) }, async (bench) => {
    const counts = { m: databases, w: Math.ceil(databases / WRITTEN) }
    await fill(bench, counts)
    await holdUntil(hold)
    await bench.restart()
    const namesOf = (name: 'm' | 'w') => Array.from({ length: counts[name] }, (_, n) => `${name}${n}`)
    const asked = await ask(bench, namesOf('m'), { connections: 1, seconds: 2 * seconds })
    console.log(`uniformly over ${databases} databases that rest: ${shown(asked)}`)
    await bench.judge('p99 of a recall', asked.p99Ms, P99_MS, 'ms')
    await bench.judge('processor time', cost(asked), CPU_MS, 'ms of processor')
    const written = await ask(bench, namesOf('w'), { connections: 1, seconds })
    console.log(`uniformly over ${counts.w} databases with half of a full tail: ${shown(written)}`)
    await bench.judge('p99 of a recall', written.p99Ms, P99_MS, 'ms')
    const crowd = await ask(bench, namesOf('m'), { connections: 8, seconds })
    console.log(`  8 clients: ${shown(crowd)}`)
    const { mb, mbMax } = memoryOf(bench.daemon().pid)
    console.log(`  memory of the daemon ${Math.round(mb)} MB`)
    await bench.judge('at most so far', mbMax, MEMORY_MB + INDEX_MB, 'MB')
  })
}

/** The same database in a cell of its own and in one with many others, in turns. */
export async function measureGrowth(databases: number, { short, hold }: ManyOptions): Promise<boolean> {
  const [rounds, seconds] = short ? [2, 2] : [5, 4]
  return withRecallWorld({}, async (large) => {
    await fill(large, { w: databases })
    await withRecallWorld({}, async (small) => {
      await fill(small, { w: 1 })
      await holdUntil(hold)
      const [alone, among]: [Asked[], Asked[]] = [[], []]
      for (let round = 0; round <= rounds; round += 1) {
        for (const [bench, asked] of [
          [small, alone],
          [large, among],
        ] as const)
          asked.push(await ask(bench, ['w0'], { connections: 1, seconds }))
      }
      // The first round warms both up.
      const [before, after] = [alone.slice(1), among.slice(1)]
      for (const asked of before) console.log(`  ${ITEMS} records in the cell: ${shown(asked)}`)
      for (const asked of after) console.log(`  ${databases * ITEMS} records in the cell: ${shown(asked)}`)
      const ratio = (of: (one: Asked) => number) => median(after.map(of)) / median(before.map(of))
      await large.judge(`processor time, of that at ${ITEMS} records`, ratio(cost), GROWTH, '×')
      for (const name of ['p50Ms', 'p99Ms'] as const)
        await large.judge(
          `${name.slice(0, 3)}, of that at ${ITEMS} records`,
          ratio((one) => one[name]),
          GROWTH,
          '×',
        )
    })
  })
}

const corpus = corpusOf(ITEMS)
const cost = ({ daemonMs, postgresMs }: Asked) => daemonMs + postgresMs

function ask(bench: RecallWorld, databases: string[], load: { connections: number; seconds: number }): Promise<Asked> {
  return askQuestions(bench, bench.tenant, corpus, { databases, ...load })
}

/** By name, how many databases of it there are to be. */
async function fill(bench: RecallWorld, counts: { [Name in keyof typeof TAIL]?: number }): Promise<void> {
  const { tenant } = bench
  for (const name of Object.keys(counts) as (keyof typeof TAIL)[]) {
    await storeAll(bench, tenant, `${name}0`, { records: corpus.records.slice(0, -TAIL[name]) })
    await bench.sql(
      `insert into loci.due (instance_id, database, kind, at) values ($1, $2, 'index', now())
       on conflict (instance_id, database, kind) do update set at = now()`,
      [tenant.serviceId, `${name}0`],
    )
    await indexed(bench)
    await storeAll(bench, tenant, `${name}0`, { records: corpus.records.slice(-TAIL[name]) })
  }
  if (Object.values(counts).some((count) => count > 1)) await copyDatabases(bench, counts)
  for (const [name, count] of Object.entries(counts)) {
    if (count > 1) await requireConsistent(bench, `${name}${count - 1}`)
    const [state] = await bench.sql<{ tail: number; segments: number }>(
      `select mem_tail as tail, (select count(*)::int from loci.segments s where s.database = h.name) as segments
       from loci.databases h where h.name = $1`,
      [`${name}0`],
    )
    console.log(
      `${count} databases of ${ITEMS} records, each of ${state?.segments} segments and a tail of ${state?.tail}`,
    )
  }
}
