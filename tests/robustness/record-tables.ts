// What the tables hold of memory, with the eyes of the superuser.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'
import { contentOf } from './record-writers.ts'

/** Every record of the databases whose names begin with `name`, by `<instance> <database> <mark>`: open or closed. */
export async function storedRecords(postgres: Throwaway, name: string): Promise<Map<string, string>> {
  const rows = await runSql<{ place: string; content: string; state: string }>(
    postgres.adminUrl('loci_cell'),
    `select instance_id || ' ' || database as place, body::json ->> 'content' as content,
      case when valid_to is null then 'open' else 'closed' end as state
      from loci.records where starts_with(database, $1)`,
    [`${name}-`],
  )
  const stored = new Map<string, string>()
  for (const { place, content, state } of rows) {
    const id = `${place} ${content.slice(contentOf('').length)}`
    stored.set(id, stored.has(id) ? 'twice' : state)
  }
  return stored
}

/**
 * The databases whose heads do not say what their rows do. One statement sees one moment, so writers may go on:
 * digests, counts, set sums, the bytes of the index, and its segments, which follow each other without a gap.
 */
export async function disagreeingHeads(
  postgres: Throwaway,
): Promise<{ wrong: string[]; heads: number; segments: number }> {
  const rows = await runSql<{ id: string; wrong: string | null; segments: number }>(
    postgres.adminUrl('loci_cell'),
    `select h.instance_id || ' ' || h.name as id, s.segments::int, concat_ws(', ',
        case when h.mem_records <> r.rows or h.mem_bytes <> r.bytes then 'counts' end,
        case when h.mem_set_a <> r.a or h.mem_set_b <> r.b then 'set sums' end,
        case when r.damaged > 0 or s.damaged > 0 then 'digests' end,
        case when h.mem_index_bytes <> s.bytes + 100 * c.contexts + 150 * t.tombstones then 'bytes of the index' end,
        case when s.covered <> h.mem_indexed_through then 'a gap in the index' end) as wrong
      from loci.databases h,
        lateral (select count(*) as rows, coalesce(sum(loci.record_bytes(r)), 0) as bytes,
            coalesce(bit_xor(loci.digest_part(r.digest, 1)), 0) as a, coalesce(bit_xor(loci.digest_part(r.digest, 9)), 0) as b,
            count(*) filter (where r.digest <> loci.record_digest(r)) as damaged
          from loci.records r where r.instance_id = h.instance_id and r.database = h.name) r,
        lateral (select count(*) as segments, coalesce(sum(octet_length(s.body)), 0) as bytes,
            coalesce(sum(s.through_seq - s.from_seq + 1), 0) as covered,
            count(*) filter (where s.digest <> loci.segment_digest(s)) as damaged
          from loci.segments s where s.instance_id = h.instance_id and s.database = h.name) s,
        lateral (select count(*) as contexts from loci.contexts c where c.instance_id = h.instance_id and c.database = h.name) c,
        lateral (select count(*) as tombstones from loci.tombstones t where t.instance_id = h.instance_id and t.database = h.name) t
      where h.mem_records > 0`,
  )
  return {
    wrong: rows.filter(({ wrong }) => wrong !== '').map(({ id, wrong }) => `${id}: ${wrong}`),
    heads: rows.length,
    segments: rows.reduce((sum, { segments }) => sum + segments, 0),
  }
}
