// What a browser loads before it shows the first page, compressed as it comes.

import type { Browser, BrowserContext } from 'playwright-core'
import { newPerson } from '../signin/chromium.ts'
import { type Scene, settled } from './scene.ts'

const JAVASCRIPT_MAX = 200_000
const CSS_MAX = 20_000

export interface Weight {
  javascript: number
  css: number
  fonts: number
}

interface Loaded {
  path: string
  bytes: number
  headers: Record<string, string>
}

/** By a browser in which somebody is signed in and that has loaded nothing yet. */
export async function weighFirstLoad(
  browser: Browser,
  signedIn: BrowserContext,
  { origin }: Pick<Scene, 'origin'>,
): Promise<Weight & { files: Loaded[] }> {
  const person = await newPerson(browser)
  await person.addCookies(await signedIn.cookies())
  const page = await person.newPage()
  const loads: Promise<Loaded>[] = []
  page.on('requestfinished', (request) => {
    const { pathname } = new URL(request.url())
    if (!pathname.startsWith('/console/') && pathname !== '/services') return
    loads.push(
      (async () => {
        const [{ responseBodySize }, response] = await Promise.all([request.sizes(), request.response()])
        return { path: pathname, bytes: responseBodySize, headers: (await response?.allHeaders()) ?? {} }
      })(),
    )
  })
  await page.goto(`${origin}/services`)
  await settled(page)
  const files = await Promise.all(loads)
  await person.close()
  const weigh = (ending: string) =>
    files.filter(({ path }) => path.endsWith(ending)).reduce((sum, { bytes }) => sum + bytes, 0)
  return { javascript: weigh('.js'), css: weigh('.css'), fonts: weigh('.woff2'), files }
}

export function isLight({ javascript, css }: Pick<Weight, 'javascript' | 'css'>): boolean {
  return javascript > 0 && javascript <= JAVASCRIPT_MAX && css > 0 && css <= CSS_MAX
}

export function weightText({ javascript, css }: Pick<Weight, 'javascript' | 'css'>): string {
  return `${kilobytes(javascript)} JavaScript, ${kilobytes(css)} CSS`
}

export function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} KB`
}
