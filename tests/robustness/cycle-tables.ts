// What the tables hold of cycles, with the eyes of the superuser.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'

/** What a cycle must have left, of one moment: its link, its decisions, the record of its observation, its event. */
const FAULTS = `concat_ws(', ',
    case when not loci.cycle_is_intact(c, c.instance_id, c.database) then 'hash' end,
    case when c.prev_hash is distinct from p.hash then 'chain' end,
    case when d.body is null or sha256(textsend(d.body)) <> c.decisions_hash then 'decisions' end,
    case when r.id is null then 'no record' end,
    case when e.seq is null then 'no event' end) as wrong
  from loci.cycles c
    left join loci.cycles p on p.instance_id = c.instance_id and p.database = c.database and p.seq = c.seq - 1
    left join loci.cycle_decisions d on d.instance_id = c.instance_id and d.database = c.database and d.seq = c.seq and d.at = c.started_at
    left join loci.records r on r.instance_id = c.instance_id and r.database = c.database and r.source_event_id = c.metadata::json ->> 'mark'
    left join loci.events e on e.instance_id = c.instance_id and e.database = c.database and e.type = 'cycle.completed'
      and e.data ->> 'id' = c.id
  where starts_with(c.database, $1)`

/**
 * Nothing has counted the rows of a throwaway PostgreSQL that is minutes old, and without that the joins below may be
 * planned as loops inside loops: a full run met the statement timeout here.
 */
async function countRows(admin: string): Promise<void> {
  await runSql(admin, 'analyze loci.databases, loci.cycles, loci.cycle_decisions, loci.records, loci.events')
}

/** By `<instance> <database> cycle <mark>` whether it is whole, and by `… record <mark>` what it observed. */
export async function storedCycles(postgres: Throwaway, name: string): Promise<Map<string, string>> {
  const admin = postgres.adminUrl('loci_cell')
  await countRows(admin)
  const stored = new Map<string, string>()
  const put = (id: string, state: string) => stored.set(id, stored.has(id) ? 'twice' : state)
  const cycles = await runSql<{ id: string; wrong: string }>(
    admin,
    `select c.instance_id || ' ' || c.database || ' cycle ' || (c.metadata::json ->> 'mark') as id, ${FAULTS}`,
    [`${name}-`],
  )
  for (const { id, wrong } of cycles) put(id, wrong === '' ? 'whole' : wrong)
  const records = await runSql<{ id: string }>(
    admin,
    `select instance_id || ' ' || database || ' record ' || source_event_id as id from loci.records
     where starts_with(database, $1) and source_event_id is not null`,
    [`${name}-`],
  )
  for (const { id } of records) put(id, 'stored')
  return stored
}

/**
 * Cycles that are not whole, and heads that do not say what their cycles do: counts, durations, the last hash, bytes,
 * set sums, and the document of working memory, which nothing but cycles has written here. One statement sees one
 * moment, so writers may go on.
 */
export async function halfCycles(postgres: Throwaway, name: string): Promise<{ wrong: string[]; cycles: number }> {
  const admin = postgres.adminUrl('loci_cell')
  await countRows(admin)
  const rows = await runSql<{ id: string; wrong: string; cycles: number }>(
    admin,
    `with faults as (select c.instance_id, c.database, c.seq, ${FAULTS})
     select h.instance_id || ' ' || h.name as id, s.cycles::int, concat_ws(', ',
        case when h.cyc_total <> s.cycles or h.cyc_total <> coalesce(s.last, 0) then 'total' end,
        case when h.cyc_ms <> s.ms then 'durations' end,
        case when h.cyc_bytes <> s.bytes or h.cyc_set_a <> s.a or h.cyc_set_b <> s.b then 'sums' end,
        case when h.cyc_hash is distinct from l.hash or h.cyc_last_at is distinct from l.completed_at then 'the last one' end,
        case when coalesce(w.digest, '') is distinct from coalesce(l.after_digest, '') then 'the document' end,
        (select string_agg(f.seq || ': ' || f.wrong, '; ') from faults f where f.instance_id = h.instance_id and f.database = h.name
          and f.wrong <> '')) as wrong
      from loci.databases h
        cross join lateral (select count(*) as cycles, max(c.seq) as last, coalesce(sum(c.duration_ms), 0) as ms,
            coalesce(sum(loci.cycle_bytes(c)), 0) as bytes, coalesce(bit_xor(loci.digest_part(c.hash, 1)), 0) as a,
            coalesce(bit_xor(loci.digest_part(c.hash, 9)), 0) as b
          from loci.cycles c where c.instance_id = h.instance_id and c.database = h.name) s
        left join loci.cycles l on l.instance_id = h.instance_id and l.database = h.name and l.seq = s.last
        left join loci.working_memory w on w.instance_id = h.instance_id and w.database = h.name
      where starts_with(h.name, $1)`,
    [`${name}-`],
  )
  return {
    wrong: rows.filter(({ wrong }) => wrong !== '').map(({ id, wrong }) => `${id}: ${wrong}`),
    cycles: rows.reduce((sum, { cycles }) => sum + cycles, 0),
  }
}
