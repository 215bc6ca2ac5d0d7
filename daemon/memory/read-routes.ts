// Many memories by their ids in one call, for who has names and wants their words: a page, an agent with references.

import { type Route, reply, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import { recordRead, recordsRead } from '@loci/contract/memory.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { Due } from '../databases/store.ts'
import { recordText } from './records.ts'
import { damagedOf, SHARED } from './routes.ts'
import { findRecords, PAGE_BYTES_MAX, type StoredRecord } from './store.ts'

/** Read at once: a body has up to 60 KB. */
const READ_MAX = 16

export function readRoutes({
  access,
  pool,
  shares,
}: {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
}): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/memory/records/read',
        access: access.capability('memory:read'),
        summary: 'Read up to 100 memories by their ids.',
        details:
          'In the order of the ids; one that is asked for twice is answered once. An erased memory, or one of another database, is `missing`.',
        body: recordRead,
        answers: { 200: recordsRead },
      },
      async ({ caller, body: { ids }, goOn }) => {
        const place = { instanceId: caller.instance.id, database: caller.database }
        const wanted = [...new Set(ids)]
        return shares.inTurn(place.instanceId, async () => {
          const turn = createTurn()
          const texts: string[] = []
          const damaged: StoredRecord[] = []
          const missing: string[] = []
          let [read, bytes] = [0, 0]
          while (read < wanted.length && bytes < PAGE_BYTES_MAX) {
            const part = wanted.slice(read, read + READ_MAX)
            for (const [at, row] of (await findAround(place, part)).entries()) {
              if (!row) missing.push(part[at] as string)
              else if (!row.intact) damaged.push({ ...row, id: part[at] as string })
              else {
                const text = recordText(row)
                texts.push(text)
                bytes += Buffer.byteLength(text)
              }
            }
            read += part.length
            await turn()
            goOn()
          }
          const left = wanted.slice(read)
          const rest = { missing, ...(left.length > 0 ? { left } : {}), ...damagedOf(damaged) }
          return reply(200, `{"records":[${texts.join(',')}],${JSON.stringify(rest).slice(1)}`)
        })
      },
    ),
  ]

  /** One that cannot be read hides no other: each is then asked for alone. */
  async function findAround({ instanceId, database }: Due, ids: string[]): Promise<(StoredRecord | undefined)[]> {
    const find = (some: string[]) =>
      findRecords(
        pool,
        instanceId,
        some.map((id) => ({ database, id })),
      )
    try {
      return await find(ids)
    } catch (error) {
      if (!isUnreadable(error)) throw error
    }
    const found: (StoredRecord | undefined)[] = []
    for (const id of ids)
      found.push(
        ...(await find([id]).catch((error) => {
          if (!isUnreadable(error)) throw error
          return [{ id, seq: 0, intact: false as const, isUnreadable: true }]
        })),
      )
    return found
  }
}
