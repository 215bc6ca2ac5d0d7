import type { Sql } from '@loci/postgres/pool.ts'

const WALKS = 2

/** From now on these limits are published. Changes nothing where they are already, however many processes start. */
export async function announceLimits(sql: Sql, digest: string): Promise<void> {
  await sql.query({
    name: 'provisioning_announce_limits',
    text: `update loci.published_limits set digest = $1, after = '', walks = $2, next_at = clock_timestamp()
      where digest is distinct from $1`,
    values: [digest, WALKS],
  })
}

/** False when nothing is left to do. */
export async function putLimitsDue(
  sql: Sql,
  { digest, max, everyMs }: { digest: string; max: number; everyMs: number },
): Promise<boolean> {
  const { rows } = await sql.query<{ goesOn: boolean }>({
    name: 'provisioning_put_limits_due',
    text: 'select loci.put_limits_due($1, $2, $3) as "goesOn"',
    values: [digest, max, everyMs],
  })
  return rows[0]?.goesOn === true
}
