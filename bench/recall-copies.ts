// Copies of a database of records that was stored over HTTP, made in SQL by the product's own digests and counts: the
// consistency report of one of them must find nothing.

import { openPool } from '@loci/postgres/pool.ts'
import { mapWidth } from '@loci/tests/world/report.ts'
import { type RecallWorld, send } from './recall-world.ts'

/** Databases a statement, so that none runs long. */
const COPIED = 50
/** Sessions that copy side by side. */
const SESSIONS = 2

/**
 * By name, how many databases there are to be: <name>0 is copied to <name>1 and so on, while no daemon runs. The
 * indexes of records are made anew at the end, in a fifth of the time that it takes to keep them.
 */
export async function copyDatabases(bench: RecallWorld, counts: Record<string, number>): Promise<void> {
  const startedAt = performance.now()
  const pool = openPool({
    ...{ url: bench.world.postgres.adminUrl('loci_cell'), applicationName: 'loci-bench', connectionsMax: SESSIONS },
    ...{ statementMs: 0, onError: () => {} },
  })
  const run = (text: string) => pool.query({ text })
  await bench.restart(async () => {
    const { rows: indexes } = await pool.query<{ name: string; definition: string }>({
      text: `select indexname as name, indexdef as definition from pg_indexes where schemaname = 'loci' and tablename = 'records'`,
    })
    await run('alter table loci.records drop constraint records_pkey')
    for (const { name } of indexes) if (name !== 'records_pkey') await run(`drop index loci.${name}`)
    // Of their own: to find them among all that are copied takes a scan.
    await run(`create unlogged table public.copied as select * from loci.records`)
    const parts: { name: string; from: number; to: number }[] = []
    for (const [name, count] of Object.entries(counts))
      for (let from = 1; from < count; from += COPIED) parts.push({ name, from, to: Math.min(count, from + COPIED) })
    await mapWidth(parts, SESSIONS, (part) => run(copySql(bench.tenant.serviceId, part)))
    await run('drop table public.copied')
    await mapWidth(indexes, SESSIONS, ({ definition }) => run(`set maintenance_work_mem = '512MB'; ${definition}`))
    await run('alter table loci.records add constraint records_pkey primary key using index records_pkey')
    await run('vacuum analyze')
    await run('checkpoint')
  })
  await pool.close()
  const copied = Object.values(counts).reduce((sum, count) => sum + count - 1, 0)
  console.log(`${copied} databases copied in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
}

/**
 * Every table of memory with another name of the database, so with other digests, and the sums of these: of the rows
 * as they are made, for without indexes to find them again takes a scan of all that were made before.
 */
function copySql(instanceId: string, { name, from, to }: { name: string; from: number; to: number }): string {
  const names = `(select '${name}' || n as name from generate_series(${from}, ${to - 1}) n) d`
  const record = (
    digest: string,
  ) => `t.instance_id, d.name, t.seq, t.id, t.changed_seq, t.key, t.source_event_id, t.context, t.position,
    t.value_mac, t.body, t.created_at, t.valid_from, t.valid_to, t.archived_at, t.expires_at, ${digest}, t.presented, t.due_at`
  const segment = 't.instance_id, d.name, t.id, t.from_seq, t.through_seq, t.items, t.format, t.encoded, t.body'
  const source = `'${name}0'`
  const of = (table: string) => `${table} t where t.instance_id = '${instanceId}' and t.database = ${source}`
  return `
    with made as (
      insert into loci.records select ${record(`loci.record_digest(row(${record("''::bytea")})::loci.records)`)}
        from ${names}, (select * from ${of('public.copied')}) t returning database, digest
    )
    insert into loci.databases select (jsonb_populate_record(h, jsonb_build_object('name', s.database, 'mem_set_a', s.a, 'mem_set_b', s.b))).*
      from loci.databases h, (select database, bit_xor(loci.digest_part(digest, 1)) as a, bit_xor(loci.digest_part(digest, 9)) as b
        from made group by database) s
      where h.instance_id = '${instanceId}' and h.name = ${source};
    insert into loci.segments select ${segment}, loci.segment_digest(row(${segment}, ''::bytea)::loci.segments)
      from ${names}, (select * from ${of('loci.segments')}) t;
    insert into loci.contexts select t.instance_id, d.name, t.name_mac, t.number, t.position, t.records
      from ${names}, (select * from ${of('loci.contexts')}) t;
    select loci.add_totals('${instanceId}', ${to - from} * h.mem_records, ${to - from} * (h.mem_bytes + h.mem_index_bytes))
      from loci.databases h where h.instance_id = '${instanceId}' and h.name = ${source}`
}

/** Or what is measured is not what the product makes. */
export async function requireConsistent(bench: RecallWorld, database: string): Promise<void> {
  const line = `GET /v1/kv/consistency?mode=full`
  const report = await send<{ status: string; issues: object[] }>(bench, bench.tenant, database, line)
  if (report.status === 'inconsistent') throw new Error(`a copied database is none: ${JSON.stringify(report.issues)}`)
}
