// Sign-in under races and deaths (P16), over two and more processes of management and real providers, and in a real
// browser: nobody is logged out who did not ask for it, no refresh token is sent twice, nothing hangs. What a provider
// does that is away is in signin-outages, what leaks in signin-leaks.

import type { Browser } from '@loci/management/testing/sign-in.ts'
import { providerOf, refresh, signInAt, sleep } from '../robustness/signed-in.ts'
import { inBrowser } from '../robustness/signin/in-browser.ts'
import { onKeycloak, suites } from '../robustness/signin/providers.ts'
import { mutantWithoutLease, races } from '../robustness/signin/races.ts'
import type { LociProcess } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
const ROUNDS = isShort ? 12 : 50
const KILLS = isShort ? 6 : 20

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
    await races(report, world, urls, ROUNDS)
    await killed(report, world)
    await mutantWithoutLease(report, world)
  } finally {
    await world.stop()
  }
}

function isRefresh({ what }: { what: string }): boolean {
  return what === 'POST /token refresh_token'
}

/** Half of them while the provider is at work, which uses the token up; half before it heard anything. */
async function killed(report: Report, world: World): Promise<void> {
  const provider = providerOf(world)
  const browsers: Browser[] = []
  let longestMs = 0
  const unexpected: string[] = []
  for (let kill = 0; kill < KILLS; kill += 1) {
    const browser = await signInAt(world)
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
