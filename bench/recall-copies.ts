// Copies of a database of records that was stored over HTTP, made in SQL by the product's own digests and counts: the
// consistency report of one of them must find nothing.

import { type RecallWorld, send } from './recall-world.ts'

/** Databases a statement, so that none runs long. */
const COPIED = 50

/** Copies `m0` to the databases m<from> up to m<to - 1>. */
export async function copyDatabase(bench: RecallWorld, from: number, to: number): Promise<void> {
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
  const record = (
    digest: string,
  ) => `t.instance_id, d.name, t.seq, t.id, t.changed_seq, t.key, t.source_event_id, t.context, t.position,
    t.value_mac, t.body, t.created_at, t.valid_from, t.valid_to, t.archived_at, t.expires_at, ${digest}, t.presented, t.due_at`
  const segment = 't.instance_id, d.name, t.id, t.from_seq, t.through_seq, t.items, t.format, t.body'
  const of = (table: string) => `loci.${table} t where t.instance_id = '${instanceId}' and t.database = 'm0'`
  return `
    insert into loci.records select ${record(`loci.record_digest(row(${record("''::bytea")})::loci.records)`)}
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
export async function requireConsistent(bench: RecallWorld, database: string): Promise<void> {
  const line = `GET /v1/kv/consistency?mode=full`
  const report = await send<{ status: string; issues: object[] }>(bench, bench.tenant, database, line)
  if (report.status === 'inconsistent') throw new Error(`a copied database is none: ${JSON.stringify(report.issues)}`)
}
