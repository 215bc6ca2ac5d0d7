// Did the payment provider sign this delivery? (Standard Webhooks) Answered before anything is parsed.

import { createHmac, timingSafeEqual } from 'node:crypto'

export interface Delivery {
  /** LOCI_BILLING_SIGNING_SECRETS: two while one replaces the other. Without any, no signature is asked for. */
  signingSecrets: readonly Buffer[]
  headers: Headers
  /** As they arrived: a signature over bytes that were parsed and written again proves nothing. */
  bytes: Buffer
  nowMs: number
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

const SKEW_MS_MAX = 300_000

/** HMAC-SHA256 over id, time and bytes. One good signature of several is enough, as keys are rotated. */
export function isSigned({ signingSecrets, headers, bytes, nowMs }: Delivery): boolean {
  if (signingSecrets.length === 0) return true
  const id = single(headers, 'webhook-id')
  const timestamp = single(headers, 'webhook-timestamp')
  const signatures = single(headers, 'webhook-signature')
  if (!id || !timestamp || !signatures || !/^[0-9]{1,12}$/.test(timestamp)) return false
  if (Math.abs(nowMs - Number(timestamp) * 1000) > SKEW_MS_MAX) return false
  const sent = signatures
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'))
  const expected = signingSecrets
    // Anybody can sign with an empty key.
    .filter((key) => key.length > 0)
    .map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.`).update(bytes).digest())
  const matches = expected.flatMap((good) =>
    sent.filter((one) => one.length === good.length && timingSafeEqual(one, good)),
  )
  return matches.length > 0
}

/** A header that came twice has two meanings, and whoever stands before us may have checked the other one. */
function single(headers: Headers, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
