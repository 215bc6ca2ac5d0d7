// The capability that the proxy uses for a session: one for each service, for five minutes, with what the person's role
// may do on data. It is stored sealed, so that all processes use the same one, and never leaves us but to the daemon.
// Ended with its session: revoked in the cell, which reaches every daemon within seconds.

import { ApiError } from '@loci/chassis/api-error.ts'
import { CONSOLE_HOLDER } from '@loci/contract/proxy.ts'
import { operationsOf } from '@loci/contract/roles.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../access/caller.ts'
import { readForCaller } from '../access/own.ts'
import { noSession } from '../access/session.ts'
import { useOrganization } from '../access/store.ts'
import { requirePlaced, requireVisible } from '../services/services.ts'
import { findService, lockServiceAndCell, type Service } from '../services/store.ts'
import { type Issuer, mintToken, revokeToken } from '../tokens/tokens.ts'
import {
  deleteCapability,
  findCapability,
  type HeldCapability,
  listLeft,
  lockSession,
  pruneCapabilities,
  putCapability,
} from './store.ts'

export interface ProxyCapabilities {
  /**
   * Of the caller's session for the service, which must be the caller's. `refused`: what the daemon did not accept; the
   * same comes back where another would not be accepted either.
   */
  of(
    caller: Caller,
    serviceId: string,
    requestId: string,
    refused?: string,
  ): Promise<{ service: Service; token: string }>
  /** The caller's service, to follow its events with `ofConsole`. */
  requireOwn(caller: Caller, serviceId: string): Promise<Service>
  /** For the events of a service, which all who may see it follow together: of no session, and counted by no plan. */
  ofConsole(
    service: Pick<Service, 'id' | 'organizationId'>,
    held: ConsoleCapability | undefined,
  ): Promise<{ service: Service; capability: ConsoleCapability }>
  /** Revokes what sessions that are over have left: of one, or of all. */
  end(sessionId?: string): Promise<void>
}

export interface ConsoleCapability {
  token: string
  expiresAt: Date
}

const LIFE_S = 300
/** It reads names and numbers, and stays in this process. A shorter one would fill the audit. */
const CONSOLE_LIFE_S = 900
/** One that is nearly over is not begun with: a request may take its time. */
const LEFT_MS_MIN = 60_000
const ENDED_AT_ONCE_MAX = 50
/**
 * An older one that is refused was revoked with everything of its person, tenant or organization. A younger one may be
 * of a service that its daemon has yet to hear of: another for each request would fill the audit.
 */
const REFUSED_AFTER_MS = 20_000

export function createProxyCapabilities(pool: Pool, issuer: Issuer): ProxyCapabilities {
  const { sealer } = issuer

  async function current(
    sql: Sql,
    { sessionId, role }: Caller,
    service: Service,
    refused: string | undefined,
  ): Promise<string | undefined> {
    const held = await findCapability(sql, sessionId as string, service.id)
    if (!held || held.role !== role) return undefined
    const leftMs = held.expiresAt.getTime() - Date.now()
    if (leftMs <= LEFT_MS_MIN) return undefined
    const token = sealer.open(held.sealed, held.sealedWith, contextOf(held))
    return token === refused && LIFE_S * 1_000 - leftMs > REFUSED_AFTER_MS ? undefined : token
  }

  return {
    of: (caller, serviceId, requestId, refused) =>
      transaction(pool, async (sql) => {
        await useOrganization(sql, caller.organizationId)
        const service = await requireVisible(sql, caller, serviceId)
        requirePlaced(service)
        const known = await current(sql, caller, service, refused)
        if (known) return { service, token: known }
        if (!(await lockSession(sql, caller.sessionId as string))) throw noSession()
        // Somebody else may have minted it while we waited.
        const made = await current(sql, caller, service, refused)
        const token = made ?? (await mint(sql, issuer, caller, service, requestId))
        return { service, token }
      }),
    requireOwn: (caller, serviceId) =>
      readForCaller(pool, caller, async (sql) => {
        const service = await requireVisible(sql, caller, serviceId)
        requirePlaced(service)
        return service
      }),
    ofConsole: ({ id, organizationId }, held) =>
      transaction(pool, async (sql) => {
        await useOrganization(sql, organizationId)
        const service = await findService(sql, organizationId, id)
        if (!service || service.status === 'deleted') throw new ApiError('NOT_FOUND', 'The service was deleted.')
        requirePlaced(service)
        if (held && held.expiresAt.getTime() - Date.now() > LEFT_MS_MIN) return { service, capability: held }
        const request = {
          name: 'console',
          ops: ['events:read'],
          databases: ['*'],
          ttlSeconds: CONSOLE_LIFE_S,
          sub: CONSOLE_HOLDER,
        }
        const { token, expires_at } = await mintToken(sql, issuer, service, request, 'management')
        return { service, capability: { token, expiresAt: new Date(expires_at) } }
      }),
    async end(sessionId) {
      for (const held of await listLeft(pool, sessionId ?? null, ENDED_AT_ONCE_MAX))
        await transaction(pool, (sql) => revokeHeld(sql, held))
      if (sessionId === undefined) await pruneCapabilities(pool)
    },
  }
}

async function mint(
  sql: Sql,
  issuer: Issuer,
  { sessionId, userId, organizationId, role }: Caller,
  service: Service,
  requestId: string,
): Promise<string> {
  const request = {
    name: 'console',
    ops: [...operationsOf(role)],
    databases: ['*'],
    ttlSeconds: LIFE_S,
    sub: userId as string,
  }
  const minted = await mintToken(sql, issuer, service, request, userId as string, requestId)
  const held = { sessionId: sessionId as string, serviceId: service.id, jti: minted.token_id }
  const sealed = issuer.sealer.seal(minted.token, contextOf(held))
  await putCapability(sql, { ...held, ...sealed, organizationId, role, expiresAt: new Date(minted.expires_at) })
  return minted.token
}

async function revokeHeld(sql: Sql, held: HeldCapability): Promise<void> {
  const { organizationId, serviceId, jti, expiresAt } = held
  await useOrganization(sql, organizationId)
  const service = await lockServiceAndCell(sql, organizationId, serviceId)
  // Two processes may have found it: one revokes it.
  if (!(await deleteCapability(sql, held)) || !service || expiresAt.getTime() < Date.now()) return
  await revokeToken(sql, service, jti, 'management')
}

function contextOf({ sessionId, serviceId, jti }: Pick<HeldCapability, 'sessionId' | 'serviceId' | 'jti'>): string {
  return `proxy ${sessionId} ${serviceId} ${jti}`
}
