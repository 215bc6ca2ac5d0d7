// One effect and one answer per Idempotency-Key, the same in both programs. The claim on the
// key, the work and the stored answer are one transaction: a second request with the key waits for the first and is
// then answered from the store. Only what succeeded is stored; after a refusal the key is free again. An answer that
// held a credential is not stored, only the id of what was issued; an answer with content is stored as references, and
// `fill` brings the content back.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Call, type Reply, reply } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Act } from '../audit/audit.ts'

export interface Outcome {
  status: number
  body: object
  headers?: Record<string, string>
  /** The id of the credential that the body holds: the body is then not kept. */
  issued?: string
  /** What is kept in place of the body: content stands as a reference, and `fill` brings it back. */
  kept?: object
  /** Runs once the answer is kept: what takes the heads of audit and events, which are the last locks of all. */
  last?: (sql: Sql) => Promise<void>
}

export type ActCall<Caller> = Pick<
  Call<Caller, unknown, unknown, unknown>,
  'caller' | 'route' | 'headers' | 'query' | 'body' | 'requestId'
>

export interface ActOptions {
  /** What must be equal for another request with the key to be a repeat, where that is not the query and the body. */
  request?: unknown
  /** Makes the body of what was kept of it. */
  fill?: ((sql: Sql, kept: object) => Promise<object>) | undefined
}

/**
 * Runs the work once per Idempotency-Key, in one transaction with the owner's rows in sight; a repeat gets the first
 * answer, marked.
 */
export type RunAct<Caller> = (
  call: ActCall<Caller>,
  work: (sql: Sql, act: Act) => Promise<Outcome>,
  options?: ActOptions,
) => Promise<Reply>

export interface Acts<Caller> {
  act: RunAct<Caller>
  /**
   * The answer to a key that is known, without any work; undefined when there is none. `first` is done when there is
   * one, before it is looked at: the specification orders the rate limit there.
   */
  replay(call: ActCall<Caller>, first: () => Promise<void>, options?: ActOptions): Promise<Reply | undefined>
}

export interface StoredAnswer {
  fingerprint: Buffer
  sealedWith: string
  status: number
  body: object
  headers: Record<string, string> | null
  ref: string | null
}

/**
 * Where a program keeps its answers. A scope is the values of the primary key: the owner first, the Idempotency-Key
 * last.
 */
export interface Answers {
  /**
   * True for the first. A second one waits here until the first has committed or gone. An answer older than 24 hours
   * counts as none, and its row is taken over.
   */
  claim(sql: Sql, claim: Claim): Promise<boolean>
  keep(sql: Sql, claim: Claim, outcome: Outcome): Promise<void>
  /** Undefined while the first is at work. In a transaction or outside of one. */
  find(sql: Sql, scope: string[]): Promise<StoredAnswer | undefined>
}

/** What a request with an Idempotency-Key asks for: to be the first, or to be answered as the first was. */
export interface Claim {
  scope: string[]
  fingerprint: Buffer
  sealedWith: string
  /** What the fingerprint is of. */
  request: unknown
}

interface ClaimOptions<Caller> {
  /** What fingerprints are keyed with, the newest first; the same objects while they are the same keys. */
  keysOf(caller: Caller): SealingKey[] | Promise<SealingKey[]>
  scopeOf(caller: Caller, route: string, key: string): string[]
  /**
   * `mark`: another body gets the stored answer too, unless the caller asks to be told. The specification orders it for
   * services.
   */
  onOtherBody?: 'refuse' | 'mark'
}

export interface Claims<Caller> {
  /** Undefined without the header. */
  claimOf(call: ActCall<Caller>, options?: ActOptions): Promise<Claim | undefined>
  /** The answer to a claim that is not the first; `stored` is undefined while the first is at work. */
  replay(
    sql: Sql,
    call: ActCall<Caller>,
    claim: Claim,
    stored: StoredAnswer | undefined,
    options?: ActOptions,
  ): Promise<Reply>
}

export interface ActsOptions<Caller> extends ClaimOptions<Caller> {
  pool: Pool
  /**
   * Acts of one owner wait for each other in the database: each in a connection of its own, they could hold all of
   * them.
   */
  shares: PoolShares
  answers: Answers
  /** What the audit names. */
  actorOf(caller: Caller): string
  /** Puts the owner's rows in sight, or throws when it is gone. */
  enter(sql: Sql, caller: Caller): Promise<void>
  /** For one more answer, whose claim is made already; throws RATE_LIMITED when the owner keeps as many as it may. */
  requireRoom(sql: Sql, caller: Caller): Promise<void>
}

/** Beside IDEMPOTENCY_REPLAY_WITHHELD where a credential is issued: what every act may be refused with. */
export const REPEAT_ERRORS = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const

/**
 * For acts whose work is SQL with other statements between; a feature that writes by one function makes its claim in
 * there.
 */
export function createActs<Caller>(options: ActsOptions<Caller>): Acts<Caller> {
  const { pool, shares, answers, scopeOf, actorOf, enter, requireRoom } = options
  const claims = createClaims(options)
  return {
    async act(call, work, given) {
      const { caller, requestId } = call
      const claim = await claims.claimOf(call, given)
      const act = { actor: actorOf(caller), requestId }
      const owner = scopeOf(caller, call.route, '')[0] as string
      return transaction(shares.of(owner), async (sql) => {
        await enter(sql, caller)
        if (!claim) {
          const outcome = await work(sql, act)
          await outcome.last?.(sql)
          return replyOf(outcome)
        }
        const isFirst = await answers.claim(sql, claim).catch((error) => {
          // The first one holds the row and is still at work when our wait for it ends.
          throw (error as { code?: unknown }).code === '55P03' ? inProgress() : error
        })
        if (!isFirst) return claims.replay(sql, call, claim, await answers.find(sql, claim.scope), given)
        await requireRoom(sql, caller)
        const outcome = await work(sql, act)
        await answers.keep(sql, claim, outcome)
        await outcome.last?.(sql)
        return replyOf(outcome)
      })
    },
    async replay(call, first, given) {
      const claim = await claims.claimOf(call, given)
      const stored = claim && (await answers.find(pool, claim.scope))
      if (!stored) return undefined
      await first()
      return claims.replay(pool, call, claim, stored, given)
    },
  }
}

export function createClaims<Caller>({ keysOf, scopeOf, onOtherBody }: ClaimOptions<Caller>): Claims<Caller> {
  return {
    async claimOf(call, { request = requestOf(call) } = {}) {
      const key = idempotencyKeyOf(call.headers)
      if (key === undefined) return undefined
      const [newest] = (await keysOf(call.caller)) as [SealingKey]
      const scope = scopeOf(call.caller, call.route, key)
      return { scope, fingerprint: fingerprintOf(newest, scope, request), sealedWith: newest.id, request }
    },
    async replay(sql, { caller, headers }, { scope, request }, stored, { fill } = {}) {
      if (!stored) throw inProgress()
      // Gone when its sealing key was taken out of the settings meanwhile: nobody can say then whether the body is the
      // same.
      const keys = await keysOf(caller)
      const sealedWith = keys.find(({ id }) => id === stored.sealedWith)
      const isSame = sealedWith && timingSafeEqual(stored.fingerprint, fingerprintOf(sealedWith, scope, request))
      if (!isSame && (onOtherBody !== 'mark' || headers['idempotency-strict'] === 'true'))
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
    },
  }
}

type Headers = Record<string, string | string[] | undefined>

/** Bare or quoted, 1 to 255 visible ASCII characters; undefined without the header. */
function idempotencyKeyOf(headers: Headers): string | undefined {
  const sent = headers[HEADER.idempotencyKey]
  if (sent === undefined) return undefined
  const key = typeof sent === 'string' && /^".*"$/.test(sent) ? sent.slice(1, -1) : sent
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiError('VALIDATION_ERROR', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
  return key
}

function requestOf({ query, body }: ActCall<unknown>): unknown {
  return [query ?? null, body ?? null]
}

function replyOf({ status, body, headers = {} }: Outcome): Reply {
  return reply(status, body, headers)
}

export function tooManyAnswers(owner: 'instance' | 'organization', max: number, why = 'as many as it may'): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    `The ${owner} keeps the answers of ${max} Idempotency-Keys, ${why}; each is kept for 24 hours. Send no key, wait, or choose a larger plan.`,
    { retryAfterMs: 60_000 },
  )
}

export function inProgress(): ApiError {
  return new ApiError('IDEMPOTENCY_IN_PROGRESS', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 1_000,
  })
}

/** Keyed by owner: two owners with equal bodies have nothing in common, also not in a stolen dump. */
function fingerprintOf(sealing: SealingKey, [owner]: string[], request: unknown): Buffer {
  return createHmac('sha256', secretOf(sealing))
    .update(`${owner}\n${JSON.stringify(request) ?? ''}`)
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
