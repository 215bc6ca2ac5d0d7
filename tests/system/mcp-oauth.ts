// Clients of /mcp that bring no credential: the official ones in TypeScript and Python find the authorization server
// by the daemon's own words, have a person decide in a real browser after her sign-in at an OpenID provider, and call
// every tool with what they were given. What that opens, and how it ends, at real processes.

import { ask } from '@loci/chassis/testing/request.ts'
import {
  askedBy,
  askToken,
  exchangeOf,
  fieldsOf,
  ledTo,
  sendForm,
  type Tokens,
} from '@loci/management/testing/oauth.ts'
import type { Browser as Person } from '@loci/management/testing/sign-in.ts'
import type { Browser, BrowserContext } from 'playwright-core'
import {
  ARGUMENTS,
  installPythonClient,
  type McpAsker,
  type McpUse,
  useInPython,
  useInTypeScript,
} from '../robustness/mcp-clients.ts'
import { type Callback, type Consent, decide, openConsent, startCallback } from '../robustness/mcp-consent.ts'
import { signInAt } from '../robustness/signed-in.ts'
import { newPerson, pressOn, startChromium, whyNoChromium } from '../robustness/signin/chromium.ts'
import { headingOf, type Place } from '../robustness/signin/pages.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import type { SignInProvider } from '../world/sign-in-provider.ts'
import { addOrganization, addTenant, type WorldOrganization, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
/** Within which a daemon refuses what was ended, from when that was asked for. */
const ENDED_MS = 5_000
const SECRET = 'The magnolia is under the third flagstone'

interface Setting {
  world: World
  organization: WorldOrganization
  /** Whose memory clients are allowed, and another one of the same organization at the same address. */
  own: WorldTenant
  other: WorldTenant
  /** Of a memory in `other`. */
  secretId: string
  daemon: string
  management: string
  clientId: string
}

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 1, people: PEOPLE })
  try {
    await using callback = await startCallback()
    const setting = await prepare(world, callback.redirectUri)
    const why = whyNoChromium()
    if (why) report.skip('clients that a person allows in a real browser', why)
    else await inBrowser(report, setting, callback)
    const person = await signInAt(world)
    await separation(report, setting, await allowedTo(setting, person))
    await ends(report, setting, person)
    if (!isShort) await mutants(report, setting, person)
  } finally {
    await world.stop()
  }
})

async function prepare(world: World, redirectUri: string): Promise<Setting> {
  const organization = await addOrganization(world, 'acme')
  await addOrganization(world, 'globex')
  const add = () => addTenant(world, { name: 'acme', plan: 'enterprise', of: organization })
  const [own, other] = [await add(), await add()]
  const [daemon, management] = [world.daemons[0]?.url as string, (world.management as LociProcess).url]
  const kept = await ask(daemon, 'POST /v1/memory/records', {
    body: { content: SECRET },
    headers: { 'x-loci-capability': other.capability.token },
  })
  const made = await ask(management, 'POST /api/v1/oauth-clients', {
    body: { name: 'Notes', redirect_uris: [redirectUri, 'http://127.0.0.1:7777/done'] },
    headers: { 'x-api-key': organization.apiKey },
  })
  const ids = { secretId: kept.json<{ id: string }>().id, clientId: made.json<{ id: string }>().id }
  return { world, organization, own, other, daemon, management, ...ids }
}

async function inBrowser(report: Report, setting: Setting, callback: Callback): Promise<void> {
  const python = await installPythonClient()
  const browser = await startChromium()
  try {
    const { world, own, daemon, clientId } = setting
    const provider = world.signIn as SignInProvider
    const place: Place = { publicUrl: world.publicUrl, processUrl: setting.management, provider }
    const consent: Consent = { place, callback, sub: 'ada', serviceId: own.serviceId, decision: 'Allow' }
    const person = await newPerson(browser)
    // Of its own database each: what one of them has forgotten stays forgotten there.
    const asker = (database: string, mode: McpAsker['mode'], who = person): McpAsker => ({
      ...{ url: daemon, mode, database },
      oauth: {
        ...{ clientId, redirectUri: callback.redirectUri },
        open: (address) => decide(who, address, { ...consent, databases: `default ${database}` }),
      },
    })
    const uses: [string, McpUse][] = [
      ['TypeScript, auto', await useInTypeScript(asker('ts-auto', 'auto'))],
      ['Python, auto', await useInPython(python, asker('py-auto', 'auto', await newPerson(browser)))],
    ]
    if (!isShort) {
      // These find the person signed in.
      uses.push(['TypeScript, legacy', await useInTypeScript(asker('ts-legacy', 'legacy'))])
      uses.push(['Python, legacy', await useInPython(python, asker('py-legacy', 'legacy'))])
    }
    for (const [client, use] of uses) judge(report, client, use)
    await denied(report, person, setting, consent)
    await strangers(report, browser, person, setting, consent)
  } finally {
    await browser.close()
  }
}

function judge(report: Report, client: string, { listed, failed, recalled, tokens }: McpUse): void {
  for (const line of failed) report.note(line.slice(-1_500))
  const isAll = JSON.stringify(listed) === JSON.stringify(Object.keys(ARGUMENTS).sort())
  const [first, second] = tokens
  const hasRotated = tokens.length === 2 && first?.refresh_token !== second?.refresh_token
  report.promise(
    `the client in ${client}, signs in through a person, calls every tool, and goes on with a rotated refresh token`,
    isAll && failed.length === 0 && recalled.includes('tulip') && hasRotated,
    `${listed.length} listed, ${failed.length} failed, ${tokens.length} pairs of tokens`,
  )
}

async function denied(report: Report, person: BrowserContext, setting: Setting, consent: Consent): Promise<void> {
  const address = addressOf(setting, consent.callback)
  const brought = await decide(person, address, { ...consent, decision: 'Deny' })
  report.promise(
    'a client that the person denies is told so, and has no code',
    brought.get('error') === 'access_denied' && !brought.has('code') && brought.get('iss') === consent.place.publicUrl,
    [...brought.keys()].join(' '),
  )
}

/** Another site's frame, one click without a choice, and a person of another organization. */
async function strangers(
  report: Report,
  browser: Browser,
  person: BrowserContext,
  setting: Setting,
  consent: Consent,
): Promise<void> {
  const address = addressOf(setting, consent.callback)
  const framing = await person.newPage()
  const blocked: string[] = []
  framing.on('requestfailed', (request) => {
    if (request.url() === address) blocked.push(String(request.failure()?.errorText))
  })
  // Until the frame, too, has loaded what it may.
  await framing.goto(consent.callback.framing(address), { waitUntil: 'load' })
  const inside = await framing.frames().at(-1)?.content()
  report.promise(
    'the page that asks is not shown inside a page of another origin',
    blocked.join() === 'net::ERR_BLOCKED_BY_RESPONSE' && !String(inside).includes('decision'),
    `${blocked.join(' ')}, shown: ${framing.frames().at(-1)?.url()}`,
  )
  await framing.close()

  const hasty = await person.newPage()
  const before = await grantsIn(setting)
  await openConsent(hasty, address, consent)
  const heading = await headingOf(hasty)
  await pressOn(hasty, 'Allow', 'Enter')
  // Again after the browser had time to send it, if it did.
  await hasty.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  report.promise(
    'nothing is allowed by the button alone, which somebody else may have put under a hand: the service is chosen first',
    heading === 'Allow Notes?' && (await headingOf(hasty)) === heading && (await grantsIn(setting)) === before,
    `${await headingOf(hasty)}; ${before} grants before and ${await grantsIn(setting)} after`,
  )
  await hasty.close()

  const ben = await (await newPerson(browser)).newPage()
  await openConsent(ben, address, { ...consent, sub: 'ben' })
  const shown = await headingOf(ben)
  await ben.close()
  report.promise('who is of another organization has nothing to allow', shown === 'No service to allow', shown)
}

function addressOf({ management, clientId, daemon }: Setting, { redirectUri }: Callback): string {
  const { line } = askedBy(clientId, { redirect_uri: redirectUri, resource: `${daemon}/mcp` })
  return `${management}${line.slice('GET '.length)}`
}

async function grantsIn({ management, organization: { apiKey } }: Setting): Promise<number> {
  const { json } = await ask(management, 'GET /api/v1/oauth-grants?limit=100', { headers: { 'x-api-key': apiKey } })
  return json<{ oauth_grants: unknown[] }>().oauth_grants.length
}

/** As a person without scripts walks it, at a process. */
async function allowedTo(setting: Setting, person: Person, url = setting.management): Promise<Tokens> {
  const { clientId, daemon, own, organization } = setting
  const asked = askedBy(clientId, { resource: `${daemon}/mcp` })
  const page = await person.ask(asked.line, { url })
  const fields = fieldsOf(page, { service: `${organization.organizationId}/${own.serviceId}` })
  const code = ledTo(await sendForm(person, fields, url)).searchParams.get('code') as string
  const answer = await askToken(url, exchangeOf(asked, code))
  if (answer.status !== 200) throw new Error(`the code was answered ${answer.status}: ${answer.text}`)
  return answer.json<Tokens>()
}

function refreshed({ clientId }: Setting, refresh_token: string, url: string) {
  return askToken(url, { grant_type: 'refresh_token', client_id: clientId, refresh_token })
}

function message(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

async function sendMessage({ daemon }: Setting, body: object, headers: Record<string, string>) {
  const accept = 'application/json, text/event-stream'
  return ask(daemon, 'POST /mcp', { body, headers: { accept, 'mcp-protocol-version': '2025-06-18', ...headers } })
}

function bearer(token: string) {
  return { authorization: `Bearer ${token}` }
}

async function separation(report: Report, setting: Setting, tokens: Tokens): Promise<void> {
  const { own, other, secretId, daemon, management } = setting
  const headers = bearer(tokens.access_token)
  const call = (name: string, given: object) => message('tools/call', { name, arguments: given })
  const shown: string[] = []
  const answered: string[] = []
  for (const body of [
    call('recall', { query: 'Where is the magnolia?', limit: 50 }),
    call('working_memory', { include_evicted: true }),
    call('run_cycle', { focus: 'the magnolia' }),
    call('forget', { id: secretId, reason: 'x' }),
    call('remember', { text: 'An oak', replaces: secretId }),
    message('resources/read', { uri: `loci://memory/${secretId}` }),
    message('resources/read', { uri: 'loci://status' }),
  ])
    for (const trick of [{}, { 'x-loci-service': other.serviceId }, { 'x-loci-database': '../default' }])
      shown.push((await sendMessage(setting, body, { ...headers, ...trick })).text)
  const [hidden, mine] = [SECRET, other.serviceId].map((word) => shown.filter((text) => text.includes(word)))
  const status = shown.find((text) => text.includes(own.serviceId))
  const kept = await ask(daemon, `GET /v1/memory/records/${secretId}`, {
    headers: { 'x-loci-capability': other.capability.token },
  })
  report.promise(
    'a token for one service opens nothing of another at the same address',
    hidden?.length === 0 && mine?.length === 0 && status !== undefined && kept.status === 200,
    `${shown.length} messages, ${hidden?.length} with the other’s memory, ${mine?.length} with its name; its memory is still there: ${kept.status}`,
  )
  for (const [place, line, token] of [
    [management, 'GET /api/v1/services', tokens.access_token],
    [management, 'GET /api/v1/services', tokens.refresh_token],
    [management, 'GET /api/auth/session', tokens.access_token],
    [daemon, 'GET /v1/kv/entries', tokens.refresh_token],
  ] as const)
    answered.push(`${(await ask(place, line, { headers: bearer(token) })).status}`)
  const elsewhere = await sendMessage(setting, message('tools/list', {}), bearer(tokens.refresh_token))
  report.promise(
    'an access token opens no management, and a refresh token no daemon',
    [...answered, String(elsewhere.status)].every((one) => one === '401' || one === '403'),
    [...answered, elsewhere.status].join(' '),
  )
}

/** From then until the daemon refuses the token; undefined where it does not within twice the bound. */
async function msUntilRefused(
  setting: Setting,
  token: string,
  { startedAt, boundMs }: { startedAt: number; boundMs: number },
): Promise<number | undefined> {
  for (;;) {
    const { status } = await sendMessage(setting, message('tools/list', {}), bearer(token))
    const ms = performance.now() - startedAt
    if (status === 401) return ms
    if (ms > 2 * boundMs) return undefined
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

interface Ended {
  /** Until the daemon refused the access token. */
  ms: number | undefined
  /** What refresh tokens were answered afterwards. */
  answers: string[]
}

async function revoked(setting: Setting, person: Person, url: string, boundMs: number): Promise<Ended> {
  const { access_token, refresh_token } = await allowedTo(setting, person, url)
  const headers = { 'x-api-key': setting.organization.apiKey }
  const { json } = await ask(url, 'GET /api/v1/oauth-grants?limit=1', { headers })
  const [newest] = json<{ oauth_grants: { id: string }[] }>().oauth_grants
  const startedAt = performance.now()
  const answer = await ask(url, `DELETE /api/v1/oauth-grants/${newest?.id}`, { headers })
  if (answer.status !== 200) throw new Error(`the grant was not ended: ${answer.status} ${answer.text}`)
  const ms = await msUntilRefused(setting, access_token, { startedAt, boundMs })
  return { ms, answers: [(await refreshed(setting, refresh_token, url)).text] }
}

async function replayed(setting: Setting, person: Person, url: string, boundMs: number): Promise<Ended> {
  const first = await allowedTo(setting, person, url)
  const second = (await refreshed(setting, first.refresh_token, url)).json<Tokens>()
  const startedAt = performance.now()
  const old = await refreshed(setting, first.refresh_token, url)
  const ms = await msUntilRefused(setting, second.access_token, { startedAt, boundMs })
  return { ms, answers: [old.text, (await refreshed(setting, second.refresh_token, url)).text] }
}

function isOver({ answers }: Ended): boolean {
  return answers.every((text) => text.includes('invalid_grant'))
}

async function ends(report: Report, setting: Setting, person: Person): Promise<void> {
  for (const [name, end] of [
    ['what a person ends is refused by the daemon, and is not refreshed', revoked],
    ['a refresh token that comes twice ends its whole family, at the daemon too', replayed],
  ] as const) {
    const bound = await report.within(ENDED_MS)
    const ended = await end(setting, person, setting.management, bound.ms)
    const isInTime = ended.ms !== undefined && ended.ms <= bound.ms
    report.promise(name, isInTime && isOver(ended), `after ${Math.round(ended.ms ?? Number.NaN)} ms (${bound.text})`)
  }
}

async function mutants(report: Report, setting: Setting, person: Person): Promise<void> {
  const planted: [string, Edit, typeof revoked][] = [
    [
      'the cell is not told of what was ended',
      {
        file: 'management/oauth/grants.ts',
        from: 'for (const jti of await listTokensOf(sql, grant)) await revokeToken(',
        to: 'for (const jti of (await listTokensOf(sql, grant)).slice(0, 0)) await revokeToken(',
      },
      revoked,
    ],
    [
      'a spent refresh token is only refused',
      {
        file: 'management/oauth/grants.ts',
        from: `return 'refresh_token_replayed'`,
        to: `return 'unknown'`,
      },
      replayed,
    ],
  ]
  for (const [name, edit, end] of planted) {
    await using mutant = await plantMutant([edit])
    const process = await mutant.startProgram(
      'management',
      setting.world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }),
    )
    try {
      await untilReady(process.url)
      const { ms } = await end(setting, person, process.url, ENDED_MS)
      report.mutant(name, ms === undefined ? `still answered after ${2 * ENDED_MS} ms` : undefined)
    } finally {
      await process.kill()
    }
  }
}
