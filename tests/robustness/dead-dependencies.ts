// P19: what every route of both programs answers while something that they need is dead, and after each of four
// accidents of the store. Reviewed by hand; that no route and no cell is missing is held by dead-dependencies.test.ts,
// that the running programs answer so by `npm run test:system -- dead-dependencies` and `-- failures`.
//
// Dead is both: stopped, where connections are refused, and silent, where nobody is told. A dead dependency is a 503
// with Retry-After, never 401 and never 500; but for the webhook, whose sender repeats what got a 500.

import type { ProgramName } from '../world/process.ts'

export const DEPENDENCIES = ['control database', 'cell database', 'management', 'provider'] as const
export type Dependency = (typeof DEPENDENCIES)[number]

export const ACCIDENTS = ['away from the start', 'disk full', 'a day passed', 'partitions dropped'] as const
export type Accident = (typeof ACCIDENTS)[number]

/** `same`: as when everything is alive. `itself`: it is what is dead. */
export type DeadAnswer =
  | 'same'
  | 'itself'
  | '503 STORE_UNAVAILABLE'
  | '503 STORE_UNAVAILABLE, after some seconds 503 AUTHORITY_STALE'
  | '503 IDENTITY_PROVIDER_UNAVAILABLE'
  | '200 degraded'
  | '500 without a code'

/** `same or full`: also 503 STORE_UNAVAILABLE that says "no space left", where it had to write; never of a GET. */
export type AccidentAnswer =
  | 'same'
  | 'same or full'
  | 'same or full, though a GET'
  | '503 STARTING'
  | '503 starting'
  | '200 degraded'
  | 'same or 500 without a code'

export type DeadCells = Readonly<Record<Dependency, DeadAnswer> & Record<Accident, AccidentAnswer>>

const STORE = '503 STORE_UNAVAILABLE'
const PROVIDER = '503 IDENTITY_PROVIDER_UNAVAILABLE'

/** Served as soon as the process listens, and by what it has in memory. */
const alive: DeadCells = {
  'control database': 'same',
  'cell database': 'same',
  management: 'same',
  provider: 'same',
  'away from the start': 'same',
  'disk full': 'same',
  // A missing partition is made by the write that meets it.
  'a day passed': 'same',
  'partitions dropped': 'same',
}
/** Of a program that waits for its database everything else is refused. */
const gated: DeadCells = { ...alive, 'away from the start': '503 STARTING', 'disk full': 'same or full' }
/** Readiness; no other replica would do better, so a degraded one stays in the load balancer. */
const readiness: DeadCells = { ...alive, 'away from the start': '503 starting', 'disk full': '200 degraded' }

/** Of management. */
const none: DeadCells = { ...gated, management: 'itself' }
const probe: DeadCells = { ...alive, management: 'itself' }
const control: DeadCells = { ...none, 'control database': STORE }
const degraded: DeadCells = { ...readiness, management: 'itself', 'control database': '200 degraded' }
/** It authenticates in every state of the process; what it cannot store its sender repeats. */
const webhook: DeadCells = {
  ...probe,
  'control database': '500 without a code',
  'away from the start': 'same or 500 without a code',
  'disk full': 'same or 500 without a code',
}
/** What staff read is audited, a session may be renewed, the capability of the proxy is stored: each needs room. */
const noted: DeadCells = { ...control, 'disk full': 'same or full, though a GET' }
const proxied: DeadCells = { ...noted, 'cell database': STORE }
const signingIn: DeadCells = { ...noted, provider: PROVIDER }

/** Of the daemon, which goes on without management, whatever management lacks. */
const cell: DeadCells = { ...gated, 'cell database': STORE }
/** A partner's credential is a row, so a replica that has read nothing for some seconds cannot judge it. */
const cellByPartner: DeadCells = {
  ...gated,
  'cell database': '503 STORE_UNAVAILABLE, after some seconds 503 AUTHORITY_STALE',
}
/** What the replica knows of the caller decides, and kv/health says `failed` in its body. */
const told: DeadCells = gated
/** A check remembers how far it found all good, which needs room. */
const cellNoted: DeadCells = { ...cell, 'disk full': 'same or full, though a GET' }
const cellDegraded: DeadCells = { ...readiness, 'cell database': '200 degraded' }

export const DEAD: Readonly<Record<ProgramName, Readonly<Record<string, DeadCells>>>> = {
  management: {
    'GET /health/live': probe,
    'GET /health/ready': degraded,
    'GET /health/startup': none,
    'GET /health/lifecycle': probe,
    'GET /metrics': probe,
    'GET /openapi.json': none,
    'GET /docs': none,
    'GET /.well-known/loci-capability-keys.json': control,
    'GET /.well-known/oauth-authorization-server': none,
    'GET /cell/v1/feed': control,
    'GET /cell/v1/self': control,
    'GET /cell/v1/deletions': control,
    'POST /cell/v1/reports': control,
    'GET /api/webhooks/billing': probe,
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
    'GET /api/v1/cells/{id}/subservices': control,
    'POST /api/v1/cells': control,
    'PATCH /api/v1/cells/{id}': control,
    'POST /api/v1/cells/{id}/subservices/switch': control,
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
    'GET /api/v1/usage': control,
    'GET /api/v1/tenants/{id}/billing/events': control,
    'POST /api/v1/tenants/{id}/billing/ordering/reset': control,
    'GET /api/v1/parked-events': noted,
    'GET /api/v1/api-keys': control,
    'POST /api/v1/api-keys': control,
    'DELETE /api/v1/api-keys/{id}': control,
    'POST /api/v1/api-keys/{id}/rotate': control,
    'GET /api/v1/audit-events': control,
    'GET /api/v1/audit-events?organization_id=~organization': noted,
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
    'GET /services': probe,
    'GET /services/{path...}': probe,
    'GET /s/{path...}': probe,
    'GET /o/{path...}': probe,
    'GET /staff/{path...}': probe,
    'GET /go/{path...}': probe,
    'GET /console/{path...}': probe,
    'GET /sign-out': none,
    'POST /sign-out': control,
    'GET /cli-login': control,
    'POST /cli-login': control,
    'GET /oauth/authorize': control,
    'POST /oauth/authorize': control,
    'POST /oauth/token': control,
    'POST /api/v1/oauth-clients': control,
    'GET /api/v1/oauth-clients': control,
    'DELETE /api/v1/oauth-clients/{id}': control,
    'GET /api/v1/oauth-grants': control,
    'DELETE /api/v1/oauth-grants/{id}': control,
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
    'GET /health/live': alive,
    'GET /health/ready': cellDegraded,
    'GET /health/startup': gated,
    'GET /v1/health/live': alive,
    'GET /v1/health/ready': cellDegraded,
    'GET /v1/health/startup': gated,
    'GET /v1/health/all': alive,
    'GET /v1/lifecycle/status': alive,
    'GET /metrics': alive,
    'GET /openapi.json': gated,
    'GET /.well-known/oauth-protected-resource': gated,
    'GET /.well-known/oauth-protected-resource/mcp': gated,
    'GET /docs': gated,
    'GET /v1/system/info': told,
    'GET /v1/conductor/endpoints': told,
    'GET /v1/kv/health': told,
    'GET /v1/kv/consistency': cellNoted,
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
    'GET /v1/working-memory/settings': cell,
    'PUT /v1/working-memory/config': cell,
    'POST /v1/memory/records': cell,
    'POST /v1/memory/records/batch': cell,
    'POST /v1/memory/recall': cell,
    'POST /v1/memory/records/read': cell,
    'DELETE /v1/memory/records/{id}': cell,
    'GET /v1/memory/records': cell,
    'GET /v1/memory/records/{id}': cell,
    'GET /v1/memory/records/{id}/trace': cell,
    'POST /v1/cognitive/cycles': cell,
    'GET /v1/cognitive/cycles': cell,
    'GET /v1/cognitive/cycles/{id}': cell,
    'GET /v1/cognitive/cycles/{id}/decisions': cell,
    'GET /v1/cognitive/stats': cell,
    'GET /v1/cognitive/timeline': cell,
    'GET /v1/cognitive/health': cell,
    'GET /v1/cognitive/config': cell,
    'GET /v1/cognitive/settings': cell,
    'PUT /v1/cognitive/config': cell,
    'POST /v1/partner/projections': cellByPartner,
    'POST /v1/advice/tools:rank': cellByPartner,
    'POST /v1/advice/rank': cell,
    'POST /v1/advice/outcomes': cell,
    'GET /v1/advice/policies': cell,
    'GET /v1/advice/policies/{name}': cell,
    'PUT /v1/advice/policies/{name}': cell,
    'GET /v1/events': cell,
    'POST /mcp': cell,
    'GET /mcp': cell,
    'GET /v1/audit': cell,
    'GET /v1/databases': cell,
    'DELETE /v1/databases/{name}': cell,
    'GET /admin/services/status': cell,
    'POST /admin/services/enable': cell,
    'POST /admin/services/disable': cell,
    'POST /admin/revocations': cell,
    'GET /admin/audit': cell,
  },
}
