// What stands on a page against what is true: the numbers of the API, and words that would like to be more than words.

import type { Report } from '../../world/report.ts'
import { KNOWN } from './questions.ts'
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

/** A cycle and its row: what each decided, every score of the ledger, and the bar. */
export async function cyclesAgainstApi(report: Report, scene: Scene): Promise<void> {
  const { ada, slug, serviceId, loci } = scene
  const daemon = await loci.service(serviceId).user('default').daemon()
  const { cycles, total } = (await daemon.call('GET /v1/cognitive/cycles', { query: { limit: 50 } })).body
  const list = await openPage(scene, ada, `/s/${slug}/cycles`, '.cy .phases i')
  const rows = await list.evaluate<string[][]>(
    `[...document.querySelectorAll('.cy tbody tr')].map((row) =>
      [row.cells[0].innerText, row.querySelector('.dec').innerText.replace(/\\s+/g, ' ').trim()])`,
  )
  const said = await list.locator('.head .sub').innerText()
  await list.close()
  const problems = said.startsWith(`${total} in default`) ? [] : [`the head says '${said}' of ${total}`]
  for (const [at, { seq, decisions }] of cycles.entries()) {
    const { admitted, evicted, kept } = decisions
    const [number, decided = ''] = rows[at] ?? []
    const numbers = [
      ...(admitted > 0 ? [`+${admitted}`] : []),
      ...(evicted > 0 ? [`\u2212${evicted}`] : []),
      ...(kept > 0 ? [`${kept} stay`] : []),
    ]
    if (number !== String(seq) || !decided.startsWith(numbers.join(' ')))
      problems.push(`row ${number} '${decided}' instead of ${seq} '${numbers.join(' ')}'`)
  }
  const one = cycles.find(({ threshold, decisions }) => threshold !== null && decisions.evicted > 0)
  if (!one) throw new Error('no cycle of the sample has a bar')
  const { decisions } = (await daemon.call('GET /v1/cognitive/cycles/{id}/decisions', { path: { id: one.id } })).body
  const page = await openPage(scene, ada, `/s/${slug}/cycles/${one.seq}`, '.dl .value')
  const scores = await page.locator('.dl .value').allInnerTexts()
  const bar = await page.locator('.bar-legend').innerText()
  const drawn = await page.evaluate<number>(`(() => {
    const through = document.querySelector('.dl .through')
    const [line, whole] = [through.querySelector(':scope > i'), through].map((one) => one.getBoundingClientRect())
    return 100 * (line.left + line.width / 2 - whole.left) / whole.width
  })()`)
  await page.close()
  const expected = decisions.filter(({ parts }) => parts.length > 0).map(({ score }) => score.toFixed(2))
  if (JSON.stringify(scores.toSorted()) !== JSON.stringify(expected.toSorted()))
    problems.push(`cycle ${one.seq}: ${scores} instead of ${expected}`)
  if (!bar.includes(`bar ${one.threshold?.bar.toFixed(2)} `)) problems.push(`'${bar}' of ${one.threshold?.bar}`)
  const raised = decisions.map(({ parts }) => parts.reduce((sum, part) => sum + Math.max(0, part.contribution), 0))
  const place = (100 * (one.threshold?.bar ?? 0)) / Math.max(...raised)
  if (Math.abs(drawn - place) > 1) problems.push(`the bar is drawn at ${drawn} % and not at ${place} %`)
  for (const line of problems) report.note(line)
  report.promise(
    'the rows of cycles, the scores of a ledger and the bar through it are those of the API',
    problems.length === 0 && rows.length === cycles.length && scores.length > 5,
    `${rows.length} rows, ${scores.length} scores, a bar at ${drawn.toFixed(1)} % of the scale`,
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

/** Each number of a recall, and of what is in mind, beside what the API says of the same. */
export async function recallAgainstApi(report: Report, scene: Scene): Promise<void> {
  const { ada, slug, serviceId, loci } = scene
  const daemon = await loci.service(serviceId).user('default').daemon()
  const page = await openPage(scene, ada, `/s/${slug}/memory?q=${encodeURIComponent(KNOWN)}`, '.hits [data-hit]')
  const shown = await page.evaluate<string[]>(`[...document.querySelectorAll('.hits [data-hit]')].map((hit) =>
    [hit.dataset.hit, hit.querySelector('.sc b').textContent, hit.querySelector('.sc .xs').textContent.split(' ').at(-1)].join(' '))`)
  const adding: string[] = []
  for (const id of await page.evaluate<string[]>(
    `[...document.querySelectorAll('.hits [data-hit]')].map((hit) => hit.dataset.hit)`,
  )) {
    await page.locator(`[data-hit="${id}"] button.sc`).click()
    await page.locator(`[data-hit="${id}"].on`).waitFor()
    if ((await page.locator('.parts tfoot >> text=adds up').count()) === 0) adding.push(id)
  }
  await page.close()
  const { body } = await daemon.call('POST /v1/memory/recall', { body: { query: KNOWN, explain: true } })
  const said = body.results.map(({ id, score, relevance }) => `${id} ${score.toFixed(2)} ${relevance.toFixed(2)}`)
  const problems = shown.filter((line, at) => line !== said[at])
  for (const line of problems) report.note(`the page says ${line}`)
  report.promise(
    'each hit of a recall has the score and relevance of the API, in its order, and parts that add up',
    shown.length > 0 && shown.length === said.length && problems.length === 0 && adding.length === 0,
    `${shown.length} hits, ${problems.length} differ, ${adding.length} do not add up`,
  )
}
