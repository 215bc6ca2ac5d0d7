// A sign-in that is under way: what must be the same when the browser comes back from the provider. In a cookie of that
// browser alone, sealed, for ten minutes: a link that somebody else made brings no state that fits it (login CSRF).

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { readCookie, setCookie } from '@loci/chassis/cookies.ts'
import type { AnswerHeaders } from '@loci/chassis/route.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { signInCookie } from '@loci/contract/headers.ts'

export interface PendingSignIn {
  state: string
  verifier: string
  returnTo: string
  until: number
}

const LIFE_S = 600
const CONTEXT = 'sign-in'

export function createPendingSignIns(sealer: Sealer, publicUrl: string) {
  const name = signInCookie(publicUrl)
  const flags = { secure: publicUrl.startsWith('https:'), sameSite: 'lax' as const }
  return {
    begin(answer: AnswerHeaders, returnTo: string): PendingSignIn {
      const random = () => randomBytes(32).toString('base64url')
      const pending = { state: random(), verifier: random(), returnTo, until: Date.now() + LIFE_S * 1_000 }
      const { sealed, sealedWith } = sealer.seal(JSON.stringify(pending), CONTEXT)
      setCookie(answer, name, `${sealedWith}.${sealed}`, { maxAgeS: LIFE_S, ...flags })
      return pending
    },
    /** Undefined when this browser began none, or another. Whatever it was, it is over. */
    end(
      headers: Parameters<typeof readCookie>[0],
      answer: AnswerHeaders,
      state: string | undefined,
    ): PendingSignIn | undefined {
      const [sealedWith, sealed] = (readCookie(headers, name) ?? '').split('.')
      setCookie(answer, name, '', { maxAgeS: 0, ...flags })
      if (!sealedWith || !sealed || state === undefined) return undefined
      const pending = open(sealed, sealedWith)
      return pending && pending.until > Date.now() && isSame(pending.state, state) ? pending : undefined
    },
  }

  function open(sealed: string, sealedWith: string): PendingSignIn | undefined {
    try {
      return JSON.parse(sealer.open(sealed, sealedWith, CONTEXT))
    } catch {
      // Not of our making, or under a sealing key that is gone: it is none.
      return undefined
    }
  }
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
