// Attempts to have a person act as somebody else, or end up elsewhere: login CSRF, open redirects, fixation and cookie
// tossing, in a real browser.

import { cookieNames, signInCookie } from '@loci/contract/headers.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { newPerson } from './chromium.ts'
import type { Front } from './front.ts'
import { headingOf, ownCookies, type Place, signInAs } from './pages.ts'

/** Who the browser is to us; empty when it is nobody. */
async function whoIs(context: BrowserContext, { publicUrl }: Place): Promise<string> {
  const page = await context.newPage()
  await page.goto(`${publicUrl}/signed-in/done`)
  const text = (await headingOf(page)) === 'You are signed in' ? await page.locator('strong').first().innerText() : ''
  await page.close()
  return text
}

/** Login CSRF: the attacker stops at the last step, and has the victim's browser take it. */
export async function foreignLogin(report: Report, browser: Browser, place: Place, front: Front): Promise<void> {
  const attacker = await newPerson(browser)
  front.cut.prefix = '/signed-in?'
  await signInAs(await attacker.newPage(), place, 'ben').catch(() => {})
  front.cut.prefix = undefined
  const path = front.cut.paths.find((one) => one.includes('code='))
  if (!path) throw new Error('the attacker came to no code')
  const address = `${place.publicUrl}${path}`
  const headings: string[] = []
  const became: string[] = []
  for (const hasBegun of [false, true]) {
    const victim = await newPerson(browser)
    const tab = await victim.newPage()
    if (hasBegun) await tab.goto(`${place.publicUrl}/sign-in/start`)
    await tab.goto(address)
    headings.push(await headingOf(tab))
    became.push(await whoIs(victim, place))
    await victim.close()
  }
  await attacker.close()
  report.promise(
    'login CSRF: an address with the code of somebody else signs nobody in, whether a sign-in was begun or not',
    headings.every((heading) => heading === 'That did not work') && became.join('') === '',
    `${headings.length} victims saw ${headings.join(', ')}; became ${became.join('') || 'nobody'}`,
  )
}

const ELSEWHERE = [
  ...['https://evil.example/', '//evil.example/', '/\\evil.example/', '\\\\evil.example', 'https:evil.example'],
  ...['/\t/evil.example', '\t//evil.example', '/.//evil.example', '/..//evil.example', '/%2F/evil.example'],
  ...['///evil.example', '/@evil.example', 'javascript:alert(1)', 'data:text/html,x', '.evil.example', ''],
]

export async function returnAddresses(report: Report, browser: Browser, place: Place): Promise<void> {
  const { publicUrl } = place
  const person = await newPerson(browser)
  const page = await person.newPage()
  const wrong: string[] = []
  for (const to of ELSEWHERE) {
    await page.goto(`${publicUrl}/sign-in?${new URLSearchParams({ return_to: to })}`)
    await signInAs(page, place, 'ada')
    if (new URL(page.url()).origin !== publicUrl) wrong.push(to)
    await person.clearCookies({ domain: new URL(publicUrl).hostname })
  }
  await page.goto(`${publicUrl}/sign-in?${new URLSearchParams({ return_to: '/sign-out?x=1' })}`)
  await signInAs(page, place, 'ada')
  const isLed = page.url() === `${publicUrl}/sign-out?x=1`
  await person.close()
  report.promise(
    'open redirect: a return address leads to a page of ours or nowhere',
    wrong.length === 0 && isLed,
    `${ELSEWHERE.length} addresses of others, ${wrong.length} led away ${wrong.join(' ')}; one of ours ${isLed ? 'kept' : 'lost'}`,
  )
}

/** Fixation and cookie tossing: a neighbour plants cookies of its own session before and after a person signs in. */
export async function plantedCookies(report: Report, browser: Browser, place: Place, neighbour: string): Promise<void> {
  const { publicUrl } = place
  const isSecure = publicUrl.startsWith('https:')
  const names = cookieNames(publicUrl)
  const attacker = await newPerson(browser)
  await signInAs(await attacker.newPage(), place, 'ben')
  const me = await whoIs(attacker, place)
  const own = await ownCookies(attacker, publicUrl)
  const person = await newPerson(browser)
  // Over http the neighbour is another port, which nobody needs to listen at.
  if (!isSecure) await person.route(`${neighbour}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  const evil = await person.newPage()
  await evil.goto(`${neighbour}/`)
  const scope = isSecure ? ['; domain=loci.test; secure', '; secure', ''] : ['']
  const plant = async (path: string) => {
    for (const { name, value } of own)
      for (const more of scope)
        for (const as of new Set([name, name.replace('__Host-', '')]))
          await evil.evaluate(`void (document.cookie = ${JSON.stringify(`${as}=${value}; path=${path}${more}`)})`)
    await evil.evaluate(`void (document.cookie = ${JSON.stringify(`${signInCookie(publicUrl)}=x; path=/${scope[0]}`)})`)
  }
  await plant('/')
  const before = await whoIs(person, place)
  await signInAs(await person.newPage(), place, 'ada')
  const after = await whoIs(person, place)
  const given = (await person.cookies(publicUrl)).filter(({ name }) => Object.values(names).includes(name))
  const isNew = given.length === 2 && given.every(({ value }) => own.every((one) => one.value !== value))
  // Now a more exact path than ours, which a browser sends first.
  await plant('/api/auth')
  const asked = await statusAndText(await person.newPage(), `${publicUrl}/api/auth/session`)
  const isOther = asked.text.includes(me)
  const attackersOwn = await whoIs(attacker, place)
  await Promise.all([attacker.close(), person.close()])
  // On loopback ports share their cookies, and nothing else is to be had there: two of one name are refused.
  const expected = isSecure ? [200, ''] : [400, me]
  report.promise(
    `fixation and cookie tossing over ${isSecure ? 'https' : 'loopback http'}: planted cookies make nobody somebody else`,
    after !== '' &&
      after !== me &&
      isNew &&
      !isOther &&
      attackersOwn === me &&
      asked.status === expected[0] &&
      before === expected[1],
    `before sign-in ${before || 'nobody'}, after it ${after}, with a cookie of another path ${asked.status}`,
  )
}

async function statusAndText(page: Page, url: string): Promise<{ status: number; text: string }> {
  const answer = await page.goto(url)
  return { status: answer?.status() ?? 0, text: (await answer?.text()) ?? '' }
}
