// All SQL of the deletion ledger as far as it is of memory records.

import type { Pool } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { enteringLocks } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'
import type { ErasedValue } from '../upkeep/store.ts'

/** A row of the deletion ledger about memory records, or a whole database. */
export interface LedgerValue extends Due {
  /** Hex; empty: the whole database. */
  valueMac: string
  isOverride: boolean
  seq: number
  at: string
}

/** Of one database. Sets and takes back tombstones; answers the values whose records are to be erased. */
export async function replayTombstones(
  pool: Pool,
  { instanceId, database }: Due,
  rows: Pick<LedgerValue, 'valueMac' | 'isOverride' | 'seq' | 'at'>[],
): Promise<ErasedValue[]> {
  const { rows: values } = await execute<ErasedValue>(pool, {
    name: 'mem_replay',
    text: `select value_mac as mac, erased_through as through, erased_at as at from loci.mem_replay($1, $2, $3, $4, $5, $6)`,
    values: [
      instanceId,
      database,
      rows.map(({ valueMac }) => valueMac),
      rows.map(({ isOverride }) => isOverride),
      rows.map(({ seq }) => seq),
      rows.map(({ at }) => at),
    ],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return values
}
