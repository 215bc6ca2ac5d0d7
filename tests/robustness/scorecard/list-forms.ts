// Every list of the console in the forms that a list has: while it loads, full, empty, when it could not be read, and
// when what stands there is old. The network of the browser holds answers back, or loses them; what is asked is real.

import type { BrowserContext, Page, Route } from 'playwright-core'
import { openPage, settled, until } from '../console/scene.ts'
import type { Visit } from './console-visit.ts'

interface List {
  name: string
  /** Below `/s/{slug}`, or of the organization. */
  path: string
  /** One of its rows. */
  row: string
  /**
   * Of the service or organization that holds nothing, unless a list is empty by its address. Left out: it never is.
   */
  empty?: { shows: string; path?: string }
  /** It is of one cycle, and never changes. */
  neverOld?: boolean
  /**
   * Read by the worker of all tabs, whose network a test can not hold: full and empty here; its error and stale forms
   * are seen with the daemon killed (test:system -- console --only=away,events).
   */
  isTold?: boolean
}

const LISTS: readonly List[] = [
  { name: 'services', path: '/services', row: '.sv tbody tr', empty: { shows: 'text=No service yet' } },
  { name: 'places', path: '', row: '.place [data-lamp]', empty: { shows: 'text=Nothing is in mind' } },
  { name: 'slots', path: '/working-memory', row: '.wm [data-lamp]', empty: { shows: 'text=Nothing is in mind' } },
  {
    name: 'memories',
    path: '/memory?view=browse',
    row: '.records li',
    empty: { shows: 'text=Nothing is stored yet' },
  },
  { name: 'cycles', path: '/cycles', row: '.cy tbody tr', empty: { shows: 'text=No cycle ran yet' } },
  {
    name: 'decisions',
    path: '/cycles/14',
    row: '.dl tbody tr',
    empty: { shows: 'text=There is no cycle 1', path: '/cycles/1' },
    neverOld: true,
  },
  {
    name: 'tools',
    path: '/advice?class=refund&intent=refund+order',
    row: '.ranked tbody tr',
    empty: { shows: 'text=No outcome was told yet' },
  },
  {
    name: 'events',
    path: '/events',
    row: '.tail tbody tr',
    empty: { shows: 'text=Nothing happened in 24 hours' },
    isTold: true,
  },
  { name: 'chain', path: '/integrity', row: '[data-link]', empty: { shows: 'text=No cycle ran yet' } },
  { name: 'tokens', path: '/o/tokens', row: '.tk tbody tr', empty: { shows: 'text=No token yet' } },
  { name: 'API keys', path: '/o/tokens?tab=keys', row: 'main tbody tr', empty: { shows: 'text=No API key yet' } },
  { name: 'partners', path: '/o/tokens?tab=partners', row: 'text=crm', empty: { shows: 'text=No partner yet' } },
  { name: 'meters', path: '/o/usage', row: '.meters > div' },
  { name: 'members', path: '/o/members', row: '.people tbody tr' },
]

export interface Forms {
  lists: number
  forms: number
  problems: string[]
}

const DATA = '**/api/v1/**'
const PROXIED = '**/proxy/**'
const LATE_MS = 30_000

export async function listForms(visit: Visit): Promise<Forms> {
  const { place, person, emptyOrganization } = visit
  const found: Forms = { lists: LISTS.length, forms: 0, problems: [] }
  const form = async (name: string, of: string, look: () => Promise<unknown>) => {
    found.forms += 1
    await look().catch((error: Error) => found.problems.push(`${name}: no ${of} form: ${error.message.split('\n')[0]}`))
  }
  const open: { name: string; row: string; page: Page }[] = []
  for (const { name, path, row, empty, neverOld, isTold } of LISTS) {
    const isOfService = !path.startsWith('/services') && !path.startsWith('/o/')
    const own = isOfService ? `/s/${place.slug}${path}` : path
    const asked = isOfService ? PROXIED : DATA
    const page = await person.newPage()
    await page.setViewportSize({ width: 1440, height: 900 })
    if (isTold) await form(name, 'full', async () => (await openPage(place, person, own, row)).close())
    else await form(name, 'loading', () => loading(page, { address: `${place.origin}${own}`, asked, row }))
    if (neverOld || isTold) await page.close()
    else open.push({ name, row, page })
    if (!isTold) await form(name, 'error', () => failing(person, { address: `${place.origin}${own}`, asked }))
    if (!empty) continue
    const emptyPath = isOfService
      ? `/s/${place.emptySlug}${empty.path ?? path}`
      : `${path}${path.includes('?') ? '&' : '?'}org=${emptyOrganization}`
    await form(name, 'empty', async () => (await openPage(place, person, emptyPath, empty.shows)).close())
  }
  // All at once: what is old is asked again after a quarter of a minute.
  for (const { page } of open) await page.route(DATA, lose)
  for (const { name, row, page } of open) await form(name, 'stale', () => stale(page, row))
  for (const { page } of open) await page.close()
  return found
}

interface Place {
  address: string
  asked: string
}

async function loading(page: Page, { address, asked, row }: Place & { row: string }): Promise<void> {
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const hold = async (route: Route) => {
    await released
    await route.continue()
  }
  await page.route(asked, hold)
  await page.goto(address)
  try {
    await page.locator('.skeleton').first().waitFor({ timeout: LATE_MS })
  } finally {
    release()
  }
  await settled(page, row)
  await page.unroute(asked, hold)
}

async function failing(person: BrowserContext, { address, asked }: Place): Promise<void> {
  const page = await person.newPage()
  try {
    await page.route(asked, lose)
    await page.goto(address)
    await page.locator('main [role="alert"]').first().waitFor({ timeout: LATE_MS })
    await page.unroute(asked, lose)
    // It is asked again without anybody doing anything.
    await until(page, `!document.querySelector('main [role="alert"]')`).catch(async () => {
      const said = await page.locator('main [role="alert"]').allInnerTexts()
      throw new Error(`it still says: ${said.join('; ').replaceAll(/\s+/g, ' ')}`)
    })
  } finally {
    await page.close()
  }
}

/** As it was, with since when. */
async function stale(page: Page, row: string): Promise<void> {
  const rows = await page.locator(row).count()
  await until(page, `(window.dispatchEvent(new Event('visibilitychange')), ${IS_STALE})`)
  if ((await page.locator(row).count()) < rows) throw new Error('what was there is gone')
}

/** How old it is, and what is wrong. */
export const IS_STALE = `/As of \\d\\d:\\d\\d/.test(document.querySelector('.since')?.textContent ?? '')`

function lose(route: Route): Promise<void> {
  return route.abort('connectionreset')
}
