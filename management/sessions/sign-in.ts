// Sign-in as it is configured: the provider and the sessions that it opens.

import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { ManagementSettings } from '../settings.ts'
import { createProvider, type Provider } from './provider.ts'
import { createSessions, type Sessions } from './sessions.ts'

export interface SignIn {
  provider: Provider
  sessions: Sessions
  redirectUris: string[]
  scopes: string
}

const SCOPES = 'openid profile email offline_access'

/** Undefined where the settings name no provider. */
export function createSignIn(
  settings: ManagementSettings,
  parts: { pool: Pool; sealer: Sealer; log: Log; metrics: Metrics; onEnded(id: string): Promise<void> },
): SignIn | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, sealingKeys } = settings
  const { oidcRedirectUris: redirectUris, oidcAudience: audience = clientId, oidcScopes: scopes = SCOPES } = settings
  if (!issuer || !clientId || !clientSecret || !redirectUris || !audience) return undefined
  const provider = createProvider({ issuer, clientId, clientSecret, audience })
  return { provider, redirectUris, scopes, sessions: createSessions({ ...parts, provider, sealingKeys }) }
}
