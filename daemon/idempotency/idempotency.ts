// One effect and one answer per Idempotency-Key (CONTRACT 0, Repeats). The claim on the key, the work and the stored answer are one
// transaction: a second request with the key waits for the first and is then answered from the store.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Reply, reply } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../access/capability.ts'
import { claimKey, findAnswer, storeAnswer } from './store.ts'

export interface Repeat {
  route: string
  key: string
  /** What must be equal for a repeat to be one. */
  request: unknown
}

/** Bare or quoted, 1 to 255 visible ASCII characters; undefined without the header. */
export function idempotencyKeyOf(headers: Record<string, string | string[] | undefined>): string | undefined {
  const sent = headers[HEADER.idempotencyKey]
  if (sent === undefined) return undefined
  const key = typeof sent === 'string' && /^".*"$/.test(sent) ? sent.slice(1, -1) : sent
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiError('VALIDATION_ERROR', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
  return key
}

/** Does the work once; a repeat gets the first answer, marked. The work runs in the transaction of its claim. */
export async function once(
  pool: Pool,
  sealing: SealingKey[],
  caller: Caller,
  repeat: Repeat,
  work: (sql: Sql) => Promise<{ status: number; answer: object }>,
): Promise<Reply> {
  const scope = {
    instanceId: caller.instance.id,
    database: caller.database,
    route: repeat.route,
    holder: caller.holder,
    key: repeat.key,
  }
  const [newest] = sealing as [SealingKey, ...SealingKey[]]
  return transaction(pool, async (sql) => {
    const fingerprint = fingerprintOf(newest, scope.instanceId, repeat.request)
    const isFirst = await claimKey(sql, scope, fingerprint, newest.id).catch((error) => {
      // The first one holds the row and is still at work when our wait for it ends.
      throw (error as { code?: unknown }).code === '55P03' ? inProgress() : error
    })
    if (isFirst) {
      const { status, answer } = await work(sql)
      await storeAnswer(sql, scope, status, answer)
      return reply(status, answer)
    }
    const stored = await findAnswer(sql, scope)
    const sealedWith = sealing.find(({ id }) => id === stored?.sealedWith)
    if (!stored || !sealedWith) throw inProgress()
    if (!timingSafeEqual(stored.fingerprint, fingerprintOf(sealedWith, scope.instanceId, repeat.request))) {
      throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used before with another body.')
    }
    return reply(stored.status, stored.answer, { 'idempotent-replayed': 'true' })
  })
}

function inProgress(): ApiError {
  return new ApiError('IDEMPOTENCY_IN_PROGRESS', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 1_000,
  })
}

/** Keyed by instance: two instances with equal bodies have nothing in common, also not in a stolen dump. */
function fingerprintOf({ key: secret }: SealingKey, instanceId: string, request: unknown): Buffer {
  const key = Buffer.from(hkdfSync('sha256', secret, instanceId, 'loci idempotency fingerprint', 32))
  return createHmac('sha256', key).update(JSON.stringify(request)).digest()
}
