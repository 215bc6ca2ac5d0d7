// Seed, "Management: browser session routes".

import { z } from 'zod'

export const exchangeRequest = z
  .object({
    code: z.string().min(1),
    redirect_uri: z.url(),
    // RFC 7636, section 4.1.
    code_verifier: z
      .string()
      .min(43)
      .max(128)
      .regex(/^[A-Za-z0-9\-._~]+$/),
  })
  .meta({ id: 'ExchangeRequest' })

/** State and expiry; never the refresh token (seed, Session routes response facts). */
export const exchangeResponse = z
  .strictObject({ authenticated: z.literal(true), expires_at: z.string(), expires_in: z.int() })
  .meta({ id: 'ExchangeResponse' })
