// The settings of management. program.ts reads them, and nothing else reads the environment.

import {
  clientSecret,
  emails,
  issuerUrl,
  nonEmpty,
  proxies,
  redirectUris,
  regions,
  scopes,
  secrets,
  secureUrl,
  signingSecrets,
} from '@loci/chassis/setting-values.ts'
import { optionalSetting, type Registry, type ServerSettings, setting, sharedSettings } from '@loci/chassis/settings.ts'

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
  oidcIssuer: optionalSetting({
    env: 'LOCI_OIDC_ISSUER',
    doc: 'The OpenID provider that people sign in with, exactly as it names itself: https, or http on loopback. None: nobody signs in.',
    parse: issuerUrl,
  }),
  oidcClientId: optionalSetting({
    env: 'LOCI_OIDC_CLIENT_ID',
    doc: 'What the provider calls this installation: a confidential client with authorization code, PKCE and refresh tokens.',
    parse: nonEmpty,
  }),
  oidcClientSecret: optionalSetting({
    env: 'LOCI_OIDC_CLIENT_SECRET',
    doc: 'The secret of that client.',
    secret: true,
    parse: clientSecret,
  }),
  oidcAudience: optionalSetting({
    env: 'LOCI_OIDC_AUDIENCE',
    doc: 'The audience (`aud`) that the provider gives the access tokens for loci. Not given: the client id.',
    parse: nonEmpty,
  }),
  oidcRedirectUris: optionalSetting({
    env: 'LOCI_OIDC_REDIRECT_URIS',
    doc: 'Where the provider may send a browser back to, separated by commas, exactly as the client has them registered.',
    parse: redirectUris,
  }),
  oidcScopes: optionalSetting({
    env: 'LOCI_OIDC_SCOPES',
    doc: 'The scopes that are asked for at sign-in. Not given: openid profile email offline_access.',
    parse: scopes,
  }),
} as const

export type SettingName = keyof typeof SETTINGS
export type ManagementSettings = ServerSettings<typeof SETTINGS>

export const REGISTRY: Registry<typeof SETTINGS> = {
  program: 'management',
  settings: SETTINGS,
  together: [['LOCI_OIDC_ISSUER', 'LOCI_OIDC_CLIENT_ID', 'LOCI_OIDC_CLIENT_SECRET', 'LOCI_OIDC_REDIRECT_URIS']],
  onlyWith: { LOCI_OIDC_AUDIENCE: 'LOCI_OIDC_ISSUER', LOCI_OIDC_SCOPES: 'LOCI_OIDC_ISSUER' },
}
