import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import { recordDeleted } from '@loci/contract/memory.ts'
import { idPath } from '@loci/contract/wire.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { Checked, Forget, Thin } from '../databases/erasure.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { macsOf } from '../databases/macs.ts'
import { isLedgered } from '../databases/store.ts'
import { erasingEverywhere } from './erasing.ts'
import type { RecallIndex } from './index/recall-index.ts'
import { noRecord, recordDamaged } from './refusals.ts'
import { SHARED } from './routes.ts'
import { erase } from './upkeep/indexing.ts'

interface EraseOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  index: RecallIndex
  keys: InstanceKeys
  /** Of the features that hold content of records. */
  forgets: Forget[]
  thins: Thin[]
}

export function eraseRoutes({ access, pool, shares, index, keys, forgets, thins }: EraseOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'DELETE',
        path: '/v1/memory/records/{id}',
        access: access.capability('memory:delete'),
        summary: 'Erase a memory and every copy of it.',
        details:
          'All records that say the same, the index, slots and their history, cycles, projections; its value is not learned again in this spelling (case and space do not count; another full stop or letter does). A cell that is restored from a backup erases it again before it serves, once management has its ledger row (`ledgered`).',
        params: idPath,
        answers: { 200: recordDeleted },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id }, requestId }) => {
        if (!isId('mem', id)) throw noRecord()
        const { instance, database, actor } = caller
        const place = { instanceId: instance.id, database }
        const macs = macsOf(await keys.of(instance.id))
        const entry = { actor, requestId, subject: id }
        const finish = erasingEverywhere({ place, macs, forgets, entry })
        // A few of an instance at once: what an erasure costs is known when it is done.
        const done = await shares.inTurn(instance.id, () => {
          const thin = async (mac: Buffer, count: (erased: Checked) => void) => {
            for (const one of thins) await one(pool, place, mac, count)
          }
          return erase(pool, index, place, { id }, finish, { thin }).catch((error) => {
            throw isUnreadable(error) ? recordDamaged(id, error) : error
          })
        })
        const last = done.at(-1)
        if (!last) throw noRecord()
        const isAcknowledged = last.tombstone !== null && (await isLedgered(pool, place, last.tombstone))
        return {
          ...{ deleted: true as const, id, tombstone: last.tombstone?.toString('base64url') ?? '' },
          ...{ checked: sumOf(done), receipt: last.receipt as string, deletedAt: last.at.toISOString() },
          ledgered: isAcknowledged ? ('management' as const) : ('cell' as const),
        }
      },
    ),
  ]
}

/** Of all transactions that it took. */
function sumOf(done: { checked: Checked[] }[]): Checked[] {
  const [first, ...others] = done.map(({ checked }) => checked)
  return (first ?? []).map(({ place, found, erased }, at) => ({
    place,
    found: others.reduce((sum, one) => sum + (one[at]?.found ?? 0), found),
    erased: others.reduce((sum, one) => sum + (one[at]?.erased ?? 0), erased),
  }))
}
