// The two cookies of a session, with exactly the flags of the contract.

import { setCookie } from '@loci/chassis/cookies.ts'
import type { AnswerHeaders } from '@loci/chassis/route.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { Cookies } from './sessions.ts'

const HANDLE_S = 7 * 86_400

export function setSessionCookies(answer: AnswerHeaders, publicUrl: string, cookies: Cookies): void {
  const names = cookieNames(publicUrl)
  const flags = { secure: publicUrl.startsWith('https:'), sameSite: 'lax' as const }
  const maxAgeS = Math.max(0, Math.floor((cookies.expiresAt.getTime() - Date.now()) / 1_000))
  setCookie(answer, names.access, cookies.accessToken, { maxAgeS, ...flags })
  setCookie(answer, names.refresh, cookies.handle, { maxAgeS: HANDLE_S, ...flags })
}

export function clearSessionCookies(answer: AnswerHeaders, publicUrl: string): void {
  const flags = { secure: publicUrl.startsWith('https:'), sameSite: 'lax' as const }
  for (const name of Object.values(cookieNames(publicUrl))) setCookie(answer, name, '', { maxAgeS: 0, ...flags })
}
