// Recall over many databases of 10^3 records, and how its cost grows with the records of the cell. One database is
// stored over HTTP; the others are its copies.

import { copyDatabase, requireConsistent } from './recall-copies.ts'
import { corpusOf } from './recall-corpus.ts'
import { askQuestions, memoryOf, shown, storeAll, withRecallWorld } from './recall-world.ts'

const ITEMS = 1_000
/** Of them in no segment yet: half of what there may be. */
const TAIL = 128
const P99_MS = 50
const CPU_MS = 5
const MEMORY_MB = 256
const INDEX_MB = 64
/** The cost of a recall in a cell of 10^6 records, as a multiple of that in one of 10^3. */
const GROWTH = 1.5
const GROWN = 1_000

export async function measureMany(databases: number, { short }: { short: boolean }): Promise<boolean> {
  const seconds = short ? 4 : 15
  return withRecallWorld({ LOCI_INDEX_BYTES_MAX: String(INDEX_MB * 1024 ** 2) }, async (bench) => {
    const corpus = corpusOf(ITEMS)
    const { tenant } = bench
    await storeAll(bench, tenant, 'm0', { records: corpus.records.slice(0, -TAIL) })
    await storeAll(bench, tenant, 'm0', { records: corpus.records.slice(-TAIL) })
    const one = await askQuestions(bench, tenant, corpus, { databases: ['m0'], connections: 1, seconds })
    console.log(`\n${ITEMS} records in the cell: ${shown(one)}`)
    const grown = Math.min(GROWN, databases)
    await copyDatabase(bench, 1, grown)
    await requireConsistent(bench, `m${grown - 1}`)
    const [state] = await bench.sql<{ tail: number; segments: number }>(
      `select mem_tail as tail, (select count(*)::int from loci.segments s where s.database = h.name) as segments
       from loci.databases h where h.name = 'm0'`,
    )
    console.log(`each of ${state?.segments} segments and a tail of ${state?.tail}`)
    const same = await askQuestions(bench, tenant, corpus, { databases: ['m0'], connections: 1, seconds })
    console.log(`${grown * ITEMS} records in the cell, the same database: ${shown(same)}`)
    const cost = (asked: typeof one) => asked.daemonMs + asked.postgresMs
    await bench.judge(`processor time, of that at ${ITEMS}`, cost(same) / cost(one), GROWTH, '×')
    await bench.judge('p50, of that before', same.p50Ms / one.p50Ms, GROWTH, '×')
    await copyDatabase(bench, grown, databases)
    await bench.restart()
    const names = Array.from({ length: databases }, (_, n) => `m${n}`)
    const asked = await askQuestions(bench, tenant, corpus, { databases: names, connections: 1, seconds: 2 * seconds })
    console.log(`uniformly over ${databases} databases: ${shown(asked)}`)
    await bench.judge('p99 of a recall', asked.p99Ms, P99_MS, 'ms')
    await bench.judge('processor time', cost(asked), CPU_MS, 'ms of processor')
    const crowd = await askQuestions(bench, tenant, corpus, { databases: names, connections: 8, seconds })
    console.log(`  8 clients: ${shown(crowd)}`)
    const { mb, mbMax } = memoryOf(bench.daemon().pid)
    console.log(`  memory of the daemon ${Math.round(mb)} MB`)
    await bench.judge('at most so far', mbMax, MEMORY_MB + INDEX_MB, 'MB')
  })
}
