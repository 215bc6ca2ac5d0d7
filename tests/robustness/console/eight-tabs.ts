// A change on the way to eight tabs: when it is painted in each, and how many streams of events all of them hold,
// counted where the streams end.

import type { Loci } from '@loci/sdk/loci.ts'
import type { BrowserContext, Page } from 'playwright-core'
import { type Addressed, openPage, settled } from './scene.ts'

export const TABS = 8
/** For all tabs of a browser together: the events of the organization, and those of the service in view. */
export const STREAMS_MAX = 2
const SETTLE_MS = 60_000

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
  /** Of each change: from before it is written to painted in the last tab. */
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
  return `${times.join(', ')} to the last of ${TABS} tabs; ${streams.ofTabs} streams of them, ${streams.ofDaemons} at the daemon`
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
  for (const { name, path, shows, write, isSeen } of changes) {
    for (const page of pages) {
      if (new URL(page.url()).pathname !== path) await page.goto(`${place.origin}${path}`)
      await settled(page, shows)
      await page.locator('.live:has-text("Live")').waitFor()
      await page.evaluate(watch(isSeen))
    }
    const begunAt = Date.now()
    await write()
    const seenAt = await Promise.all(pages.map((page) => page.evaluate<number>('globalThis.painted')))
    slowestMs[name] = Math.max(...seenAt) - begunAt
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

/** Painted: in the frame after the one in which it came into the document. */
function watch(isSeen: string): string {
  return `void (globalThis.painted = new Promise((resolve) => {
    const frame = (then) => requestAnimationFrame(then)
    const look = () => {
      if (!(${isSeen})) return
      observer.disconnect()
      frame(() => frame(() => resolve(Date.now())))
    }
    const observer = new MutationObserver(look)
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
    look()
  }))`
}
