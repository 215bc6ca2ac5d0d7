// One request for each route that writes, of both programs, each time a new one: what the one before it may have done
// is done. What a request needs (something to delete) is made by way of a process whose store answers.

import { randomUUID } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { newId } from '@loci/contract/ids.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import type { ProgramName } from '../world/process.ts'
import { runSql } from '../world/sql.ts'
import type { WorldTenant } from '../world/tenants.ts'
import { BILLING_SECRET, type World } from '../world/world.ts'
import { createThief } from './cell-thief.ts'
import { type PlainRequest, plainClient } from './plain-client.ts'
import { allowedGrant, WRITING_SIGN_IN } from './writing-sign-in.ts'

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
    'PUT /v1/working-memory/slots/{key}': (writers) => slots(writers, 'PUT', `/slots/${randomUUID()}`, { value: 1 }),
    'PATCH /v1/working-memory/slots/{key}': async (writers) =>
      slots(writers, 'PATCH', await newSlot(writers), { value: 2 }),
    'DELETE /v1/working-memory/slots/{key}': async (writers) => slots(writers, 'DELETE', await newSlot(writers)),
    'POST /v1/working-memory/slots/batch': (writers) =>
      slots(writers, 'POST', '/slots/batch', { operations: [{ op: 'put', key: randomUUID(), value: 1 }] }),
    'POST /v1/working-memory/slots/clear': async (writers) => {
      await newSlot(writers)
      return slots(writers, 'POST', '/slots/clear')
    },
    'POST /v1/working-memory/slots/restore': async (writers) => {
      const key = randomUUID()
      const put = slots(writers, 'PUT', `/slots/${key}`, { value: 1 })
      const { version } = await done<{ version: number }>(writers.world.daemons[0]?.url, put)
      return slots(writers, 'POST', '/slots/restore', { key, version })
    },
    'PUT /v1/working-memory/config': ({ tenant }) =>
      requestOf('PUT', '/v1/working-memory/config', { 'x-loci-capability': tenant.operator.token }, { capacity: 20 }),
    'PUT /v1/advice/policies/{name}': ({ tenant }) =>
      requestOf('PUT', '/v1/advice/policies/house', { 'x-loci-capability': tenant.operator.token }, { rules: [] }),
    'POST /v1/advice/outcomes': ({ tenant }) =>
      requestOf(
        'POST',
        '/v1/advice/outcomes',
        { 'x-loci-capability': tenant.capability.token },
        { taskClass: 'a', tools: [{ toolId: randomUUID(), outcome: 'success' }] },
      ),
    'POST /v1/memory/records': (writers) => memory(writers, 'POST', '', { content: randomUUID() }),
    'POST /v1/memory/records/batch': (writers) =>
      memory(writers, 'POST', '/batch', { records: [{ content: randomUUID() }] }),
    'DELETE /v1/memory/records/{id}': async (writers) => {
      const store = memory(writers, 'POST', '', { content: randomUUID() })
      const { id } = await done<{ id: string }>(writers.world.daemons[0]?.url, store)
      return memory(writers, 'DELETE', `/${id}`)
    },
    'DELETE /v1/databases/{name}': async ({ world, tenant }) => {
      const name = `gone-${randomUUID().slice(0, 8)}`
      const headers = { 'x-loci-capability': tenant.capability.token, 'x-loci-database': name }
      await done(world.daemons[0]?.url, requestOf('PUT', '/v1/kv/entries/a', headers, { value: 1 }))
      return requestOf('DELETE', `/v1/databases/${name}`, { 'x-loci-capability': tenant.operator.token })
    },
    'POST /v1/cognitive/cycles': ({ tenant }) =>
      requestOf(
        'POST',
        '/v1/cognitive/cycles',
        { 'x-loci-capability': tenant.capability.token },
        { observations: [{ content: randomUUID() }] },
      ),
    'PUT /v1/cognitive/config': ({ tenant }) =>
      requestOf('PUT', '/v1/cognitive/config', { 'x-loci-capability': tenant.operator.token }, { noise: 0 }),
    'POST /v1/partner/projections': ({ tenant }) =>
      requestOf(
        'POST',
        '/v1/partner/projections',
        { authorization: `Bearer ${tenant.partner.token}` },
        { projection_class: 'fact', source_event_id: randomUUID(), payload: randomUUID() },
      ),
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
    'POST /api/v1/oauth-clients': (writers) => api(writers, 'POST', '/oauth-clients', oauthClient()),
    'DELETE /api/v1/oauth-clients/{id}': (writers) => removal(writers, '/oauth-clients', oauthClient()),
    'DELETE /api/v1/oauth-grants/{id}': async (writers) =>
      api(writers, 'DELETE', `/oauth-grants/${(await allowedGrant(writers)).id}`),
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
    // It stays where it is: to be taken back in a month is a change all the same.
    'POST /api/v1/cells/{id}/subservices/switch': (writers) =>
      api(
        writers,
        'POST',
        `/cells/${writers.world.cellId}/subservices/switch`,
        { service: 'mcp', enabled: true, reason: randomUUID(), auto_revert_ms: 30 * 24 * 3_600_000 },
        writers.staffKey,
      ),
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
    'POST /api/v1/tenants/{id}/billing/ordering/reset': (writers) =>
      api(
        writers,
        'POST',
        `/tenants/${writers.caller.tenantId}/billing/ordering/reset`,
        { subscription_id: randomUUID(), ordering: 'sequence' },
        writers.staffKey,
      ),
    'POST /api/v1/organizations': async (writers) =>
      api(writers, 'POST', '/organizations', named(), (await addPerson(writers)).apiKey),
    'POST /api/v1/invitations/accept': async (writers) => {
      const { apiKey, token } = await inviteSomebody(writers)
      return api(writers, 'POST', '/invitations/accept', { token }, apiKey)
    },
    'PATCH /api/v1/organizations/{id}/members/{user_id}': async (writers) =>
      api(writers, 'PATCH', await addMember(writers), { role: 'member' }),
    'DELETE /api/v1/organizations/{id}/members/{user_id}': async (writers) =>
      api(writers, 'DELETE', await addMember(writers)),
    'DELETE /api/v1/revocations/{id}': async (writers) =>
      api(writers, 'DELETE', await addCellRevocation(writers), undefined, writers.staffKey),
    'DELETE /api/v1/quarantine/{cell_id}/{service_id}': async (writers) =>
      api(writers, 'DELETE', await addQuarantined(writers), undefined, writers.staffKey),
    'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt': async (writers) =>
      api(writers, 'POST', `${await addQuarantined(writers)}/adopt`, undefined, writers.staffKey),
    ...WRITING_SIGN_IN,
    // What is ended or failed by hand comes last: the routes above need a service that works.
    'POST /api/v1/services/{id}/retry': async (writers) =>
      api(writers, 'POST', `/services/${await addFailed(writers)}/retry`),
    'POST /api/v1/services/{id}/move': async (writers) => {
      const body = { cell_id: writers.world.cellId }
      return api(writers, 'POST', `/services/${await addFailed(writers)}/move`, body, writers.staffKey)
    },
    'POST /api/v1/services/{id}/suspend': (writers) => turned(writers, 'resume', 'active', 'suspend'),
    'POST /api/v1/services/{id}/resume': (writers) => turned(writers, 'suspend', 'suspended', 'resume'),
    'POST /cell/v1/reports': ({ world, caller }) => {
      const cell = { url: world.management?.url as string, cellId: world.cellId as string, key: world.cellKey }
      const authorization = `Bearer ${createThief(cell).token()}`
      const revocation = { kind: 'ten', value: caller.tenantId, audit_id: null }
      const [not_before, expires_at] = [new Date(0).toISOString(), new Date(Date.now() + 60_000).toISOString()]
      return requestOf(
        'POST',
        '/cell/v1/reports',
        { authorization },
        {
          report_id: randomUUID(),
          revocations: [{ ...revocation, not_before, expires_at }],
        },
      )
    },
  },
}

/** Routes that write and are not asked, with the reason. */
export const NOT_ASKED: Record<string, string> = {
  'POST /v1/memory/recall': 'it reads',
  'POST /v1/memory/records/read': 'it reads',
  'POST /v1/advice/rank': 'it reads',
  'POST /v1/advice/tools:rank': 'it reads',
  'POST /mcp': 'its tools are the routes above, and answer what those do',
  ...Object.fromEntries(
    ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [
      `${method} /api/v1/services/{id}/proxy/{path}`,
      'it writes nothing of its own, and passes on what a route of the daemon answered',
    ]),
  ),
}

function oauthClient(): object {
  return { name: `client ${randomUUID()}`, redirect_uris: ['http://127.0.0.1/done'] }
}

function kv({ tenant }: Writers, method: string, path: string, body?: object): PlainRequest {
  return requestOf(method, `/v1/kv/entries${path}`, { 'x-loci-capability': tenant.capability.token }, body)
}

function slots({ tenant }: Writers, method: string, path: string, body?: object): PlainRequest {
  return requestOf(method, `/v1/working-memory${path}`, { 'x-loci-capability': tenant.capability.token }, body)
}

function memory({ tenant }: Writers, method: string, path: string, body?: object): PlainRequest {
  return requestOf(method, `/v1/memory/records${path}`, { 'x-loci-capability': tenant.capability.token }, body)
}

/** The path of one that is there. */
async function newSlot(writers: Writers): Promise<string> {
  const path = `/slots/${randomUUID()}`
  await done(writers.world.daemons[0]?.url, slots(writers, 'PUT', path, { value: 1 }))
  return path
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

/** Somebody with an organization and a key of their own: nobody may found more than five. */
async function addPerson({ world }: Writers): Promise<WorldCaller & { email: string }> {
  const name = `person-${randomUUID()}`
  const [person] = (await addCallers(world, { organizations: 1, each: 1, name })) as [WorldCaller]
  return { ...person, email: `${name}-0@loci.example` }
}

async function inviteSomebody(writers: Writers) {
  const { apiKey, email } = await addPerson(writers)
  const invited = api(writers, 'POST', invitationsOf(writers), { email, role: 'viewer' })
  const { token } = await done<{ token: string }>(writers.world.management?.url, invited)
  return { apiKey, email, token }
}

/** The path below /api/v1 of a new member. */
async function addMember(writers: Writers): Promise<string> {
  const { apiKey, email, token } = await inviteSomebody(writers)
  const url = writers.world.management?.url
  await done(url, api(writers, 'POST', '/invitations/accept', { token }, apiKey))
  const path = `/organizations/${writers.caller.organizationId}/members`
  const { members } = await done<{ members: { user_id: string; email: string }[] }>(url, api(writers, 'GET', path))
  return `${path}/${members.find((member) => member.email === email)?.user_id}`
}

const control = ({ world }: Writers, text: string, values: unknown[]) =>
  runSql(world.postgres.adminUrl('loci_control'), text, values)

/** The path below /api/v1 of an instance that a cell has told of and nobody knows. */
async function addQuarantined(writers: Writers): Promise<string> {
  const { organizationId, tenantId } = writers.caller
  const [cellId, id] = [writers.world.cellId, newId('svc')]
  await control(
    writers,
    `insert into loci.quarantine (cell_id, service_id, organization_id, tenant_id, service_type, plan, state, generation)
     values ($1, $2, $3, $4, 'kv', 'free', 'active', 1)`,
    [cellId, id, organizationId, tenantId],
  )
  return `/quarantine/${cellId}/${id}`
}

/** By the administration of the cell. */
async function addCellRevocation(writers: Writers): Promise<string> {
  const id = newId('rev')
  await control(
    writers,
    `insert into loci.revocations (id, cell_id, kind, svc, value, expires_at, origin, organization_id)
     values ($1, $2, 'jti', '*', $3, now() + interval '1 hour', 'cell', $4)`,
    [id, writers.world.cellId, newId('cap'), writers.caller.organizationId],
  )
  return `/revocations/${id}`
}

/** A service that found no cell, as after its deadline; it uses no quota. */
async function addFailed(writers: Writers): Promise<string> {
  const body = { ...serviceOf(writers), region: 'nowhere' }
  const made = await done<{ service_id: string }>(
    writers.world.management?.url,
    api(writers, 'POST', '/services', body),
  )
  await control(
    writers,
    `update loci.services set status = 'failed', status_reason = 'no_capacity', deadline_at = null where id = $1`,
    [made.service_id],
  )
  return made.service_id
}

/** The service in the state that the command needs. */
async function turned(writers: Writers, before: string, state: string, command: string): Promise<PlainRequest> {
  const path = `/services/${writers.tenant.serviceId}`
  const url = writers.world.management?.url as string
  const client = plainClient()
  for (;;) {
    const { status } = await done<{ status: string }>(url, api(writers, 'GET', path))
    if (status === state) break
    // Refused while the last one is under way.
    await client.send(url, api(writers, 'POST', `${path}/${before}`))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  client.close()
  return api(writers, 'POST', `${path}/${command}`)
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
