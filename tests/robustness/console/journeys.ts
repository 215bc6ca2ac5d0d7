// What people do in the console, with the keyboard alone; and what happens when their session ends on the way.

import type { Report } from '../../world/report.ts'
import { pressOn } from '../signin/chromium.ts'
import { makeService } from './by-keyboard.ts'
import { openPage, type Scene, settled, tabTo } from './scene.ts'

/** From a first visit to a service that remembers. */
export async function createByKeyboard(report: Report, scene: Scene): Promise<void> {
  const { ben } = scene
  const page = await openPage(scene, ben, '/services', 'text=No service yet')
  const steps = await makeService(page, scene, 'My agent')
  await page.locator('text=Store a first memory').waitFor()
  await tabTo(page, 'text')
  await page.keyboard.type('Ada prefers replies in Dutch')
  await page.keyboard.press('Enter')
  await page.locator('text=Ask for it').waitFor()
  await page.locator('[name="text"]').nth(1).focus()
  await page.keyboard.type('which language for Ada?')
  await page.keyboard.press('Enter')
  const answer = await page.locator('.answer').innerText()
  // The address names what is being made: whoever reloads, or sends it to somebody, sees the same.
  await page.reload()
  await page.locator('.foot:has-text("It is active")').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL((url) => url.pathname === '/services')
  const row = await page.locator('.sv tbody tr').innerText()
  await page.close()
  report.promise(
    'somebody makes a service, sees its three steps, stores a memory and is answered, by the keyboard alone',
    steps.join() === 'Place,Publish,Confirm' &&
      answer === 'Ada prefers replies in Dutch' &&
      /My agent[\s\S]*Active/.test(row),
    `${steps.join(', ')}; "${answer}"`,
  )
}

const FACT = 'The spare key of the workshop hangs behind the blue toolbox'

/** A memory from its first word to its receipt; nothing of it may be in the page afterwards. */
export async function storedToErased(report: Report, scene: Scene): Promise<void> {
  const { ada, slug, loci, serviceId } = scene
  const page = await openPage(scene, ada, `/s/${slug}/memory`)
  await page.locator('button:has-text("Store")').first().click()
  await page.locator('dialog textarea').fill(FACT)
  await page.locator('dialog button[type="submit"]').click()
  await page.locator('text=Stored, and recallable now.').waitFor()
  await page.locator('[aria-label="A question"]').fill('Where is the spare key of the workshop?')
  await page.keyboard.press('Enter')
  await page.locator('.hits [data-hit]').first().waitFor()
  const first = page.locator('.hits [data-hit]').first()
  const recalled = await first.locator('bdi').first().innerText()
  const id = (await first.getAttribute('data-hit')) as string
  await first.locator('button.sc').click()
  await page.locator('.parts >> text=adds up >> visible=true').first().waitFor()
  await page.goto(`${scene.origin}/s/${slug}/memory/${id}`)
  await settled(page, '.subject bdi')
  await page.locator('button:has-text("Erase…")').click()
  await page.locator('dialog input').fill('erase')
  await page.locator('dialog button:has-text("Erase it everywhere")').click()
  await page.locator('text=Erased everywhere it stood.').waitFor()
  const left = await page.evaluate<boolean>(`document.documentElement.outerHTML.includes(${JSON.stringify(FACT)})
    || JSON.stringify({ ...localStorage, ...sessionStorage }).includes(${JSON.stringify(FACT)})`)
  await page.close()
  const { body } = await (await loci.service(serviceId).user('default').daemon()).call('POST /v1/memory/records/read', {
    body: { ids: [id] },
  })
  report.promise(
    'a memory is stored, recalled, explained and erased, and neither the page nor the server has it then',
    recalled === FACT && !left && body.missing.join() === id,
    `"${recalled}"; ${left ? 'still in the page' : 'gone from the page'}, ${body.missing.length} missing`,
  )
}

/** Nothing that was typed is lost: the page stays, says so, and goes on when there is a session again. */
export async function endedSession(report: Report, scene: Scene): Promise<void> {
  const { ada, ben, origin } = scene
  const page = await openPage(scene, ada, '/services/new')
  await page.locator('[name="name"]').fill('Half a name')
  const kept = await ada.cookies()
  await ada.clearCookies()
  await pressOn(page, 'Create service', 'Enter')
  await page.locator('text=Your session is over').waitFor()
  const typed = await page.locator('[name="name"]').inputValue()
  await ada.addCookies(kept)
  await page.locator('button:has-text("Try now")').first().click()
  await page.locator('.foot:has-text("It is active")').waitFor({ timeout: 300_000 })
  const isStillSaid = await page.locator('text=Your session is over').count()
  await page.close()

  const stranger = await ben.newPage()
  await ben.clearCookies()
  await stranger.goto(`${origin}/services?q=x`)
  await stranger.waitForURL((url) => url.pathname === '/sign-in')
  const returnTo = new URL(stranger.url()).searchParams.get('return_to')
  await stranger.close()
  report.promise(
    'a session that ends takes nothing that was typed, and who has none is led to sign-in and back',
    typed === 'Half a name' && isStillSaid === 0 && returnTo === '/services?q=x',
    `'${typed}' was kept, and made when there was a session again; back to ${returnTo}`,
  )
}
