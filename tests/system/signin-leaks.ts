// P10 of sign-in: no code, verifier, token, handle, client secret or key of a command line is in a log of either
// program, in a Location, in an error or, in clear, in a dump of the control database.

import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Fault } from '@loci/management/testing/identity-provider.ts'
import {
  askedBy,
  askToken,
  exchangeOf,
  fieldsOf,
  ledTo,
  REDIRECT_URI,
  sendForm,
  type Tokens,
} from '@loci/management/testing/oauth.ts'
import { type Browser, exchange, obtainCode, SAME_ORIGIN, walkToCode } from '@loci/management/testing/sign-in.ts'
import { type Canaries, openCanaries } from '../robustness/canaries.ts'
import { askedAt, providerOf, refresh, sleep } from '../robustness/signed-in.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const FAULTS: Fault[] = ['stopped', 'error', 'garbage', 'empty', 'forbidden']
/** A JWT or a token of ours, whoever it is of. */
const TOKEN = /eyJ[\w-]{10,}\.[\w-]{10,}|loci_(sk|sh|adm|pt|ocd|ort)_\w{20,}/

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 1, people: PEOPLE })
  try {
    const organization = await addOrganization(world, 'acme')
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise', of: organization })
    const real = await walk(world, tenant, world.management as LociProcess)
    for (const line of real.found.slice(0, 5)) report.note(line)
    const kinds = [...real.kinds].map(([kind, count]) => `${count} ${kind}`).join(', ')
    report.promise(
      'P10: no credential of sign-in is in a log of either program, a Location, an error or a dump',
      real.found.length === 0 && real.kinds.size === 13 && [...real.kinds.values()].every((count) => count > 0),
      `${kinds}; ${real.answers} answers, ${real.lines} lines of log, a dump of ${real.dumpBytes} bytes, ${real.found.length} found`,
    )
    await mutants(report, world, tenant)
  } finally {
    await world.stop()
  }
})

interface Walked {
  found: string[]
  /** How many canaries of which kind. */
  kinds: Map<string, number>
  answers: number
  lines: number
  dumpBytes: number
}

/** Everything that sign-in does, well and badly, at one process; and what of it is to be seen where. */
async function walk(world: World, { serviceId, ...tenant }: WorldTenant, management: LociProcess): Promise<Walked> {
  const provider = providerOf(world)
  const canaries = openCanaries()
  const kinds = new Map<string, number>()
  const note = (kind: string, ...secrets: (string | undefined)[]) => {
    for (const secret of secrets) {
      if (!secret) continue
      canaries.add('content', kind, secret)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
  }
  const answers: TestAnswer[] = []
  const heard = (answer: TestAnswer) => {
    answers.push(answer)
    return answer
  }
  const at = askedAt(world, management.url)
  const signIn = async (): Promise<Browser> => {
    const code = await obtainCode(provider, { login: 'ada' })
    note('codes', code.code)
    note('verifiers', code.code_verifier)
    const { answer, browser } = await exchange(at, code)
    heard(answer)
    note('access tokens', browser.access)
    note('handles', browser.refresh)
    return browser
  }
  const send = async (browser: Browser, line: string, body?: unknown) =>
    heard(await browser.ask(line, { ...(body === undefined ? {} : { body }), url: management.url }))

  note('client secret', provider.client.secret)
  const browser = await signIn()
  for (let times = 0; times < 3; times += 1) {
    heard(await refresh(browser, management.url))
    note('access tokens', browser.access)
    note('handles', browser.refresh)
  }
  for (const line of [
    'GET /api/auth/session',
    'GET /api/auth/get-session',
    'GET /api/auth/token',
    'GET /signed-in/done',
    'GET /sign-in',
    'GET /cli-login?user_code=BBBB-BBBB',
    'GET /api/v1/services',
  ])
    await send(browser, line)
  await send(browser, `GET /api/v1/services/${serviceId}/proxy/v1/kv/entries`)
  await send(browser, `PUT /api/v1/services/${serviceId}/proxy/v1/kv/entries/leak`, { value: 1 })
  await pages()
  await commandLine()
  const codes = await client()

  // Badly: each of these has a secret in it that an error could repeat.
  const spent = await obtainCode(provider, { login: 'ada' })
  note('codes', spent.code)
  note('verifiers', spent.code_verifier)
  for (let times = 0; times < 2; times += 1) heard((await exchange(at, spent)).answer)
  heard((await exchange(at, { ...spent, code_verifier: 'short', extra: spent.code })).answer)
  for (const fault of FAULTS) {
    const victim = await signIn()
    const code = await obtainCode(provider, { login: 'ada' })
    note('codes', code.code)
    note('verifiers', code.code_verifier)
    provider.fault = fault
    await send(victim, 'GET /api/auth/session')
    heard(await refresh(victim, management.url))
    heard((await exchange(at, code)).answer)
    await send(victim, 'POST /api/auth/logout', {})
    provider.fault = 'none'
  }
  provider.format = 'opaque'
  const opaque = await obtainCode(provider, { login: 'ada' })
  note('codes', opaque.code)
  heard((await exchange(at, opaque)).answer)
  provider.format = 'jwt'
  const stale = browser.tab()
  for (let times = 0; times < 2; times += 1) heard(await refresh(browser, management.url))
  note('handles', browser.refresh)
  heard(await refresh(stale, management.url))
  await send(browser, 'POST /api/auth/logout', {})
  for (const token of provider.issued) note(kindOf(token), token)
  await sleep(1_000)

  const dump = dumpOf(world)
  const logs = [management, ...world.daemons].flatMap(({ lines }) => lines)
  const shown = answers.map((answer) => `${answer.headers.location ?? ''} ${answer.status >= 400 ? answer.text : ''}`)
  const found = [
    ...seen(canaries, 'a log', logs),
    ...seen(canaries, 'a Location or an error', shown),
    ...seen(codes, 'a log', logs),
    ...seen(codes, 'the dump', [dump]),
    ...seen(canaries, 'the dump', [dump]),
    ...logs.filter((line) => TOKEN.test(line)).map((line) => `a log has a token: ${line.slice(0, 80)}`),
  ]
  return { found, kinds, answers: answers.length, lines: logs.length, dumpBytes: dump.length }

  /** The redirects of the pages, whose addresses a browser keeps. */
  async function pages(): Promise<void> {
    const start = heard(await ask(management.url, 'GET /sign-in/start'))
    const cookie = String(start.headers['set-cookie']?.[0]).replace(/;.*/, '')
    note('pending sign-ins', cookie.replace(/^[^=]+=/, ''))
    const back = await walkToCode(provider, new URL(start.headers.location as string), { login: 'ada' })
    note('codes', back.searchParams.get('code') as string)
    const done = heard(await ask(management.url, `GET /signed-in${back.search}`, { headers: { cookie } }))
    if (done.status !== 303) throw new Error(`the page answered ${done.status}: ${done.text}`)
    // Again, and of another browser.
    heard(await ask(management.url, `GET /signed-in${back.search}`, { headers: { cookie } }))
    heard(await ask(management.url, `GET /signed-in${back.search}`))
  }

  /** A client of OAuth; its codes, which are in the Location that leads to it, as they must. */
  async function client(): Promise<Canaries> {
    const codes = openCanaries()
    const headers = { ...SAME_ORIGIN, 'x-loci-organization': tenant.organizationId }
    const made = { name: 'Notes', redirect_uris: [REDIRECT_URI] }
    const { id } = (
      await browser.ask('POST /api/v1/oauth-clients', { body: made, headers, url: management.url })
    ).json<{
      id: string
    }>()
    const resource = `${world.daemons[0]?.url}/mcp`
    for (const change of [{}, { code_verifier: 'x'.repeat(43) }]) {
      const asked = askedBy(id, { resource })
      const page = await browser.ask(asked.line, { url: management.url })
      const allowed = await sendForm(browser, fieldsOf(page), management.url)
      const code = ledTo(allowed).searchParams.get('code') as string
      codes.add('content', 'codes of clients', code)
      kinds.set('codes of clients', (kinds.get('codes of clients') ?? 0) + 1)
      note('verifiers', asked.verifier)
      const fields = { ...exchangeOf(asked, code), ...change }
      const tokens = heard(await askToken(management.url, fields)).json<Partial<Tokens>>()
      note('access tokens of clients', tokens.access_token)
      note('refresh tokens of clients', tokens.refresh_token)
      // Again: what was good once ends everything.
      heard(await askToken(management.url, fields))
      const refreshed = { grant_type: 'refresh_token', client_id: id, refresh_token: tokens.refresh_token ?? code }
      heard(await askToken(management.url, refreshed))
    }
    return codes
  }

  async function commandLine(): Promise<void> {
    const begun = heard(await ask(management.url, 'POST /api/v1/cli-logins', { body: {} })).json<
      Record<string, string>
    >()
    note('device codes', begun.device_code)
    const poll = () =>
      ask(management.url, `POST /api/v1/cli-logins/${begun.id}/poll`, { body: { device_code: begun.device_code } })
    heard(await poll())
    const approved = await send(browser, `POST /api/v1/cli-logins/${begun.id}/approve`, { user_code: begun.user_code })
    if (approved.status !== 200) throw new Error(`the approval answered ${approved.status}: ${approved.text}`)
    const { api_key: key } = (await poll()).json<{ api_key: string }>()
    note('keys of command lines', key)
    heard(await poll())
    heard(await ask(management.url, 'GET /api/v1/services', { headers: { 'x-api-key': key } }))
    heard(await ask(management.url, 'GET /api/v1/services', { headers: { authorization: `Bearer ${key}` } }))
  }
}

function kindOf(token: string): string {
  if (!token.startsWith('eyJ')) return 'refresh tokens'
  const { typ } = JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString())
  return typ === 'at+jwt' ? 'access tokens' : 'ID tokens'
}

function seen(canaries: Canaries, place: string, texts: string[]): string[] {
  return texts.flatMap((text) =>
    [...canaries.find(text)].map(
      ({ area, text: secret }) => `${place} has one of the ${area}: ${secret.slice(0, 12)}…`,
    ),
  )
}

function dumpOf(world: World): string {
  const pgDump = join(dirname(realpathSync(join(world.postgres.binDirectory, 'pg_ctl'))), 'pg_dump')
  const args = ['--dbname', world.postgres.adminUrl('loci_control')]
  const dump = execFileSync(pgDump, args, { encoding: 'utf8', maxBuffer: 256 * 1024 ** 2 })
  if (!dump.includes('COPY loci.sessions ')) throw new Error('the dump has no sessions')
  return dump
}

async function mutants(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const planted: [string, Edit][] = [
    [
      'get-session writes its token to standard output',
      {
        file: 'management/sessions/routes.ts',
        from: `        const { accessToken: access_token, expiresAt } = session
        return { user: userOf(session)`,
        to: `        const { accessToken: access_token, expiresAt } = session
        console.log(access_token)
        return { user: userOf(session)`,
      },
    ],
    [
      'access tokens stored as they are',
      {
        file: 'management/access/session.ts',
        from: `return hash('sha256', accessToken, 'hex')`,
        to: 'return hash.name + accessToken',
      },
    ],
    [
      'the code led on to the next page',
      {
        file: 'management/sessions/pages/routes.ts',
        from: 'return redirect(ownPath(begun.returnTo))',
        to: 'return redirect(`${ownPath(begun.returnTo)}?code=${query.code}`)',
      },
    ],
    [
      'the error of a call to the provider logged with what was sent',
      {
        file: 'management/sessions/sessions.ts',
        from: `      if (error instanceof TokensUnchecked) await`,
        to: `      log.warn({ reason: \`refresh with \${refreshToken} failed\`, component: 'sessions' }, 'no answer')
      if (error instanceof TokensUnchecked) await`,
      },
    ],
  ]
  for (const [name, edit] of planted) {
    await using mutant = await plantMutant([edit])
    const settings = world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' })
    const process = await mutant.startProgram('management', settings)
    try {
      await untilReady(process.url)
      report.mutant(name, (await walk(world, tenant, process)).found[0])
    } finally {
      await process.kill()
    }
  }
}
