// Genuine tokens and codes in the wrong place: of another client, of another issuer, an ID token as access token, what
// our own client was given outside of a session, and the provider's refresh token as handle.

import { ask } from '@loci/chassis/testing/request.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import { startIdentityProvider } from '@loci/management/testing/identity-provider.ts'
import { type AskedProvider, type Code, exchange, obtainCode } from '@loci/management/testing/sign-in.ts'
import type { Report } from '../../world/report.ts'
import { PEOPLE } from '../../world/world-file.ts'
import type { Place } from './pages.ts'

interface Tokens {
  access_token: string
  id_token: string
  refresh_token: string
}

/** What a client is given for a code, without us. */
async function redeem({ issuer }: AskedProvider, client: AskedProvider['client'], code: Code): Promise<Tokens> {
  const about = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Record<string, string>
  const answer = await fetch(about.token_endpoint as string, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', ...code }),
  })
  if (answer.status !== 200) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Tokens
}

export async function substitutions(report: Report, { publicUrl, processUrl, provider }: Place): Promise<void> {
  const { client, otherClient } = provider
  const management = { url: processUrl, settings: { publicUrl } }
  await using other = await startIdentityProvider({ people: PEOPLE, redirectUri: client.redirectUri })
  const codeOf = (of: AskedProvider, by = of.client) => obtainCode(of, { login: 'ada', client: by })
  const ours = await redeem(provider, client, await codeOf(provider))
  const theirs = await redeem(provider, otherClient, await codeOf(provider, otherClient))
  const foreign = await redeem(other, other.client, await codeOf(other))
  const { access, refresh } = cookieNames(publicUrl)
  const wrong: string[] = []
  let asked = 0
  const expect = async (line: string, cookie: string, status: number) => {
    asked += 1
    const answer = await ask(processUrl, line, {
      headers: { cookie },
      ...(line.startsWith('POST') ? { body: {} } : {}),
    })
    if (answer.status !== status) wrong.push(`${line} ${answer.status} instead of ${status}`)
  }
  const reads = ['GET /api/auth/session', 'GET /api/auth/token', 'GET /api/v1/services']
  for (const tokens of [ours, theirs, foreign]) {
    for (const token of [tokens.access_token, tokens.id_token])
      for (const line of reads) await expect(line, `${access}=${token}`, 401)
    for (const token of [tokens.refresh_token, tokens.access_token])
      await expect('POST /api/auth/refresh', `${refresh}=${token}`, 401)
  }
  const [one, two] = [await codeOf(provider), await codeOf(provider)]
  const codes = [
    { ...one, code_verifier: two.code_verifier },
    { ...(await codeOf(provider, otherClient)) },
    { ...(await codeOf(other)) },
  ]
  for (const code of codes) {
    asked += 1
    const { answer } = await exchange(management, code)
    if (answer.status !== 401 || answer.headers['set-cookie']) wrong.push(`an exchange ${answer.status}`)
  }
  // The same with what is in its place.
  const { answer, browser } = await exchange(management, two)
  if (answer.status !== 200) wrong.push(`the right code ${answer.status}`)
  for (const line of reads) await expect(line, `${access}=${browser.access}`, 200)
  report.promise(
    'token substitution: a genuine token or code of another client, issuer or kind opens nothing',
    wrong.length === 0,
    `${asked} requests, ${wrong.length} wrong ${wrong.slice(0, 4).join('; ')}`,
  )
}
