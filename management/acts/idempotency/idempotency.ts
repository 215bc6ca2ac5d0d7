// One effect and one answer per Idempotency-Key (CONTRACT 0, Repeats; 4.2). The claim on the key, the work and the stored answer
// are one transaction: a second request with the key waits for the first and is then answered from the store. Only what succeeded
// is stored; after a refusal the same key is free. An answer that held a credential is not stored, only what it issued.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Reply, reply } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/caller.ts'
import { useOrganization } from '../../access/store.ts'
import { type AnswerCounts, createAnswerCounts } from './counts.ts'
import { claimKey, findAnswer, type Scope, type StoredAnswer, storeAnswer } from './store.ts'

type Headers = Record<string, string | string[] | undefined>

export interface Outcome {
  status: number
  body: object
  headers?: Record<string, string>
  /** The id of the credential that the body holds: the body is then not kept. */
  issued?: string
  /** What is kept in place of the body: content stands as a reference, and `fill` of the repeat brings it back. */
  kept?: object
}

export interface Repeat {
  /** `METHOD /path/template`, with the ids of the path filled in: the same key elsewhere is another one. */
  route: string
  headers: Headers
  /** Makes the body of what was kept of it. */
  fill?(sql: Sql, kept: object): Promise<object>
  /** What must be equal for a repeat to be one; undefined = could not be read, and equals nothing. */
  request: unknown
}

export interface Idempotency {
  /** Does the work once, in a transaction that has the caller's organization in use; a repeat gets the first answer, marked. */
  once(caller: Caller, repeat: Repeat, work: (sql: Sql) => Promise<Outcome>): Promise<Reply>
  /**
   * The answer to a key that is known, without any work; undefined when there is none. `first` is done when there is one, before
   * it is looked at: the seed orders the rate limit there.
   */
  replay(caller: Caller, repeat: Repeat, first: () => Promise<void>): Promise<Reply | undefined>
}

/** What the seed orders for services: another body gets the stored answer too, unless the caller asks to be told. */
type OnOtherBody = 'refuse' | 'mark'

export function createIdempotency(
  pool: Pool,
  sealing: SealingKey[],
  onOtherBody: OnOtherBody = 'refuse',
  counts: AnswerCounts = createAnswerCounts(),
): Idempotency {
  const scopeOf = ({ organizationId, id }: Caller, route: string, key: string): Scope => ({
    organizationId,
    caller: id,
    route,
    key,
  })
  return {
    once(caller, repeat, work) {
      const key = idempotencyKeyOf(repeat.headers)
      return transaction(pool, async (sql) => {
        await useOrganization(sql, caller.organizationId)
        if (key === undefined) {
          const { status, body, headers } = await work(sql)
          return reply(status, body, headers ?? {})
        }
        const scope = scopeOf(caller, repeat.route, key)
        const [newest] = sealing as [SealingKey, ...SealingKey[]]
        const fingerprint = fingerprintOf(newest, scope.organizationId, repeat.request)
        const isFirst = await claimKey(sql, scope, fingerprint, newest.id).catch((error) => {
          // The first one holds the row and is still at work when our wait for it ends.
          throw (error as { code?: unknown }).code === '55P03' ? inProgress() : error
        })
        if (!isFirst) return answerFrom(sql, await findAnswer(sql, scope), sealing, scope, repeat, onOtherBody)
        await counts.requireRoom(sql, caller)
        const outcome = await work(sql)
        await storeAnswer(sql, scope, outcome)
        return reply(outcome.status, outcome.body, outcome.headers ?? {})
      })
    },
    async replay(caller, repeat, first) {
      const key = idempotencyKeyOf(repeat.headers)
      if (key === undefined) return undefined
      const scope = scopeOf(caller, repeat.route, key)
      const stored = await findAnswer(pool, scope)
      if (!stored) return undefined
      await first()
      return answerFrom(pool, stored, sealing, scope, repeat, onOtherBody)
    },
  }
}

/** Bare or quoted, 1 to 255 visible ASCII characters; undefined without the header. */
function idempotencyKeyOf(headers: Headers): string | undefined {
  const sent = headers[HEADER.idempotencyKey]
  if (sent === undefined) return undefined
  const key = typeof sent === 'string' && /^".*"$/.test(sent) ? sent.slice(1, -1) : sent
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiError('VALIDATION_ERROR', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
  return key
}

async function answerFrom(
  sql: Sql,
  stored: StoredAnswer | undefined,
  sealing: SealingKey[],
  scope: Scope,
  { request, headers, fill }: Repeat,
  onOtherBody: OnOtherBody,
): Promise<Reply> {
  if (!stored) throw inProgress()
  // Gone when its sealing key was taken out of the settings meanwhile: nobody can say then whether the body is the same.
  const sealedWith = sealing.find(({ id }) => id === stored.sealedWith)
  const isSame =
    sealedWith !== undefined &&
    timingSafeEqual(stored.fingerprint, fingerprintOf(sealedWith, scope.organizationId, request))
  if (!isSame && (onOtherBody === 'refuse' || headers['idempotency-strict'] === 'true'))
    throw new ApiError(
      'IDEMPOTENCY_KEY_REUSED',
      sealedWith
        ? 'This Idempotency-Key was used before with another body: use a new key.'
        : 'This Idempotency-Key was used before, and the sealing key that its body can be compared with is gone: use a new key.',
    )
  if (stored.ref !== null)
    throw new ApiError(
      'IDEMPOTENCY_REPLAY_WITHHELD',
      `The first request with this Idempotency-Key issued ${stored.ref}, which was shown once. Delete it and ask anew, with a new key.`,
      { details: { id: stored.ref } },
    )
  return reply(stored.status, fill ? await fill(sql, stored.body) : stored.body, {
    ...stored.headers,
    'idempotent-replayed': 'true',
    ...(isSame ? {} : { 'idempotency-body-differs': 'true' }),
  })
}

function inProgress(): ApiError {
  return new ApiError('IDEMPOTENCY_IN_PROGRESS', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 1_000,
  })
}

/** Keyed by organization: two with equal bodies have nothing in common, also not in a stolen dump. */
function fingerprintOf(sealing: SealingKey, organizationId: string, request: unknown): Buffer {
  return createHmac('sha256', secretOf(sealing))
    .update(`${organizationId}\n${JSON.stringify(request) ?? ''}`)
    .digest()
}

const secrets = new WeakMap<SealingKey, Buffer>()

/** Derived once: at each creation it was a twentieth of the processor's time. */
function secretOf(sealing: SealingKey): Buffer {
  const known = secrets.get(sealing)
  if (known) return known
  const derived = Buffer.from(hkdfSync('sha256', sealing.key, '', 'loci idempotency fingerprint', 32))
  secrets.set(sealing, derived)
  return derived
}
