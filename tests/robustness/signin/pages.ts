// What a person does with the pages of management in a real browser, with the keyboard alone, and what a screen reader
// is told on the way.

import { cookieNames, signInCookie } from '@loci/contract/headers.ts'
import type { BrowserContext, Cookie, Page } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { NEWCOMER } from '../../world/world-file.ts'
import { focused, pressOn, screenshot } from './chromium.ts'
import type { Seen } from './front.ts'

export interface Place {
  publicUrl: string
  /** One of its processes, for what is no browser. */
  processUrl: string
  provider: SignInProvider
}

/** A machine that stands still may make the page be refused with 503; whoever signs in presses again. */
const PRESSES_MAX = 5

/** From our own page to the provider and back. Who is still signed in there is not asked again. */
export async function signInAs(page: Page, { publicUrl, provider }: Place, sub: string): Promise<void> {
  if (!page.url().startsWith(`${publicUrl}/sign-in`)) await page.goto(`${publicUrl}/sign-in`)
  const asks = page.url()
  for (let presses = 1; ; presses += 1) {
    const [answer] = await Promise.all([
      page.waitForResponse((one) => one.url().startsWith(`${publicUrl}/sign-in/start`)),
      pressOn(page, `Continue to ${new URL(provider.issuer).host}`, 'Enter'),
    ])
    if (answer.status() === 303) break
    await page.waitForURL((url) => url.href.startsWith(`${publicUrl}/sign-in/start`))
    if (answer.status() !== 503 || presses === PRESSES_MAX)
      throw new Error(`/sign-in/start answered ${answer.status()} after ${presses} presses: ${await textOf(page)}`)
    await page.goto(asks)
  }
  await page.waitForURL((url) => !url.href.startsWith(`${publicUrl}/sign-in`))
  if (page.url().startsWith(publicUrl)) return
  const fields = Object.entries(provider.form(sub))
  for (const [name, value] of fields) await page.locator(`[name="${name}"]`).fill(value)
  await page.locator(`[name="${fields.at(-1)?.[0]}"]`).press('Enter')
  await page.waitForURL((url) => url.href.startsWith(publicUrl))
}

const textOf = (page: Page) => page.evaluate<string>('document.body.innerText.slice(0, 400)')

export function headingOf(page: Page): Promise<string> {
  // What is no page of ours, such as an error in JSON, has none.
  return page.evaluate<string>(`document.querySelector('h1')?.textContent ?? document.body.textContent.slice(0, 200)`)
}

/** Signs in, approves a command line, denies another, signs out; every page is looked at, and one that refuses. */
export async function walk(report: Report, context: BrowserContext, place: Place): Promise<void> {
  const { publicUrl, processUrl, provider } = place
  const prefix = provider.name.toLowerCase().replaceAll(' ', '-')
  const page = await context.newPage()
  const problems: string[] = []
  let pages = 0
  const look = async (heading: string, name: string) => {
    pages += 1
    const shown = await headingOf(page)
    if (shown !== heading) problems.push(`'${shown}' instead of '${heading}'`)
    problems.push(...(await problemsOf(page)).map((problem) => `${heading}: ${problem}`))
    await screenshot(page, `${prefix}-${pages}-${name}`)
  }

  /** A form leads to its own address: until the page has another heading. */
  const until = (heading: string) =>
    page.waitForFunction(`document.querySelector('h1')?.textContent !== ${JSON.stringify(heading)}`)

  const login = await beginCliLogin(processUrl)
  await page.goto(`${publicUrl}/dashboard/services`)
  await look('Sign in', 'sign-in')
  await page.goto(login.verification_url)
  await signInAs(page, place, 'ada')
  await look('Approve a command line', 'cli-login')
  await page.reload()
  await page.locator('[name="user_code"]').fill(login.user_code)
  await pressOn(page, 'Approve', 'Enter')
  await until('Approve a command line')
  await look('Approved', 'approved')
  const { status, key } = await pollCliLogin(processUrl, login)
  if (status !== 200 || !key) problems.push(`the approved command line was answered ${status}`)

  const second = await beginCliLogin(processUrl)
  await page.goto(second.verification_url)
  await page.locator('[name="user_code"]').fill(second.user_code)
  await pressOn(page, 'Deny', ' ')
  await until('Approve a command line')
  await look('Denied', 'denied')
  const denied = await pollCliLogin(processUrl, second)
  if (denied.status !== 403) problems.push(`the denied command line was answered ${denied.status}`)

  await page.goto(`${publicUrl}/dashboard/services`)
  if (new URL(page.url()).pathname !== '/services') problems.push(`the dashboard leads to ${page.url()}`)
  await page.goto(`${publicUrl}/signed-in/done`)
  await look('You are signed in', 'signed-in')
  await page.reload()
  await pressOn(page, 'Sign out', 'Enter')
  await page.waitForURL(`${publicUrl}/sign-out`)
  await look('Sign out', 'sign-out')
  await page.reload()
  await pressOn(page, 'Sign out', ' ')
  await until('Sign out')
  await look('You are signed out', 'signed-out')
  await page.goto(`${publicUrl}/signed-in?code=x&state=y`)
  await look('That did not work', 'refused')
  await page.close()
  report.promise(
    `${provider.name}: sign-in, approval and sign-out work by the keyboard alone, and a screen reader is told everything`,
    problems.length === 0,
    `${pages} pages, ${problems.length} problems ${problems.slice(0, 5).join('; ')}`,
  )
}

/** Who has no organization makes one, with the keyboard alone. */
export async function firstOrganization(report: Report, context: BrowserContext, place: Place): Promise<void> {
  const page = await context.newPage()
  await signInAs(page, place, NEWCOMER.sub)
  const problems = await problemsOf(page)
  await screenshot(page, 'newcomer-1-none')
  await page.reload()
  await page.locator('[name="name"]').fill('Acme & Söhne')
  await pressOn(page, 'Make the organization', 'Enter')
  await page.waitForURL(`${place.publicUrl}/services`)
  await page.goto(`${place.publicUrl}/signed-in/done`)
  problems.push(...(await problemsOf(page)))
  await screenshot(page, 'newcomer-2-made')
  const shown = await page.locator('li').allInnerTexts()
  await page.close()
  report.promise(
    'who belongs to no organization makes one on the page after sign-in, and sees it',
    problems.length === 0 && shown.length === 1 && /^Acme & Söhne: you are an owner, plan free/.test(String(shown[0])),
    `${shown.map((text) => text.split('\n')[0])}; ${problems.length} problems ${problems.slice(0, 5).join('; ')}`,
  )
}

interface CliLogin {
  id: string
  user_code: string
  verification_url: string
}

export async function beginCliLogin(processUrl: string): Promise<CliLogin> {
  const answer = await post(`${processUrl}/api/v1/cli-logins`, {})
  if (answer.status !== 201) throw new Error(`a command line could not begin: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as CliLogin
}

export async function pollCliLogin(processUrl: string, login: CliLogin): Promise<{ status: number; key?: string }> {
  const answer = await post(`${processUrl}/api/v1/cli-logins/${login.id}/poll`, login)
  const { api_key: key } = (await answer.json()) as { api_key?: string }
  return { status: answer.status, ...(key ? { key } : {}) }
}

function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** What stands in the way of somebody who does not see the page, or sees it small, or in the dark. */
async function problemsOf(page: Page): Promise<string[]> {
  const problems: string[] = []
  const about = await page.evaluate<{ lang: string; title: string; counts: number[]; controls: number }>(`({
    lang: document.documentElement.lang,
    title: document.title,
    counts: ['main', 'h1'].map((name) => document.querySelectorAll(name).length),
    controls: document.querySelectorAll('a[href], button, input').length,
  })`)
  if (about.lang !== 'en' || !about.title.startsWith(await headingOf(page))) problems.push('no language, or no title')
  if (String(about.counts) !== '1,1') problems.push(`${about.counts} main landmarks and headings instead of one`)
  const visited = await tabThrough(page, about.controls)
  for (const { role, name, isMarked } of visited) {
    if (name === '') problems.push(`a ${role} without a name`)
    if (!isMarked) problems.push(`nothing shows that '${name}' has the focus`)
  }
  // Of the radio buttons of one group the keyboard visits one, the arrows the others.
  const groups = await page.evaluate<number>(
    `[...document.querySelectorAll('[type=radio]')].length - new Set([...document.querySelectorAll('[type=radio]')].map((one) => one.name)).size`,
  )
  if (visited.length !== about.controls - groups)
    problems.push(`the keyboard visits ${visited.length} of ${about.controls} controls`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const pale = await page.evaluate<string[]>(PALE)
    problems.push(...pale.map((text) => `'${text}' is hard to read, ${colorScheme}`))
  }
  await page.emulateMedia({ colorScheme: 'light' })
  const size = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 600 })
  if (await page.evaluate<boolean>('document.scrollingElement.scrollWidth > 320')) problems.push('too wide for 320 px')
  if (size) await page.setViewportSize(size)
  return problems
}

async function tabThrough(page: Page, controls: number): Promise<Awaited<ReturnType<typeof focused>>[]> {
  const visited: Awaited<ReturnType<typeof focused>>[] = []
  await page.evaluate('document.activeElement?.blur()')
  for (let tabs = 0; tabs < controls; tabs += 1) {
    await page.keyboard.press('Tab')
    // Behind the last one the focus leaves the page.
    if (await page.evaluate<boolean>('document.activeElement === document.body')) break
    visited.push(await focused(page))
  }
  return visited
}

/** The texts whose contrast is below 4.5 to 1 (WCAG 2.2, 1.4.3), by the colours that the browser computed. */
const PALE = `(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = color
    context.fillRect(0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data]
  }
  const light = (color) => rgba(color).slice(0, 3)
    .map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0)
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (rgba(color)[3] === 255) return color
    }
    return 'white'
  }
  return [...document.querySelectorAll('body *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
    .filter((element) => {
      const [a, b] = [light(getComputedStyle(element).color), light(behind(element))]
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5
    })
    .map((element) => element.textContent.trim().slice(0, 40))
})()`

/** On loopback the provider's are among them: a host's ports share their cookies. */
export async function ownCookies(context: BrowserContext, publicUrl: string): Promise<Cookie[]> {
  return (await context.cookies(publicUrl)).filter(({ name }) => /^(__Host-)?loci_/.test(name))
}

/**
 * After a sign-in: what the browser was told to keep, what it keeps, that it sends it back, and that neither its
 * history nor what pages can read has any of it.
 */
export async function checkCookies(report: Report, context: BrowserContext, publicUrl: string, seen: Seen[]) {
  const isSecure = publicUrl.startsWith('https:')
  const names = Object.values(cookieNames(publicUrl))
  const wrong: string[] = []
  const expected = ['httponly', 'path=/', 'samesite=lax', ...(isSecure ? ['secure'] : [])].join('; ')
  const told = seen.flatMap(({ setCookies }) => setCookies)
  for (const name of [...names, signInCookie(publicUrl)]) {
    const line = told.find((one) => one.startsWith(`${name}=`)) ?? ''
    const [, ...attributes] = line.split('; ').map((one) => one.toLowerCase())
    const flags = attributes.filter((one) => !one.startsWith('max-age=')).sort()
    if (flags.join('; ') !== expected) wrong.push(`${name} was set with ${flags.join('; ')}`)
  }
  const kept = await ownCookies(context, publicUrl)
  if (
    kept
      .map(({ name }) => name)
      .sort()
      .join() !== [...names].sort().join()
  )
    wrong.push(`kept ${kept.map(({ name }) => name)}`)
  for (const { name, domain, path, httpOnly, secure, sameSite } of kept) {
    const found = [domain, path, httpOnly, secure, sameSite].join()
    if (found !== [new URL(publicUrl).hostname, '/', true, isSecure, 'Lax'].join())
      wrong.push(`${name} kept as ${found}`)
  }
  const page = await context.newPage()
  await page.goto(`${publicUrl}/signed-in/done`)
  const sent = seen.at(-1)?.headers.cookie ?? ''
  for (const { name, value } of kept) if (!sent.includes(`${name}=${value}`)) wrong.push(`${name} was not sent back`)
  if ((await headingOf(page)) !== 'You are signed in') wrong.push('the cookies open no session')
  const readable = await page.evaluate<string>(
    'JSON.stringify([document.cookie, Object.entries(localStorage), Object.entries(sessionStorage)])',
  )
  if (readable !== '["",[],[]]') wrong.push('a page can read or has stored something')
  await page.close()
  for (const open of context.pages()) {
    const client = await context.newCDPSession(open)
    const { entries } = await client.send('Page.getNavigationHistory')
    if (entries.some(({ url }) => /[?&](code|state)=/.test(url))) wrong.push('a code is in the history')
    await client.detach()
  }
  report.promise(
    `cookies over ${isSecure ? 'https' : 'loopback http'} carry exactly the flags of the contract, set and sent back by a browser`,
    wrong.length === 0 && kept.length === 2,
    `${kept.length} kept, ${wrong.length} wrong ${wrong.slice(0, 4).join('; ')}`,
  )
}
