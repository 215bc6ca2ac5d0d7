// What the tables hold of projections, with the eyes of the superuser, against what partners were told.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'
import type { Told } from './partner-tellers.ts'

export interface IngestVerdict {
  lost: string[]
  twice: string[]
  half: string[]
  tookEffect: string[]
  /** In memory although taken back, or not there although it counts. */
  miscounted: string[]
  heads: string[]
  rows: number
}

interface Row {
  instance: string
  id: string
  seq: number
  taken: boolean
  /** Records with its content that are to be seen. */
  records: number
}

/** Of the projections whose ids begin with `name`. */
export async function verifyTold(postgres: Throwaway, name: string, told: Told[]): Promise<IngestVerdict> {
  const cell = postgres.adminUrl('loci_cell')
  const rows = await runSql<Row>(
    cell,
    `select p.instance_id as instance, p.id, p.seq::int, p.taken_by is not null as taken,
        coalesce(m.records, 0)::int as records
      from loci.projections p left join (select r.instance_id, r.body::json ->> 'content' as content, count(*) as records
          from loci.records r where r.expires_at is null or r.expires_at > clock_timestamp() group by 1, 2) m
        on m.instance_id = p.instance_id and m.content = p.id
      where starts_with(p.id, $1)`,
    [`${name}-`],
  )
  const stored = new Map<string, Row>(rows.map((row) => [`${row.instance} ${row.id}`, row]))
  const verdict: IngestVerdict = {
    ...{ lost: [], twice: [], half: [], tookEffect: [], miscounted: [] },
    heads: await disagreeingHeads(postgres),
    rows: rows.length,
  }
  const arrays = new Map<string, Set<boolean>>()
  for (const one of told) {
    const row = stored.get(`${one.instanceId} ${one.id}`)
    stored.delete(`${one.instanceId} ${one.id}`)
    if (one.isRefused) {
      if (row) verdict.tookEffect.push(one.id)
      continue
    }
    if (one.seq !== undefined && row?.seq !== one.seq) verdict.lost.push(`${one.id}: told ${one.seq}, is ${row?.seq}`)
    if (one.array !== undefined) arrays.set(one.array, (arrays.get(one.array) ?? new Set()).add(row !== undefined))
    if (!row) continue
    if (row.taken !== one.isTakenBack) verdict.miscounted.push(`${one.id}: taken back ${row.taken}`)
    // A fact is in memory with its commit, an event when a cycle has taken it in.
    const [least, most] = one.isTakenBack ? [0, 0] : one.class === 'fact' ? [1, 1] : [0, 1]
    if (row.records < least || row.records > most) verdict.miscounted.push(`${one.id}: ${row.records} records`)
  }
  for (const [array, states] of arrays) if (states.size > 1) verdict.half.push(array)
  // A repeat that was taken for a new one has an id of its own only where none was given; those would be strangers.
  for (const { id } of stored.values()) verdict.twice.push(id)
  const again = await runSql<{ event: string }>(
    cell,
    `select p.body::json ->> 'source_event_id' as event from loci.projections p where starts_with(p.id, $1) and p.body is not null
      group by p.instance_id, 1 having count(*) > 1`,
    [`${name}-`],
  )
  for (const { event } of again) verdict.twice.push(event)
  return verdict
}

/** The databases whose heads do not say what their projections do, or whose instance counts something else. */
async function disagreeingHeads(postgres: Throwaway): Promise<string[]> {
  const rows = await runSql<{ id: string; wrong: string }>(
    postgres.adminUrl('loci_cell'),
    `select h.instance_id || ' ' || h.name as id, concat_ws(', ',
        case when h.prj_rows <> p.rows or h.prj_held <> p.held or h.prj_bytes <> p.bytes then 'counts' end,
        case when h.prj_set_a <> p.a or h.prj_set_b <> p.b then 'set sums' end,
        case when h.prj_pending <> p.pending then 'pending' end, case when p.damaged > 0 then 'digests' end,
        case when h.prj_awaited <> p.awaited then 'awaited' end) as wrong
      from loci.databases h, lateral (select count(*) as rows, count(p.body) as held, coalesce(sum(loci.prj_bytes(p)), 0) as bytes,
          coalesce(bit_xor(loci.digest_part(p.digest, 1)), 0) as a, coalesce(bit_xor(loci.digest_part(p.digest, 9)), 0) as b,
          count(*) filter (where p.is_pending) as pending, count(*) filter (where p.digest <> loci.prj_digest(p)) as damaged,
          count(*) filter (where p.target is not null and p.takes_back is null and not exists (select from loci.projections t
            where t.instance_id = p.instance_id and t.database = p.database and t.partner = p.partner and t.id = p.target)) as awaited
        from loci.projections p where p.instance_id = h.instance_id and p.database = h.name) p`,
  )
  return rows.filter(({ wrong }) => wrong !== '').map(({ id, wrong }) => `${id}: ${wrong}`)
}
