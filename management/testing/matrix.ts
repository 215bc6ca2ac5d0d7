// Who may call what: the reviewed table of every route of management. matrix.test.ts holds the running router against
// it, so a new route, a changed scope or a new kind of credential does not pass before someone has decided about it
// here. What the classes answer: matrix-classes.ts. How a credential of each kind is made: credentials.ts. What
// `~service` and its like stand for: targets.ts.

import type { Matrix, MatrixRow } from '@loci/chassis/testing/matrix.ts'
import {
  EXPECTED,
  type Expected,
  GIVEN,
  KINDS,
  type Kind,
  NOT_THERE,
  NOT_THERE_TO_READ,
  NOT_YOURS,
  OWNERS_KEYS,
  PERSONAL,
  WHOLE,
} from './matrix-classes.ts'

type Row = MatrixRow<Kind>

const open: Row = { class: 'open' }
const cell: Row = { class: 'cell' }

type Rest = Omit<Row, 'class' | 'operation'>
const caller = (operation: string, rest: Rest = {}): Row => ({ class: 'caller', operation, ...rest })
const staff = (rest: Rest = {}): Row => caller('staff', rest)
const ofTenant = { params: { id: '~tenant' }, expected: NOT_YOURS }
const ofOrganization = { params: { id: '~organization' }, expected: NOT_YOURS }
const toRead = { params: { id: '~service' }, expected: NOT_THERE_TO_READ }
const toChange = { params: { id: '~service' }, expected: NOT_THERE }
const toCommand = { params: { id: '~otherService' }, expected: NOT_THERE }

/** Of an id that nobody has: whoever is admitted is told so. */
function nowhere(operation: string): Row['expected'] {
  const kinds = Object.entries(EXPECTED[`caller with ${operation}`] ?? {}).filter(([, one]) => one === 'admitted')
  return Object.fromEntries(kinds.map(([kind]) => [kind, '404 NOT_FOUND']))
}

/** What is not a GET is refused when another site caused it, whatever else the caller may do. */
function notFromElsewhere(rows: Record<string, Row>): Record<string, Row> {
  const refused: Row['expected'] = { 'cookie from another site': '403 ORIGIN_NOT_ALLOWED' }
  return Object.fromEntries(
    Object.entries(rows).map(([line, row]) =>
      row.class === 'caller' && !line.startsWith('GET ')
        ? [line, { ...row, expected: { ...row.expected, ...refused } }]
        : [line, row],
    ),
  )
}

export const MATRIX: Matrix<Kind> & { expected: Record<string, Expected> } = {
  kinds: KINDS,
  expected: EXPECTED,

  rows: notFromElsewhere({
    'GET /health/live': open,
    'GET /health/ready': open,
    'GET /health/startup': open,
    'GET /health/lifecycle': open,
    'GET /metrics': open,
    'GET /openapi.json': open,
    // A redirect to /docs: nothing to be admitted to.
    'GET /docs': open,
    'GET /.well-known/loci-capability-keys.json': open,
    'GET /.well-known/oauth-authorization-server': open,
    // Without a client: nobody is sent anywhere.
    'GET /oauth/authorize': { class: 'open', expected: { none: '400 VALIDATION_ERROR' } },
    // Of no request: nothing is allowed.
    'POST /oauth/authorize': {
      class: 'same site',
      expected: {
        none: '303',
        session: '403 FORBIDDEN',
        'session of another organization': '403 FORBIDDEN',
        'session that names another organization': '403 FORBIDDEN',
        'session of staff': '403 FORBIDDEN',
      },
    },
    'POST /oauth/token': { class: 'open', expected: { none: '415 UNSUPPORTED_MEDIA_TYPE' } },
    'POST /api/v1/oauth-clients': caller('keys:write', {
      body: { name: 'matrix', redirect_uris: ['https://client.example/done'] },
      expected: WHOLE,
    }),
    'GET /api/v1/oauth-clients': caller('keys:write', { expected: WHOLE }),
    // None that there is: whoever may is told so.
    'DELETE /api/v1/oauth-clients/{id}': caller('keys:write', {
      params: { id: 'oac_00000000000000000000000000' },
      expected: { ...nowhere('keys:write'), ...WHOLE },
    }),
    'GET /api/v1/oauth-grants': caller('anyone'),
    'DELETE /api/v1/oauth-grants/{id}': caller('anyone', {
      params: { id: 'oag_00000000000000000000000000' },
      expected: nowhere('anyone') ?? {},
    }),

    'GET /cell/v1/feed': cell,
    'GET /cell/v1/self': cell,
    'GET /cell/v1/deletions': cell,
    // The report is about an instance of the first cell. The other one's is taken without that row (reports.test.ts).
    'POST /cell/v1/reports': {
      class: 'cell',
      body: { report_id: '~uuid', observed: [{ svc: '~service', generation: 1, state: 'active' }] },
    },

    'GET /api/webhooks/billing': open,
    // Of a tenant that nobody knows: it is parked.
    'POST /api/webhooks/billing': {
      class: 'webhook',
      body: { eventType: 'subscription.updated', tenantId: '~unknownTenant', plan: 'pro', status: 'active' },
    },

    'POST /api/v1/services': caller('services:write', {
      body: { service_type: 'kv', name: 'matrix', tenant_id: '~tenant' },
      expected: NOT_YOURS,
    }),
    'GET /api/v1/services': caller('services:read'),
    'GET /api/v1/services?tenant_id=~tenant': caller('services:read', { expected: NOT_YOURS }),
    'GET /api/v1/services/{id}': caller('services:read', toRead),
    'PATCH /api/v1/services/{id}': caller('services:write', { ...toChange, body: { name: 'matrix' } }),
    'DELETE /api/v1/services/{id}': caller('services:write', { ...toChange, params: { id: '~doomedService' } }),
    'POST /api/v1/services/{id}/suspend': caller('services:write', toCommand),
    'POST /api/v1/services/{id}/resume': caller('services:write', toCommand),
    'POST /api/v1/services/{id}/retry': caller('services:write', toCommand),
    'POST /api/v1/services/{id}/move': staff({ params: { id: '~failedService' }, body: { cell_id: '~cell' } }),
    'GET /api/v1/services/{id}/usage': caller('usage:read', toRead),
    'GET /api/v1/operations/{id}': caller('services:read', { ...toRead, params: { id: '~operation' } }),

    'GET /api/v1/quarantine': staff(),
    'DELETE /api/v1/quarantine/{cell_id}/{service_id}': staff({
      params: { cell_id: '~cell', service_id: '~doomedInstance' },
    }),
    'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt': staff({
      params: { cell_id: '~cell', service_id: '~lostInstance' },
    }),
    'GET /api/v1/cells': staff(),
    // Elsewhere: nothing of anybody is placed there.
    'POST /api/v1/cells': staff({
      body: {
        name: '~uuid',
        region: 'elsewhere',
        capacity: 1,
        endpoint: 'http://127.0.0.1:4410',
        public_key: '~publicKey',
      },
    }),
    'GET /api/v1/revocations': staff(),
    'DELETE /api/v1/revocations/{id}': staff({ params: { id: '~cellRevocation' } }),
    'GET /api/v1/cells/{id}/subservices': staff({ params: { id: '~cell' } }),
    'POST /api/v1/cells/{id}/subservices/switch': staff({
      params: { id: '~cell' },
      body: { service: 'mcp', enabled: false, reason: 'matrix', dry_run: true },
    }),
    'PATCH /api/v1/cells/{id}': staff({ params: { id: '~cell' }, body: { capacity: 1_000 } }),

    'GET /api/v1/organizations': caller('anyone'),
    // Of a key members:write is asked for, by the handler: which scopes a person has here does not matter to a session.
    'POST /api/v1/organizations': caller('anyone', {
      body: { name: 'matrix' },
      expected: { ...OWNERS_KEYS, ...WHOLE, ...PERSONAL },
    }),
    'GET /api/v1/organizations/{id}/members': caller('tenants:read', ofOrganization),
    'PATCH /api/v1/organizations/{id}/members/{user_id}': caller('members:write', {
      ...ofOrganization,
      params: { id: '~organization', user_id: '~member' },
      body: { role: 'viewer' },
      expected: GIVEN,
    }),
    'DELETE /api/v1/organizations/{id}/members/{user_id}': caller('members:write', {
      ...ofOrganization,
      params: { id: '~organization', user_id: '~doomedMember' },
    }),
    'POST /api/v1/organizations/{id}/invitations': caller('members:write', {
      ...ofOrganization,
      body: { email: 'matrix@example.com', role: 'viewer' },
      expected: GIVEN,
    }),
    'GET /api/v1/organizations/{id}/invitations': caller('members:write', ofOrganization),
    'DELETE /api/v1/organizations/{id}/invitations/{invitation_id}': caller('members:write', {
      ...ofOrganization,
      params: { id: '~organization', invitation_id: '~doomedInvitation' },
    }),
    // Into a third organization, which has invited whoever asks.
    'POST /api/v1/invitations/accept': caller('anyone', { body: { token: '~invitationToken' }, expected: PERSONAL }),

    'GET /api/v1/tenants': caller('tenants:read'),
    'POST /api/v1/tenants': caller('tenants:write', { body: { name: 'matrix' }, expected: WHOLE }),
    'GET /api/v1/tenants/{id}': caller('tenants:read', ofTenant),
    'PATCH /api/v1/tenants/{id}': caller('tenants:write', { ...ofTenant, body: { name: 'matrix' } }),
    'DELETE /api/v1/tenants/{id}': caller('tenants:write', { ...ofTenant, params: { id: '~doomedTenant' } }),
    'GET /api/v1/tenants/{id}/status': caller('tenants:read', ofTenant),
    'GET /api/v1/tenants/{id}/usage': caller('usage:read', ofTenant),
    'GET /api/v1/usage': caller('usage:read'),
    'GET /api/v1/tenants/{id}/billing/events': caller('billing:read', ofTenant),
    'POST /api/v1/tenants/{id}/billing/ordering/reset': staff({
      params: { id: '~tenant' },
      body: { subscription_id: '', ordering: 'sequence' },
    }),
    'GET /api/v1/parked-events': staff(),

    'GET /api/v1/api-keys': caller('anyone'),
    'POST /api/v1/api-keys': caller('keys:write', { body: { name: 'matrix' }, expected: PERSONAL }),
    'DELETE /api/v1/api-keys/{id}': caller('keys:write', { params: { id: '~doomedKey' }, expected: NOT_THERE }),
    // The owner made it, and a new secret acts in the owner's name: an admin may delete it and not have it.
    'POST /api/v1/api-keys/{id}/rotate': caller('keys:write', {
      params: { id: '~key' },
      body: { overlap_seconds: 0 },
      expected: { ...NOT_THERE, ...PERSONAL, 'role admin': '403 FORBIDDEN' },
    }),

    'GET /api/v1/audit-events': caller('audit:read', { expected: WHOLE }),
    // Who runs the platform reads the audit of others, and leaves a trace.
    'GET /api/v1/audit-events?organization_id=~organization': caller('audit:read', {
      expected: { ...NOT_YOURS, staff: 'admitted', 'session of staff': 'admitted' },
    }),

    'POST /api/v1/tenants/{id}/tokens': caller('tokens:write', {
      ...ofTenant,
      body: { service_id: '~service', ops: ['kv:read'] },
    }),
    // One of two scopes, which the handler asks for; the key without the scope has neither.
    'GET /api/v1/tenants/{id}/tokens': caller('anyone', {
      ...ofTenant,
      expected: { ...NOT_YOURS, 'API key without the scope': '403 FORBIDDEN' },
    }),
    'POST /api/v1/tenants/{id}/tokens/{token_id}/children': caller('tokens:write', {
      ...ofTenant,
      params: { id: '~tenant', token_id: '~token' },
      body: { jti: 'matrix-child', exp: Math.floor(Date.now() / 1000) + 3_600 },
    }),
    'DELETE /api/v1/tenants/{id}/tokens/{token_id}': caller('tokens:write', {
      ...ofTenant,
      params: { id: '~tenant', token_id: '~doomedToken' },
    }),

    'POST /api/v1/services/{id}/partner-credentials': caller('tokens:write', {
      ...toChange,
      body: { name: 'matrix', database: 'default' },
    }),
    'GET /api/v1/services/{id}/partner-credentials': caller('services:read', toRead),
    'DELETE /api/v1/services/{id}/partner-credentials/{credential_id}': caller('tokens:write', {
      ...toChange,
      params: { id: '~service', credential_id: '~doomedCredential' },
    }),
    'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate': caller('tokens:write', {
      ...toChange,
      params: { id: '~service', credential_id: '~credential' },
    }),

    // Without `after` it streams for ever.
    'GET /api/v1/events?after=0': caller('events:read', {
      expected: { 'cookie from another site': '403 ORIGIN_NOT_ALLOWED' },
    }),

    // In its body a 401 says that nobody is signed in; another site may ask, and cannot read the answer.
    'GET /api/auth/session': {
      class: 'open',
      expected: {
        none: '401 UNAUTHENTICATED',
        session: 'admitted',
        'session of another organization': 'admitted',
        'session that names another organization': 'admitted',
        'session of staff': 'admitted',
        'cookie from another site': 'admitted',
      },
    },
    'GET /api/auth/get-session': {
      class: 'open',
      expected: { 'cookie from another site': '403 ORIGIN_NOT_ALLOWED' },
    },
    'GET /api/auth/token': { class: 'session' },
    // A redirect_uri that nobody has listed: no code is spent.
    'POST /api/auth/exchange': {
      class: 'same site',
      body: { code: 'x', redirect_uri: 'https://elsewhere.example/', code_verifier: 'x'.repeat(43) },
      expected: { none: '400 VALIDATION_ERROR' },
    },
    // In the settings of this test nobody comes back to a page of ours.
    'GET /sign-in': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    'GET /sign-in/start': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    'GET /signed-in': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    'GET /signed-in/done': {
      class: 'open',
      expected: {
        none: '303',
        session: 'admitted',
        'session of another organization': 'admitted',
        'session that names another organization': 'admitted',
        'session of staff': 'admitted',
        'cookie from another site': 'admitted',
      },
    },
    // Every session here has an organization: nothing is made.
    'POST /signed-in/done': { class: 'same site', expected: { none: '303' } },
    'GET /': { class: 'open', expected: { none: '303' } },
    // Here the console is not built.
    ...Object.fromEntries(
      ['/services', '/services/{path...}', '/s/{path...}', '/o/{path...}', '/staff/{path...}', '/go/{path...}'].map(
        (path): [string, Row] => [`GET ${path}`, { class: 'open', expected: { none: '409 INVALID_STATE' } }],
      ),
    ),
    'GET /console/{path...}': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    'GET /dashboard': { class: 'open', expected: { none: '303' } },
    'GET /dashboard/': { class: 'open', expected: { none: '303' } },
    'GET /dashboard/{path...}': { class: 'open', expected: { none: '303' } },
    'GET /sign-out': open,
    // Of a session that nobody else uses: it would be over.
    'POST /sign-out': { class: 'same site' },
    'GET /cli-login': {
      class: 'open',
      expected: {
        none: '303',
        session: 'admitted',
        'session of another organization': 'admitted',
        'session that names another organization': 'admitted',
        'session of staff': 'admitted',
        'cookie from another site': 'admitted',
      },
    },
    // Without an organization in the form: nothing is decided.
    'POST /cli-login': {
      class: 'same site',
      expected: {
        none: '303',
        session: '403 FORBIDDEN',
        'session of another organization': '403 FORBIDDEN',
        'session that names another organization': '403 FORBIDDEN',
        'session of staff': '403 FORBIDDEN',
      },
    },
    'POST /api/v1/cli-logins': { class: 'open', body: {} },
    'POST /api/v1/cli-logins/{id}/poll': {
      class: 'open',
      body: { device_code: 'x' },
      expected: { none: '404 NOT_FOUND' },
    },
    // None that there is: whoever may decide is told so.
    'POST /api/v1/cli-logins/{id}/approve': { class: 'caller', operation: 'session', body: { user_code: 'x' } },
    'POST /api/v1/cli-logins/{id}/deny': { class: 'caller', operation: 'session', body: { user_code: 'x' } },
    // The proxy leads to no such path, which whoever is admitted is told; proxy.test.ts has others.
    ...Object.fromEntries(
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): [string, Row] => [
        `${method} /api/v1/services/{id}/proxy/{path...}`,
        { class: 'caller', operation: 'session', params: { id: '~service' } },
      ]),
    ),
    'POST /api/auth/refresh': { class: 'session handle' },
    // Of a session that nobody else uses: it would be over.
    'POST /api/auth/logout': { class: 'same site' },
  }),
}
