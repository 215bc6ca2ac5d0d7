// Other sites against a browser that is signed in: every way in which a page can cause a request, from a site of its
// own and from a neighbour under the same domain, whose requests carry our cookies.

import { createServer, type Server } from 'node:https'
import { cookieNames } from '@loci/contract/headers.ts'
import type { BrowserContext, Page } from 'playwright-core'
import type { Certificate, Front, Seen } from './front.ts'

export interface Evil extends AsyncDisposable {
  port: number
}

/** Answers an empty page, and at /307 leads on to what it is asked for, with method and body. */
export async function startEvil(port: number, certificate: Certificate): Promise<Evil> {
  const server: Server = createServer(certificate, ({ url = '' }, response) => {
    const to = new URL(url, 'https://evil.test').searchParams.get('to')
    if (to) response.writeHead(307, { location: to }).end()
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>evil</title>')
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Targets {
  publicUrl: string
  cliLogin: { id: string; user_code: string }
  organizationId: string
  serviceId: string
}

const PAGES = ['/sign-in', '/sign-out', '/cli-login', '/signed-in/done']
const READS = ['/api/auth/token', '/api/auth/get-session', '/api/v1/events']

/** What a page does without leaving itself. Each is an expression that is done when the request is. */
function quietly({ publicUrl, cliLogin, serviceId }: Targets): string[] {
  const at = (path: string) => JSON.stringify(`${publicUrl}${path}`)
  const reads = [...READS, `/api/v1/services/${serviceId}/proxy/v1/system/info`]
  const writes = [
    ...[
      '/api/auth/refresh',
      '/api/auth/logout',
      '/api/auth/exchange',
      '/sign-out',
      '/cli-login',
      '/signed-in/done',
      '/api/v1/organizations',
    ],
    ...[`/api/v1/cli-logins/${cliLogin.id}/approve`, `/api/v1/cli-logins/${cliLogin.id}/deny`],
  ]
  const body = JSON.stringify(JSON.stringify({ user_code: cliLogin.user_code, name: 'evil' }))
  const element = (tag: string, attribute: string, path: string) => `new Promise((resolve) => {
    const one = document.createElement('${tag}')
    one.onload = one.onerror = resolve
    setTimeout(resolve, 3000)
    one.rel = 'stylesheet'
    one['${attribute}'] = ${at(path)}
    document.body.append(one)
  })`
  const form = (path: string) => `new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.name = 'f' + Math.random()
    document.body.append(frame)
    frame.onload = resolve
    setTimeout(resolve, 3000)
    document.body.insertAdjacentHTML('beforeend', '<form method="post" enctype="text/plain"><input name="{}"></form>')
    const one = document.body.lastElementChild
    one.action = ${at(path)}
    one.target = frame.name
    one.submit()
  })`
  const silently = (call: string) => `${call}.then(() => {}, () => {})`
  return [
    ...reads.flatMap((path) => [
      silently(`fetch(${at(path)}, { credentials: 'include' })`),
      silently(`fetch(${at(path)}, { credentials: 'include', mode: 'no-cors' })`),
      ...['img', 'script', 'iframe', 'embed', 'video'].map((tag) => element(tag, 'src', path)),
      element('object', 'data', path),
      element('link', 'href', path),
    ]),
    `new Promise((resolve) => {
      const one = new EventSource(${at('/api/v1/events')}, { withCredentials: true })
      one.onopen = one.onerror = () => { one.close(); resolve() }
    })`,
    ...writes.flatMap((path) => [
      silently(`fetch(${at(path)}, { method: 'POST', credentials: 'include', mode: 'no-cors', body: ${body} })`),
      silently(`fetch(${at(path)}, { method: 'POST', credentials: 'include', body: ${body},
        headers: { 'content-type': 'application/json' } })`),
      silently(`fetch('/307?to=' + encodeURIComponent(${at(path)}), { method: 'POST', credentials: 'include',
        mode: 'no-cors', body: ${body} })`),
      `Promise.resolve(navigator.sendBeacon(${at(path)}, ${body})).then(() => new Promise((resolve) => setTimeout(resolve, 100)))`,
      form(path),
    ]),
    ...['PUT', 'PATCH', 'DELETE'].map((method) =>
      silently(`fetch(${at('/api/v1/organizations')}, { method: '${method}', credentials: 'include' })`),
    ),
  ]
}

/** What leads the whole tab, or a new one, to us. */
function openly({ publicUrl, cliLogin, organizationId }: Targets): string[] {
  const fields = { user_code: cliLogin.user_code, organization: organizationId, decision: 'approve' }
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)
  const form = (path: string, content = '') => `(() => {
    document.body.innerHTML = ${JSON.stringify(`<form method="post" action="${publicUrl}${path}">${content}</form>`)}
    document.forms[0].submit()
  })()`
  return [
    ...READS.slice(0, 2).map((path) => `void (location.href = ${JSON.stringify(`${publicUrl}${path}`)})`),
    ...['/api/auth/refresh', '/api/auth/logout', '/sign-out', '/signed-in/done'].map((path) => form(path)),
    form('/cli-login', inputs.join('')),
  ]
}

export interface Outcome {
  /** Requests of ours that another site caused. */
  caused: number
  /** Of them, those that carried the cookies of the session. */
  carried: number
  /** What was not refused. */
  wrong: string[]
}

/** All of it, from one origin. */
export async function attack(
  context: BrowserContext,
  front: Front,
  origin: string,
  targets: Targets,
): Promise<Outcome> {
  const page = await context.newPage()
  const from = front.seen.length
  await page.goto(`${origin}/`)
  // One after the other: a browser has six connections to a host, and what waits for one would look like a refusal.
  for (const script of quietly(targets)) await page.evaluate(script)
  const framed = await framedPages(page, targets)
  for (const script of openly(targets)) {
    await page.goto(`${origin}/`)
    const left = page.waitForURL((url) => url.href.startsWith(targets.publicUrl))
    await page.evaluate(script)
    await left
  }
  await opened(page, origin, targets)
  await page.close()
  // Anybody may lead a browser to a page: it does nothing by itself.
  const pages = [...PAGES, '/favicon.ico'].map((path) => `GET ${path}`)
  const seen = front.seen.slice(from).filter(({ line }) => !pages.includes(line.split('?')[0] as string))
  const carried = seen.filter((one) => hasCookie(one, targets.publicUrl))
  const wrong = seen.filter((one) => !isRefused(one, targets.publicUrl)).map(({ line, status }) => `${line} ${status}`)
  if (framed.length > 0) wrong.push(`${framed.length} pages of ours in a frame`)
  return { caused: seen.length, carried: carried.length, wrong }
}

/** Clickjacking: pages of ours that are shown inside another. An answer in JSON is no page. */
async function framedPages(page: Page, { publicUrl }: Targets): Promise<string[]> {
  for (const path of PAGES)
    await page.evaluate(`new Promise((resolve) => {
      const one = document.createElement('iframe')
      one.onload = resolve
      one.src = ${JSON.stringify(`${publicUrl}${path}`)}
      document.body.append(one)
    })`)
  const shown: string[] = []
  for (const frame of page.frames().slice(1))
    if (await frame.evaluate<boolean>(`document.querySelector('h1') !== null && document.URL.startsWith('http')`))
      shown.push(frame.url())
  return shown
}

/** A new window, which has the page that opened it as its opener. */
async function opened(page: Page, origin: string, { publicUrl }: Targets): Promise<void> {
  await page.goto(`${origin}/`)
  const popup = page.waitForEvent('popup')
  await page.evaluate(`void window.open(${JSON.stringify(`${publicUrl}/api/auth/token`)})`)
  const window = await popup
  await window.waitForURL((url) => url.href.startsWith(publicUrl))
  await window.close()
}

function hasCookie({ headers }: Seen, publicUrl: string): boolean {
  return String(headers.cookie).includes(`${cookieNames(publicUrl).access}=`)
}

/** Without the cookie it is nobody's request: 401, and null where the specification orders that. */
function isRefused(one: Seen, publicUrl: string): boolean {
  if (one.headers['sec-fetch-site'] === undefined || one.allowsOrigin) return false
  // A question of the browser, without cookies: what counts is that no other origin is allowed.
  if (one.line.startsWith('OPTIONS')) return true
  if (one.status === 403) return true
  if (hasCookie(one, publicUrl)) return false
  return one.status === 401 || (one.line === 'GET /api/auth/get-session' && one.status === 200)
}
