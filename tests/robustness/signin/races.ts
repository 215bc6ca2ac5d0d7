// Tabs of one person that refresh at once, over several processes, on any provider: one of them asks, and all stay
// signed in.

import { type AskedManagement, type Browser, exchange, obtainCode } from '@loci/management/testing/sign-in.ts'
import { plantMutant } from '../../world/mutant.ts'
import { untilReady } from '../../world/process.ts'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import type { World } from '../../world/world.ts'
import { refresh } from '../signed-in.ts'

const TABS = 8
const MUTANT_ROUNDS = 5

interface Raced {
  succeeded: number
  /** Upstream, by the provider's own count. */
  calls: number
  /** Refresh tokens that came twice; 0 where the provider is somebody else's program and does not tell. */
  twice: number
}

export async function races(report: Report, world: World, urls: string[], rounds: number): Promise<void> {
  const { succeeded, calls, twice } = await race(world, urls, rounds)
  report.promise(
    `${world.signIn?.name}: tabs of two processes that refresh at once all stay signed in, with one call upstream per round`,
    succeeded === rounds * TABS && calls <= rounds && twice === 0,
    `${succeeded} of ${rounds * TABS} succeeded, ${calls} calls upstream (at most ${rounds}), ${twice} tokens sent twice`,
  )
}

export async function mutantWithoutLease(report: Report, world: World): Promise<void> {
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
    const urls = processes.map(({ url }) => url)
    // So that two calls overlap; a provider that is somebody else's program takes its time by itself.
    if (world.identityProvider) world.identityProvider.delayMs = 50
    const { succeeded, calls, twice } = await race(world, urls, MUTANT_ROUNDS)
    const isCaught = succeeded < MUTANT_ROUNDS * TABS || calls > MUTANT_ROUNDS || twice > 0
    const how = `${succeeded} of ${MUTANT_ROUNDS * TABS} succeeded, ${calls} calls upstream, ${twice} tokens sent twice`
    report.mutant(`${world.signIn?.name}: a refresh without the lease`, isCaught ? how : undefined)
  } finally {
    await Promise.all(processes.map((process) => process.kill()))
  }
}

async function race(world: World, urls: string[], rounds: number): Promise<Raced> {
  const provider = world.signIn as SignInProvider
  const before = await provider.refreshCalls()
  const heard = provider.own?.calls.length ?? 0
  const management: AskedManagement = { url: urls[0] as string, settings: { publicUrl: world.publicUrl } }
  let browser = await signIn(management, provider)
  let succeeded = 0
  for (let round = 0; round < rounds; round += 1) {
    const tabs = Array.from({ length: TABS }, () => browser.tab())
    const answers = await Promise.all(tabs.map((tab, at) => refresh(tab, urls[at % urls.length] as string)))
    succeeded += answers.filter(({ status }) => status === 200).length
    const won = tabs.find((_, at) => answers[at]?.status === 200)
    if (!won) break
    browser = won
  }
  const sent = Map.groupBy(
    (provider.own?.calls ?? []).slice(heard).filter(({ refreshToken }) => refreshToken),
    ({ refreshToken }) => refreshToken,
  )
  return {
    succeeded,
    calls: (await provider.refreshCalls()) - before,
    twice: [...sent.values()].filter(({ length }) => length > 1).length,
  }
}

/** A provider that is busy with its first requests may take longer than the three seconds that it is given. */
async function signIn(management: AskedManagement, provider: SignInProvider): Promise<Browser> {
  for (let tries = 1; ; tries += 1) {
    const { answer, browser } = await exchange(management, await obtainCode(provider, { login: 'ada' }))
    if (answer.status === 200) return browser
    if (answer.status !== 503 || tries === 20) throw new Error(`the exchange answered ${answer.status}: ${answer.text}`)
  }
}
