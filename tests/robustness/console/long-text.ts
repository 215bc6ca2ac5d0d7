// Words that are longer than anything: as long as the contract takes them, and a megabyte, as another server could
// answer. They stay text, the page stays usable, and nothing is pushed out of its place.

import type { Page, Route } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { HOSTILE, openPage, type Scene, settled } from './scene.ts'

const KEY = 'long'
/** The most that a slot takes, in bytes. */
const SLOT_BYTES = 16 * 1024
const MEGABYTE = 1024 * 1024
const WIDTHS = [320, 1440]

export async function longText(report: Report, scene: Scene): Promise<void> {
  const { ada, loci, serviceId, slug } = scene
  const user = loci.service(serviceId).user('default')
  // One word without an end, in two directions.
  const longest = `${HOSTILE} \u2067${'\u05D0x'.repeat(5_000)}`
  const fitting = Buffer.from(longest)
    .subarray(0, SLOT_BYTES - 64)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  await user.slots.put(KEY, fitting, { pinned: true })
  const problems: string[] = []
  let views = 0
  const look = async (page: Page, name: string) => {
    const seen = await page.evaluate<{ hurt: unknown; inside: number; longest: number }>(`({
      hurt: window.hurt,
      inside: document.querySelectorAll('bdi *:not(button)').length,
      longest: Math.max(...[...document.querySelectorAll('bdi')].map((one) => one.textContent.length)),
    })`)
    if (seen.hurt !== undefined || seen.inside > 0) problems.push(`${name}: not text: ${JSON.stringify(seen)}`)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      views += 1
      const wide = await page.evaluate<number>('document.scrollingElement.scrollWidth')
      if (wide > width) problems.push(`${name} is ${wide} px wide on a screen of ${width} px`)
    }
    return seen.longest
  }
  const places: [string, string, string][] = [
    ['overview', `/s/${slug}`, '.place [data-lamp]'],
    ['working memory', `/s/${slug}/working-memory`, '.wm [data-lamp]'],
    ['a slot', `/s/${slug}/working-memory?slot=${KEY}`, '.with-panel [data-lamp]'],
    ['memories', `/s/${slug}/memory?view=browse`, '.records li'],
    ['a memory', `/s/${slug}/memory/${scene.hitId}`, '.subject bdi'],
  ]
  for (const [name, path, shows] of places) {
    const page = await openPage(scene, ada, path, shows)
    await look(page, name)
    await page.close()
  }
  const whole = await showAll(scene, places[2]?.[1] as string, fitting)
  const megabyte = HOSTILE + 'wide'.repeat(MEGABYTE / 4)
  let longestShown = 0
  let slowestMs = 0
  for (const [name, path, shows] of places) {
    const page = await ada.newPage()
    await page.route('**/proxy/v1/**', (route) => grown(route, fitting, megabyte))
    await page.setViewportSize({ width: 1440, height: 900 })
    const startedAt = performance.now()
    await page.goto(`${scene.origin}${path}`)
    await settled(page, shows)
    slowestMs = Math.max(slowestMs, performance.now() - startedAt)
    longestShown = Math.max(longestShown, await look(page, `${name} with a megabyte`))
    await page.close()
  }
  await user.slots.delete(KEY)
  for (const line of problems) report.note(line)
  report.promise(
    'words as long as a slot takes, and a megabyte of them, are text in their place on every page that shows words',
    problems.length === 0 && whole && longestShown > 1_000 && longestShown < 10_000,
    `${views} views, ${problems.length} problems; of a megabyte ${longestShown} characters until somebody asks for all; opened within ${Math.round(slowestMs)} ms`,
  )
  const page = await openPage(scene, ada, `/s/${slug}/working-memory`, '.wm [data-lamp]')
  const before = problems.length
  await page.evaluate(`document.querySelector('.wm bdi').innerHTML = '<b>as HTML</b>'`)
  await look(page, 'spoilt')
  await page.close()
  report.mutant('words that are written as HTML', problems[before]?.slice(0, 60))
}

/** Every byte is there for who asks for it. */
async function showAll(scene: Scene, path: string, words: string): Promise<boolean> {
  const page = await openPage(scene, scene.ada, path, '.with-panel [data-lamp]')
  const said = page.locator('.with-panel bdi.large')
  await page.locator('.with-panel button:has-text("Show all")').first().click()
  const shown = await said.first().evaluate((one: { textContent: string }) => one.textContent)
  await page.close()
  return shown === words
}

/** What a memory says, and the slot, as another server could say it. */
async function grown(route: Route, words: string, instead: string): Promise<void> {
  if (route.request().method() !== 'GET' || route.request().url().includes('/events')) return route.continue()
  const response = await route.fetch()
  const inside = (text: string) => JSON.stringify(text).slice(1, -1)
  const body = (await response.text())
    .replaceAll(inside(words), inside(instead))
    .replaceAll(/"content":"(?:[^"\\]|\\.)*"/g, `"content":"${inside(instead)}"`)
  await route.fulfill({ response, body })
}
