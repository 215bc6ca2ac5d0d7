// Recall over many databases of 10^3 records, and how its cost grows with the records of the cell. One database is
// stored over HTTP; the others are its copies, made in SQL by the product's own digests and counts, and the consistency
// report of one of them must find nothing.

import { corpusOf } from './recall-corpus.ts'
import { askQuestions, memoryOf, type RecallWorld, send, shown, storeAll, withRecallWorld } from './recall-world.ts'

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

/** Databases a statement, so that none runs long. */
const COPIED = 50

async function copyDatabase(bench: RecallWorld, from: number, to: number): Promise<void> {
  const startedAt = performance.now()
  for (let at = from; at < to; at += COPIED)
    await bench.sql(copySql(bench.tenant.serviceId, at, Math.min(to, at + COPIED)))
  await bench.sql('vacuum analyze')
  await bench.sql('checkpoint')
  console.log(`${to - from} databases copied in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
}

/** Every table of memory with another name of the database, so with other digests, and the sums of these. */
function copySql(instanceId: string, from: number, to: number): string {
  const names = `(select 'm' || n as name from generate_series(${from}, ${to - 1}) n) d`
  const record = `t.instance_id, d.name, t.seq, t.id, t.changed_seq, t.key, t.source_event_id, t.context, t.position, t.value_mac,
    t.body, t.created_at, t.valid_from, t.valid_to, t.archived_at, t.expires_at`
  const segment = 't.instance_id, d.name, t.id, t.from_seq, t.through_seq, t.items, t.format, t.body'
  const of = (table: string) => `loci.${table} t where t.instance_id = '${instanceId}' and t.database = 'm0'`
  return `
    insert into loci.records select ${record}, loci.record_digest(row(${record}, ''::bytea)::loci.records)
      from ${names}, (select * from ${of('records')}) t;
    insert into loci.segments select ${segment}, loci.segment_digest(row(${segment}, ''::bytea)::loci.segments)
      from ${names}, (select * from ${of('segments')}) t;
    insert into loci.contexts select t.instance_id, d.name, t.name_mac, t.number, t.position, t.records
      from ${names}, (select * from ${of('contexts')}) t;
    insert into loci.databases select (jsonb_populate_record(h, jsonb_build_object('name', d.name, 'mem_set_a', s.a, 'mem_set_b', s.b))).*
      from loci.databases h, ${names}, lateral (select bit_xor(loci.digest_part(r.digest, 1)) as a, bit_xor(loci.digest_part(r.digest, 9)) as b
        from loci.records r where r.instance_id = '${instanceId}' and r.database = d.name) s
      where h.instance_id = '${instanceId}' and h.name = 'm0';
    select loci.add_totals('${instanceId}', ${to - from} * h.mem_records, ${to - from} * (h.mem_bytes + h.mem_index_bytes))
      from loci.databases h where h.instance_id = '${instanceId}' and h.name = 'm0'`
}

/** Or what is measured is not what the product makes. */
async function requireConsistent(bench: RecallWorld, database: string): Promise<void> {
  const line = `GET /v1/kv/consistency?mode=full`
  const report = await send<{ status: string; issues: object[] }>(bench, bench.tenant, database, line)
  if (report.status === 'inconsistent') throw new Error(`a copied database is none: ${JSON.stringify(report.issues)}`)
}
