// The routes by which people sign in, and by which they let a command line in: one request for each that writes, each
// time of another session, for it may end.

import { randomUUID } from 'node:crypto'
import { ask } from '@loci/chassis/testing/request.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { TestPerson } from '@loci/management/testing/identity-provider.ts'
import { askedBy, askToken, exchangeOf, fieldsOf, ledTo, REDIRECT_URI } from '@loci/management/testing/oauth.ts'
import { type Browser, obtainCode, SAME_ORIGIN } from '@loci/management/testing/sign-in.ts'
import type { WorldCaller } from '../world/callers.ts'
import type { LociProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'
import type { PlainRequest } from './plain-client.ts'
import { providerOf, signInAt } from './signed-in.ts'

interface Writers {
  world: World
  caller: Pick<WorldCaller, 'organizationId'>
}

/** One for each time that somebody without an organization makes one. */
const NEWCOMERS = Array.from({ length: 12 }, (_, n) => ({
  sub: `newcomer-${n}`,
  email: `newcomer-${n}@loci.example`,
  email_verified: true,
  name: `Newcomer ${n}`,
}))
const newcomers = NEWCOMERS.map(({ sub }) => sub)

/** Who may sign in: the owner of the caller's organization, and people who have none. */
export function peopleOf(ownerEmail: string): TestPerson[] {
  return [{ sub: 'ada', email: ownerEmail, email_verified: true, name: 'Ada Example' }, ...NEWCOMERS]
}

export const WRITING_SIGN_IN: Record<string, (writers: Writers) => PlainRequest | Promise<PlainRequest>> = {
  'POST /api/auth/exchange': async ({ world }) =>
    json('/api/auth/exchange', SAME_ORIGIN, await obtainCode(providerOf(world), { login: 'ada' })),
  'POST /api/auth/refresh': async (writers) => json('/api/auth/refresh', await signedIn(writers), {}),
  'POST /api/auth/logout': async (writers) => json('/api/auth/logout', await signedIn(writers), {}),
  'POST /sign-out': async (writers) => form('/sign-out', await signedIn(writers), {}),
  'POST /signed-in/done': async (writers) => {
    const login = newcomers.shift()
    return form('/signed-in/done', await signedIn(writers, login), { name: `made ${randomUUID()}` })
  },
  'POST /api/v1/cli-logins': () => json('/api/v1/cli-logins', {}, {}),
  'POST /api/v1/cli-logins/{id}/approve': (writers) => decision(writers, 'approve'),
  'POST /api/v1/cli-logins/{id}/deny': (writers) => decision(writers, 'deny'),
  'POST /api/v1/cli-logins/{id}/poll': async (writers) => {
    const { id, user_code, device_code } = await begun(writers)
    const headers = await inOrganization(writers)
    await asked(writers, `POST /api/v1/cli-logins/${id}/approve`, { user_code }, headers)
    return json(`/api/v1/cli-logins/${id}/poll`, {}, { device_code })
  },
  'POST /oauth/authorize': async (writers) => {
    const { fields, headers } = await consent(writers)
    return { ...form('/oauth/authorize', headers, {}), body: fields }
  },
  'POST /oauth/token': async (writers) => {
    const { asked, code } = await allowedCode(writers)
    return form('/oauth/token', {}, exchangeOf(asked, code))
  },
  'POST /cli-login': async (writers) => {
    const { user_code } = await begun(writers)
    const fields = { user_code, decision: 'approve', organization: writers.caller.organizationId }
    return form('/cli-login', await signedIn(writers), fields)
  },
}

type Headers = Record<string, string>

/** The form in which the owner allows a client that is hers to use the world's daemon. */
async function consent(writers: Writers) {
  const { world, caller } = writers
  const { url } = world.management as LociProcess
  const made = { name: `client ${randomUUID()}`, redirect_uris: [REDIRECT_URI] }
  const headers = await inOrganization(writers)
  const { id } = await asked<{ id: string }>(writers, 'POST /api/v1/oauth-clients', made, headers)
  const services = await asked<{ services: { endpoint: string | null }[] }>(
    writers,
    'GET /api/v1/services',
    undefined,
    headers,
  )
  const endpoint = services.services.find((one) => one.endpoint !== null)?.endpoint
  const request = askedBy(id, { resource: `${endpoint}/mcp` })
  const page = await ask(url, request.line, { headers })
  const service = new RegExp(`value="(${caller.organizationId}/svc_\\w+)"`).exec(page.text)?.[1] ?? ''
  return { asked: request, headers, fields: fieldsOf(page, { service }) }
}

async function allowedCode(writers: Writers) {
  const { url } = writers.world.management as LociProcess
  const { asked: request, headers, fields } = await consent(writers)
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await ask(url, 'POST /oauth/authorize', { body: fields, headers: { ...headers, ...type } })
  return { asked: request, code: ledTo(answer).searchParams.get('code') as string }
}

/** What a client was allowed and uses. */
export async function allowedGrant(writers: Writers): Promise<{ id: string }> {
  const { url } = writers.world.management as LociProcess
  const { asked: request, code } = await allowedCode(writers)
  const { status, text } = await askToken(url, exchangeOf(request, code))
  if (status !== 200) throw new Error(`POST /oauth/token: ${status} ${text}`)
  return { id: `oag_${code.split('_')[2]}` }
}

async function signedIn({ world }: Writers, login = 'ada'): Promise<Headers> {
  const { access, refresh }: Browser = await signInAt(world, undefined, login)
  const names = cookieNames((world.management as LociProcess).url)
  return { ...SAME_ORIGIN, cookie: `${names.access}=${access}; ${names.refresh}=${refresh}` }
}

async function inOrganization(writers: Writers): Promise<Headers> {
  return { ...(await signedIn(writers)), 'x-loci-organization': writers.caller.organizationId }
}

function begun(writers: Writers): Promise<{ id: string; user_code: string; device_code: string }> {
  return asked(writers, 'POST /api/v1/cli-logins', {}, {})
}

async function decision(writers: Writers, verb: 'approve' | 'deny'): Promise<PlainRequest> {
  const { id, user_code } = await begun(writers)
  return json(`/api/v1/cli-logins/${id}/${verb}`, await inOrganization(writers), { user_code })
}

async function asked<Answer>(
  { world }: Writers,
  line: string,
  body: object | undefined,
  headers: Headers,
): Promise<Answer> {
  const { status, text } = await ask((world.management as LociProcess).url, line, {
    ...(body ? { body } : {}),
    headers,
  })
  if (status >= 300) throw new Error(`${line}: ${status} ${text}`)
  return JSON.parse(text)
}

function json(path: string, headers: Headers, body: object): PlainRequest {
  return { method: 'POST', path, headers, body: JSON.stringify(body) }
}

function form(path: string, headers: Headers, fields: Record<string, string>): PlainRequest {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', path, headers: { ...headers, ...type }, body: String(new URLSearchParams(fields)) }
}
