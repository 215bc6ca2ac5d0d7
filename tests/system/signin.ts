// Sign-in under races, deaths and outages (P10, P16, P19), over two and more processes of management and a real
// provider: nobody is logged out who did not ask for it, no refresh token is sent twice, nothing hangs, nothing leaks.

import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Fault, IdentityProvider } from '@loci/management/testing/identity-provider.ts'
import { type AskedManagement, type Browser, exchange, obtainCode } from '@loci/management/testing/sign-in.ts'
import { inBrowser } from '../robustness/signin/in-browser.ts'
import { onKeycloak, suites } from '../robustness/signin/providers.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
const ROUNDS = isShort ? 12 : 50
const TABS = 8
const KILLS = isShort ? 6 : 20
const OUTAGE_MS = isShort ? 3_000 : 75_000
const canaries = new Set<string>()

const parts: Record<string, (report: Report) => Promise<void>> = {
  faults,
  browser: (report) => inBrowser(report, ROUNDS),
  // .ci/run has the suite in a stage of its own.
  ...(isShort ? {} : { keycloak: onKeycloak, suites }),
}
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length)

await reportOn(async (report) => {
  for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part(report)
})

async function faults(report: Report): Promise<void> {
  const world = await startWorld({ replicas: 0, people: PEOPLE })
  try {
    await addOrganization(world, 'acme')
    const second = await world.startManagement()
    const urls = [(world.management as LociProcess).url, second.url]
    await races(report, world, urls)
    await killed(report, world)
    await outages(report, world)
    await leaks(report, world)
    await mutantWithoutLease(report, world)
  } finally {
    await world.stop()
  }
}

function providerOf(world: World): IdentityProvider {
  return world.identityProvider as IdentityProvider
}

function managementOf(world: World): AskedManagement {
  const { url } = world.management as LociProcess
  return { url, settings: { publicUrl: url } }
}

async function signIn(world: World): Promise<Browser> {
  const code = await obtainCode(providerOf(world), { login: 'ada' })
  const { answer, browser } = await exchange(managementOf(world), code)
  if (answer.status !== 200) throw new Error(`the exchange answered ${answer.status}: ${answer.text}`)
  for (const secret of [code.code, code.code_verifier]) canaries.add(secret)
  note(browser)
  return browser
}

function note({ access, refresh }: Browser): void {
  for (const secret of [access, refresh]) if (secret) canaries.add(secret)
}

function refresh(browser: Browser, url?: string): Promise<TestAnswer> {
  return browser.ask('POST /api/auth/refresh', { body: {}, ...(url ? { url } : {}) })
}

function isRefresh({ what }: { what: string }): boolean {
  return what === 'POST /token refresh_token'
}

async function race(world: World, urls: string[], rounds: number) {
  const provider = providerOf(world)
  const before = provider.calls.filter(isRefresh).length
  let browser = await signIn(world)
  let succeeded = 0
  for (let round = 0; round < rounds; round += 1) {
    const tabs = Array.from({ length: TABS }, () => browser.tab())
    const answers = await Promise.all(tabs.map((tab, at) => refresh(tab, urls[at % urls.length] as string)))
    succeeded += answers.filter(({ status }) => status === 200).length
    const won = tabs.find((_, at) => answers[at]?.status === 200)
    if (!won) break
    note(won)
    browser = won
  }
  const calls = provider.calls.filter(isRefresh).slice(before)
  const sent = Map.groupBy(calls, ({ refreshToken }) => refreshToken)
  return { succeeded, calls: calls.length, twice: [...sent.values()].filter(({ length }) => length > 1).length }
}

async function races(report: Report, world: World, urls: string[]): Promise<void> {
  const { succeeded, calls, twice } = await race(world, urls, ROUNDS)
  report.promise(
    'tabs of two processes that refresh at once all stay signed in, with one call upstream per round',
    succeeded === ROUNDS * TABS && calls <= ROUNDS && twice === 0,
    `${succeeded} of ${ROUNDS * TABS} succeeded, ${calls} calls upstream (at most ${ROUNDS}), ${twice} tokens sent twice`,
  )
}

/** Half of them while the provider is at work, which uses the token up; half before it heard anything. */
async function killed(report: Report, world: World): Promise<void> {
  const provider = providerOf(world)
  const browsers: Browser[] = []
  let longestMs = 0
  const unexpected: string[] = []
  for (let kill = 0; kill < KILLS; kill += 1) {
    const browser = await signIn(world)
    browsers.push(browser)
    const holder = await world.startManagement()
    // It knows the provider before that falls silent.
    await fetch(`${holder.url}/api/auth/logout`, { method: 'POST' })
    const isUsedUp = kill % 2 === 0
    const heard = () => (isUsedUp ? provider.calls.filter(isRefresh).length : provider.tokenRequests)
    const before = heard()
    if (isUsedUp) provider.answerDelayMs = 2_000
    else provider.fault = 'silent'
    const dying = refresh(browser.tab(), holder.url).catch(() => undefined)
    while (heard() === before) await sleep(2)
    const startedAt = performance.now()
    const waiting = [browser.tab(), browser.tab()].map((tab) => refresh(tab))
    await holder.kill()
    for (const answer of await Promise.all(waiting)) {
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      if (answer.status !== 503) unexpected.push(`${answer.status} ${answer.text}`)
    }
    await dying
    provider.fault = 'none'
    provider.answerDelayMs = 0
  }
  const bound = await report.within(12_000)
  report.promise(
    'a lease whose holder is killed -9 in mid-call holds nobody up, and logs nobody out',
    longestMs <= bound.ms && unexpected.length === 0,
    `${KILLS} kills, the longest wait ${Math.round(longestMs)} ms (${bound.text}), ${unexpected.length} answers other than 503 ${unexpected[0] ?? ''}`,
  )
  await sleep(31_000)
  const ends = new Map<string, number>()
  for (const [at, browser] of browsers.entries()) {
    const { status, text } = await refresh(browser)
    if (status === 200) note(browser)
    const reason =
      status === 401 ? JSON.parse(text).error.details?.reason : status === 200 ? 'lives' : `status ${status}`
    const end = `${at % 2 === 0 ? 'used up' : 'unheard'}: ${reason}`
    ends.set(end, (ends.get(end) ?? 0) + 1)
  }
  const half = Math.floor(KILLS / 2)
  report.promise(
    'after 30 s each of these sessions lives, or ends with its reason',
    ends.get('unheard: lives') === half && ends.get('used up: refresh_token_used_up') === KILLS - half,
    [...ends].map(([end, count]) => `${count} ${end}`).join(', '),
  )
}

async function outages(report: Report, world: World): Promise<void> {
  const provider = providerOf(world)
  const faults: Fault[] = ['stopped', 'silent', 'error', 'garbage']
  const wrong: string[] = []
  let asked = 0
  let longestMs = 0
  // Longer than the outages: what must go on is what does not need the provider.
  provider.accessTokenS = 3_600
  const browser = await signIn(world)
  const expect = async (line: string, status: number, who = browser) => {
    const startedAt = performance.now()
    const answer = await who.ask(line, line.startsWith('POST') ? { body: {} } : {})
    longestMs = Math.max(longestMs, performance.now() - startedAt)
    asked += 1
    const isSaid = status !== 503 || Number(answer.headers['retry-after']) > 0
    if (answer.status !== status || !isSaid) wrong.push(`${line} ${answer.status} instead of ${status}`)
  }
  for (const fault of faults) {
    // Its answer of a moment ago is kept for ten seconds.
    await sleep(10_500)
    provider.fault = fault
    const until = performance.now() + OUTAGE_MS
    do {
      await Promise.all([
        expect('GET /api/auth/session', 503),
        expect('GET /api/auth/token', 200),
        expect('GET /api/v1/services', 200),
        expect('POST /api/auth/refresh', 503),
      ])
      await sleep(250)
    } while (performance.now() < until)
    provider.fault = 'none'
  }
  await expect('GET /api/auth/session', 200)
  await sleep(31_000)
  await expect('POST /api/auth/refresh', 200)
  note(browser)
  const bound = await report.within(4_000)
  report.promise(
    'a provider that is stopped, silent, answers 500 or garbage logs nobody out, and nothing hangs',
    wrong.length === 0 && longestMs <= bound.ms,
    `${asked} requests in ${(OUTAGE_MS * faults.length) / 1_000} s of outages, ${wrong.length} wrong ${wrong[0] ?? ''}, the longest ${Math.round(longestMs)} ms (${bound.text})`,
  )
}

async function leaks(report: Report, world: World): Promise<void> {
  const provider = providerOf(world)
  const browser = await signIn(world)
  await refresh(browser)
  note(browser)
  await browser.ask('POST /api/auth/logout', { body: {} })
  canaries.add(provider.client.secret)
  for (const { refreshToken } of provider.calls) if (refreshToken) canaries.add(refreshToken)
  const { binDirectory } = world.postgres
  const pgDump = join(dirname(realpathSync(join(binDirectory, 'pg_ctl'))), 'pg_dump')
  const dump = execFileSync(pgDump, ['--dbname', world.postgres.adminUrl('loci_control')], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 ** 2,
  })
  const places = { log: (world.management as LociProcess).lines.join('\n'), dump }
  const found = Object.entries(places).flatMap(([place, text]) =>
    [...canaries].filter((canary) => text.includes(canary)).map((canary) => `${place}: ${canary.slice(0, 12)}…`),
  )
  report.promise(
    'P10: no code, verifier, token, handle or client secret is in the log or in a dump of the control database',
    found.length === 0 && canaries.size > 20 && dump.includes('loci.sessions'),
    `${canaries.size} canaries, ${found.length} found ${found.slice(0, 3).join(' ')}`,
  )
}

async function mutantWithoutLease(report: Report, world: World): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'management/sessions/store.ts',
      from: '\n        and (s.refresh_asked_at is null or s.refresh_asked_at <= clock_timestamp() - ${SILENCE})',
      to: '',
    },
  ])
  const settings = world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' })
  const processes = await Promise.all([1, 2].map(() => mutant.startProgram('management', settings)))
  try {
    await Promise.all(processes.map(({ url }) => untilReady(url)))
    const rounds = 5
    const urls = processes.map(({ url }) => url)
    providerOf(world).delayMs = 50
    const { succeeded, calls, twice } = await race(world, urls, rounds)
    const isCaught = succeeded < rounds * TABS || calls > rounds || twice > 0
    const how = `${succeeded} of ${rounds * TABS} succeeded, ${calls} calls upstream, ${twice} tokens sent twice`
    report.mutant('a refresh without the lease', isCaught ? how : undefined)
  } finally {
    await Promise.all(processes.map((process) => process.kill()))
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
