// A loci with a console, and who looks at it: Ada, whose organization has a service that worked for an hour, and Ben,
// whose organization has nothing yet.

import { tellSample } from '@loci/cli/up/demo.ts'
import { type MovedClock, moveClockOf } from '@loci/daemon/testing/moved-clock.ts'
import type { Delegation } from '@loci/sdk/attenuate.ts'
import { Loci } from '@loci/sdk/loci.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { addOrganization, ownerEmail, type WorldOrganization } from '../../world/tenants.ts'
import { startWorld, type World } from '../../world/world.ts'
import { PEOPLE, pay } from '../../world/world-file.ts'
import { newPerson } from '../signin/chromium.ts'
import { signInAs } from '../signin/pages.ts'
import { fillOrganization } from './organization.ts'
import { KNOWN } from './questions.ts'

/** What an agent may have been told by somebody who hoped that a page would believe it. */
export const HOSTILE =
  '<img src=x onerror="window.hurt=1"><script>window.hurt=2</script> \u202Eevil\u2066 [a](javascript:window.hurt=3)'

export interface Scene {
  world: World
  origin: string
  acme: WorldOrganization
  /** With the API key of acme's owner: what the pages show is held against what it says. */
  loci: Loci
  /** Of the service with the sample, and of one that holds nothing. */
  slug: string
  emptySlug: string
  serviceId: string
  /** The memory that answers KNOWN best. */
  hitId: string
  /** Of its token agent-prod: what a person was shown when it was made. */
  delegation: Delegation
  ada: BrowserContext
  ben: BrowserContext
  /** Of the cell. */
  clock: MovedClock
  /** Everything that a page of theirs asked for, and what it complained of. */
  asked: string[]
  complaints: string[]
}

/** All that the address of a page is made from. */
export type Addressed = Pick<Scene, 'origin' | 'slug' | 'emptySlug' | 'hitId'>

export async function setScene(browser: Browser, { isHostile = true } = {}): Promise<Scene> {
  // Ada is platform staff too, and Ben is not.
  const settings = { LOCI_STAFF_EMAILS: ownerEmail('acme') }
  const world = await startWorld({ replicas: 1, people: PEOPLE, isBilled: true, settings })
  try {
    const acme = await addOrganization(world, 'acme')
    await addOrganization(world, 'globex')
    const origin = world.publicUrl
    await pay(origin, acme.tenantId, 'enterprise')
    const loci = new Loci({ url: origin, apiKey: acme.apiKey })
    // Of the largest plan: a dozen pages at once, and a day of cycles, are more than the free one serves in a second.
    const make = (name: string) => loci.services.create({ name, region: 'us-east-1', plan: 'enterprise' }).ready()
    const { id: serviceId, slug } = await (await make('Support agent')).known()
    const { slug: emptySlug } = await (await make('Research crew')).known()
    const ours = new Loci({ url: origin, apiKey: acme.apiKey, service: serviceId })
    const now = new Date()
    const clock = await moveClockOf({ name: 'loci_cell', adminUrl: world.postgres.adminUrl('loci_cell') })
    const hour = await liveAgo({ world, clock }, HOUR_MS)
    await tellSample(ours, now, hour.reach)
    await hour.end()
    const agent = ours.service().user('default')
    if (isHostile) {
      await agent.remember(HOSTILE)
      await agent.slots.put('hostile', HOSTILE, { pinned: true })
    }
    const [best] = await agent.recall(KNOWN)
    if (!best) throw new Error(`the sample has no answer to '${KNOWN}'`)
    const delegation = await fillOrganization({ world, acme, loci, serviceId })
    const scene: Scene = {
      ...{ world, origin, acme, loci, slug, emptySlug, serviceId, hitId: best.id, delegation },
      ...{ ada: await newPerson(browser), ben: await newPerson(browser), clock, asked: [], complaints: [] },
    }
    for (const [person, sub] of [
      [scene.ada, 'ada'],
      [scene.ben, 'ben'],
    ] as const) {
      listen(scene, person)
      const page = await person.newPage()
      const provider = world.signIn as SignInProvider
      await signInAs(page, { publicUrl: origin, processUrl: origin, provider }, sub)
      await page.close()
    }
    return scene
  } catch (error) {
    await world.stop()
    throw error
  }
}

const HOUR_MS = 3_600_000
/** Ids are made by the clock of the process, and those of memories say whether a cycle heard it or recalled it. */
const OLDER_IDS = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith('/contract/ids.ts')) return loaded
      return { ...loaded, source: String(loaded.source).replace('Date.now()', 'Date.now() - ${2 * HOUR_MS}') }
    },
  })`)}`

/** The cell lives so long ago, until it is told to have reached a later moment: what happens meanwhile has its time. */
export async function liveAgo(
  { world, clock }: Pick<Scene, 'world' | 'clock'>,
  ms: number,
): Promise<{ reach(at: Date): Promise<void>; end(): Promise<void> }> {
  let ahead = 0
  const moveTo = async (next: number) => {
    await clock.move(next - ahead)
    ahead = next
  }
  await moveTo(-ms)
  // Its connections find the other clock when they are new.
  await (await killDaemon({ world }))({ NODE_OPTIONS: OLDER_IDS })
  return {
    // Never back: what was told has taken its time.
    reach: (at) => moveTo(Math.max(ahead, Math.min(0, at.getTime() - Date.now()))),
    async end() {
      await moveTo(0)
      await (await killDaemon({ world }))()
    },
  }
}

/** The daemon dies as a machine does, and comes back at the same address. */
export async function killDaemon({
  world,
}: Pick<Scene, 'world'>): Promise<(settings?: Record<string, string>) => Promise<void>> {
  const daemon = world.daemons.at(-1)
  if (!daemon) throw new Error('the world has no daemon')
  await daemon.kill()
  return async (settings = {}) => {
    await world.startDaemon({ LOCI_LISTEN: new URL(daemon.url).host, ...settings })
  }
}

function listen({ asked, complaints, origin }: Scene, person: BrowserContext): void {
  person.on('request', (request) => {
    // Of the sign-in provider's own pages, and of what leads there, this test has no opinion.
    if (!request.isNavigationRequest() && request.frame().url().startsWith(origin)) asked.push(request.url())
  })
  person.on('console', (message) => {
    const text = message.text()
    // A browser says itself that an answer was no 2xx; what a page does with that is looked at.
    if (message.page()?.url().startsWith(origin) && message.type() === 'error' && !text.startsWith('Failed to load'))
      complaints.push(text)
  })
  person.on('weberror', (error) => complaints.push(String(error.error())))
}

export const SCREEN = { width: 1440, height: 900 }

/** As she sees it on a screen of usual size. */
export async function openPage(
  { origin }: Pick<Scene, 'origin'>,
  person: BrowserContext,
  path: string,
  shows?: string,
): Promise<Page> {
  const page = await person.newPage()
  await page.setViewportSize(SCREEN)
  await page.goto(`${origin}${path}`)
  await settled(page, shows)
  return page
}

/** Nothing of it is loading any more, and its fonts are there. */
export async function settled(page: Page, shows?: string, withinMs = 120_000): Promise<void> {
  await until(
    page,
    `document.querySelector('h1') !== null && !document.querySelector('.skeleton') && document.fonts.status === 'loaded'`,
  )
  if (shows !== undefined) await page.locator(shows).first().waitFor({ timeout: withinMs })
}

/** Asked from outside: the policy of the page lets nothing in it read code from text. */
export async function until(page: Page, expression: string, withinMs = 120_000): Promise<void> {
  const endsAt = Date.now() + withinMs
  while (!(await page.evaluate<boolean>(expression))) {
    if (Date.now() > endsAt)
      throw new Error(`${new URL(page.url()).pathname}: not within ${withinMs} ms: ${expression}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** With the keyboard alone, to the field of that name. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < 40; tabs += 1) {
    if ((await page.evaluate<string>('document.activeElement?.getAttribute("name") ?? ""')) === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not come to the field '${name}'`)
}
