// The settings of the daemon. program.ts reads them, and nothing else reads the environment.

import {
  adminTokenDigests,
  allowlist,
  cellId,
  integer,
  jwtPublicKey,
  listenAddress,
  nonEmpty,
  pathSegment,
  privateJwk,
  secureUrl,
} from '@loci/chassis/setting-values.ts'
import { optionalSetting, type Registry, type ServerSettings, setting, sharedSettings } from '@loci/chassis/settings.ts'

/** Segments behind /v1 that are ours, or will be: no partner may be called that. */
const OWN_SEGMENTS = new Set([
  'health',
  'lifecycle',
  'kv',
  'system',
  'conductor',
  'cognitive',
  'working-memory',
  'memory',
  'advice',
  'databases',
  'export',
  'import',
  'events',
  'audit',
  'mcp',
  'projections',
])

const SETTINGS = {
  ...sharedSettings({ listen: '127.0.0.1:4410', concurrencyMax: '128' }),
  adminListen: optionalSetting({
    env: 'LOCI_ADMIN_LISTEN',
    doc: 'A separate listener for /admin; the main listener then does not serve it.',
    parse: listenAddress,
  }),
  managementUrl: optionalSetting({
    env: 'LOCI_MANAGEMENT_URL',
    doc: 'Management’s URL, from which the cell pulls its desired state: https, or http on loopback.',
    parse: secureUrl,
  }),
  authorizationServer: optionalSetting({
    env: 'LOCI_AUTHORIZATION_SERVER',
    doc: 'Management’s LOCI_PUBLIC_URL, where clients of /mcp that bring no credential are sent to ask a person; only where LOCI_MANAGEMENT_URL is another address.',
    parse: secureUrl,
  }),
  adminTokenDigests: setting({
    env: 'LOCI_ADMIN_TOKEN_DIGESTS',
    doc: 'SHA-256 of the admin token in hex, at most two (comma) while rotating. Make one: `node daemon/main.ts admin-token`.',
    secret: true,
    parse: adminTokenDigests,
  }),
  adminAllowlist: setting({
    env: 'LOCI_ADMIN_ALLOWLIST',
    doc: 'Addresses or CIDRs that may call /admin; empty = none.',
    fallback: '127.0.0.0/8, ::1',
    parse: allowlist,
  }),
  cellId: optionalSetting({
    env: 'LOCI_CELL_ID',
    doc: 'The id that management gave this cell; with LOCI_CELL_KEY and LOCI_MANAGEMENT_URL the cell pulls its desired state.',
    parse: cellId,
  }),
  cellKey: optionalSetting({
    env: 'LOCI_CELL_KEY',
    doc: 'The cell’s private Ed25519 key as a JWK, whose public part is registered with management. Make one: `node daemon/main.ts cell-key`.',
    secret: true,
    parse: privateJwk,
  }),
  feedStaleS: setting({
    env: 'LOCI_FEED_STALE_SECONDS',
    doc: 'After this long without contact to management, writes and operator operations are refused (503 AUTHORITY_STALE).',
    fallback: '86400',
    parse: integer(60, 30 * 86_400),
  }),
  indexBytesMax: setting({
    env: 'LOCI_INDEX_BYTES_MAX',
    doc: 'Bytes of recall’s index that are kept in memory, least recently used first out; about 65 per record, 500 with an encoder, and 13 KB per database.',
    fallback: '67108864',
    parse: integer(1_048_576, 999_999_999),
  }),
  encoder: optionalSetting({
    env: 'LOCI_ENCODER',
    doc: 'The folder of an encoder, made by `npm run encoder`: recall then also finds what is said in other words. Takes about 180 MB of memory, and 384 bytes more of the index per record (docs/operations/encoder.md).',
    parse: nonEmpty,
  }),
  legacyJwtPublicKey: optionalSetting({
    env: 'LOCI_LEGACY_JWT_PUBLIC_KEY',
    doc: 'PEM of a public key (Ed25519, P-256, or RSA of 2048 bits or more): every capability route then also needs a JWT signed with it in Authorization.',
    parse: jwtPublicKey,
  }),
  legacyJwtIssuer: optionalSetting({
    env: 'LOCI_LEGACY_JWT_ISSUER',
    doc: 'The `iss` that those tokens must have.',
    parse: nonEmpty,
  }),
  legacyJwtAudience: optionalSetting({
    env: 'LOCI_LEGACY_JWT_AUDIENCE',
    doc: 'The `aud` that those tokens must have.',
    parse: nonEmpty,
  }),
  partnerName: setting({
    env: 'LOCI_PARTNER_NAME',
    doc: 'The path segment of the partner: POST /v1/<name>/projections.',
    fallback: 'partner',
    parse: pathSegment(OWN_SEGMENTS),
  }),
} as const

export type DaemonSettings = ServerSettings<typeof SETTINGS>

export const REGISTRY: Registry<typeof SETTINGS> = {
  program: 'daemon',
  settings: SETTINGS,
  together: [
    ['LOCI_CELL_ID', 'LOCI_CELL_KEY', 'LOCI_MANAGEMENT_URL'],
    ['LOCI_LEGACY_JWT_PUBLIC_KEY', 'LOCI_LEGACY_JWT_ISSUER', 'LOCI_LEGACY_JWT_AUDIENCE'],
  ],
  warningsOf({ adminListen, listen, adminAllowlist }) {
    const serving = adminListen ?? listen
    const isLoopbackOnly = adminAllowlist?.every((entry) => entry.startsWith('127.') || entry.startsWith('::1'))
    if (!serving || !isLoopbackOnly || /^(127\.|::1$|localhost$)/.test(serving.host)) return []
    return [
      '/admin is served off loopback while LOCI_ADMIN_ALLOWLIST has loopback only: a proxy on this host must not forward /admin',
    ]
  },
}

/** Undefined for a cell without management: it serves what it has. */
export function managementOf({ managementUrl, cellId, cellKey }: DaemonSettings) {
  return managementUrl && cellId && cellKey ? { managementUrl, cellId, cellKey } : undefined
}
