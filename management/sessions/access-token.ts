// What an access token of the provider must be to become the credential of a session: a JWT for us, by the provider, in
// time, small enough for a cookie. Checked when it comes from the token endpoint. Afterwards a cookie is compared by
// digest with what was checked here (loci.session_tokens): no other text opens anything, however well it is signed.

import { ApiError } from '@loci/chassis/api-error.ts'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { ACCESS_TOKEN_BYTES_MAX as BYTES_MAX, isAccessToken } from '../access/session.ts'
import type { KeySet } from './key-set.ts'

const TOLERANCE_S = 30
/** Asymmetric ones alone: with a shared secret whoever verifies could also sign. */
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA', 'Ed25519']

export async function readAccessToken(
  text: string,
  keys: KeySet,
  { issuer, audience, clientId, now }: { issuer: string; audience: string; clientId: string; now: Date },
): Promise<{ subject: string; expiresAt: Date }> {
  if (text.length > BYTES_MAX)
    throw unusable(
      `has ${text.length} bytes, more than the ${BYTES_MAX} of a cookie: take claims out of the provider’s access tokens`,
    )
  if (!isAccessToken(text))
    throw unusable('is not a JWT: let the provider give JWT access tokens to the audience of LOCI_OIDC_AUDIENCE')
  const options = { issuer, audience, algorithms: ALGORITHMS, currentDate: now, clockTolerance: TOLERANCE_S }
  const { payload } = await jwtVerify(text, keys, { ...options, requiredClaims: ['exp', 'sub'] }).catch((error) => {
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
      throw unusable(`is not for the audience '${audience}': set LOCI_OIDC_AUDIENCE to the one that it has`)
    // Its code alone: a message of the library may repeat parts of the token.
    if (error instanceof errors.JOSEError) throw unusable(`does not verify (${error.code}): look at LOCI_OIDC_ISSUER`)
    throw error
  })
  if (isIdToken(payload)) throw unusable('is an ID token: let the provider give access tokens')
  const client = payload.azp ?? payload.client_id
  if (client !== undefined && client !== clientId)
    throw unusable('was made for another client than LOCI_OIDC_CLIENT_ID')
  return { subject: payload.sub as string, expiresAt: new Date((payload.exp as number) * 1_000) }
}

/** An ID token is for a client to read and no credential, though it has the same issuer and often the same audience. */
function isIdToken({ typ, nonce, at_hash }: JWTPayload): boolean {
  return typ === 'ID' || nonce !== undefined || at_hash !== undefined
}

function unusable(why: string): ApiError {
  return new ApiError('PROVIDER_TOKEN_UNUSABLE', `The access token of the sign-in provider ${why}.`)
}
