// Sign-in while its provider is away, and while it changes its keys (P16, P19): nobody is logged out, nothing hangs, no
// connection of the database waits for somebody else's server, and the keys are fetched once.

import type { Fault } from '@loci/management/testing/identity-provider.ts'
import type { Browser } from '@loci/management/testing/sign-in.ts'
import { askedAt, providerOf, refresh, signInAt, sleep } from '../robustness/signed-in.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
const OUTAGE_MS = isShort ? 6_000 : 300_000
const ROTATIONS = isShort ? 1 : 4
const BROWSERS = 8
const CONNECTIONS = 4
const LONGEST_MS = 3_500
/** Of all requests, on a machine that is busy; on an idle one none is. */
const LATE_SHARE_MAX = 0.02
/** `stopped`: connections are cut. `silent`: a black hole. */
const FAULTS: Fault[] = ['stopped', 'silent', 'error', 'garbage']

await reportOn(async (report) => {
  const world = await startWorld({
    asShipped: true,
    replicas: 0,
    people: PEOPLE,
    settings: { LOCI_DATABASE_CONNECTIONS_MAX: String(CONNECTIONS) },
  })
  try {
    const { apiKey } = await addOrganization(world, 'acme')
    // Longer than the outages: what must go on is what does not need the provider.
    providerOf(world).accessTokenS = 7_200
    await outages(report, world, apiKey)
    await rotation(report, world)
    await mutantOfLease(report, world, apiKey)
    await mutantOfKeys(report, world)
  } finally {
    await world.stop()
  }
})

interface Watched {
  asked: number
  wrong: string[]
  /** Answered 503 because our own database did not answer in time, which on a busy machine it may not. */
  late: number
  longestMs: number
  longest: string
  /** The most connections of management, of CONNECTIONS, that a look found in a transaction and waiting for us. */
  heldMax: number
  looks: number
  /** Others' requests, which need the database and no provider; and those that were not answered 200. */
  others: number
  othersFailed: number
}

/** One outage: everybody asks all the time, and somebody with an API key who has nothing to do with it. */
async function outage(
  world: World,
  { fault, ms, url, apiKey, browsers }: { fault: Fault; ms: number; url: string; apiKey: string; browsers: Browser[] },
): Promise<Watched> {
  const provider = providerOf(world)
  const watched: Watched = {
    asked: 0,
    wrong: [],
    late: 0,
    longestMs: 0,
    longest: '',
    heldMax: 0,
    looks: 0,
    others: 0,
    othersFailed: 0,
  }
  const redirectUri = provider.client.redirectUri
  const code = { code: 'x'.repeat(30), redirect_uri: redirectUri, code_verifier: 'x'.repeat(43) }
  const expect = async (browser: Browser, line: string, status: number, body?: object) => {
    const startedAt = performance.now()
    const answer = await browser.ask(line, { url, ...(body ? { body } : {}) })
    const took = performance.now() - startedAt
    if (took > watched.longestMs) Object.assign(watched, { longestMs: took, longest: line })
    watched.asked += 1
    const isSaid = answer.status !== 503 || Number(answer.headers['retry-after']) > 0
    if (isSaid && answer.status === 503 && answer.error.code === 'STORE_UNAVAILABLE') watched.late += 1
    else if (answer.status !== status || !isSaid)
      watched.wrong.push(`${fault}: ${line} ${answer.status} instead of ${status}: ${answer.text.slice(0, 200)}`)
  }
  provider.fault = fault
  const until = performance.now() + ms
  const ask = async (browser: Browser) => {
    do {
      await Promise.all([
        expect(browser, 'GET /api/auth/session', 503),
        expect(browser, 'GET /api/auth/token', 200),
        expect(browser, 'GET /api/auth/get-session', 200),
        expect(browser, 'GET /api/v1/services', 200),
        expect(browser, 'POST /api/auth/refresh', 503, {}),
        expect(browser, 'POST /api/auth/exchange', 503, code),
      ])
      await sleep(isShort ? 250 : 2_000)
    } while (performance.now() < until)
  }
  const others = async () => {
    while (performance.now() < until) {
      const answer = await fetch(`${url}/api/v1/tenants`, { headers: { 'x-api-key': apiKey } })
      await answer.text()
      watched.others += 1
      if (answer.status !== 200) watched.othersFailed += 1
      await sleep(100)
    }
  }
  const look = async () => {
    while (performance.now() < until) {
      // Longer than a busy machine needs between two statements, shorter than a call to a provider that is silent.
      const [row] = await runSql<{ held: number }>(
        world.postgres.adminUrl('loci_control'),
        `select count(*)::int as held from pg_stat_activity where application_name = 'loci-management'
          and state like 'idle in transaction%' and state_change < clock_timestamp() - interval '2 seconds'`,
      ).catch(() => [])
      if (row) {
        watched.heldMax = Math.max(watched.heldMax, row.held)
        watched.looks += 1
      }
      await sleep(300)
    }
  }
  try {
    await Promise.all([...browsers.map(ask), others(), look()])
  } finally {
    provider.fault = 'none'
  }
  return watched
}

async function outages(report: Report, world: World, apiKey: string): Promise<void> {
  const { url } = world.management as LociProcess
  for (const fault of FAULTS) {
    const browsers = await signInAll(world)
    const leaver = await signInAt(world)
    const watched = await outage(world, { fault, ms: OUTAGE_MS, url, apiKey, browsers })
    providerOf(world).fault = fault
    const out = await leaver.ask('POST /api/auth/logout', { body: {} })
    providerOf(world).fault = 'none'
    // After a call without an answer a token is not sent for 30 s.
    let alive = 0
    const until = Date.now() + 60_000
    for (const browser of browsers) {
      while ((await refresh(browser)).status === 503 && Date.now() < until) await sleep(500)
      if ((await browser.ask('GET /api/auth/session')).status === 200) alive += 1
    }
    const { asked, wrong, late, longestMs, longest, heldMax, looks, others, othersFailed } = watched
    for (const line of wrong.slice(0, 3)) report.note(line)
    const bound = await report.within(LONGEST_MS)
    const lateMax = bound.ms > LONGEST_MS ? Math.floor(asked * LATE_SHARE_MAX) : 0
    report.promise(
      `a provider that is ${fault === 'error' ? 'answering 500' : fault === 'garbage' ? 'answering garbage' : fault} logs nobody out, and nothing hangs`,
      wrong.length === 0 && late <= lateMax && longestMs <= bound.ms && alive === BROWSERS && out.status === 200,
      `${OUTAGE_MS / 1_000} s, ${asked} requests, ${wrong.length} wrong, ${late} late (at most ${lateMax}), ${alive} of ${BROWSERS} sessions go on, signing out ${out.status}, the longest ${Math.round(longestMs)} ms (${bound.text}; ${longest})`,
    )
    report.promise(
      `meanwhile no connection of the database is held (${fault}), and who needs no provider is served`,
      heldMax === 0 && othersFailed === 0 && looks > 5,
      `${CONNECTIONS - heldMax} of ${CONNECTIONS} connections were free of it in ${looks} looks, ${othersFailed} of ${others} requests of others failed`,
    )
  }
}

function signInAll(world: World): Promise<Browser[]> {
  return Promise.all(Array.from({ length: BROWSERS }, () => signInAt(world)))
}

interface Rotated {
  asked: number
  failed: string[]
  /** Of all processes, in each rotation. */
  fetches: number[]
}

/** Refreshes and sign-ins at every process, and the provider signs with a new key in the middle of it. */
async function rotate(world: World, urls: string[], rotations: number): Promise<Rotated> {
  const provider = providerOf(world)
  const rotated: Rotated = { asked: 0, failed: [], fetches: [] }
  const fetches = () => provider.heard.filter((line) => line === 'GET /jwks').length
  // Both know the keys before they change.
  for (const url of urls) await signInAt(world, url)
  const urlAt = (at: number) => urls[at % urls.length] as string
  const begun = await Promise.all(Array.from({ length: BROWSERS }, (_, at) => signInAt(world, urlAt(at))))
  let isOver = false
  const work = async (first: Browser, at: number) => {
    const url = urlAt(at)
    let browser = first
    while (!isOver) {
      const answer = at < 2 ? undefined : await refresh(browser, url)
      if (answer && answer.status !== 200) rotated.failed.push(`refresh ${answer.status}: ${answer.text.slice(0, 200)}`)
      if (!answer)
        browser = await signInAt(world, url).catch((error) => {
          rotated.failed.push(`sign-in: ${(error as Error).message}`)
          return browser
        })
      rotated.asked += 1
      await sleep(50)
    }
  }
  const working = Promise.all(begun.map(work))
  try {
    await sleep(1_000)
    for (let round = 0; round < rotations; round += 1) {
      const before = fetches()
      provider.rotateKeys()
      // The next one within a minute would have to wait.
      await sleep(round + 1 < rotations ? 62_000 : 5_000)
      rotated.fetches.push(fetches() - before)
    }
  } finally {
    isOver = true
    await working
  }
  return rotated
}

async function rotation(report: Report, world: World): Promise<void> {
  const second = await world.startManagement()
  const urls = [askedAt(world).url, second.url]
  const { asked, failed, fetches } = await rotate(world, urls, ROTATIONS)
  for (const line of failed.slice(0, 3)) report.note(line)
  report.promise(
    'the provider signs with new keys under load: nothing fails, and each process fetches the keys once',
    failed.length === 0 && asked > 20 && fetches.every((count) => count > 0 && count <= urls.length),
    `${asked} refreshes and sign-ins at ${urls.length} processes, ${failed.length} failed, ${ROTATIONS} rotations with ${fetches.join(', ')} fetches`,
  )
}

async function mutantOfLease(report: Report, world: World, apiKey: string): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'management/sessions/sessions.ts',
      from: 'tokens = await provider.refresh(refreshToken)',
      to: `tokens = await transaction(pool, async (sql) => {
        await sql.query({ text: 'select 1' })
        return provider.refresh(refreshToken)
      })`,
    },
  ])
  const process = await mutant.startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  try {
    await untilReady(process.url)
    const browsers = await signInAll(world)
    // Looks and calls are fewer in a second of a busy machine.
    const { ms } = await report.within(6_000)
    const { heldMax, othersFailed } = await outage(world, { fault: 'silent', ms, url: process.url, apiKey, browsers })
    const isCaught = heldMax > 0
    const how = `${heldMax} of ${CONNECTIONS} connections held, ${othersFailed} requests of others failed`
    report.mutant('the lease held across a transaction', isCaught ? how : undefined)
  } finally {
    await process.kill()
  }
}

async function mutantOfKeys(report: Report, world: World): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'management/sessions/key-set.ts',
      from: '      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error\n      await mayRenew()',
      to: '      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error',
    },
  ])
  const process = await mutant.startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  try {
    await untilReady(process.url)
    const { failed } = await rotate(world, [process.url], 1)
    report.mutant('keys that are never fetched again', failed[0])
  } finally {
    await process.kill()
  }
}
