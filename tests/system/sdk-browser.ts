// The client in a real browser: from its package, in a page of management's own origin, with the session of who is
// signed in and through management's proxy. No daemon answers another origin, and the page never holds a credential.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { cookieNames } from '@loci/contract/headers.ts'
import type { Page } from 'playwright-core'
import { newPerson, startChromium, whyNoChromium } from '../robustness/signin/chromium.ts'
import { signInAs } from '../robustness/signin/pages.ts'
import { reportOn } from '../world/report.ts'
import type { SignInProvider } from '../world/sign-in-provider.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What runs in the page; it must not use anything of this file. */
const AGENT = `async () => {
  const { Loci, LociError } = await import('/sdk-of-this-test/index.js')
  const loci = new Loci()
  const service = await loci.services.create({ name: 'From a page' }).ready({ timeoutMs: 120000 })
  const ada = service.user('ada')
  const seen = []
  const stop = new AbortController()
  const opened = Promise.withResolvers()
  const following = (async () => {
    for await (const { type } of ada.events({ signal: stop.signal, onOpen: opened.resolve })) {
      seen.push(type)
      if (type === 'slot.written') break
    }
  })()
  await opened.promise
  await ada.remember('Ada prefers replies in Dutch')
  const [hit] = await ada.recall('which language for Ada?')
  await ada.slots.put('goal', 'answer Ada')
  const told = await ada.reportOutcome({ taskClass: 'support', tool: 'translate', outcome: 'success' })
  await following
  const { count } = await ada.slots.list()
  const refused = await service.user('Not A Name').recall('x').catch((error) => error instanceof LociError && error.code)
  const environment = typeof globalThis.process
  return { content: hit?.content, why: hit?.why, count, told: told.accepted, seen, refused, environment, cookie: document.cookie }
}`

interface Said {
  content: string
  why: string
  count: number
  told: boolean
  seen: string[]
  refused: string
  environment: string
  cookie: string
}

await reportOn(async (report) => {
  const why = whyNoChromium()
  if (why) return report.skip('the client in a browser', why)
  const dist = mkdtempSync(path.join(tmpdir(), 'loci-sdk-browser-'))
  const world = await startWorld({ replicas: 1, people: PEOPLE })
  const browser = await startChromium()
  try {
    execFileSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', 'sdk', '--out', dist],
      { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] },
    )
    await addOrganization(world, 'acme')
    const { publicUrl } = world
    const provider = world.signIn as SignInProvider
    // The pages of management allow no scripts at all; a console that brings the client would.
    const person = await newPerson(browser, { bypassCSP: true })
    const page = await person.newPage()
    const asked: { url: string; headers: Record<string, string> }[] = []
    page.on('request', (request) => asked.push({ url: request.url(), headers: request.headers() }))
    await serveClient(page, path.join(dist, 'sdk'))
    await signInAs(page, { publicUrl, processUrl: publicUrl, provider }, 'ada')
    asked.length = 0
    const said = await page.evaluate<Said>(`(${AGENT})()`)
    report.promise(
      'in a page a person remembers, recalls, puts in mind, reports and follows, by the session alone',
      said.content === 'Ada prefers replies in Dutch' &&
        said.count === 1 &&
        said.told &&
        said.seen.includes('slot.written'),
      `chromium ${browser.version()}: "${said.content}" (${said.why}), ${said.count} slot, events ${said.seen.join(' ')}`,
    )
    report.promise('what is refused is told by its code', said.refused === 'VALIDATION_ERROR', said.refused)
    const elsewhere = asked.filter(({ url }) => !url.startsWith(`${publicUrl}/`))
    const secrets = asked.filter(({ headers }) => headers['x-loci-capability'] ?? headers['x-api-key'])
    report.promise(
      'the page asks its own origin alone, and holds no credential that a script could read',
      elsewhere.length + secrets.length === 0 && said.environment === 'undefined' && said.cookie === '',
      `${asked.length} requests, ${elsewhere.length} elsewhere, ${secrets.length} with a credential`,
    )
    // As it is when the access token has ended: its cookie is gone, that of the session is there.
    await person.clearCookies({ name: cookieNames(publicUrl).access })
    asked.length = 0
    const back = await page.evaluate<string>(`(async () => {
      const { Loci } = await import('/sdk-of-this-test/index.js')
      const lists = [1, 2, 3].map(() => new Loci().services.list().all())
      return Promise.all(lists).then(([list]) => list.length + ' services', (error) => error.code)
    })()`)
    const refreshes = asked.filter(({ url }) => url.endsWith('/api/auth/refresh')).length
    report.promise(
      'where the access token has ended the client refreshes the session and goes on',
      back === '1 services' && refreshes >= 1,
      `${back} after ${refreshes} refreshes`,
    )
    const stranger = await (await newPerson(browser, { bypassCSP: true })).newPage()
    await serveClient(stranger, path.join(dist, 'sdk'))
    await stranger.goto(`${publicUrl}/sign-in`)
    const code = await stranger.evaluate<string>(`(async () => {
      const { Loci } = await import('/sdk-of-this-test/index.js')
      return new Loci().services.list().all().then(() => 'answered', (error) => error.code)
    })()`)
    report.promise('who is not signed in is refused', code === 'UNAUTHENTICATED', code)
  } finally {
    await browser.close()
    await world.stop()
    rmSync(dist, { recursive: true, force: true })
  }
})

/** On the origin of the page, as a console would bring it. */
async function serveClient(page: Page, folder: string): Promise<void> {
  await page.route('**/sdk-of-this-test/**', async (route) => {
    const file = path.join(folder, new URL(route.request().url()).pathname.replace('/sdk-of-this-test/', ''))
    if (!existsSync(file)) return route.fulfill({ status: 404 })
    return route.fulfill({ contentType: 'text/javascript', body: readFileSync(file, 'utf8') })
  })
}
