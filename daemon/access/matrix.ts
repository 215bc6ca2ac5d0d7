// Who may call what: the reviewed table of every route of the daemon. matrix.test.ts holds the running router against it, so a
// new route, a changed access class or a new kind of credential does not pass before someone has decided about it here.

import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { Matrix } from '@loci/chassis/test-matrix.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'

/**
 * Those of PROMISES.md that can be made without a signing key of the cell. The others (exact operation, every operation but
 * this one, other database, other tenant, expired, revoked, children, operator, …) come with the credentials themselves.
 */
const KINDS = [
  'none',
  'garbage',
  'alg none',
  'HS256 with the public key',
  'unknown key',
  'partner key',
  'admin token from an allowed address',
  'admin token from another address',
  'wrong admin token',
  'forged X-Forwarded-For',
  'capability in Authorization',
  'API key',
  'legacy JWT alone',
  'foreign identity headers',
  'foreign body namespace',
] as const

export type Kind = (typeof KINDS)[number]

const open = { class: 'open' }
const systemRead = { class: 'capability', operation: 'system:read' }
const admin = { class: 'admin' }
/** Does its work without changing anything. */
const dryRun = { class: 'admin', body: { services: ['mcp'], dry_run: true } }

export const MATRIX: Matrix<Kind> = {
  kinds: KINDS,

  rows: {
    'GET /health/live': open,
    'GET /health/ready': open,
    'GET /health/startup': open,
    'GET /v1/health/live': open,
    'GET /v1/health/ready': open,
    'GET /v1/health/startup': open,
    'GET /v1/health/all': open,
    'GET /v1/lifecycle/status': open,
    'GET /metrics': open,
    'GET /openapi.json': open,
    'GET /docs': open,
    'GET /v1/system/info': systemRead,
    'GET /v1/conductor/endpoints': systemRead,
    'GET /admin/services/status': admin,
    'POST /admin/services/enable': dryRun,
    'POST /admin/services/disable': dryRun,
  },

  expected: {
    open: {
      none: 'admitted',
      garbage: 'as none',
      'alg none': 'as none',
      'HS256 with the public key': 'as none',
      'unknown key': 'as none',
      'partner key': 'as none',
      'admin token from an allowed address': 'as none',
      'admin token from another address': 'as none',
      'wrong admin token': 'as none',
      'forged X-Forwarded-For': 'as none',
      'capability in Authorization': 'as none',
      'API key': 'as none',
      'legacy JWT alone': 'as none',
      'foreign identity headers': 'as none',
      'foreign body namespace': 'as none',
    },

    // Nobody, until the cell has a key to verify with.
    capability: {
      none: '401 UNAUTHENTICATED',
      garbage: '401 UNAUTHENTICATED',
      'alg none': '401 UNAUTHENTICATED',
      'HS256 with the public key': '401 UNAUTHENTICATED',
      'unknown key': '401 UNAUTHENTICATED',
      'partner key': '401 UNAUTHENTICATED',
      'admin token from an allowed address': '401 UNAUTHENTICATED',
      'admin token from another address': '401 UNAUTHENTICATED',
      'wrong admin token': '401 UNAUTHENTICATED',
      'forged X-Forwarded-For': '401 UNAUTHENTICATED',
      'capability in Authorization': '401 UNAUTHENTICATED',
      'API key': '401 UNAUTHENTICATED',
      'legacy JWT alone': '401 UNAUTHENTICATED',
      'foreign identity headers': '401 UNAUTHENTICATED',
      'foreign body namespace': '401 UNAUTHENTICATED',
    },

    // Address first, then token.
    admin: {
      none: '401 UNAUTHENTICATED',
      garbage: '401 UNAUTHENTICATED',
      'alg none': '401 UNAUTHENTICATED',
      'HS256 with the public key': '401 UNAUTHENTICATED',
      'unknown key': '401 UNAUTHENTICATED',
      'partner key': '401 UNAUTHENTICATED',
      'admin token from an allowed address': 'admitted',
      'admin token from another address': '403 ADDRESS_NOT_ALLOWED',
      'wrong admin token': '401 UNAUTHENTICATED',
      'forged X-Forwarded-For': '403 ADDRESS_NOT_ALLOWED',
      'capability in Authorization': '401 UNAUTHENTICATED',
      'API key': '401 UNAUTHENTICATED',
      'legacy JWT alone': '401 UNAUTHENTICATED',
      'foreign identity headers': '401 UNAUTHENTICATED',
      'foreign body namespace': '401 UNAUTHENTICATED',
    },
  },
}

/** The headers of each kind. `foreign body namespace` has none: its claim is in the body. */
export function credentials(adminToken: string): Record<Kind, Record<string, string>> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' })
  const eddsa = (input: string) => sign(null, Buffer.from(input), privateKey).toString('base64url')
  const root = token({ alg: 'EdDSA', typ: 'loci-cap+jwt', kid: 'k1' }, eddsa)
  const hs256 = token({ alg: 'HS256', typ: 'loci-cap+jwt', kid: 'k1' }, (input) =>
    createHmac('sha256', publicPem).update(input).digest('base64url'),
  )
  const foreign = {
    [HEADER.organization]: newId('org'),
    [HEADER.tenant]: newId('ten'),
    [HEADER.service]: newId('svc'),
    'x-loci-operations': 'operator',
    'x-consumer-id': 'operator',
  }
  return {
    none: {},
    garbage: { [HEADER.capability]: 'garbage~~..', [HEADER.adminToken]: 'garbage', authorization: 'garbage' },
    'alg none': { [HEADER.capability]: token({ alg: 'none', typ: 'loci-cap+jwt' }, () => '') },
    'HS256 with the public key': { [HEADER.capability]: hs256 },
    'unknown key': { [HEADER.capability]: root },
    'partner key': { authorization: `Bearer loci_ptr_${newId('ptr').slice(4)}_${'s'.repeat(43)}000000` },
    'admin token from an allowed address': { [HEADER.adminToken]: adminToken },
    'admin token from another address': { [HEADER.adminToken]: adminToken },
    'wrong admin token': { [HEADER.adminToken]: `${adminToken.slice(0, -1)}!` },
    'forged X-Forwarded-For': { [HEADER.adminToken]: adminToken, 'x-forwarded-for': '127.0.0.1' },
    'capability in Authorization': { authorization: `Bearer ${root}` },
    'API key': { [HEADER.apiKey]: `loci_sk_${'k'.repeat(43)}` },
    'legacy JWT alone': { authorization: `Bearer ${token({ alg: 'RS256', typ: 'JWT' }, eddsa)}` },
    'foreign identity headers': foreign,
    'foreign body namespace': {},
  }
}

/** A root with every right, well-formed but for its signature. */
function token(header: object, signed: (input: string) => string): string {
  const now = Math.floor(Date.now() / 1000)
  const svc = newId('svc')
  const claims = {
    iss: 'https://loci.example',
    aud: svc,
    org: newId('org'),
    ten: newId('ten'),
    svc,
    ops: ['system:read', 'kv:read', 'kv:write', 'operator'],
    ks: ['kv/*', 'memory/*'],
    iat: now,
    nbf: now,
    exp: now + 3_600,
    jti: newId('cap'),
    del_max: 0,
  }
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${signed(input)}`
}
