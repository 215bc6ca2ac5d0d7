// What somebody chose on a page is in its address: after a reload, or sent to somebody, the same is seen. Each page on
// which something can be chosen is shown here with a filter, a tab, a drawer.

import type { BrowserContext, Page } from 'playwright-core'
import { KNOWN } from './questions.ts'
import { type Addressed, openPage } from './scene.ts'

interface Choice {
  name: string
  path(place: Addressed): string
  choose(page: Page): Promise<void>
}

const CHOICES: readonly Choice[] = [
  { name: 'filter of services', path: () => '/services', choose: fill('[aria-label="Filter"]', 'of no service') },
  { name: 'status of services', path: () => '/services', choose: click('a:has-text("Needs a look")') },
  { name: 'range of an overview', path: at(''), choose: click('nav a:text-is("7 d")') },
  { name: 'slot', path: at('/working-memory'), choose: click('.wm a[data-row]') },
  { name: 'question', path: at('/memory'), choose: ask },
  {
    name: 'reasons of a hit',
    path: at(`/memory?q=${encodeURIComponent(KNOWN)}`),
    choose: click('.hits button.sc[aria-pressed="false"]'),
  },
  { name: 'list of memories', path: at('/memory'), choose: click('a:text-is("Browse")') },
  { name: 'order of memories', path: at('/memory?view=browse'), choose: click('button:has-text("oldest first")') },
  { name: 'actor of memories', path: at('/memory?view=browse'), choose: pick('any actor', 'Ada') },
  { name: 'time of cycles', path: at('/cycles'), choose: click('a:text-is("24 h")') },
  { name: 'action of decisions', path: at('/cycles/14'), choose: click('a:has-text("Left")') },
  { name: 'policies', path: at('/advice'), choose: click('a:text-is("Policies")') },
  { name: 'reasons of a tool', path: at('/advice?class=refund&intent=refund+order'), choose: click('a[data-row]') },
  { name: 'type of events', path: at('/events'), choose: click('a:text-is("Cycles")') },
  { name: 'database of events', path: at('/events'), choose: click('a:has(code:text-is("default"))') },
  { name: 'check', path: at('/integrity'), choose: click('button:has-text("Check everything")') },
  { name: 'tab of tokens', path: () => '/o/tokens', choose: click('a:has-text("API keys")') },
  { name: 'form of a token', path: () => '/o/tokens', choose: click('a:has-text("Mint a token")') },
  { name: 'question of a revocation', path: () => '/o/tokens', choose: click('.tk a:text-is("Revoke")') },
  { name: 'range of usage', path: () => '/o/usage', choose: click('a:text-is("24 h")') },
  { name: 'form of an invitation', path: () => '/o/members', choose: click('a:text-is("Invite")') },
]

export interface Restored {
  count: number
  /** What was not there again, or was no choice. */
  problems: string[]
}

export interface RestoredOptions {
  /** Some of them, by name. */
  only?: readonly string[]
  /** For a mutant: what happens before the reload. */
  before?(page: Page): Promise<unknown>
}

export async function restored(
  place: Addressed,
  person: BrowserContext,
  { only, before = async () => {} }: RestoredOptions = {},
): Promise<Restored> {
  const choices = CHOICES.filter(({ name }) => only?.includes(name) ?? true)
  const problems: string[] = []
  for (const { name, path, choose } of choices) {
    const page = await openPage(place, person, path(place))
    const plain = await viewOf(page)
    const trouble = await choose(page).then(
      () => undefined,
      (error: Error) => error.message.split('\n')[0],
    )
    if (trouble !== undefined) {
      problems.push(`${name}: ${trouble}`)
      await page.close()
      continue
    }
    const isChosen = await becomes(page, (view) => view !== plain)
    // What it shows comes after what it asks.
    await becomes(page, () => true)
    const chosen = await viewOf(page)
    await before(page)
    await page.reload()
    if (!isChosen) problems.push(`${name}: nothing is chosen by it`)
    else if (!(await becomes(page, (view) => view === chosen)))
      problems.push(`${name}: ${differenceOf(chosen, await viewOf(page))}`)
    await page.close()
  }
  return { count: choices.length, problems }
}

const WITHIN_MS = 30_000

/** Looked at only while nothing is loading, and twice: what is on its way may be between two answers. */
async function becomes(page: Page, isSo: (view: string) => boolean): Promise<boolean> {
  for (const endsAt = performance.now() + WITHIN_MS; performance.now() < endsAt; ) {
    const isQuiet = await page.evaluate<boolean>(
      `!document.querySelector('.skeleton') && !!document.querySelector('h1')`,
    )
    const view = await viewOf(page)
    await page.waitForTimeout(150)
    if (isQuiet && isSo(view) && (await viewOf(page)) === view) return true
  }
  return false
}

/** All that a choice can change, as lines; no words that say how long ago something was. */
async function viewOf(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const of = (selector, read) => [...document.querySelectorAll(selector)].map(read).join(' | ')
    const text = (one) => one.textContent.trim().replace(/\\s+/g, ' ').slice(0, 60)
    const rows = 'main tbody tr, main ol > li, main ul > li'
    return [
      'headings ' + of('main h1, main h2', text),
      'chosen ' + of('main [aria-current], main [aria-selected=true], main [aria-pressed=true], main [aria-expanded=true]', text),
      'fields ' + of('main input, main select, main textarea', (one) => one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value),
      'rows ' + document.querySelectorAll(rows).length,
      'panels ' + of('dialog[open], .asked, .with-panel, .hits .on, tr.open', () => 1),
    ].join('\\n')
  })()`)
}

function differenceOf(one: string, other: string): string {
  const [before, after] = [one.split('\n'), other.split('\n')]
  const line = before.findIndex((text, number) => text !== after[number])
  return `'${before[line]?.slice(0, 200)}' was '${after[line]?.slice(0, 200)}' after the reload`
}

function at(rest: string): (place: Addressed) => string {
  return ({ slug }) => `/s/${slug}${rest}`
}

function click(selector: string): (page: Page) => Promise<void> {
  return (page) => page.locator(`main ${selector}`).first().click()
}

function fill(selector: string, text: string): (page: Page) => Promise<void> {
  return (page) => page.locator(`main ${selector}`).fill(text)
}

function pick(menu: string, item: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.locator(`main [aria-label="${menu}"]`).click()
    await page.locator(`main button:has(bdi:text-is("${item}")) >> visible=true`).click()
  }
}

async function ask(page: Page): Promise<void> {
  await page.locator('main [aria-label="A question"]').fill(KNOWN)
  await page.keyboard.press('Enter')
}
