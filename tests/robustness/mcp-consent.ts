// Where a person allows a client of /mcp, in a real browser; and the client's own address, which the browser is led
// back to.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { pressOn } from './signin/chromium.ts'
import { type Place, signInAs } from './signin/pages.ts'

export interface Callback extends AsyncDisposable {
  redirectUri: string
  /** What the browser that comes next brings. */
  next(): Promise<URLSearchParams>
  /** A page of the client's that holds another one in a frame. */
  framing(address: string): string
}

export async function startCallback(): Promise<Callback> {
  let wake = (_: URLSearchParams) => {}
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(String(request.url), 'http://client')
    const framed = searchParams.get('framed')?.replaceAll('&', '&amp;')
    const body = framed ? `<iframe src="${framed}"></iframe>` : 'You can close this page.'
    response.writeHead(200, { 'content-type': 'text/html' }).end(body)
    if (pathname === '/callback') wake(searchParams)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return {
    redirectUri: `${origin}/callback`,
    framing: (address) => `${origin}/?${new URLSearchParams({ framed: address })}`,
    next: () => new Promise((resolve) => (wake = resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Consent {
  place: Place
  callback: Callback
  /** Who signs in, where nobody is signed in yet. */
  sub: string
  serviceId: string
  /** As the form has them; undefined: as it stands there. */
  databases?: string
  decision: 'Allow' | 'Deny'
}

/** Opens what the client asks for, signs in where that is needed, chooses the service and decides, by the keyboard. */
export async function decide(person: BrowserContext, address: string, consent: Consent): Promise<URLSearchParams> {
  const page = await person.newPage()
  const led = consent.callback.next()
  await openConsent(page, address, consent)
  await page.locator(`[name="service"][value$="/${consent.serviceId}"]`).check()
  if (consent.databases !== undefined) await page.locator('[name="databases"]').fill(consent.databases)
  await pressOn(page, consent.decision, 'Enter')
  await page
    .waitForURL((url) => url.href.startsWith(consent.callback.redirectUri))
    .catch(async (error) => {
      throw new Error(`not led to the client: ${await page.locator('main').innerText()}`, { cause: error })
    })
  const brought = await led
  await page.close()
  return brought
}

/** Up to the page that asks. */
export async function openConsent(page: Page, address: string, { place, sub }: Pick<Consent, 'place' | 'sub'>) {
  await page.goto(address)
  if (page.url().startsWith(`${place.publicUrl}/sign-in`)) await signInAs(page, place, sub)
}
