// A browser session: what its two cookies stand for. Our own row, with the provider's tokens sealed in it.
//
//   open      made by an exchange. Its handle (the refresh cookie) is of one generation; each refresh makes the next
//   ended     `signed_out`; `handle_replayed`: an older handle came back, so somebody has a copy;
//             `refused_by_provider`; `refresh_token_used_up`: a call had no answer, and the provider had taken it all
//             the same; `provider_token_unusable`; `another_person`: a refresh gave somebody else's token;
//             `too_many_sessions`: the person signed in on yet another browser; or `expired`: 7 days without a refresh,
//             30 in all. Never open again. Its row stays for a day
//
// A refresh token is good once with many providers, and one that comes twice ends everything (Keycloak). So of all the
// tabs and processes that refresh at once, one asks the provider, by a lease in the row:
//
//   idle      `refresh_asked_at` null: the token may be sent
//   calling   `refresh_call` names who sends it; the others wait for what it records
//   silent    no answer came, or the process died: nobody sends it for 30 s after it was last sent
//
// The tabs of one process ask and wait as one, so that a slow provider costs each process one query at a time.
//
// Never: sent while a call is under way, nor after an answer. A lease is a committed row and no lock: nothing is held
// in the database while the provider is asked.

import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { digestOf, noSessionToRefresh } from '../access/session.ts'
import { requireEmail } from '../organizations/organizations.ts'
import { type Handle, isHandle, makeHandle } from './handle.ts'
import {
  isNoAnswer,
  type Provider,
  ProviderRefusal,
  ProviderUnreached,
  type Tokens,
  TokensUnchecked,
} from './provider.ts'
import {
  claimRefresh,
  claimRevocations,
  endSession,
  findSessionById,
  forgetTokens,
  giveUpRefresh,
  insertSession,
  keepRefreshToken,
  listBeyond,
  putPerson,
  type SealedTokens,
  type SessionRow,
  saveRefresh,
} from './store.ts'

/** What becomes of the two cookies. */
export interface Cookies {
  accessToken: string
  expiresAt: Date
  handle: string
}

/** Before its time, and not by the person's wish. */
const EARLY = [
  'handle_replayed',
  'refused_by_provider',
  'refresh_token_used_up',
  'provider_token_unusable',
  'another_person',
  'too_many_sessions',
] as const
export type EndReason = 'signed_out' | (typeof EARLY)[number]

export interface Sessions {
  open(code: { code: string; redirectUri: string; verifier: string }): Promise<Cookies>
  refresh(handle: Handle): Promise<Cookies>
  /** The row that an authentic handle names, whatever became of it. */
  findByHandle(handle: Handle): Promise<SessionRow | undefined>
  end(id: string, reason: EndReason): Promise<{ session: boolean; refreshToken: boolean }>
  /** Revokes at the provider what could not be revoked when its session ended. True when there may be more. */
  revokeDue(): Promise<boolean>
}

interface SessionsOptions {
  pool: Pool
  provider: Provider
  sealer: Sealer
  sealingKeys: SealingKey[]
  log: Log
  metrics: Metrics
  /** What else ends with a session; what fails here is done by a job of its own. */
  onEnded(id: string): Promise<void>
}

/** Below the deadline of the route. */
const WAIT_MS_MAX = 8_000
const LOOK_MS = 50
/** A claim that is older is not used: another process may be about to send the token. */
const CLAIM_MS_MAX = 10_000
const SAVES_MAX = 5
const REVOCATIONS_MAX = 10
/** Of one person at a time. Browsers that are cleaned at their end leave sessions behind. */
const SESSIONS_MAX = 100

export function createSessions({
  pool,
  provider,
  sealer,
  sealingKeys,
  log,
  metrics,
  onEnded,
}: SessionsOptions): Sessions {
  const ended = metrics.counter('loci_sessions_ended_total', 'Sessions that ended before their time, by reason.', [
    'reason',
  ])
  // A counter that appears with its first event has not increased for whoever watches it.
  for (const reason of EARLY) ended.inc({ reason }, 0)

  async function open(code: { code: string; redirectUri: string; verifier: string }): Promise<Cookies> {
    const tokens = await provider.exchange(code)
    try {
      const profile = await provider.profileOf(tokens.accessToken, tokens.subject)
      if (profile.email === null || !profile.isEmailVerified)
        throw new ApiError(
          'FORBIDDEN',
          'The sign-in provider has not verified your e-mail address. Verify it there, then sign in again.',
        )
      const person = { ...profile, issuer: provider.issuer, email: requireEmail(profile.email) }
      const [id, salt] = [newId('ses'), randomBytes(16).toString('base64url')]
      const sealed = seal(id, tokens)
      const beyond = await transaction(pool, async (sql) => {
        const userId = await putPerson(sql, newId('usr'), person)
        await insertSession(sql, { id, userId, salt, tokens: sealed, authTime: tokens.authTime })
        return listBeyond(sql, userId, SESSIONS_MAX)
      })
      for (const other of beyond) await end(other, 'too_many_sessions')
      const handle = makeHandle({ id, salt, generation: 1 }, sealed.sealedWith, sealingKeys)
      return { accessToken: tokens.accessToken, expiresAt: tokens.expiresAt, handle }
    } catch (error) {
      // Nobody will ever use it: it must not stay usable. Who waits for a provider that is away does not wait for this.
      const revoked = tokens.refreshToken === undefined || provider.revoke(tokens.refreshToken).catch(() => {})
      if (!isNoAnswer(error)) await revoked
      throw error
    }
  }

  const refreshing = new Map<string, Promise<Cookies>>()

  function refresh(handle: Handle): Promise<Cookies> {
    const key = `${handle.sessionId} ${handle.generation} ${handle.mac}`
    const known = refreshing.get(key)
    if (known) return known
    const begun = refreshAsOne(handle).finally(() => refreshing.delete(key))
    refreshing.set(key, begun)
    return begun
  }

  async function refreshAsOne(handle: Handle): Promise<Cookies> {
    const until = performance.now() + WAIT_MS_MAX
    for (;;) {
      const row = await findByHandle(handle)
      if (!row) throw noSessionToRefresh()
      if (row.endReason !== null) throw over(row.endReason)
      if (handle.generation !== row.generation) return successor(handle, row)
      const call = randomUUID()
      const claimedAt = performance.now()
      const claim = await claimRefresh(pool, { id: row.id, generation: row.generation, call })
      if (claim) return callProvider(row, { ...claim, call, claimedAt })
      // Whoever has the lease may have ended between the two statements: look again before giving up.
      if (!row.isCalling && row.silentMs > 0) throw silent(row.silentMs)
      if (performance.now() > until) throw silent(LOOK_MS)
      await sleep(LOOK_MS)
    }
  }

  /**
   * For a tab that lost a race, or several: what the newest winner got. A browser has six connections for all tabs, so
   * one may wait with its handle while others refresh twice. Any other old handle is a copy in somebody else's hands.
   */
  async function successor({ generation }: Handle, row: SessionRow): Promise<Cookies> {
    const behind = row.generation - generation
    if (behind < 1 || behind > row.races) {
      await end(row.id, 'handle_replayed')
      throw over('handle_replayed')
    }
    const { a: accessToken } = unseal(row)
    return cookiesOf(row, { accessToken, expiresAt: row.accessExpiresAt, sealedWith: row.sealedWith as string })
  }

  interface Claim {
    call: string
    claimedAt: number
    isAgain: boolean
  }

  async function callProvider(row: SessionRow, { call, claimedAt, isAgain }: Claim): Promise<Cookies> {
    const { r: refreshToken } = unseal(row)
    if (refreshToken === undefined) return ends(row.id, 'refused_by_provider')
    // A process that was stopped in between has lost its turn.
    if (performance.now() - claimedAt > CLAIM_MS_MAX) throw silent(LOOK_MS)
    let tokens: Tokens
    try {
      tokens = await provider.refresh(refreshToken)
    } catch (error) {
      if (error instanceof ProviderRefusal)
        return ends(row.id, isAgain ? 'refresh_token_used_up' : 'refused_by_provider')
      if (error instanceof ApiError && error.code === 'PROVIDER_TOKEN_UNUSABLE') {
        await end(row.id, 'provider_token_unusable')
        throw error
      }
      if (error instanceof TokensUnchecked) await keepUnchecked(row, call, error.refreshToken ?? refreshToken)
      else await giveUpRefresh(pool, row.id, call, !(error instanceof ProviderUnreached))
      throw error
    }
    if (tokens.subject !== row.subject) {
      if (tokens.refreshToken !== undefined) await provider.revoke(tokens.refreshToken).catch(() => {})
      return ends(row.id, 'another_person')
    }
    const kept = { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
    const sealed = seal(row.id, kept)
    if (!(await save(row.id, call, sealed))) {
      // Signed out meanwhile: the new token must not outlive that.
      if (kept.refreshToken !== undefined) await provider.revoke(kept.refreshToken).catch(() => {})
      throw over('signed_out')
    }
    return cookiesOf({ ...row, generation: row.generation + 1 }, { ...tokens, sealedWith: sealed.sealedWith })
  }

  /** The new access token opens nothing before it is checked; the refresh token that came with it is the good one. */
  async function keepUnchecked(row: SessionRow, call: string, refreshToken: string): Promise<void> {
    const { a: accessToken } = unseal(row)
    const sealed = seal(row.id, { accessToken, refreshToken, expiresAt: row.accessExpiresAt })
    const isKept = await saveAgain(row.id, sealed, () => keepRefreshToken(pool, { id: row.id, call, tokens: sealed }))
    if (!isKept) await provider.revoke(refreshToken).catch(() => {})
  }

  function save(id: string, call: string, tokens: SealedTokens): Promise<boolean> {
    return saveAgain(id, tokens, () => saveRefresh(pool, { id, call, tokens }))
  }

  /** The token before is used up: what is not saved here is lost, and the session with it. So it is tried again. */
  async function saveAgain(id: string, tokens: SealedTokens, save: () => Promise<boolean>): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await save()
      } catch (error) {
        if (tries === SAVES_MAX) throw error
        log.warn({ error, component: 'sessions' }, 'new tokens of a session not saved; will retry')
        await sleep(200 * tries)
        // The one before may have been saved after all.
        const row = await findSessionById(pool, id).catch(() => undefined)
        if (row?.sealed === tokens.sealed) return true
      }
    }
  }

  async function findByHandle(handle: Handle): Promise<SessionRow | undefined> {
    const row = await findSessionById(pool, handle.sessionId)
    return row && isHandle(handle, row.salt, sealingKeys) ? row : undefined
  }

  async function ends(id: string, reason: EndReason): Promise<never> {
    await end(id, reason)
    throw over(reason)
  }

  async function end(id: string, reason: EndReason): Promise<{ session: boolean; refreshToken: boolean }> {
    const held = await endSession(pool, id, reason)
    if (!held) return { session: false, refreshToken: false }
    await onEnded(id).catch((error) =>
      log.warn({ error, component: 'sessions' }, 'capabilities of a session not revoked yet; will retry'),
    )
    if (reason !== 'signed_out') {
      ended.inc({ reason })
      log.warn({ reason, component: 'sessions' }, 'a session ended before its time')
    }
    if (held.sealed === null) return { session: true, refreshToken: false }
    return { session: true, refreshToken: await revoke({ id, ...held }) }
  }

  /** False: the job tries again. */
  async function revoke(held: { id: string; sealed: string | null; sealedWith: string | null }): Promise<boolean> {
    try {
      const { r: refreshToken } = unseal(held)
      const isRevoked = refreshToken !== undefined && (await provider.revoke(refreshToken))
      await forgetTokens(pool, held.id)
      return isRevoked
    } catch (error) {
      log.warn({ error, component: 'sessions' }, 'a refresh token was not revoked at the provider; will retry')
      return false
    }
  }

  async function revokeDue(): Promise<boolean> {
    const due = await claimRevocations(pool, REVOCATIONS_MAX)
    for (const one of due) if (!(await revoke(one)) && one.isLast) await forgetTokens(pool, one.id)
    return due.length === REVOCATIONS_MAX
  }

  function seal(
    id: string,
    { accessToken, refreshToken, expiresAt }: Omit<Tokens, 'subject' | 'authTime'>,
  ): SealedTokens {
    const sealed = sealer.seal(JSON.stringify({ a: accessToken, r: refreshToken }), contextOf(id))
    return { ...sealed, accessDigest: digestOf(accessToken), accessExpiresAt: expiresAt }
  }

  function unseal({ id, sealed, sealedWith }: Pick<SessionRow, 'id' | 'sealed' | 'sealedWith'>): {
    a: string
    r?: string
  } {
    if (sealed === null || sealedWith === null) throw over('signed_out')
    return JSON.parse(sealer.open(sealed, sealedWith, contextOf(id)))
  }

  function cookiesOf(
    { id, salt, generation }: SessionRow,
    { accessToken, expiresAt, sealedWith }: { accessToken: string; expiresAt: Date; sealedWith: string },
  ): Cookies {
    const handle = makeHandle({ id, salt, generation }, sealedWith, sealingKeys)
    return { accessToken, expiresAt, handle }
  }

  return { open, refresh, findByHandle, end, revokeDue }
}

function contextOf(id: string): string {
  return `session ${id}`
}

const MEANINGS: Record<string, string> = {
  signed_out: 'You signed out.',
  handle_replayed: 'An old refresh cookie came back, so somebody may have a copy: the session was ended.',
  refused_by_provider: 'The sign-in provider ended it.',
  refresh_token_used_up: 'A call to the sign-in provider had no answer, and its refresh token was used up by it.',
  provider_token_unusable: 'The sign-in provider gave a token that cannot be used.',
  another_person: 'The sign-in provider gave a token of another person.',
  too_many_sessions: `You signed in on more than ${SESSIONS_MAX} browsers, and this one was not used for longest.`,
  expired: 'It was not used for 7 days, or is older than 30.',
}

function over(reason: string): ApiError {
  return new ApiError('UNAUTHENTICATED', `The session is over. ${MEANINGS[reason] ?? ''} Sign in again.`, {
    details: { reason },
  })
}

function silent(retryAfterMs: number): ApiError {
  const message = 'The sign-in provider has not answered. Nobody was signed out; try again.'
  return new ApiError('IDENTITY_PROVIDER_UNAVAILABLE', message, { retryAfterMs })
}
