// Signing out, as the API and the page do it: by either cookie, for the access token of a session may have expired.

import { readCookie } from '@loci/chassis/cookies.ts'
import type { Arrival, Call } from '@loci/chassis/route.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { SessionAccess } from '../access/session.ts'
import { clearSessionCookies } from './cookies.ts'
import { readHandle } from './handle.ts'
import type { SignIn } from './sign-in.ts'

interface SignOutOptions {
  access: Pick<SessionAccess, 'find'>
  publicUrl: string
  signIn: Pick<SignIn, 'sessions' | 'provider'> | undefined
}

type SignOutCall = Pick<Call<unknown, unknown, unknown, unknown>, 'headers' | 'answer' | 'yieldSlot'>

interface SignedOut {
  /** Where the person signs out at the provider; null where there is no such page. */
  url: string | null
  revoked: { session: boolean; refreshToken: boolean }
}

export function createSignOut({ access, publicUrl, signIn }: SignOutOptions) {
  const { refresh } = cookieNames(publicUrl)

  async function idOf(headers: Arrival['headers']): Promise<string | undefined> {
    const session = await access.find(headers)
    const handle = session ? undefined : readHandle(readCookie(headers, refresh))
    return session?.id ?? (handle && (await signIn?.sessions.findByHandle(handle))?.id)
  }

  return async ({ headers, answer, yieldSlot }: SignOutCall): Promise<SignedOut> => {
    const id = await idOf(headers)
    yieldSlot()
    const revoked = id && signIn ? await signIn.sessions.end(id, 'signed_out') : { session: false, refreshToken: false }
    clearSessionCookies(answer, publicUrl)
    return { url: (await signIn?.provider.signOutUrl()) ?? null, revoked }
  }
}
