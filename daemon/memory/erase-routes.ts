import { appendAudit } from '@loci/acts/audit/store.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { recordDeleted } from '@loci/contract/memory.ts'
import { idPath } from '@loci/contract/wire.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { RecallIndex } from './index/recall-index.ts'
import { noRecord, recordDamaged, SHARED } from './routes.ts'
import { erase } from './upkeep/indexing.ts'

interface EraseOptions {
  access: CapabilityAccess
  pool: Pool
  index: RecallIndex
}

export function eraseRoutes({ access, pool, index }: EraseOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'DELETE',
        path: '/v1/memory/records/{id}',
        access: access.capability('memory:delete'),
        summary: 'Erase a memory from the records and the index; its value is not learned again.',
        params: idPath,
        answers: { 200: recordDeleted },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id }, requestId }) => {
        const { instance, database, actor } = caller
        const place = { instanceId: instance.id, database }
        const receipt = await erase(pool, index, place, { id }, async (sql, { at, erased, segments, tombstone }) => {
          const checked = [
            { place: 'records', found: erased, erased },
            { place: 'segments', found: segments, erased: segments },
          ]
          const entry = { actor, requestId, chain: instance.id, action: 'memory.erase', subject: id }
          const audit = await appendAudit(sql, { ...entry, detail: { database, records: erased, segments } })
          const shown = tombstone?.toString('base64url') ?? ''
          return { deleted: true, id, tombstone: shown, checked, receipt: audit, deletedAt: at.toISOString() }
        }).catch((error) => {
          throw isUnreadable(error) ? recordDamaged(id, error) : error
        })
        if (!receipt) throw noRecord()
        return receipt
      },
    ),
  ]
}
