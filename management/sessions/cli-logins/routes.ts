import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { type AddressSet, clientAddress, networkOf } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createMisses } from '@loci/chassis/misses.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Access, type Route, reply, route } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import {
  cliLoginBegin,
  cliLoginBegun,
  cliLoginDecided,
  cliLoginDecision,
  cliLoginKey,
  cliLoginParams,
  cliLoginPending,
  cliLoginPoll,
} from '@loci/contract/cli-logins.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Attempts } from '../../access/attempts.ts'
import type { Caller, CallerAccess } from '../../access/caller.ts'
import { requireFreshSignIn } from '../../access/own.ts'
import type { RateStore } from '../../access/rates.ts'
import { beginLogin, decideLogin, INTERVAL_S, isLoginForm, LIFE_S, noSuchLogin, pollLogin } from './cli-logins.ts'

interface CliLoginOptions {
  caller: CallerAccess
  act: RunAct<Caller>
  pool: Pool
  sealingKeys: SealingKey[]
  publicUrl: string
  take: RateStore['take']
  trustedProxies: AddressSet
  attempts: Attempts
}

/** By address: beginning needs no credential and leaves a row behind for ten minutes. */
const BEGUN = { perMinute: 20, burst: 60 }
/** By sign-in, while nobody has decided. The burst is for a clock that is not exact, or an answer that was lost. */
const POLLED = { perMinute: 60 / INTERVAL_S, burst: 5 }

export function cliLoginRoutes({
  caller: access,
  act,
  pool,
  sealingKeys,
  publicUrl,
  attempts,
  ...options
}: CliLoginOptions): Route[] {
  const misses = createMisses()
  const begin: Access<undefined> = {
    ...open,
    errors: ['RATE_LIMITED', 'STORE_UNAVAILABLE'],
    async authorize({ peer, headers }) {
      const address = networkOf(clientAddress(peer, headers, options.trustedProxies) ?? peer)
      const { waitMs } = await options.take({ bucket: `cli-logins:${address}`, ...BEGUN, shared: undefined })
      if (waitMs !== undefined)
        throw new ApiError('RATE_LIMITED', 'Too many sign-ins were begun from this address.', { retryAfterMs: waitMs })
      return undefined
    },
  }

  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/cli-logins',
        access: begin,
        tag: 'cli-logins',
        summary: 'Start the sign-in of a command line.',
        details: 'Show the code and the address, then poll.',
        body: cliLoginBegin,
        bodyOptional: true,
        answers: { 201: cliLoginBegun },
        errors: ['OVERLOADED'],
      },
      async () => {
        const { id, userCode: user_code, deviceCode: device_code } = await beginLogin(pool)
        // Without the code: the person types it, so that a link of somebody else approves nothing.
        const url = new URL('/cli-login', publicUrl)
        const times = { interval: INTERVAL_S, expires_in: LIFE_S }
        return reply(201, { id, user_code, device_code, verification_url: url.href, ...times })
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/cli-logins/{id}/poll',
        access: attempts.from,
        tag: 'cli-logins',
        summary: 'Poll the sign-in of a command line.',
        details: '202 while nobody has decided, the API key once, 403 when it was denied.',
        params: cliLoginParams,
        body: cliLoginPoll,
        ignoresUnknownNames: true,
        answers: { 200: cliLoginKey, 202: cliLoginPending },
        errors: ['NOT_FOUND', 'FORBIDDEN', 'QUOTA_EXCEEDED', 'STORE_UNAVAILABLE'],
      },
      async ({ caller: address, params: { id }, body: { device_code: deviceCode }, requestId }) => {
        const asked = `${id} ${deviceCode}`
        if (!isLoginForm({ id, deviceCode }) || misses.has(asked)) throw attempts.failed(address, noSuchLogin())
        const key = await pollLogin(pool, sealingKeys, { id, deviceCode, requestId }).catch((error) => {
          if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
          misses.keep(asked)
          throw attempts.failed(address, error)
        })
        if (!key) {
          const { waitMs } = await options.take({ bucket: `cli-polls:${id}`, ...POLLED, shared: undefined })
          if (waitMs === undefined) return reply(202, { status: 'pending' })
          throw new ApiError('RATE_LIMITED', `Slow down: poll every ${INTERVAL_S} seconds.`, {
            retryAfterMs: Math.max(waitMs, INTERVAL_S * 1_000),
            details: { reason: 'slow_down' },
          })
        }
        const { secret: api_key, organizationId: organization_id, expiresAt } = key
        return { api_key, organization_id, expires_at: expiresAt.toISOString() }
      },
    ),
    ...(['approve', 'deny'] as const).map((verb) =>
      route(
        {
          method: 'POST',
          path: `/api/v1/cli-logins/{id}/${verb}`,
          access: access.session('write'),
          tag: 'cli-logins',
          summary: `${verb === 'approve' ? 'Approve' : 'Deny'} the sign-in of a command line, whose code the person has compared.`,
          ...(verb === 'approve' ? { details: 'Needs a sign-in of the last 10 minutes.' } : {}),
          params: cliLoginParams,
          body: cliLoginDecision,
          answers: { 200: cliLoginDecided },
          errors: ['NOT_FOUND', 'INVALID_STATE'],
        },
        async (call) => {
          const { id } = call.params
          const status = verb === 'approve' ? ('approved' as const) : ('denied' as const)
          if (status === 'approved') requireFreshSignIn(call.caller, publicUrl)
          const sessionId = call.caller.sessionId as string
          return act(call, async (sql, by) => {
            await decideLogin(sql, { ...call.caller, sessionId }, { id, userCode: call.body.user_code, status }, by)
            return { status: 200, body: { id, status } }
          })
        },
      ),
    ),
  ]
}
