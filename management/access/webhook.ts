// Access of the payment provider to the billing webhook: a secret of its own, never a customer's
// credential. The signature covers the body, which access does not see; the route verifies it before it reads anything
// else of the delivery.

import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Access } from '@loci/chassis/route.ts'

const BEARER = 'Bearer '

/** `secrets`: two while one replaces the other; none = there is no webhook. */
export function webhookAccess(secrets: readonly string[]): Access<undefined> {
  return {
    class: 'webhook',
    schemes: [['webhook']],
    lane: 'webhook',
    challenge: 'Bearer realm="loci billing webhook"',
    errors: ['UNAUTHENTICATED', 'SUBSERVICE_DISABLED'],
    authorize({ headers }) {
      if (secrets.length === 0) throw new ApiError('SUBSERVICE_DISABLED', 'Billing webhook is not configured')
      if (!isSecret(headers.authorization, secrets)) throw unauthentic()
      return undefined
    },
  }
}

/** One text for every reason: an attacker must not learn which check failed. */
export function unauthentic(): ApiError {
  return new ApiError(
    'UNAUTHENTICATED',
    'This delivery is not authentic. Send the secret of the webhook as Authorization: Bearer, and a signature where one is set up.',
  )
}

function isSecret(sent: string | string[] | undefined, secrets: readonly string[]): boolean {
  const token = typeof sent === 'string' && sent.startsWith(BEARER) ? sent.slice(BEARER.length) : ''
  // Digests have one length, so neither the length nor a common beginning shows in the time, and every secret is
  // compared.
  const digest = digestOf(token)
  const matches = secrets.filter((secret) => timingSafeEqual(digestOf(secret), digest))
  return token !== '' && matches.length > 0
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
