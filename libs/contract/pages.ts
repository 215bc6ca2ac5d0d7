// What the plain pages are asked with.

import { z } from 'zod'

const text = z.string().max(2_048).optional()

export const signInQuery = z.object({
  return_to: text,
  fresh: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true`: the provider asks the person to sign in again, also where it knows the browser.' }),
})
/** As a provider comes back (RFC 6749, 4.1.2; RFC 9207). */
export const signedInQuery = z.object({ code: text, state: text, iss: text, error: text })
/** `user_code` is ignored: the person types the code, so that a link of somebody else approves nothing. */
export const cliPageQuery = z.object({ user_code: text })
export const formBody = z.unknown().meta({ description: 'Fields of a form, URL-encoded.' })
export const anyPath = z.object({ path: z.string().max(2_048) })

export type SignInQuery = z.infer<typeof signInQuery>
export type SignedInQuery = z.infer<typeof signedInQuery>
