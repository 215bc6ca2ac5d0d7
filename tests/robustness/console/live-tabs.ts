// What changes is on the screen of eight tabs within two seconds, by two streams; and a stream whose capability ends
// goes on without a word.

import type { Browser } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { newPerson } from '../signin/chromium.ts'
import {
  askingNever,
  changesInTabs,
  isInTime,
  STREAMS_MAX,
  slotAndStatus,
  streamsApart,
  streamsAt,
  TABS,
  tabsText,
} from './eight-tabs.ts'
import { openPage, type Scene, until } from './scene.ts'

const SEEN_MS_MAX = 2_000

export async function eightTabs(
  report: Report,
  { browser, scene, isShort }: { browser: Browser; scene: Scene; isShort: boolean },
): Promise<void> {
  const { ada, loci, world, origin, slug, serviceId, emptySlug } = scene
  const { id: emptyServiceId } = await loci.service(emptySlug).known()
  const daemons = world.daemons.slice(-1).map(({ url }) => url)
  const streams = () => streamsAt({ management: world.management?.url ?? origin, daemons })
  const changes = slotAndStatus(scene, { loci, serviceId, emptyServiceId })
  const told = await askingNever(browser, ada)
  const seen = await changesInTabs(scene, told, { changes, streams })
  await told.close()
  // How soon is a matter of the machine as well: eight tabs work at once. CI judges only that they are told.
  const bound = isShort ? { ms: Number.MAX_VALUE, text: 'not judged in short' } : await report.within(SEEN_MS_MAX)
  report.promise(
    `a change of a slot or a status is in ${TABS} tabs that never ask, and painted in front${isShort ? '' : `, within ${SEEN_MS_MAX / 1_000} s`}, by ${STREAMS_MAX} streams of them all`,
    isInTime(seen, bound) && seen.streams.ofTabs === STREAMS_MAX && seen.streams.ofDaemons === 1,
    `${tabsText(seen)} (${bound.text})`,
  )
  if (isShort) return
  const persons = await Promise.all(
    Array.from({ length: TABS }, async () => {
      const person = await newPerson(browser)
      await person.addCookies(await ada.cookies())
      return person
    }),
  )
  const here = { path: `/s/${slug}/working-memory`, shows: '.wm [data-lamp]', streams }
  const apart = await streamsApart(scene, persons, here)
  for (const person of persons) await person.close()
  report.mutant('tabs that share nothing', apart > STREAMS_MAX ? `${apart} streams` : undefined)

  // Without a channel between the tabs nothing is told to any: beside one that shows a change, it shows none.
  const hearing = await askingNever(browser, ada)
  const deaf = await askingNever(browser, ada)
  await deaf.addInitScript('delete globalThis.BroadcastChannel')
  const shown = await openPage(scene, hearing, here.path, here.shows)
  await shown.locator('.live:has-text("Live")').waitFor()
  const page = await openPage(scene, deaf, here.path, here.shows)
  await loci.service(serviceId).user('default').slots.put('eight-tabs', 'Noor is asleep', { pinned: true })
  const isSeen = `document.querySelector('.wm').textContent.includes('Noor is asleep')`
  await until(shown, isSeen)
  const isDeaf = !(await page.evaluate<boolean>(isSeen))
  for (const person of [hearing, deaf]) await person.close()
  report.mutant('a page that is told nothing', isDeaf ? 'it shows nothing of what another shows' : undefined)
}

/** The capability of the stream ends, as by its time or by somebody who revokes it in the list of tokens. */
export async function endedCapability(report: Report, scene: Scene): Promise<void> {
  const { ada, loci, serviceId, slug } = scene
  const page = await openPage(scene, ada, `/s/${slug}/working-memory`, '.wm [data-lamp]')
  await page.locator('.live:has-text("Live")').waitFor()
  const said = new Set<string>()
  const watch = setInterval(() => {
    void page
      .locator('.live')
      .innerText()
      .then(
        (text) => said.add(text.replaceAll(/\d+/g, 'n')),
        () => {},
      )
  }, 200)
  const path = { id: scene.acme.tenantId }
  const { tokens } = (await loci.management.call('GET /api/v1/tenants/{id}/tokens', { path, query: { limit: 200 } }))
    .body
  const own = tokens.filter((one) => one.name === 'console' && one.service_id === serviceId && one.revoked_at === null)
  for (const { token_id } of own)
    await loci.management.call('DELETE /api/v1/tenants/{id}/tokens/{token_id}', { path: { ...path, token_id } })
  const slots = loci.service(serviceId).user('default').slots
  const seen: number[] = []
  for (const words of ['Noor writes a letter', 'Noor sends the letter']) {
    const startedAt = performance.now()
    await slots.put('eight-tabs', words, { pinned: true })
    await until(page, `document.querySelector('.wm').textContent.includes('${words}')`)
    seen.push(performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
  }
  clearInterval(watch)
  const errors = await page.locator('[role="alert"]').count()
  await page.close()
  report.promise(
    'a stream whose capability ended goes on by another: the page says nothing of it and misses nothing',
    own.length > 0 && errors === 0 && [...said].every((text) => text === 'Live'),
    `${own.length} capabilities of the console revoked, "${[...said].join('", "')}", seen after ${seen.map(Math.round).join(' and ')} ms`,
  )
}
