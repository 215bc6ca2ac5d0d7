// Cookies of a browser session. What we set is for the browser alone, to our own origin, and never for scripts.

import { parseCookie, stringifySetCookie } from 'cookie'
import { ApiError } from './api-error.ts'
import type { AnswerHeaders } from './route.ts'

type Headers = Record<string, string | string[] | undefined>

/** Undefined if absent. Two of one name are a 400: a subdomain may have set the other one. */
export function readCookie(headers: Headers, name: string): string | undefined {
  const { cookie } = headers
  if (typeof cookie !== 'string') return undefined
  const times = cookie.split(';').filter((part) => part.split('=', 1)[0]?.trim() === name).length
  if (times > 1) throw new ApiError('VALIDATION_ERROR', `The request has more than one cookie ${name}.`)
  return parseCookie(cookie)[name]
}

export interface CookieOptions {
  /** 0 deletes it. */
  maxAgeS: number
  /** False on loopback without TLS alone; a name with `__Host-` needs it. */
  secure: boolean
  /** `lax` is sent when a link of another site leads here, `strict` is not. */
  sameSite?: 'lax' | 'strict'
}

/** Beside others of the same answer. */
export function setCookie(answer: AnswerHeaders, name: string, value: string, options: CookieOptions): void {
  const { maxAgeS: maxAge, secure, sameSite = 'strict' } = options
  answer.append('set-cookie', stringifySetCookie({ name, value, path: '/', httpOnly: true, maxAge, secure, sameSite }))
}
