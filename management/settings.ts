// The settings that serving needs; libs/chassis/settings.ts says what each is.

import type { Required } from '@loci/chassis/settings.ts'

export const MANAGEMENT_SETTINGS = [
  'listen',
  'publicUrl',
  'databaseUrl',
  'databaseCa',
  'databaseConnectionsMax',
  'sealingKeys',
  'staffEmails',
  'trustedGateways',
  'gatewaySecrets',
  'billingWebhookSecrets',
  'billingSigningSecrets',
  'billingProvider',
  'regions',
  'unauthenticatedPerMinute',
  'trustedProxies',
  'requireHttps',
  'tlsCert',
  'tlsKey',
  'concurrencyMax',
  'queueMax',
  'queueMs',
  'drainGraceMs',
  'drainMs',
  'logLevel',
] as const

export type ManagementSettings = Required<(typeof MANAGEMENT_SETTINGS)[number]>
