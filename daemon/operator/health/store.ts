import type { Sql } from '@loci/postgres/pool.ts'

export interface Late {
  dueS: number
  unreportedS: number
}

/** Reads the oldest row of each kind alone, by its index: neither table is counted. */
export async function readLate(sql: Sql, kinds: readonly string[]): Promise<Late> {
  const { rows } = await sql.query<Late>({
    name: 'late',
    text: `select coalesce(max(extract(epoch from now() - oldest.at)), 0)::float8 as "dueS",
        (select coalesce(extract(epoch from now() - min(at)), 0)::float8 from loci.deletions where reported_at is null) as "unreportedS"
      from unnest($1::text[]) k(kind) cross join lateral
        (select d.at from loci.due d where d.kind = k.kind and d.at <= now() order by d.at limit 1) oldest`,
    values: [kinds],
  })
  return rows[0] as Late
}
