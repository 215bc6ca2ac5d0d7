// A browser in the console of `loci up --seed demo`, signed in by the code of `loci up code`: what checks 21 to 29
// look at.

import { Loci } from '@loci/sdk/loci.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { KNOWN } from '../console/questions.ts'
import type { Addressed } from '../console/scene.ts'
import { newPerson, startChromium, whyNoChromium } from '../signin/chromium.ts'
import { type Check, dataOf, type Setting, secretOf, type UpData, type Verdict } from './setting.ts'

export interface Visit extends AsyncDisposable {
  browser: Browser
  /** The owner. */
  person: BrowserContext
  place: Addressed
  /** Of the same person, in which nothing was ever made. */
  emptyOrganization: string
  /** With the API key of the owner; its service has the sample. */
  loci: Loci
  serviceId: string
  emptyServiceId: string
  up: UpData
  /** Every address that a page of the console asked, by whatever means. */
  asked: string[]
  /** A browser that shares nothing with the other, of the same person. */
  another(): Promise<BrowserContext>
}

interface Prepared {
  up: UpData
  place: Addressed
  emptyOrganization: string
  serviceId: string
  emptyServiceId: string
}

/** Once: with a service and an organization that hold nothing, and a credential of a partner. */
const prepared = new WeakMap<Setting, Promise<Prepared>>()

async function visitConsole(setting: Setting): Promise<Visit> {
  const browser = await startChromium()
  try {
    const given = prepared.get(setting) ?? prepare(setting, browser)
    prepared.set(setting, given)
    const { up, ...rest } = await given
    const asked: string[] = []
    // Each time anew: an older session would have to be renewed, and its cookies are of another browser.
    const person = await newPerson(browser)
    const page = await person.newPage()
    await signInByCode(setting, page, up.management)
    await page.close()
    const another = async () => {
      const other = await newPerson(browser)
      await other.addCookies(await person.cookies())
      return other
    }
    person.on('request', (request) => asked.push(request.url()))
    const loci = new Loci({ url: up.management, token: secretOf(setting, 'api-key'), service: rest.serviceId })
    return { browser, person, up, ...rest, loci, asked, another, [Symbol.asyncDispose]: () => browser.close() }
  } catch (error) {
    prepared.delete(setting)
    await browser.close()
    throw error
  }
}

async function prepare(setting: Setting, browser: Browser): Promise<Prepared> {
  const { loci } = setting
  const up = await dataOf<UpData & { service_id: string }>(loci, ['up', '-d', '--seed', 'demo'])
  const person = await newPerson(browser)
  const page = await person.newPage()
  await signInByCode(setting, page, up.management)
  const emptyOrganization = await page.evaluate<string>(
    `fetch('/api/v1/organizations', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"Nothing yet"}' })
      .then((answer) => answer.json()).then(({ id }) => id)`,
  )
  await person.close()
  const name = 'Research crew'
  await dataOf(loci, ['services', 'create', name, '--plan', 'enterprise'])
  const { services } = await dataOf<{ services: { id: string; name: string; slug: string }[] }>(loci, [
    'services',
    'list',
  ])
  const [sample, empty] = [up.service_id, undefined].map((id) =>
    services.find((one) => (id === undefined ? one.name === name : one.id === id)),
  )
  if (!sample || !empty) throw new Error(`these services are there: ${JSON.stringify(services)}`)
  await dataOf(loci, [
    ...['api', 'POST', `/api/v1/services/${sample.id}/partner-credentials`],
    ...['-d', '{"name":"crm","database":"default","partner":"crm"}'],
  ])
  const ours = new Loci({ url: up.management, token: secretOf(setting, 'api-key'), service: sample.id })
  const [best] = await ours.service().user('default').recall(KNOWN)
  if (!best) throw new Error(`the sample has no answer to '${KNOWN}'`)
  const place = { origin: up.management, slug: sample.slug, emptySlug: empty.slug, hitId: best.id }
  return { up, place, emptyOrganization, serviceId: sample.id, emptyServiceId: empty.id }
}

/** By the pages that a person sees, from /sign-in to the console. */
export async function signInByCode({ loci }: Pick<Setting, 'loci'>, page: Page, origin: string): Promise<void> {
  const { code } = await dataOf<{ code: string }>(loci, ['up', 'code'])
  await page.goto(`${origin}/sign-in`)
  await page.locator('a.go').click()
  await page.locator('[name="code"]').fill(code)
  await page.locator('[name="code"]').press('Enter')
  await page.waitForURL((url) => url.origin === origin && url.pathname === '/services')
}

type Seen = Pick<Check, 'number' | 'title'> & {
  look(visit: Visit, setting: Setting): Promise<Verdict>
}

/** A check by a browser, where there is one. */
export function seenBy({ number, title, look }: Seen): Check {
  return {
    number,
    title,
    async measure(setting) {
      const missing = whyNoChromium()
      if (missing) return { passes: false, value: 'not seen', due: missing }
      await using visit = await visitConsole(setting)
      // Awaited here: the browser is closed when this returns.
      return await look(visit, setting)
    },
  }
}
