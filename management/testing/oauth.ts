// A client of OAuth, as tests walk it: from the request to the tokens, by the forms of our own page.

import { createHash, randomBytes } from 'node:crypto'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Browser } from './sign-in.ts'

export const RESOURCE = 'http://127.0.0.1:4410/mcp'
export const REDIRECT_URI = 'http://127.0.0.1:7777/done'

export interface Asked {
  verifier: string
  query: Record<string, string>
  /** The path of the request. */
  line: string
}

/** What a client asks a person for; `change` says where it differs, undefined leaves out. */
export function askedBy(clientId: string, change: Record<string, string | undefined> = {}): Asked {
  const verifier = randomBytes(32).toString('base64url')
  const query = Object.fromEntries(
    Object.entries({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: REDIRECT_URI,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: RESOURCE,
      state: 'the state',
      ...change,
    }).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  return { verifier, query, line: `GET /oauth/authorize?${new URLSearchParams(query)}` }
}

/** The fields of the form on the page, as it would be sent with its first service; what is given is changed. */
export function fieldsOf(page: TestAnswer, change: Record<string, string | string[]> = {}): string {
  const fields = new URLSearchParams()
  for (const [tag] of page.text.matchAll(/<input [^>]*>/g)) {
    const value = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&')
    const isFirst = value('name') === 'service' && !fields.has('service')
    const isSent = isFirst || !/type="(radio|checkbox)"/.test(tag) || / checked/.test(tag)
    if (isSent) fields.append(value('name') ?? '', value('value') ?? '')
  }
  fields.set('decision', 'allow')
  for (const [name, values] of Object.entries(change)) {
    fields.delete(name)
    for (const one of [values].flat()) fields.append(name, one)
  }
  return String(fields)
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export function sendForm(browser: Browser, body: string, url?: string): Promise<TestAnswer> {
  const headers = { ...FORM, 'sec-fetch-site': 'same-origin' }
  return browser.ask('POST /oauth/authorize', { body, headers, ...(url ? { url } : {}) })
}

export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
}

export function askToken(url: string, fields: Record<string, string>): Promise<TestAnswer> {
  return ask(url, 'POST /oauth/token', { body: String(new URLSearchParams(fields)), headers: FORM })
}

export function exchangeOf({ verifier, query }: Asked, code: string): Record<string, string> {
  const { client_id = '', redirect_uri = '', resource = '' } = query
  return { grant_type: 'authorization_code', code, client_id, redirect_uri, code_verifier: verifier, resource }
}

/** Where the client was led with its code. */
export function ledTo(answer: TestAnswer): URL {
  if (answer.status !== 303) throw new Error(`not led anywhere: ${answer.status} ${answer.text.slice(0, 500)}`)
  return new URL(answer.headers.location as string)
}
