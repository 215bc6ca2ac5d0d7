// Signing out, as the API and the page do it: by either cookie, for the access token of a session may have expired.

import { readCookie } from '@loci/chassis/cookies.ts'
import type { Arrival, Call } from '@loci/chassis/route.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { SessionAccess } from '../access/session.ts'
import { clearSessionCookies } from './cookies.ts'
import { readHandle } from './handle.ts'
import type { SignIn } from './sign-in.ts'

/** How many of each ended with the session that made them. */
export interface Issued {
  apiKeys: number
  cliLogins: number
  tokens: number
  partnerCredentials: number
  invitations: number
  oauthGrants: number
}

/** Ends what a session made; nothing where there was none. */
export type RevokeIssued = (session: { id: string; userId: string } | undefined, requestId: string) => Promise<Issued>

interface SignOutOptions {
  access: Pick<SessionAccess, 'find'>
  revokeIssued: RevokeIssued
  publicUrl: string
  signIn: Pick<SignIn, 'sessions' | 'provider'> | undefined
}

type SignOutCall = Pick<Call<unknown, unknown, unknown, unknown>, 'headers' | 'answer' | 'requestId' | 'yieldSlot'>

interface SignedOut {
  /** Where the person signs out at the provider; null where there is no such page. */
  url: string | null
  revoked: { session: boolean; refreshToken: boolean }
  /** What the session made and ended with it; undefined where that was not asked for. */
  issued: Issued | undefined
}

export function createSignOut({ access, revokeIssued, publicUrl, signIn }: SignOutOptions) {
  const { refresh } = cookieNames(publicUrl)

  async function find(headers: Arrival['headers']): Promise<{ id: string; userId: string } | undefined> {
    const session = await access.find(headers)
    const handle = session ? undefined : readHandle(readCookie(headers, refresh))
    return session ?? (handle && (await signIn?.sessions.findByHandle(handle)))
  }

  return async (call: SignOutCall, { isRevoking }: { isRevoking: boolean }): Promise<SignedOut> => {
    const { headers, answer, requestId, yieldSlot } = call
    const session = await find(headers)
    yieldSlot()
    const revoked =
      session && signIn ? await signIn.sessions.end(session.id, 'signed_out') : { session: false, refreshToken: false }
    // After the end, so that nothing is made meanwhile. The cookies stay until it is done: who is told that it failed
    // signs out again, and the refresh cookie still names the session.
    const issued = isRevoking ? await revokeIssued(session, requestId) : undefined
    clearSessionCookies(answer, publicUrl)
    return { url: (await signIn?.provider.signOutUrl()) ?? null, revoked, issued }
  }
}
