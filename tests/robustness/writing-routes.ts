// One request for each route that writes, of both programs, each time a new one: what the one before it may have done
// is done. What a request needs (something to delete) is made by way of a process whose store answers.

import { randomUUID } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { newId } from '@loci/contract/ids.ts'
import type { WorldCaller } from '../world/callers.ts'
import type { ProgramName } from '../world/process.ts'
import type { WorldTenant } from '../world/tenants.ts'
import { BILLING_SECRET, type World } from '../world/world.ts'
import { type PlainRequest, plainClient } from './plain-client.ts'

export interface Writers {
  world: World
  caller: WorldCaller
  staffKey: string
  /** A service of the caller's, with its capabilities. */
  tenant: WorldTenant
}

export type MakeRequest = (writers: Writers) => PlainRequest | Promise<PlainRequest>

export const WRITING: Record<ProgramName, Record<string, MakeRequest>> = {
  daemon: {
    'PUT /v1/kv/entries/{key}': (writers) => kv(writers, 'PUT', `/${randomUUID()}`, { value: 1 }),
    'DELETE /v1/kv/entries/{key}': async (writers) => {
      const key = `/${randomUUID()}`
      await done(writers.world.daemons[0]?.url, kv(writers, 'PUT', key, { value: 1 }))
      return kv(writers, 'DELETE', key)
    },
    'POST /v1/kv/entries/batch': (writers) =>
      kv(writers, 'POST', '/batch', { operations: [{ op: 'put', key: randomUUID(), value: 1 }] }),
    'POST /admin/services/disable': (writers) => admin(writers, '/admin/services/disable', { services: ['mcp'] }),
    'POST /admin/services/enable': (writers) => admin(writers, '/admin/services/enable', { services: ['mcp'] }),
    // Two that commit something of their own on the way.
    'GET /v1/kv/health': (writers) => report(writers, '/v1/kv/health'),
    'GET /v1/kv/consistency': (writers) => report(writers, '/v1/kv/consistency?mode=full'),
    'POST /admin/revocations': (writers) => admin(writers, '/admin/revocations', { jti: newId('cap') }),
  },
  management: {
    'POST /api/v1/services': (writers) => api(writers, 'POST', '/services', serviceOf(writers)),
    'GET /api/v1/services': (writers) => api(writers, 'GET', '/services'),
    'PATCH /api/v1/services/{id}': (writers) => api(writers, 'PATCH', `/services/${writers.tenant.serviceId}`, named()),
    'DELETE /api/v1/services/{id}': async (writers) => {
      const made = await done<{ service_id: string }>(
        writers.world.management?.url,
        api(writers, 'POST', '/services', serviceOf(writers)),
      )
      return api(writers, 'DELETE', `/services/${made.service_id}`)
    },
    'POST /api/v1/tenants': (writers) => api(writers, 'POST', '/tenants', named()),
    'PATCH /api/v1/tenants/{id}': (writers) => api(writers, 'PATCH', `/tenants/${writers.caller.tenantId}`, named()),
    'DELETE /api/v1/tenants/{id}': (writers) => removal(writers, '/tenants', named()),
    'POST /api/v1/tenants/{id}/tokens': (writers) => api(writers, 'POST', tokensOf(writers), tokenOf(writers)),
    'DELETE /api/v1/tenants/{id}/tokens/{token_id}': (writers) => removal(writers, tokensOf(writers), tokenOf(writers)),
    'POST /api/v1/tenants/{id}/tokens/{token_id}/children': async (writers) => {
      const path = await madeAt(writers, tokensOf(writers), { ...tokenOf(writers), max_delegation_depth: 1 })
      const exp = Math.floor(Date.now() / 1_000) + 600
      return api(writers, 'POST', `${path}/children`, { jti: newId('cap'), exp })
    },
    'POST /api/v1/api-keys': (writers) => api(writers, 'POST', '/api-keys', named()),
    'DELETE /api/v1/api-keys/{id}': (writers) => removal(writers, '/api-keys', named()),
    'POST /api/v1/api-keys/{id}/rotate': async (writers) =>
      api(writers, 'POST', `${await madeAt(writers, '/api-keys', named())}/rotate`, { overlap_seconds: 0 }),
    'POST /api/v1/services/{id}/partner-credentials': (writers) =>
      api(writers, 'POST', credentialsOf(writers), credential()),
    'DELETE /api/v1/services/{id}/partner-credentials/{credential_id}': (writers) =>
      removal(writers, credentialsOf(writers), credential()),
    'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate': async (writers) =>
      api(writers, 'POST', `${await madeAt(writers, credentialsOf(writers), credential())}/rotate`),
    'POST /api/v1/organizations/{id}/invitations': (writers) =>
      api(writers, 'POST', invitationsOf(writers), invitation()),
    'DELETE /api/v1/organizations/{id}/invitations/{invitation_id}': (writers) =>
      removal(writers, invitationsOf(writers), invitation()),
    'POST /api/v1/cells': (writers) => api(writers, 'POST', '/cells', cell(), writers.staffKey),
    'PATCH /api/v1/cells/{id}': (writers) =>
      api(writers, 'PATCH', `/cells/${writers.world.cellId}`, { capacity: 1_000 }, writers.staffKey),
    'POST /api/webhooks/billing': ({ caller }) => ({
      method: 'POST',
      path: '/api/webhooks/billing',
      headers: { authorization: `Bearer ${BILLING_SECRET}`, 'webhook-id': randomUUID() },
      body: JSON.stringify({
        eventType: 'subscription.updated',
        tenantId: caller.tenantId,
        plan: 'free',
        status: 'active',
        subscriptionId: randomUUID(),
      }),
    }),
  },
}

/** Each commits by transaction(), as its neighbours above do; what it needs is made in the tests of its feature. */
export const NOT_ASKED: Record<string, string> = {
  'POST /api/v1/services/{id}/suspend': 'as PATCH of the service',
  'POST /api/v1/services/{id}/resume': 'needs a suspended service',
  'POST /api/v1/services/{id}/retry': 'needs a failed service',
  'POST /api/v1/services/{id}/move': 'needs a failed service and a second cell',
  'POST /api/v1/organizations': 'at most five of a person',
  'POST /api/v1/invitations/accept': 'needs a second person',
  'PATCH /api/v1/organizations/{id}/members/{user_id}': 'needs a second person',
  'DELETE /api/v1/organizations/{id}/members/{user_id}': 'needs a second person',
  'DELETE /api/v1/quarantine/{cell_id}/{service_id}': 'needs an instance that nobody knows',
  'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt': 'needs an instance that nobody knows',
  'POST /api/v1/tenants/{id}/billing/ordering/reset': 'needs a subscription with marks',
  'POST /cell/v1/reports': 'signed by a cell, which repeats it',
}

function kv({ tenant }: Writers, method: string, path: string, body?: object): PlainRequest {
  return requestOf(method, `/v1/kv/entries${path}`, { 'x-loci-capability': tenant.capability.token }, body)
}

function report({ tenant }: Writers, path: string): PlainRequest {
  return requestOf('GET', path, { 'x-loci-capability': tenant.capability.token })
}

function admin({ world }: Writers, path: string, body: object): PlainRequest {
  return requestOf('POST', path, { 'x-loci-admin-token': world.adminToken }, body)
}

function api({ caller }: Writers, method: string, path: string, body?: object, key = caller.apiKey): PlainRequest {
  return requestOf(method, `/api/v1${path}`, { 'x-api-key': key }, body)
}

function requestOf(method: string, path: string, headers: Record<string, string>, body?: object): PlainRequest {
  return { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
}

/** The path below /api/v1 of a new one. */
async function madeAt(writers: Writers, path: string, body: object): Promise<string> {
  const made = await done<{ id?: string; token_id?: string }>(
    writers.world.management?.url,
    api(writers, 'POST', path, body),
  )
  return `${path}/${made.token_id ?? made.id}`
}

async function removal(writers: Writers, path: string, body: object): Promise<PlainRequest> {
  return api(writers, 'DELETE', await madeAt(writers, path, body))
}

async function done<Answer>(url: string | undefined, request: PlainRequest): Promise<Answer> {
  const client = plainClient()
  const outcome = await client.send(url as string, request)
  client.close()
  if (outcome.kind !== 'answer' || outcome.status >= 300)
    throw new Error(`${request.method} ${request.path}: ${JSON.stringify(outcome)}`)
  return JSON.parse(outcome.body)
}

const named = () => ({ name: `made ${randomUUID()}` })
const credential = () => ({ ...named(), database: 'default' })
const invitation = () => ({ email: `${randomUUID()}@loci.example`, role: 'viewer' })
const serviceOf = ({ caller }: Writers) => ({ ...named(), service_type: 'kv', tenant_id: caller.tenantId })
const tokenOf = ({ tenant }: Writers) => ({ service_id: tenant.serviceId, ops: ['kv:read'] })
const tokensOf = ({ caller }: Writers) => `/tenants/${caller.tenantId}/tokens`
const credentialsOf = ({ tenant }: Writers) => `/services/${tenant.serviceId}/partner-credentials`
const invitationsOf = ({ caller }: Writers) => `/organizations/${caller.organizationId}/invitations`
const cell = () => ({
  name: randomUUID(),
  region: 'elsewhere',
  capacity: 1,
  endpoint: 'http://127.0.0.1:4410',
  public_key: newKeyPair().publicJwk.x,
})
