// P19: what every route of both programs answers while something that they need is dead. Reviewed by hand; that no
// route is missing is held by dead-dependencies.test.ts, that the running programs answer so by
// `npm run test:system -- dead-dependencies`.
//
// Dead is both: stopped, where connections are refused, and silent, where nobody is told. A dead dependency is a 503
// with Retry-After, never 401 and never 500; but for the webhook, whose sender repeats what got a 500.

import type { ProgramName } from '../world/process.ts'

export const DEPENDENCIES = ['control database', 'cell database', 'management', 'provider'] as const
export type Dependency = (typeof DEPENDENCIES)[number]

/** `same`: as when everything is alive. `itself`: it is what is dead. */
export type DeadAnswer =
  | 'same'
  | 'itself'
  | '503 STORE_UNAVAILABLE'
  | '503 STORE_UNAVAILABLE, after some seconds 503 AUTHORITY_STALE'
  | '503 IDENTITY_PROVIDER_UNAVAILABLE'
  | '200 degraded'
  | '500 without a code'

export type DeadCells = Readonly<Record<Dependency, DeadAnswer>>

const all: DeadCells = { 'control database': 'same', 'cell database': 'same', management: 'same', provider: 'same' }
const STORE = '503 STORE_UNAVAILABLE'
const PROVIDER = '503 IDENTITY_PROVIDER_UNAVAILABLE'

/** Of management. */
const none: DeadCells = { ...all, management: 'itself' }
const control: DeadCells = { ...none, 'control database': STORE }
/** No other replica would do better, so it stays in the load balancer. */
const degraded: DeadCells = { ...none, 'control database': '200 degraded' }
const webhook: DeadCells = { ...none, 'control database': '500 without a code' }
const proxied: DeadCells = { ...control, 'cell database': STORE }
const signingIn: DeadCells = { ...control, provider: PROVIDER }

/** Of the daemon, which goes on without management, whatever management lacks. */
const cell: DeadCells = { ...all, 'cell database': STORE }
/** A partner's credential is a row, so a replica that has read nothing for some seconds cannot judge it. */
const cellByPartner: DeadCells = {
  ...all,
  'cell database': '503 STORE_UNAVAILABLE, after some seconds 503 AUTHORITY_STALE',
}
/** What the replica knows of the caller decides, and kv/health says `failed` in its body. */
const told: DeadCells = all
const cellDegraded: DeadCells = { ...all, 'cell database': '200 degraded' }

export const DEAD: Readonly<Record<ProgramName, Readonly<Record<string, DeadCells>>>> = {
  management: {
    'GET /health/live': none,
    'GET /health/ready': degraded,
    'GET /health/startup': none,
    'GET /health/lifecycle': none,
    'GET /metrics': none,
    'GET /openapi.json': none,
    'GET /docs': none,
    'GET /.well-known/loci-capability-keys.json': control,
    'GET /cell/v1/feed': control,
    'GET /cell/v1/self': control,
    'GET /cell/v1/deletions': control,
    'POST /cell/v1/reports': control,
    'GET /api/webhooks/billing': none,
    'POST /api/webhooks/billing': webhook,
    'POST /api/v1/services': control,
    'GET /api/v1/services': control,
    'GET /api/v1/services?tenant_id=~tenant': control,
    'GET /api/v1/services/{id}': control,
    'PATCH /api/v1/services/{id}': control,
    'DELETE /api/v1/services/{id}': control,
    'POST /api/v1/services/{id}/suspend': control,
    'POST /api/v1/services/{id}/resume': control,
    'POST /api/v1/services/{id}/retry': control,
    'POST /api/v1/services/{id}/move': control,
    'GET /api/v1/services/{id}/usage': control,
    'GET /api/v1/operations/{id}': control,
    'GET /api/v1/quarantine': control,
    'DELETE /api/v1/quarantine/{cell_id}/{service_id}': control,
    'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt': control,
    'GET /api/v1/cells': control,
    'POST /api/v1/cells': control,
    'PATCH /api/v1/cells/{id}': control,
    'GET /api/v1/revocations': control,
    'DELETE /api/v1/revocations/{id}': control,
    'GET /api/v1/organizations': control,
    'POST /api/v1/organizations': control,
    'GET /api/v1/organizations/{id}/members': control,
    'PATCH /api/v1/organizations/{id}/members/{user_id}': control,
    'DELETE /api/v1/organizations/{id}/members/{user_id}': control,
    'POST /api/v1/organizations/{id}/invitations': control,
    'GET /api/v1/organizations/{id}/invitations': control,
    'DELETE /api/v1/organizations/{id}/invitations/{invitation_id}': control,
    'POST /api/v1/invitations/accept': control,
    'GET /api/v1/tenants': control,
    'POST /api/v1/tenants': control,
    'GET /api/v1/tenants/{id}': control,
    'PATCH /api/v1/tenants/{id}': control,
    'DELETE /api/v1/tenants/{id}': control,
    'GET /api/v1/tenants/{id}/status': control,
    'GET /api/v1/tenants/{id}/usage': control,
    'GET /api/v1/tenants/{id}/billing/events': control,
    'POST /api/v1/tenants/{id}/billing/ordering/reset': control,
    'GET /api/v1/parked-events': control,
    'GET /api/v1/api-keys': control,
    'POST /api/v1/api-keys': control,
    'DELETE /api/v1/api-keys/{id}': control,
    'POST /api/v1/api-keys/{id}/rotate': control,
    'GET /api/v1/audit-events': control,
    'GET /api/v1/audit-events?organization_id=~organization': control,
    'POST /api/v1/tenants/{id}/tokens': control,
    'GET /api/v1/tenants/{id}/tokens': control,
    'POST /api/v1/tenants/{id}/tokens/{token_id}/children': control,
    'DELETE /api/v1/tenants/{id}/tokens/{token_id}': control,
    'POST /api/v1/services/{id}/partner-credentials': control,
    'GET /api/v1/services/{id}/partner-credentials': control,
    'DELETE /api/v1/services/{id}/partner-credentials/{credential_id}': control,
    'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate': control,
    'GET /api/v1/events?after=0': control,
    'GET /api/auth/session': signingIn,
    'GET /api/auth/get-session': control,
    'GET /api/auth/token': control,
    'POST /api/auth/exchange': signingIn,
    'GET /sign-in': none,
    'GET /sign-in/start': none,
    'GET /signed-in': signingIn,
    'GET /signed-in/done': control,
    'POST /signed-in/done': control,
    'GET /': control,
    'GET /dashboard': control,
    'GET /dashboard/': control,
    'GET /dashboard/{path...}': control,
    'GET /sign-out': none,
    'POST /sign-out': control,
    'GET /cli-login': control,
    'POST /cli-login': control,
    'POST /api/v1/cli-logins': control,
    'POST /api/v1/cli-logins/{id}/poll': control,
    'POST /api/v1/cli-logins/{id}/approve': control,
    'POST /api/v1/cli-logins/{id}/deny': control,
    'GET /api/v1/services/{id}/proxy/{path...}': proxied,
    'POST /api/v1/services/{id}/proxy/{path...}': proxied,
    'PUT /api/v1/services/{id}/proxy/{path...}': proxied,
    'PATCH /api/v1/services/{id}/proxy/{path...}': proxied,
    'DELETE /api/v1/services/{id}/proxy/{path...}': proxied,
    'POST /api/auth/refresh': signingIn,
    'POST /api/auth/logout': control,
  },
  daemon: {
    'GET /health/live': all,
    'GET /health/ready': cellDegraded,
    'GET /health/startup': all,
    'GET /v1/health/live': all,
    'GET /v1/health/ready': cellDegraded,
    'GET /v1/health/startup': all,
    'GET /v1/health/all': all,
    'GET /v1/lifecycle/status': all,
    'GET /metrics': all,
    'GET /openapi.json': all,
    'GET /docs': all,
    'GET /v1/system/info': told,
    'GET /v1/conductor/endpoints': told,
    'GET /v1/kv/health': told,
    'GET /v1/kv/consistency': cell,
    'GET /v1/kv/entries': cell,
    'GET /v1/kv/entries/{key}': cell,
    'PUT /v1/kv/entries/{key}': cell,
    'POST /v1/kv/entries/batch': cell,
    'DELETE /v1/kv/entries/{key}': cell,
    'GET /v1/working-memory/slots': cell,
    'GET /v1/working-memory/stats': cell,
    'GET /v1/working-memory/evictions': cell,
    'GET /v1/working-memory/slots/{key}': cell,
    'GET /v1/working-memory/slots/{key}/history': cell,
    'PUT /v1/working-memory/slots/{key}': cell,
    'PATCH /v1/working-memory/slots/{key}': cell,
    'DELETE /v1/working-memory/slots/{key}': cell,
    'POST /v1/working-memory/slots/batch': cell,
    'POST /v1/working-memory/slots/clear?dryRun=true': cell,
    'POST /v1/working-memory/slots/restore': cell,
    'GET /v1/working-memory/config': cell,
    'PUT /v1/working-memory/config': cell,
    'POST /v1/memory/records': cell,
    'POST /v1/memory/records/batch': cell,
    'POST /v1/memory/recall': cell,
    'DELETE /v1/memory/records/{id}': cell,
    'GET /v1/memory/records': cell,
    'GET /v1/memory/records/{id}': cell,
    'POST /v1/cognitive/cycles': cell,
    'GET /v1/cognitive/cycles': cell,
    'GET /v1/cognitive/cycles/{id}': cell,
    'GET /v1/cognitive/cycles/{id}/decisions': cell,
    'GET /v1/cognitive/stats': cell,
    'GET /v1/cognitive/health': cell,
    'GET /v1/cognitive/config': cell,
    'PUT /v1/cognitive/config': cell,
    'POST /v1/partner/projections': cellByPartner,
    'POST /v1/advice/tools:rank': cellByPartner,
    'POST /v1/advice/rank': cell,
    'GET /v1/advice/policies': cell,
    'GET /v1/advice/policies/{name}': cell,
    'PUT /v1/advice/policies/{name}': cell,
    'GET /v1/events': cell,
    'POST /mcp': cell,
    'GET /mcp': cell,
    'GET /v1/audit': cell,
    'GET /admin/services/status': cell,
    'POST /admin/services/enable': cell,
    'POST /admin/services/disable': cell,
    'POST /admin/revocations': cell,
    'GET /admin/audit': cell,
  },
}
