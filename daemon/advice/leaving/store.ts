// All SQL of projections whose time is over.

import type { Sql } from '@loci/postgres/pool.ts'
import { enteringLocks } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'

const EXPIRED_MAX = 500

/**
 * `unsaved`: what becomes of outcomes while the weights of some are not stored: they wait, those wait that have none
 * (behind), or they are lost. Answers `unsaved` where some wait, and `more` when it can go on at once.
 */
export async function eraseExpired(
  sql: Sql,
  { instanceId, database }: Due,
  unsaved: 'wait' | 'behind' | 'lose',
): Promise<'done' | 'more' | 'unsaved'> {
  const { rows } = await sql.query<{ outcome: 'done' | 'more' | 'unsaved' }>({
    name: 'prj_expire',
    text: 'select loci.prj_expire($1, $2, $3, $4) as outcome',
    values: [instanceId, database, EXPIRED_MAX, unsaved],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0]?.outcome ?? 'done'
}
