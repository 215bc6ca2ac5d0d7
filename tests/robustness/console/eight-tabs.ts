// A change on the way to eight tabs: when it is in the document of each and painted in the one in front, and how many
// streams of events all of them hold, counted where the streams end. The browser gives a tab behind another one frame
// a second, whatever its page does.

import type { Loci } from '@loci/sdk/loci.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { newPerson } from '../signin/chromium.ts'
import { type Addressed, openPage, settled } from './scene.ts'

export const TABS = 8
/** For all tabs of a browser together: the events of the organization, and those of the service in view. */
export const STREAMS_MAX = 2
const SETTLE_MS = 60_000
/** What is not told to a tab is never in it: no bound of speed, but an end. */
const UNSEEN_MS = 120_000
/** How often a tab says that it is there; every other interval of seconds asks. */
const SAYS_MS = 30_000

export interface Change {
  name: string
  /** Where each tab is. */
  path: string
  shows: string
  write(): Promise<unknown>
  /** JavaScript: whether it is there. */
  isSeen: string
}

export interface TabsSeen {
  /** Of each change: from before it is written until the last tab has it. */
  slowestMs: Readonly<Record<string, number>>
  streams: Streams
}

export interface Streams {
  /** Of browsers, at management: of organizations and of services. */
  ofTabs: number
  /** At daemons. */
  ofDaemons: number
}

interface Written {
  loci: Loci
  /** Whose slots are seen. */
  serviceId: string
  /** Which is suspended and resumed. */
  emptyServiceId: string
}

/** A slot that is put and changed, and a service whose status changes there and back. */
export function slotAndStatus({ slug, emptySlug }: Addressed, { loci, serviceId, emptyServiceId }: Written): Change[] {
  const { slots } = loci.service(serviceId).user('default')
  const here = `/s/${slug}/working-memory`
  const put = (name: string, words: string): Change => ({
    name,
    path: here,
    shows: '.wm [data-lamp]',
    write: () => slots.put('eight-tabs', words, { pinned: true }),
    isSeen: `document.querySelector('.wm')?.textContent.includes(${JSON.stringify(words)})`,
  })
  const become = (name: 'suspend' | 'resume', status: string): Change => ({
    name: `${name} a service`,
    path: '/services',
    shows: '.sv tbody tr',
    write: () => loci.management.call(`POST /api/v1/services/{id}/${name}`, { path: { id: emptyServiceId } }),
    isSeen: `document.querySelector('tr:has(a[href^="/s/${emptySlug}"])')?.textContent.includes('${status}')`,
  })
  return [
    put('put a slot', 'Noor waits at the north gate'),
    put('change a slot', 'Noor went home by bus'),
    become('suspend', 'Suspended'),
    become('resume', 'Active'),
  ]
}

export function isInTime({ slowestMs }: TabsSeen, bound: { ms: number }): boolean {
  return Object.values(slowestMs).every((ms) => ms <= bound.ms)
}

export function tabsText({ slowestMs, streams }: TabsSeen): string {
  const times = Object.entries(slowestMs).map(([name, ms]) => `${name} ${Math.round(ms)} ms`)
  return `${times.join(', ')} until all ${TABS} tabs have it; ${streams.ofTabs} streams of them, ${streams.ofDaemons} at the daemon`
}

/** A browser whose tabs never ask from time to time: what they show anew was told to them. */
export async function askingNever(browser: Browser, as: BrowserContext): Promise<BrowserContext> {
  const person = await newPerson(browser)
  await person.addCookies(await as.cookies())
  await person.addInitScript(`{
    const every = globalThis.setInterval
    globalThis.setInterval = (work, ms, ...rest) => (ms >= 2000 && ms !== ${SAYS_MS} ? 0 : every(work, ms, ...rest))
  }`)
  return person
}

async function openTabs(place: Addressed, persons: readonly BrowserContext[], path: string, shows: string) {
  const pages: Page[] = []
  for (let tab = 0; tab < TABS; tab += 1)
    pages.push(await openPage(place, persons[tab % persons.length] as BrowserContext, path, shows))
  return pages
}

export async function changesInTabs(
  place: Addressed,
  person: BrowserContext,
  { changes, streams }: { changes: readonly Change[]; streams(): Promise<Streams> },
): Promise<TabsSeen> {
  const slowestMs: Record<string, number> = {}
  const counted: Streams[] = []
  const [first] = changes
  if (!first) throw new Error('no change was given')
  const pages = await openTabs(place, [person], first.path, first.shows)
  const front = pages.at(-1)
  for (const { name, path, shows, write, isSeen } of changes) {
    for (const page of pages) {
      if (new URL(page.url()).pathname !== path) await page.goto(`${place.origin}${path}`)
      await settled(page, shows)
      await page.locator('.live:has-text("Live")').waitFor()
      await page.evaluate(watch(isSeen))
    }
    await front?.bringToFront()
    const begunAt = Date.now()
    await write()
    const seenAt = await Promise.all(
      pages.map((page) => page.evaluate<number | null>(`globalThis.${page === front ? 'painted' : 'changed'}`)),
    )
    slowestMs[name] = Math.max(...seenAt.map((at) => at ?? Number.POSITIVE_INFINITY)) - begunAt
    counted.push(await streams())
  }
  for (const page of pages) await page.close()
  const most = (of: keyof Streams) => Math.max(...counted.map((one) => one[of]))
  return { slowestMs, streams: { ofTabs: most('ofTabs'), ofDaemons: most('ofDaemons') } }
}

/** How many a browser holds whose tabs share nothing, each being a person's only one: for a mutant. */
export async function streamsApart(
  place: Addressed,
  persons: readonly BrowserContext[],
  { path, shows, streams }: { path: string; shows: string; streams(): Promise<Streams> },
): Promise<number> {
  const pages = await openTabs(place, persons, path, shows)
  for (const page of pages) await page.locator('.live:has-text("Live")').waitFor()
  const { ofTabs } = await streams()
  for (const page of pages) await page.close()
  return ofTabs
}

/** From their metrics, when the count has come to rest: a tab that was left is away within seconds. */
export async function streamsAt({ management, daemons }: { management: string; daemons: readonly string[] }) {
  const read = async (): Promise<Streams> => ({
    ofTabs: (await gauge(management, 'loci_event_streams')) + (await gauge(management, 'loci_console_streams')),
    ofDaemons: (await Promise.all(daemons.map((url) => gauge(url, 'loci_event_streams')))).reduce((a, b) => a + b, 0),
  })
  let before = await read()
  for (const endsAt = performance.now() + SETTLE_MS; performance.now() < endsAt; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const now = await read()
    if (JSON.stringify(now) === JSON.stringify(before)) return now
    before = now
  }
  return before
}

async function gauge(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** Painted: in the frame after the one in which it came into the document; null if it never comes. */
function watch(isSeen: string): string {
  return `(() => {
    const frame = (then) => requestAnimationFrame(then)
    globalThis.changed = new Promise((resolve) => {
      const look = () => {
        if (!(${isSeen})) return
        observer.disconnect()
        resolve(Date.now())
      }
      setTimeout(() => resolve(null), ${UNSEEN_MS})
      const observer = new MutationObserver(look)
      observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
      look()
    })
    globalThis.painted = globalThis.changed.then(
      (at) => at === null ? null : new Promise((resolve) => frame(() => frame(() => resolve(Date.now())))),
    )
  })()`
}
