// A real browser. Names that end in .test and .example lead to this machine; nothing else is looked up.

import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Kept after the run, for whoever wants to see what a person sees. Not in the repository. */
const OUTPUT = fileURLToPath(new URL('../../../output/signin/', import.meta.url))

/** Some distributions have a script there that says how to install one. */
const executablePath = PATHS.find((path) => spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0)

/** Undefined when there is one. */
export function whyNoChromium(): string | undefined {
  return executablePath ? undefined : `no chromium (apt-get install chromium): not at ${PATHS.join(', ')}`
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath ? { executablePath } : {}),
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
      '--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.example 127.0.0.1',
      // A snapshot of a heap has whole strings: what is searched for may stand at the end of a long one.
      '--js-flags=--heap-snapshot-string-limit=16777216',
    ],
  })
}

/** A person's browser, with cookies of its own. The certificate is of this run, so no authority vouches for it. */
export async function newPerson(browser: Browser, options: { bypassCSP?: boolean } = {}): Promise<BrowserContext> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 900, height: 600 },
    ...options,
  })
  // A machine with other work to do takes its time; what hangs is still found.
  context.setDefaultTimeout(60_000)
  return context
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(OUTPUT, { recursive: true })
  await page.screenshot({ path: join(OUTPUT, `${name}.png`) })
}

/** With the keyboard alone: Tab until what has the focus is called `name`, then `key`. */
export async function pressOn(page: Page, name: string, key: string): Promise<void> {
  for (let tabs = 0; tabs < 30; tabs += 1) {
    await page.keyboard.press('Tab')
    if ((await focused(page)).name === name) return page.keyboard.press(key)
  }
  throw new Error(`the keyboard does not come to '${name}' on ${page.url().split('?')[0]}`)
}

export interface Focused {
  name: string
  role: string
  /** Whether the browser draws anything around it. */
  isMarked: boolean
}

/** What a screen reader says of the element that has the focus: by the browser's own accessibility tree. */
export async function focused(page: Page): Promise<Focused> {
  const client = await page.context().newCDPSession(page)
  try {
    const { nodes } = await client.send('Accessibility.getFullAXTree')
    const node = nodes.find(
      ({ properties, role }) =>
        role?.value !== 'RootWebArea' && properties?.some(({ name, value }) => name === 'focused' && value.value),
    )
    const outline = await page.evaluate<string>(`getComputedStyle(document.activeElement).outlineStyle`)
    return { name: node?.name?.value ?? '', role: node?.role?.value ?? '', isMarked: outline !== 'none' }
  } finally {
    await client.detach()
  }
}
