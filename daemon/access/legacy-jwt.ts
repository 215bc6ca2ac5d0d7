// Legacy JWT verification (seed, Authentication 3): where it is configured, an `Authorization: Bearer <jwt>` must verify as well as
// the capability. It never stands for one.

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'

export interface LegacyJwt {
  requireValid(authorization: string | string[] | undefined, nowMs: number): void
}

export interface LegacyJwtOptions {
  /** PEM of the one public key; its type decides the algorithm, so a token can not choose another. */
  publicKey: string
  issuer: string
  audience: string
}

const TOLERANCE_S = 30

export function legacyJwt({ publicKey, issuer, audience }: LegacyJwtOptions): LegacyJwt {
  const key = createPublicKey(publicKey)
  return {
    requireValid(authorization, nowMs) {
      const text =
        typeof authorization === 'string' && authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
      const claims = verifiedClaims(text, key)
      const nowS = nowMs / 1000
      const audiences = claims && [claims.aud].flat()
      const inTime =
        claims &&
        typeof claims.exp === 'number' &&
        nowS < claims.exp + TOLERANCE_S &&
        (claims.nbf === undefined || (claims.nbf as number) <= nowS + TOLERANCE_S)
      if (!claims || claims.iss !== issuer || !audiences?.includes(audience) || !inTime) {
        throw new ApiError('UNAUTHENTICATED', 'This deployment also needs a valid JWT in Authorization: Bearer.')
      }
    },
  }
}

const ALGORITHMS: Record<string, string> = { ed25519: 'EdDSA', rsa: 'RS256', ec: 'ES256' }

function verifiedClaims(text: string, key: KeyObject): Record<string, unknown> | undefined {
  const [header, claims, signature, more] = text.split('.')
  if (!header || !claims || !signature || more !== undefined) return undefined
  try {
    const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { alg?: unknown }
    const type = key.asymmetricKeyType as string
    if (alg !== ALGORITHMS[type]) return undefined
    const verified = verify(
      type === 'ed25519' ? null : 'sha256',
      Buffer.from(`${header}.${claims}`),
      type === 'ec' ? { key, dsaEncoding: 'ieee-p1363' } : key,
      Buffer.from(signature, 'base64url'),
    )
    return verified
      ? (JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
