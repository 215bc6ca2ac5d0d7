// Sign-in as a real browser does it, over https through a name and over http on loopback, and what its enemies try.

import { freePort } from '@loci/postgres/testing/free-port.ts'
import type { Browser, BrowserContext } from 'playwright-core'
import { plantMutant } from '../../world/mutant.ts'
import { type LociProcess, untilReady } from '../../world/process.ts'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { runSql } from '../../world/sql.ts'
import { addOrganization } from '../../world/tenants.ts'
import { startWorld, type World } from '../../world/world.ts'
import { NEWCOMER, PEOPLE } from '../../world/world-file.ts'
import { attack, startEvil, type Targets } from './attacks.ts'
import { newPerson, startChromium, whyNoChromium } from './chromium.ts'
import { curl } from './curl.ts'
import { foreignLogin, plantedCookies, returnAddresses } from './entrapments.ts'
import { type Front, newCertificate, startFront } from './front.ts'
import { beginCliLogin, checkCookies, firstOrganization, type Place, pollCliLogin, signInAs, walk } from './pages.ts'
import { substitutions } from './substitutions.ts'

const HOST = 'app.loci.test'
const NEIGHBOUR = 'evil.loci.test'
const STRANGER = 'evil.example'
const TABS = 8

export async function inBrowser(report: Report, rounds: number): Promise<void> {
  const why = whyNoChromium()
  if (why) return report.skip('pages, cookies and other sites in a real browser', why)
  const browser = await startChromium()
  try {
    report.note(`chromium ${browser.version()}`)
    await overHttps(report, browser, rounds)
    await overLoopback(report, browser)
  } finally {
    await browser.close()
  }
}

async function overHttps(report: Report, browser: Browser, rounds: number): Promise<void> {
  const [port, evilPort] = [await freePort(), await freePort()]
  const publicUrl = `https://${HOST}:${port}`
  const certificate = newCertificate([HOST, NEIGHBOUR, STRANGER])
  const world = await startWorld({ replicas: 0, people: [...PEOPLE, NEWCOMER], publicUrl })
  try {
    const { organizationId } = await addOrganization(world, 'acme')
    await addOrganization(world, 'globex')
    const second = await world.startManagement()
    const processUrl = (world.management as LociProcess).url
    await using front = await startFront(port, [processUrl, second.url], certificate)
    await using evil = await startEvil(evilPort, certificate)
    const place: Place = { publicUrl, processUrl, provider: world.signIn as SignInProvider }
    await walk(report, await newPerson(browser), place)
    await firstOrganization(report, await newPerson(browser), place)
    const person = await newPerson(browser)
    const page = await person.newPage()
    await signInAs(page, place, 'ada')
    await checkCookies(report, person, publicUrl, front.seen)
    await curl(report, person, publicUrl)
    // The console asks for itself as long as it is open, and its requests are no other site's.
    await page.goto('about:blank')
    await front.atRest()
    const origins = [NEIGHBOUR, STRANGER].map((name) => `https://${name}:${evil.port}`)
    await attacked(report, world, { person, front, place, origins, organizationId })
    await foreignLogin(report, browser, place, front)
    await returnAddresses(report, browser, place)
    await plantedCookies(report, browser, place, `https://${NEIGHBOUR}:${evil.port}`)
    await tabs(report, browser, place, rounds)
  } finally {
    await world.stop()
  }
}

/** The same without TLS: other names, no Secure, and cookies that every port of the host shares. */
async function overLoopback(report: Report, browser: Browser): Promise<void> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const world = await startWorld({ replicas: 0, people: PEOPLE, publicUrl })
  try {
    await Promise.all(['acme', 'globex'].map((name) => addOrganization(world, name)))
    const processUrl = (world.management as LociProcess).url
    await using front = await startFront(port, [processUrl])
    const place: Place = { publicUrl, processUrl, provider: world.signIn as SignInProvider }
    const person = await newPerson(browser)
    await signInAs(await person.newPage(), place, 'ada')
    await checkCookies(report, person, publicUrl, front.seen)
    await plantedCookies(report, browser, place, `http://127.0.0.1:${await freePort()}`)
    await substitutions(report, place)
  } finally {
    await world.stop()
  }
}

interface Attacked {
  person: BrowserContext
  front: Front
  place: Place
  origins: string[]
  organizationId: string
}

async function attacked(report: Report, world: World, { person, front, place, origins, organizationId }: Attacked) {
  const { publicUrl, processUrl, provider } = place
  const cliLogin = await beginCliLogin(processUrl)
  const targets: Targets = { publicUrl, cliLogin, organizationId, serviceId: 'svc_01jzzzzzzzzzzzzzzzzzzzzzzz' }
  const before = await stateOf(world)
  const calls = await provider.refreshCalls()
  const figures: string[] = []
  const wrong: string[] = []
  let carried = 0
  for (const origin of origins) {
    const outcome = await attack(person, front, origin, targets)
    carried += outcome.carried
    wrong.push(...outcome.wrong)
    figures.push(`${outcome.caused} requests from ${new URL(origin).hostname}, ${outcome.carried} with the cookies`)
  }
  if ((await stateOf(world)) !== before) wrong.push('the control database changed')
  if ((await provider.refreshCalls()) !== calls) wrong.push('the provider was asked')
  const { status } = await pollCliLogin(processUrl, cliLogin)
  if (status !== 202) wrong.push(`the command line that nobody approved was answered ${status}`)
  report.promise(
    'requests that other sites cause in a browser are refused, whatever causes them, and change nothing',
    wrong.length === 0 && carried > 50,
    `${figures.join('; ')}; ${wrong.length} not refused ${wrong.slice(0, 5).join('; ')}`,
  )
  await mutantWithoutRule(report, world, { person, front, origin: origins[0] as string, publicUrl })
}

/** Which sessions, organizations and keys there are. */
async function stateOf(world: World): Promise<string> {
  const text = `select json_build_array(
    (select json_agg(json_build_array(id, generation, ended_at) order by id) from loci.sessions),
    (select count(*) from loci.organizations), (select count(*) from loci.api_keys))::text as state`
  const rows = await runSql<{ state: string }>(world.postgres.adminUrl('loci_control'), text)
  return rows[0]?.state ?? ''
}

async function mutantWithoutRule(
  report: Report,
  world: World,
  { person, front, origin, publicUrl }: { person: BrowserContext; front: Front; origin: string; publicUrl: string },
): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'management/access/session.ts',
      from: 'if (!isOwn || (headers.origin !== undefined && headers.origin !== origin))',
      to: 'if (!isOwn && headers.origin === undefined)',
    },
  ])
  const process = await mutant.startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  const { targets } = front
  try {
    await untilReady(process.url)
    front.targets = [process.url]
    const before = await stateOf(world)
    const page = await person.newPage()
    await page.goto(`${origin}/`)
    const options = `{ method: 'POST', credentials: 'include', mode: 'no-cors' }`
    await page.evaluate(`fetch('${publicUrl}/api/auth/logout', ${options}).then(() => {}, () => {})`)
    await page.close()
    const isChanged = (await stateOf(world)) !== before
    report.mutant(
      'the cross-site rule trusts whoever names an origin',
      isChanged ? 'a neighbour signed a person out' : undefined,
    )
  } finally {
    front.targets = targets
    await process.kill()
  }
}

/** A browser has six connections to a host, so some tabs come late, with the cookies that the first ones were given. */
async function tabs(report: Report, browser: Browser, place: Place, rounds: number): Promise<void> {
  const { publicUrl, provider } = place
  // Our pages forbid scripts, and there are none; here they stand for the console's.
  const person = await newPerson(browser, { bypassCSP: true })
  await signInAs(await person.newPage(), place, 'ada')
  const pages = await Promise.all(Array.from({ length: TABS }, () => person.newPage()))
  for (const page of pages) await page.goto(`${publicUrl}/signed-in/done`)
  let succeeded = 0
  for (let round = 0; round < rounds; round += 1) {
    const ask = `fetch('/api/auth/refresh', { method: 'POST' }).then(({ status }) => status)`
    const answers = await Promise.all(pages.map((page) => page.evaluate<number>(ask)))
    succeeded += answers.filter((status) => status === 200).length
  }
  const calls = provider.own?.calls.filter(({ what }) => what === 'POST /token refresh_token') ?? []
  const twice = calls.length - new Set(calls.map(({ refreshToken }) => refreshToken)).size
  report.promise(
    'tabs of one browser that refresh at once, over two processes, all stay signed in',
    succeeded === TABS * rounds && twice === 0,
    `${succeeded} of ${TABS * rounds} succeeded, ${twice} tokens sent twice`,
  )
  await person.close()
}
