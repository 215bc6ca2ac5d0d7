// What stands on a page against what is true: the numbers of the API, and words that would like to be more than words.

import type { Report } from '../../world/report.ts'
import { HOSTILE, openPage, type Scene, settled } from './scene.ts'

export async function hostileText(report: Report, scene: Scene): Promise<void> {
  const { ada, slug } = scene
  const page = await openPage(scene, ada, `/s/${slug}`, '.place [data-lamp]')
  const seen = await page.evaluate<{ hurt: unknown; inside: number; texts: string[]; voice: string[] }>(`({
    hurt: window.hurt,
    inside: document.querySelectorAll('bdi *:not(button)').length,
    texts: [...document.querySelectorAll('bdi')].map((one) => one.textContent),
    voice: [...new Set([...document.querySelectorAll('bdi')].map((one) => getComputedStyle(one).fontFamily.split(',')[0]))],
  })`)
  await page.close()
  const shown = seen.texts.filter((text) => text === HOSTILE).length
  report.promise(
    'what agents and people said is text, whatever it looks like, and stands in a voice of its own',
    seen.hurt === undefined && seen.inside === 0 && shown > 0 && seen.voice.length === 1,
    `${shown} × hostile text as it is, ${seen.inside} elements in ${seen.texts.length} texts, ${seen.voice}`,
  )
}

export async function heldAgainstApi(report: Report, scene: Scene): Promise<void> {
  const { ada, origin, slug, serviceId, loci } = scene
  const user = loci.service(serviceId).user('default')
  const daemon = await user.daemon()
  const { body: slots } = await daemon.call('GET /v1/working-memory/slots')
  const page = await openPage(scene, ada, `/s/${slug}`, '.place [data-lamp]')
  const shown = await page.locator('.place:not(.free) > b').allInnerTexts()
  const places = await page.locator('h2:has-text("In mind now") + .sm').innerText()
  await page.goto(`${origin}/services`)
  await settled(page, '.sv .lit [data-lamp]')
  const held = await page.locator(`tr:has(a[href="/s/${slug}"]) .held`).innerText()
  await page.close()
  const expected = slots.slots.map(({ activation }) => activation.toFixed(2)).sort()
  const activations = shown.map((text) => text.replace(/ .*/, '')).sort()
  const problems = [
    ...(JSON.stringify(activations) === JSON.stringify(expected) ? [] : [`${activations} instead of ${expected}`]),
    ...(places === `${slots.count} of ${slots.capacity} places` ? [] : [`'${places}'`]),
    ...(held.trim() === `${slots.count} of ${slots.capacity}` ? [] : [`'${held}' in the list`]),
  ]
  for (const line of problems) report.note(line)
  report.promise(
    'the numbers of a page are those of the API',
    problems.length === 0 && expected.length > 0,
    `${expected.length} activations, ${places}`,
  )
}
