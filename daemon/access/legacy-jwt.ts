// Legacy JWT verification (specification, Authentication 3): where it is configured, an `Authorization: Bearer <jwt>`
// must verify as well as the capability. It never replaces one.

import { createPublicKey } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { errors, jwtVerify } from 'jose'

export interface LegacyJwt {
  requireValid(authorization: string | string[] | undefined, nowMs: number): Promise<void>
}

/** Undefined where no key is configured; the configuration check makes sure that the three settings come together. */
export function legacyJwtOf(settings: {
  legacyJwtPublicKey: string | undefined
  legacyJwtIssuer: string | undefined
  legacyJwtAudience: string | undefined
}): LegacyJwt | undefined {
  const { legacyJwtPublicKey: publicKey, legacyJwtIssuer: issuer, legacyJwtAudience: audience } = settings
  return publicKey && issuer && audience ? legacyJwt({ publicKey, issuer, audience }) : undefined
}

export interface LegacyJwtOptions {
  /** PEM of the public key; its type decides the algorithm, so a token cannot choose another. */
  publicKey: string
  issuer: string
  audience: string
}

const TOLERANCE_S = 30
const ALGORITHMS: Record<string, string> = { ed25519: 'EdDSA', rsa: 'RS256', ec: 'ES256' }

export function legacyJwt({ publicKey, issuer, audience }: LegacyJwtOptions): LegacyJwt {
  const key = createPublicKey(publicKey)
  const algorithms = [ALGORITHMS[key.asymmetricKeyType as string] as string]
  return {
    async requireValid(authorization, nowMs) {
      const text =
        typeof authorization === 'string' && authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
      const options = { algorithms, issuer, audience, clockTolerance: TOLERANCE_S, requiredClaims: ['exp'] }
      await jwtVerify(text, key, { ...options, currentDate: new Date(nowMs) }).catch((error: unknown) => {
        // Anything else is not the token's fault (an unusable key, for example): a bug, not a 401.
        if (!(error instanceof errors.JOSEError)) throw error
        throw new ApiError('UNAUTHENTICATED', 'This deployment also needs a valid JWT in Authorization: Bearer.')
      })
    },
  }
}
