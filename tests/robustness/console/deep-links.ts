// A link that somebody sent leads there, also whoever has to sign in first: to the slot, the memory, the cycle, the
// token.

import type { Browser } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { newPerson } from '../signin/chromium.ts'
import { signInAs } from '../signin/pages.ts'
import { openPage, type Scene, settled } from './scene.ts'

export async function linksAfterSignIn(report: Report, browser: Browser, scene: Scene): Promise<void> {
  const { ada, origin, slug, hitId, world } = scene
  const tokens = await openPage(scene, ada, '/o/tokens', '.tk tbody tr')
  const revoke = (await tokens.locator('.tk a:text-is("Revoke")').first().getAttribute('href')) as string
  await tokens.close()
  const links: [string, string, string][] = [
    ['a slot', `/s/${slug}/working-memory?slot=hostile`, '.with-panel [data-lamp]'],
    ['a memory', `/s/${slug}/memory/${hitId}`, '.subject bdi'],
    ['a cycle', `/s/${slug}/cycles/14?action=left`, '.dl tbody tr'],
    ['a token', revoke, '.asked h2:has-text("Revoke")'],
  ]
  const problems: string[] = []
  for (const [name, link, shows] of links) {
    const person = await newPerson(browser)
    const page = await person.newPage()
    await page.goto(`${origin}${link}`)
    await page.waitForURL((url) => url.pathname === '/sign-in')
    const provider = world.signIn as SignInProvider
    await signInAs(page, { publicUrl: origin, processUrl: origin, provider }, 'ada')
    await settled(page, shows).catch(() => problems.push(`${name}: it is not shown`))
    const { pathname, search } = new URL(page.url())
    if (`${pathname}${search}` !== link) problems.push(`${name}: at ${pathname}${search} instead of ${link}`)
    await person.close()
  }
  for (const line of problems) report.note(line)
  report.promise(
    'whoever follows a link and has to sign in comes to what it leads to: a slot, a memory, a cycle, a token',
    problems.length === 0,
    `${links.length} links, ${problems.length} problems`,
  )
}
