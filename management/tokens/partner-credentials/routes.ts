import type { Act } from '@loci/acts/audit/audit.ts'
import type { ActCall, Outcome, RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import {
  partnerCredentialIssued,
  partnerCredentialList,
  partnerCredentialListQuery,
  partnerCredentialParams,
  partnerCredentialRequest,
  partnerCredentialRotation,
  partnerCredentialsParams,
} from '@loci/contract/partner-credentials.ts'
import { deleted } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../../access/caller.ts'
import { readForCaller, requireOwnService, requireStillKey } from '../../access/own.ts'
import { appendEvent } from '../../acts/events/store.ts'
import { requirePlaced } from '../../services/services.ts'
import { findService, lockServiceAndCell, type Service } from '../../services/store.ts'
import { mintPartnerCredential, revokePartnerCredential, rotatePartnerCredential } from './partner-credentials.ts'
import { listPartnerCredentials, type PartnerCredential } from './store.ts'

interface PartnerCredentialOptions {
  caller: CallerAccess
  pool: Pool
  act: RunAct<Caller>
}

const PATH = '/api/v1/services/{id}/partner-credentials'

export function partnerCredentialRoutes(options: PartnerCredentialOptions): Route[] {
  const { caller: access, pool } = options
  const shared = { tag: 'partner credentials', access: access.scope('tokens:write', 'write') } as const
  return [
    route(
      {
        ...shared,
        method: 'POST',
        path: PATH,
        summary: 'Issue a credential for a partner, bound to one database of the service.',
        details: 'Its token is shown once.',
        params: partnerCredentialsParams,
        body: partnerCredentialRequest,
        answers: { 201: partnerCredentialIssued },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'IDEMPOTENCY_REPLAY_WITHHELD'],
        failureMessage: 'Failed to issue the partner credential',
      },
      (call) =>
        change(options, call, async (sql, service, by) => {
          requirePlaced(service)
          const { body } = call
          const request = {
            name: body.name,
            database: body.database,
            partner: body.partner,
            projectionClasses: body.projection_classes,
            routes: body.routes,
            expiresAt: endOf(call.caller, body.expires_in),
          }
          const { credential, token } = await mintPartnerCredential(sql, service, request, by.actor, by.requestId)
          await appendEventOf(sql, 'partner_credential.issued', credential)
          return { status: 201, body: { ...shown(credential), token }, issued: credential.id }
        }),
    ),

    route(
      {
        ...shared,
        method: 'GET',
        path: PATH,
        access: access.scope('services:read', 'read'),
        summary: 'List the partner credentials of the service, newest first, and never their tokens.',
        params: partnerCredentialsParams,
        query: partnerCredentialListQuery,
        answers: { 200: partnerCredentialList },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to list the partner credentials',
      },
      ({ caller, params: { id }, query }) =>
        readForCaller(pool, caller, async (sql) => {
          const found = isId('svc', id) ? await findService(sql, caller.organizationId, id) : undefined
          const service = requireOwnService(caller, found)
          const asked = { before: query.cursor, limit: query.limit + 1 }
          const read = await listPartnerCredentials(sql, caller.organizationId, service.id, asked)
          const { rows, next } = page(read, query.limit, (credential) => credential.id)
          return { partner_credentials: rows.map(shown), next_cursor: next }
        }),
    ),

    route(
      {
        ...shared,
        method: 'DELETE',
        path: `${PATH}/{credential_id}`,
        access: access.scope('tokens:write', 'write', 'alone'),
        summary: 'Revoke a partner credential.',
        details: 'Every daemon refuses it within seconds.',
        params: partnerCredentialParams,
        answers: { 200: deleted },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to delete the partner credential',
      },
      (call) =>
        change(options, call, async (sql, service, by) => {
          const { credential_id: id } = call.params
          const credential = await revokePartnerCredential(sql, service, id, by.actor, by.requestId)
          await appendEventOf(sql, 'partner_credential.revoked', credential)
          return { status: 200, body: { deleted: true } }
        }),
    ),

    route(
      {
        ...shared,
        method: 'POST',
        path: `${PATH}/{credential_id}/rotate`,
        summary: 'Give a partner credential a new secret under the same id.',
        details:
          'The old one ends at once, without an overlap: for one, issue a second credential and delete the first when the partner has changed over.',
        params: partnerCredentialParams,
        body: partnerCredentialRotation,
        bodyOptional: true,
        answers: { 200: partnerCredentialIssued },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'IDEMPOTENCY_REPLAY_WITHHELD'],
        failureMessage: 'Failed to rotate the partner credential',
      },
      (call) =>
        change(options, call, async (sql, service, by) => {
          const { credential_id: id } = call.params
          const { credential, token } = await rotatePartnerCredential(sql, service, id, by.actor, by.requestId)
          requireEndsBefore(call.caller, credential)
          await appendEventOf(sql, 'partner_credential.rotated', credential)
          return { status: 200, body: { ...shown(credential), token }, issued: credential.id }
        }),
    ),
  ]
}

/** Once, with the service's cell locked. */
function change(
  { act }: PartnerCredentialOptions,
  call: ActCall<Caller> & { params: { id: string } },
  work: (sql: Sql, service: Service, by: Act) => Promise<Outcome>,
) {
  const { caller } = call
  const { id } = call.params
  return act(call, async (sql, by) => {
    await requireStillKey(sql, caller)
    const found = isId('svc', id) ? await lockServiceAndCell(sql, caller.organizationId, id) : undefined
    const service = requireOwnService(caller, found)
    return work(sql, service, by)
  })
}

/** What an API key makes ends with it at the latest. */
function endOf({ expiresAt }: Caller, seconds: number | undefined): Date | undefined {
  const asked = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000)
  return expiresAt && (!asked || asked > expiresAt) ? expiresAt : asked
}

/** The caller gets a new secret, which must not outlive the caller's own credential. */
function requireEndsBefore({ expiresAt: until }: Caller, { expiresAt }: PartnerCredential): void {
  if (until && (!expiresAt || expiresAt > until))
    throw new ApiError(
      'FORBIDDEN',
      `This API key ends at ${until.toISOString()}, before the partner credential, so it may not rotate it: use a key that lasts as long.`,
    )
}

async function appendEventOf(sql: Sql, type: string, credential: PartnerCredential): Promise<void> {
  const { organizationId, tenantId, serviceId, id } = credential
  await appendEvent(sql, { organizationId, type, subject: id, data: { tenant_id: tenantId, service_id: serviceId } })
}

function shown(credential: PartnerCredential): object {
  return {
    id: credential.id,
    service_id: credential.serviceId,
    name: credential.name,
    made_by: credential.madeBy,
    partner: credential.partner,
    database: credential.database,
    projection_classes: credential.projectionClasses,
    routes: credential.routes,
    created_at: credential.createdAt,
    expires_at: credential.expiresAt,
    rotated_at: credential.rotatedAt,
    last_used_at: credential.lastUsedAt,
  }
}
