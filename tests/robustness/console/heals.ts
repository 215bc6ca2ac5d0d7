// A read that failed while the stream lives: of what was never read nothing is told, so the page has to ask again.

import type { Route } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { openPage, type Scene, settled, until } from './scene.ts'

const SLOTS = '**/v1/working-memory/slots*'
const ROW = '.wm [data-lamp]'
/** It is asked for after 5 s; on a loaded machine a few times later. */
const HEALED_MS_MAX = 60_000

// Mutant: `unlessLive()` asks nobody while the stream is open (seen by hand: the alert stays for ever).
export async function heals(report: Report, scene: Scene): Promise<void> {
  const path = `/s/${scene.slug}/working-memory`
  const first = await openPage(scene, scene.ada, path, ROW)
  const page = await scene.ada.newPage()
  const lose = (route: Route) => route.abort('connectionreset')
  await page.route(SLOTS, lose)
  await page.goto(`${scene.origin}${path}`)
  await page.locator('main [role="alert"]').first().waitFor()
  await until(page, `document.querySelector('.live')?.textContent === 'Live'`)
  await page.unroute(SLOTS, lose)
  const isHealed = await until(page, `!document.querySelector('main [role="alert"]')`, HEALED_MS_MAX).then(
    () => true,
    () => false,
  )
  if (isHealed) await settled(page, ROW)
  report.promise('what failed once is read again by itself, also while changes are told', isHealed, `${isHealed}`)
  await page.close()
  await first.close()
}
