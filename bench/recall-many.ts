// Recall over many databases of 10^3 records, and how its cost grows with the records of the cell. One database is
// stored over HTTP; the others are its copies.

import { copyDatabase, requireConsistent } from './recall-copies.ts'
import { corpusOf } from './recall-corpus.ts'
import {
  type Asked,
  askQuestions,
  holdUntil,
  median,
  memoryOf,
  type RecallWorld,
  shown,
  storeAll,
  withRecallWorld,
} from './recall-world.ts'

const ITEMS = 1_000
/** Of them in no segment yet: half of what there may be. */
const TAIL = 128
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
    await fill(bench, databases)
    await holdUntil(hold)
    await bench.restart()
    const names = Array.from({ length: databases }, (_, n) => `m${n}`)
    const asked = await ask(bench, names, { connections: 1, seconds: 2 * seconds })
    console.log(`uniformly over ${databases} databases: ${shown(asked)}`)
    await bench.judge('p99 of a recall', asked.p99Ms, P99_MS, 'ms')
    await bench.judge('processor time', cost(asked), CPU_MS, 'ms of processor')
    const crowd = await ask(bench, names, { connections: 8, seconds })
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
    await fill(large, databases)
    await withRecallWorld({}, async (small) => {
      await fill(small, 1)
      await holdUntil(hold)
      const [alone, among]: [Asked[], Asked[]] = [[], []]
      for (let round = 0; round <= rounds; round += 1) {
        for (const [bench, asked] of [
          [small, alone],
          [large, among],
        ] as const)
          asked.push(await ask(bench, ['m0'], { connections: 1, seconds }))
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

async function fill(bench: RecallWorld, databases: number): Promise<void> {
  const { tenant } = bench
  await storeAll(bench, tenant, 'm0', { records: corpus.records.slice(0, -TAIL) })
  await storeAll(bench, tenant, 'm0', { records: corpus.records.slice(-TAIL) })
  if (databases > 1) {
    await copyDatabase(bench, 1, databases)
    await requireConsistent(bench, `m${databases - 1}`)
  }
  const [state] = await bench.sql<{ tail: number; segments: number }>(
    `select mem_tail as tail, (select count(*)::int from loci.segments s where s.database = h.name) as segments
     from loci.databases h where h.name = 'm0'`,
  )
  console.log(
    `${databases} databases of ${ITEMS} records, each of ${state?.segments} segments and a tail of ${state?.tail}`,
  )
}
