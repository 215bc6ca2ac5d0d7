// The settings that the daemon reads, of the one registry of all programs.

import type { Required } from '@loci/chassis/settings.ts'

export const DAEMON_SETTINGS = [
  'listen',
  'adminListen',
  'databaseUrl',
  'databaseCa',
  'databaseConnectionsMax',
  'adminTokenDigests',
  'adminAllowlist',
  'trustedProxies',
  'requireHttps',
  'tlsCert',
  'tlsKey',
  'partnerName',
  'concurrencyMax',
  'queueMax',
  'queueMs',
  'drainGraceMs',
  'drainMs',
  'logLevel',
  'sealingKeys',
  'managementUrl',
  'cellId',
  'cellKey',
  'feedStaleS',
  'unauthenticatedPerMinute',
  'legacyJwtPublicKey',
  'legacyJwtIssuer',
  'legacyJwtAudience',
] as const

export type DaemonSettings = Required<(typeof DAEMON_SETTINGS)[number]>

/** Undefined for a cell without management: it serves what it has. */
export function managementOf({ managementUrl, cellId, cellKey }: DaemonSettings) {
  return managementUrl && cellId && cellKey ? { managementUrl, cellId, cellKey } : undefined
}
