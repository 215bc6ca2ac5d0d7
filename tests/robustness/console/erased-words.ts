// After an erasure no byte of the words is kept in any tab: not in what a tab shows, its heap, or its storage. Tabs
// show the words in every way, and one has been to each page, so that it keeps answers that nobody looks at.

import { randomUUID } from 'node:crypto'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { newPerson } from '../signin/chromium.ts'
import { openPage, type Scene, settled, until } from './scene.ts'

interface Told {
  /** Found in any form in which an engine keeps text: none of its letters is written otherwise anywhere. */
  marks: string[]
  ids: string[]
  slot: string
  cycle: number
}

interface Found {
  /** Tabs and places in which some of it is. */
  where: string[]
  bytes: number
}

const GONE_MS = 60_000
/** Of its own, so that nothing else is in mind. */
const DATABASE = 'archive'

export async function erasedWords(
  report: Report,
  { browser, scene, withMutant }: { browser: Browser; scene: Scene; withMutant: boolean },
): Promise<void> {
  const { before, after, tabs, unstored, erasedMs } = await erased(browser, scene)
  for (const line of after.where) report.note(line)
  report.promise(
    'after an erasure no tab has a byte of the words: in its page, its heap, its storages or its files',
    before.where.length >= tabs - 1 && after.where.length === 0 && unstored > 0,
    `${tabs} tabs, ${before.where.length} places had them, ${after.where.length} do ${Math.round(erasedMs)} ms later; ${(after.bytes / 1e6).toFixed(0)} MB of heap searched, ${unstored} answers not to be stored`,
  )
  if (!withMutant) return
  const kept = await erased(browser, scene, (person) => person.route('**/console/assets/*.js', forgetless))
  report.mutant('an erasure that drops nothing', kept.after.where[0])
}

async function erased(
  browser: Browser,
  scene: Scene,
  spoil: (person: BrowserContext) => Promise<unknown> = async () => {},
) {
  const { loci, serviceId, slug } = scene
  const user = loci.service(serviceId).user(DATABASE)
  const told = await tell(scene)
  const person = await newPerson(browser)
  await person.addCookies(await scene.ada.cookies())
  await spoil(person)
  const storable: Promise<string>[] = []
  let unstored = 0
  person.on('response', (response) => {
    if (!response.url().includes('/proxy/v1/')) return
    const kept = response.allHeaders().then((headers) => {
      if (!/no-store/.test(String(headers['cache-control']))) return response.url()
      unstored += 1
      return ''
    })
    storable.push(kept)
    kept.catch(() => {})
  })
  const question = encodeURIComponent('Where is the spare key of the archive?')
  const pages: [string, string][] = [
    [`/s/${slug}?db=${DATABASE}`, '.place [data-lamp]'],
    [`/s/${slug}/working-memory?db=${DATABASE}&slot=${told.slot}`, '.with-panel [data-lamp]'],
    [`/s/${slug}/memory?db=${DATABASE}&q=${question}`, '.hits [data-hit]'],
    [`/s/${slug}/memory?db=${DATABASE}&view=browse`, '.records li'],
    [`/s/${slug}/memory/${told.ids[0]}?db=${DATABASE}`, '.subject bdi'],
    [`/s/${slug}/cycles/${told.cycle}?db=${DATABASE}`, '.dl tbody tr'],
  ]
  const tabs: Page[] = []
  for (const [path, shows] of pages) tabs.push(await openPage(scene, person, path, shows))
  tabs.push(await beenEverywhere(scene, person))
  for (const tab of tabs) await tab.locator('.live:has-text("Live")').waitFor()
  const before = await search(tabs, told.marks)

  const startedAt = performance.now()
  for (const id of told.ids) await user.forget(id)
  // What is searched for is never told to a page: it would be in its heap by that.
  const isShown = async (tab: Page) => told.marks.some((mark) => mark === '' || texts.get(tab)?.includes(mark))
  const texts = new Map<Page, string>()
  for (const endsAt = performance.now() + GONE_MS; performance.now() < endsAt; ) {
    for (const tab of tabs) texts.set(tab, await tab.evaluate<string>('document.documentElement.innerHTML'))
    if (!(await Promise.all(tabs.map(isShown))).includes(true)) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const erasedMs = performance.now() - startedAt
  // Events that come together are one change for who looks.
  for (const tab of tabs) await until(tab, `!document.querySelector('.skeleton')`)
  const after = await search(tabs, told.marks)
  after.where.push(...(await Promise.all(storable)).filter((url) => url !== '').map((url) => `may be stored: ${url}`))
  await person.close()
  return { before, after, tabs: tabs.length, unstored, erasedMs }
}

/** Told to a cycle, so that it is a memory, in mind, and in the ledger; in letters of one byte and of two. */
async function tell({ loci, serviceId }: Scene): Promise<Told> {
  const user = loci.service(serviceId).user(DATABASE)
  const [one, two] = [`qz${randomUUID()}`, `qz${randomUUID()}`]
  const contents = [
    `The spare key of the archive is in the box ${one}`,
    `The spare key of the archive 鍵 is in the box ${two}`,
  ]
  const { id } = await user.cycle({
    focus: 'the spare key of the archive',
    observations: contents.map((content) => ({ content, actor: 'Ada', contextId: 'archive' })),
  })
  const daemon = await user.daemon()
  const { seq } = (await daemon.call('GET /v1/cognitive/cycles/{id}', { path: { id } })).body
  const { records } = (await daemon.call('GET /v1/memory/records', { query: { limit: 10 } })).body
  const { slots } = (await daemon.call('GET /v1/working-memory/slots')).body
  const ids = records.filter(({ content }) => contents.includes(content)).map((record) => record.id)
  const slot = slots.find(({ recordId }) => recordId === ids[0]) ?? slots.find(({ recordId }) => recordId === ids[1])
  if (ids.length !== 2 || !slot) throw new Error(`the cycle kept ${ids.length} of two memories, in mind ${slot?.key}`)
  return { marks: [one, two], ids, slot: slot.key, cycle: seq }
}

/** By the links of the console, so that the answers of each page stay in the cache of this one. */
async function beenEverywhere(scene: Scene, person: BrowserContext): Promise<Page> {
  const page = await openPage(scene, person, `/s/${scene.slug}?db=${DATABASE}`, '.place [data-lamp]')
  for (const [key, shows] of [
    ['w', '.wm [data-lamp]'],
    ['r', '.records li, h1:has-text("Memory")'],
    ['c', '.cy tbody tr'],
    ['t', '.tk tbody tr'],
  ] as const) {
    await page.keyboard.press('g')
    await page.keyboard.press(key)
    await settled(page, shows)
  }
  return page
}

async function search(tabs: readonly Page[], marks: readonly string[]): Promise<Found> {
  const found: Found = { where: [], bytes: 0 }
  for (const tab of tabs) {
    const { pathname } = new URL(tab.url())
    const stored = await tab.evaluate<string>(STORED)
    if (marks.some((mark) => stored.includes(mark))) found.where.push(`stored by ${pathname}`)
    const { bytes, has } = await heapHas(tab, marks)
    found.bytes += bytes
    if (has) found.where.push(`in the heap of ${pathname}: ${has}`)
  }
  return found
}

/** All that an origin can keep in a browser, as text. */
const STORED = `(async () => {
  const told = [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), document.cookie]
  for (const { name } of await indexedDB.databases()) told.push('IndexedDB ' + name)
  for (const name of await caches.keys()) {
    const cache = await caches.open(name)
    for (const request of await cache.keys()) told.push(request.url + await (await cache.match(request)).text())
  }
  return told.join(' ')
})()`

/** After a collection of garbage: a snapshot of the heap has every string that something still holds. */
async function heapHas(tab: Page, marks: readonly string[]): Promise<{ bytes: number; has: string | undefined }> {
  const client = await tab.context().newCDPSession(tab)
  try {
    await client.send('HeapProfiler.enable')
    for (let turn = 0; turn < 2; turn += 1) await client.send('HeapProfiler.collectGarbage')
    let bytes = 0
    let rest = ''
    let has: string | undefined
    client.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }: { chunk: string }) => {
      bytes += chunk.length
      const text = rest + chunk
      const mark = marks.find((one) => text.includes(one))
      if (mark && has === undefined) {
        const at = text.indexOf(mark)
        has = text.slice(Math.max(0, at - 90), at + 50).replaceAll(/\s+/g, ' ')
      }
      rest = text.slice(-200)
    })
    await client.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
    return { bytes, has }
  } finally {
    await client.detach()
  }
}

/** The files of the console as they are, but for the name of the event. */
async function forgetless(route: Route): Promise<void> {
  const response = await route.fetch()
  const body = (await response.text()).replaceAll('memory.erased', 'memory.nothing')
  await route.fulfill({ response, body })
}
