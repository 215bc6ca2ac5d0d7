// The settings of management. main.ts reads them, and nothing else reads the environment.

import { emails, nonEmpty, proxies, regions, secrets, secureUrl, signingSecrets } from '@loci/chassis/setting-values.ts'
import { type Registry, type ServerSettings, setting, sharedSettings } from '@loci/chassis/settings.ts'

const SETTINGS = {
  ...sharedSettings({ listen: '127.0.0.1:4400', concurrencyMax: '64' }),
  publicUrl: setting({
    env: 'LOCI_PUBLIC_URL',
    doc: 'The origin under which browsers and cells reach management: https, or http on loopback.',
    fallback: 'http://127.0.0.1:4400',
    parse: secureUrl,
  }),
  staffEmails: setting({
    env: 'LOCI_STAFF_EMAILS',
    doc: 'E-mail addresses of platform staff, separated by commas. Only staff sees cells, moves services and reads parked events.',
    fallback: '',
    parse: emails,
  }),
  trustedGateways: setting({
    env: 'LOCI_TRUSTED_GATEWAY_CIDRS',
    doc: 'Addresses or CIDRs of gateways whose x-consumer-* headers are accepted, with a proof by LOCI_GATEWAY_SECRETS. From other addresses they are dropped.',
    fallback: '',
    parse: proxies,
  }),
  gatewaySecrets: setting({
    env: 'LOCI_GATEWAY_SECRETS',
    doc: 'The secret with which a trusted gateway signs the x-consumer-* headers (x-consumer-proof); at most two (comma) while rotating.',
    secret: true,
    fallback: '',
    parse: secrets,
  }),
  billingWebhookSecrets: setting({
    env: 'LOCI_BILLING_WEBHOOK_SECRETS',
    doc: 'The secret that the payment provider sends as Authorization: Bearer; at most two (comma) while rotating. None: the webhook answers 503 and no plan is enforced.',
    secret: true,
    fallback: '',
    parse: secrets,
  }),
  billingSigningSecrets: setting({
    env: 'LOCI_BILLING_SIGNING_SECRETS',
    doc: 'Secrets of Standard Webhooks signatures, `whsec_<base64>`, at most two (comma). Given, every delivery must be signed as well.',
    secret: true,
    fallback: '',
    parse: signingSecrets,
  }),
  billingProvider: setting({
    env: 'LOCI_BILLING_PROVIDER',
    doc: 'The name of the payment provider, as GET /api/webhooks/billing shows it.',
    fallback: 'stripe',
    parse: nonEmpty,
  }),
  regions: setting({
    env: 'LOCI_REGIONS',
    doc: 'The regions in which services can be created, separated by commas. Empty: any; a service is placed only in a cell of its region.',
    fallback: '',
    parse: regions,
  }),
} as const

export type SettingName = keyof typeof SETTINGS
export type ManagementSettings = ServerSettings<typeof SETTINGS>

export const REGISTRY: Registry<typeof SETTINGS> = { program: 'management', settings: SETTINGS }
