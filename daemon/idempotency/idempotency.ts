// One effect and one answer per Idempotency-Key (CONTRACT 0, Repeats). The claim on the key, the work and the stored answer are one
// transaction: a second request with the key waits for the first and is then answered from the store.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Reply, reply } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../access/capability-access.ts'
import { claimKey, findAnswer, keepAnswer } from './store.ts'

export interface Repeat {
  route: string
  key: string
  /** What must be equal for a repeat to be one. */
  request: unknown
}

export interface Outcome {
  status: number
  answer: object
  /** What is kept of the answer, where that is less than the answer: references, no content. */
  kept?: object
}

/** Per instance: who needs more keys a day than this has a loop. */
const ANSWERS_MAX = 10_000
const FULL_RETRY_MS = 60_000

/** Bare or quoted, 1 to 255 visible ASCII characters; undefined without the header. */
export function idempotencyKeyOf(headers: Record<string, string | string[] | undefined>): string | undefined {
  const sent = headers[HEADER.idempotencyKey]
  if (sent === undefined) return undefined
  const key = typeof sent === 'string' && /^".*"$/.test(sent) ? sent.slice(1, -1) : sent
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiError('VALIDATION_ERROR', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
  return key
}

/**
 * Does the work once; a repeat gets the first answer, marked. The work runs in the transaction of its claim. `fill` makes the answer of
 * what was kept of it.
 */
export async function once(
  pool: Pool,
  sealing: SealingKey[],
  caller: Caller,
  repeat: Repeat,
  work: (sql: Sql) => Promise<Outcome>,
  fill: (sql: Sql, kept: object) => Promise<object> = async (_, kept) => kept,
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
    const { isFirst, answers } = await claimKey(sql, scope, fingerprint, newest.id).catch((error) => {
      // The first one holds the row and is still at work when our wait for it ends.
      throw (error as { code?: unknown }).code === '55P03' ? inProgress() : error
    })
    if (isFirst) {
      if (answers >= ANSWERS_MAX) throw tooMany()
      const { status, answer, kept = answer } = await work(sql)
      await keepAnswer(sql, scope, status, kept)
      return reply(status, answer)
    }
    const stored = await findAnswer(sql, scope)
    if (!stored) throw inProgress()
    const sealedWith = sealing.find(({ id }) => id === stored.sealedWith)
    if (!sealedWith)
      throw new ApiError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used before, and the sealing key that its body can be compared with is gone: use a new key.',
      )
    if (!timingSafeEqual(stored.fingerprint, fingerprintOf(sealedWith, scope.instanceId, repeat.request))) {
      throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used before with another body.')
    }
    return reply(stored.status, await fill(sql, stored.answer), { 'idempotent-replayed': 'true' })
  })
}

function tooMany(): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    `The instance keeps the answers of ${ANSWERS_MAX} Idempotency-Keys, as many as it may; each is kept for 24 hours. Write without a key, or wait.`,
    { retryAfterMs: FULL_RETRY_MS },
  )
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
