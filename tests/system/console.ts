// The console in a real browser, against real processes and the real sign-in: every page in both schemes and every
// state, held against axe and the width of screens; what it loads and whom it asks; what people do with it by the
// keyboard. Pictures are kept in output/console. A page is added in tests/robustness/console/pages.ts.
// With --pictures it makes those of README instead.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { everyState } from '../robustness/console/all-states.ts'
import { cyclesAgainstApi, heldAgainstApi, hostileText, recallAgainstApi } from '../robustness/console/contents.ts'
import { linksAfterSignIn } from '../robustness/console/deep-links.ts'
import { erasedWords } from '../robustness/console/erased-words.ts'
import { firstLoad } from '../robustness/console/first-load.ts'
import { heals } from '../robustness/console/heals.ts'
import { createByKeyboard, endedSession, storedToErased } from '../robustness/console/journeys.ts'
import { eightTabs, endedCapability } from '../robustness/console/live-tabs.ts'
import { longText } from '../robustness/console/long-text.ts'
import { inScheme, inspect, type Scheme } from '../robustness/console/look.ts'
import { longDay, momentByLink } from '../robustness/console/mind.ts'
import { consoleMutants } from '../robustness/console/mutants.ts'
import { organizationAgainstApi } from '../robustness/console/organization-contents.ts'
import { PAGES } from '../robustness/console/pages.ts'
import { readmePictures } from '../robustness/console/readme-pictures.ts'
import { reloadsInDev } from '../robustness/console/reloads.ts'
import { restored } from '../robustness/console/restored.ts'
import { killDaemon, openPage, type Scene, setScene, settled, until } from '../robustness/console/scene.ts'
import { serviceAgainstApi } from '../robustness/console/service-contents.ts'
import { narrowAndRevoke, signInOnTheWay, tokenByKeyboard } from '../robustness/console/token-journeys.ts'
import { startChromium, whyNoChromium } from '../robustness/signin/chromium.ts'
import { type Report, reportOn } from '../world/report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const isShort = process.argv.includes('--short')
const SCHEMES: readonly Scheme[] = ['light', 'dark']
/** What a busy machine may take. */
const SEEN_MS = 120_000
const WIDTHS = isShort ? [320] : [320, 390, 768, 1440, 2560]
/** --only=overview,memory,tabs: these pages and parts and nothing else, for who works on them. */
const only = process.argv
  .find((word) => word.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',')
const shows = (name: string) => only?.includes(name) ?? true
const pages = PAGES.filter(({ name }) => shows(name))

interface Part {
  name: string
  isInShort: boolean
  run(report: Report, scene: Scene, browser: Browser): Promise<void>
}

/** In this order: the later ones change what the earlier ones look at. */
const PARTS: readonly Part[] = [
  { name: 'weight', isInShort: true, run: (report, scene, browser) => firstLoad(report, browser, scene) },
  { name: 'words', isInShort: true, run: hostileText },
  { name: 'numbers', isInShort: true, run: againstApi },
  { name: 'mind', isInShort: true, run: momentByLink },
  { name: 'states', isInShort: false, run: (report, scene) => everyState(report, scene, pages) },
  { name: 'heals', isInShort: true, run: heals },
  { name: 'create', isInShort: true, run: createByKeyboard },
  { name: 'life', isInShort: true, run: storedToErased },
  { name: 'tokens', isInShort: true, run: tokenJourneys },
  { name: 'tabs', isInShort: true, run: tabs },
  { name: 'erased', isInShort: true, run: erased },
  { name: 'addresses', isInShort: false, run: addresses },
  { name: 'long', isInShort: false, run: longText },
  { name: 'links', isInShort: false, run: (report, scene, browser) => linksAfterSignIn(report, browser, scene) },
  { name: 'capability', isInShort: false, run: endedCapability },
  { name: 'away', isInShort: false, run: withoutDaemon },
  { name: 'session', isInShort: false, run: endedSession },
  { name: 'mutants', isInShort: false, run: consoleMutants },
  { name: 'reload', isInShort: false, run: reloadsInDev },
  { name: 'day', isInShort: false, run: longDay },
]

await reportOn(async (report) => {
  const why = whyNoChromium()
  if (why) return report.skip('the console in a browser', why)
  const flags = ['--disable-warning=ExperimentalWarning']
  execFileSync(process.execPath, [...flags, 'scripts/build.ts', 'console'], { cwd: ROOT, stdio: 'inherit' })
  const browser = await startChromium()
  if (process.argv.includes('--pictures')) {
    await readmePictures(report, browser).finally(() => browser.close())
    return
  }
  let scene: Scene | undefined
  let broken: Error | undefined
  try {
    report.note(`chromium ${browser.version()}`)
    scene = await setScene(browser)
    if (pages.length > 0) await everyPage(report, scene)
    for (const { name, isInShort, run } of PARTS) {
      const isOfPages = (name === 'away' || name === 'states') && pages.length > 0
      const isWanted = only ? only.includes(name) || (isOfPages && !isShort) : isInShort || !isShort
      if (!isWanted) continue
      // What breaks one part is told, and the others are seen all the same.
      await run(report, scene, browser).catch((error: Error) => {
        report.note(`the part '${name}' broke: ${error.message}`)
        broken ??= error
      })
    }
    ownOriginAlone(report, scene)
    if (broken) throw broken
  } finally {
    await browser.close()
    await scene?.world.stop()
  }
})

async function againstApi(report: Report, scene: Scene): Promise<void> {
  await heldAgainstApi(report, scene)
  await cyclesAgainstApi(report, scene)
  await recallAgainstApi(report, scene)
  await serviceAgainstApi(report, scene)
  await organizationAgainstApi(report, scene)
}

async function tokenJourneys(report: Report, scene: Scene): Promise<void> {
  await narrowAndRevoke(report, scene)
  await tokenByKeyboard(report, scene)
  await signInOnTheWay(report, scene)
}

function tabs(report: Report, scene: Scene, browser: Browser): Promise<void> {
  return eightTabs(report, { browser, scene, isShort })
}

function erased(report: Report, scene: Scene, browser: Browser): Promise<void> {
  return erasedWords(report, { browser, scene, withMutant: !isShort })
}

async function addresses(report: Report, scene: Scene): Promise<void> {
  const { count, problems } = await restored(scene, scene.ada)
  for (const line of problems) report.note(line)
  report.promise(
    'every filter, tab and drawer stands in the address: after a reload the page shows the same',
    problems.length === 0,
    `${count - problems.length} of ${count}`,
  )
}

/** Full and empty, light and dark. */
async function everyPage(report: Report, scene: Scene): Promise<void> {
  const problems: string[] = []
  let views = 0
  const look = async (name: string, as: 'ada' | 'ben', path: string, shows: string) => {
    const page = await openPage(scene, scene[as], path, shows)
    for (const scheme of SCHEMES) {
      await inScheme(page, scheme)
      await settled(page, shows)
      const { violations, tooWide } = await inspect(page, `${name}-${scheme}`, { widths: WIDTHS })
      views += 1
      problems.push(...violations.map((one) => `${name} ${scheme}: ${one}`))
      problems.push(...tooWide.map((width) => `${name} ${scheme} scrolls sideways at ${width} px`))
    }
    await page.close()
  }
  for (const { name, path, shows, empty } of pages) {
    await look(`${name}-full`, 'ada', path(scene), shows)
    if (empty) await look(`${name}-empty`, empty.as, empty.path(scene), empty.shows)
  }
  for (const line of problems) report.note(line)
  report.promise(
    'every page, full and empty, light and dark, breaks no rule of WCAG 2.2 A and AA and scrolls sideways on no screen from 320 px',
    problems.length === 0,
    `${views} views, ${problems.length} problems`,
  )
}

/** What was there stays and says how old it is; what was not there says why; and it goes on by itself. */
async function withoutDaemon(report: Report, scene: Scene): Promise<void> {
  const own = pages.filter(({ ofService }) => ofService)
  if (own.length === 0) return
  const open = await Promise.all(
    own.map(async (one) => {
      return { ...one, page: await openPage(scene, scene.ada, one.path(scene), one.shows) }
    }),
  )
  const revive = await killDaemon(scene)
  const problems: string[] = []
  for (const { name, page, shows, asksOnce = false } of open) {
    if (!asksOnce && !(await isSeen(page, '.since'))) problems.push(`${name}: it does not say how old it is`)
    if ((await page.locator(shows).count()) === 0) problems.push(`${name}: what was there is gone`)
    for (const scheme of SCHEMES) {
      await inScheme(page, scheme)
      const { violations, tooWide } = await inspect(page, `${name}-stale-${scheme}`, { widths: WIDTHS })
      problems.push(...violations.map((one) => `${name} stale ${scheme}: ${one}`))
      problems.push(...tooWide.map((width) => `${name} stale ${scheme} scrolls sideways at ${width} px`))
    }
    const { pathname, search } = new URL(page.url())
    const fresh = await openPage(scene, scene.ada, `${pathname}${search}`)
    if (!(await isSeen(fresh, '[role="alert"]'))) problems.push(`${name}: a new one does not say what it lacks`)
    for (const scheme of SCHEMES) {
      await inScheme(fresh, scheme)
      const { violations, tooWide } = await inspect(fresh, `${name}-error-${scheme}`, { widths: WIDTHS })
      problems.push(...violations.map((one) => `${name} error ${scheme}: ${one}`))
      problems.push(...tooWide.map((width) => `${name} error ${scheme} scrolls sideways at ${width} px`))
    }
    if (name === 'working-memory' && (await goesBlank(fresh)))
      problems.push(`${name}: its error goes while it asks again`)
    await fresh.close()
  }
  await revive()
  for (const { page, shows } of open) {
    await until(page, `!document.querySelector('.since')`)
    await settled(page, shows)
    await page.close()
  }
  for (const line of problems) report.note(line)
  report.promise(
    'while the daemon is dead a page keeps what it had and says how old that is, a new one says what it lacks, and both go on by themselves',
    problems.length === 0,
    `${open.length} pages × stale, error × light, dark: ${problems.length} problems`,
  )
}

/** Whether less is said than before while the page asks again, twice. Mutant: `Loaded` goes by the error alone. */
async function goesBlank(page: Page): Promise<boolean> {
  await page.evaluate(`(() => {
    const said = () => document.querySelectorAll('[role="alert"]').length
    const before = said()
    globalThis.isLess = false
    const look = () => (globalThis.isLess ||= said() < before)
    new MutationObserver(look).observe(document, { subtree: true, childList: true })
  })()`)
  for (let asked = 0; asked < 2; asked += 1)
    await page.waitForResponse((answer) => answer.url().includes('/v1/') && !answer.ok(), { timeout: SEEN_MS })
  return page.evaluate<boolean>('globalThis.isLess')
}

function isSeen(page: Page, selector: string): Promise<boolean> {
  const first = page.locator(selector).first()
  return first.waitFor({ timeout: SEEN_MS }).then(
    () => true,
    () => false,
  )
}

function ownOriginAlone(report: Report, { asked, complaints, origin }: Scene): void {
  const elsewhere = asked.filter((url) => !url.startsWith(`${origin}/`))
  for (const line of [...elsewhere, ...complaints].slice(0, 10)) report.note(line)
  report.promise(
    'nothing is asked of another origin, and no page breaks its content security policy or throws',
    elsewhere.length + complaints.length === 0 && asked.length > 10,
    `${asked.length} requests, ${elsewhere.length} elsewhere, ${complaints.length} complaints`,
  )
}
