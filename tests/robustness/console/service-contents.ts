// The numbers of the pages of a service, and of its organization's usage, against those of the API. Each is read twice:
// from the page, and by the client of the owner or from the same address as the page asks.

import type { Page } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { runSql } from '../../world/sql.ts'
import { openPage, type Scene, settled, until } from './scene.ts'

interface Comparison {
  same(what: string, shown: unknown, expected: unknown): void
}

export async function serviceAgainstApi(report: Report, scene: Scene): Promise<void> {
  const problems: string[] = []
  let numbers = 0
  const told: Comparison = {
    same(what, shown, expected) {
      numbers += Array.isArray(expected) ? expected.length : 1
      if (JSON.stringify(shown) !== JSON.stringify(expected))
        problems.push(`${what}: ${JSON.stringify(shown)} instead of ${JSON.stringify(expected)}`)
    },
  }
  await servicesPage(told, scene)
  await overviewPage(told, scene)
  await workingMemoryPage(told, scene)
  await eventsPage(told, scene)
  await settingsPage(told, scene)
  await integrityPage(told, scene)
  await usagePage(told, scene)
  for (const line of problems) report.note(line.slice(0, 400))
  report.promise(
    'services, overview, working memory, events, settings, integrity and usage show the numbers of the API',
    problems.length === 0 && numbers > 200,
    `${numbers} numbers, ${problems.length} of them differ`,
  )
  const first = problems.length
  told.same('a number that is one too many', 12, 11)
  report.mutant('a page that counts one too many', problems.length > first ? problems.at(-1) : undefined)
}

/** Each page beside what `answers` of the API say now. */
async function servicesPage({ same }: Comparison, scene: Scene): Promise<void> {
  const page = await openPage(scene, scene.ada, '/services', '.sv .lit [data-lamp]')
  const { body } = await scene.loci.management.call('GET /api/v1/services', { query: { limit: 100 } })
  const rows = await textsOf(page, '.sv tbody tr td:first-child .id, .sv tbody tr td:first-child code')
  same('services', rows.toSorted(), body.services.map(({ slug }) => slug).toSorted())
  same('their count', await textOf(page, '.head .sub'), `${body.services.length} in acme`)
  const active = body.services.filter(({ status }) => status === 'active').length
  same('active', await textOf(page, '.seg a:nth-child(2)'), `Active ${active}`)
  await page.close()
}

async function overviewPage({ same }: Comparison, scene: Scene): Promise<void> {
  const { ada, acme, loci, serviceId, slug } = scene
  const daemon = await loci.service(serviceId).user('default').daemon()
  const page = await openPage(scene, ada, `/s/${slug}`, '.place [data-lamp]')
  await until(page, `document.querySelectorAll('.holds b').length === 4`)
  const { body: stats } = await daemon.call('GET /v1/working-memory/stats')
  const { body: cycles } = await daemon.call('GET /v1/cognitive/stats')
  const health = await page.evaluate<Record<string, string>>(
    `Object.fromEntries([...document.querySelectorAll('dl dt')].map((dt) => [dt.textContent, dt.nextElementSibling.textContent]))`,
  )
  same('places', health['Working memory']?.match(/\d+ of \d+/)?.[0], `${stats.slotCount} of ${stats.capacity}`)
  same('bytes', health['Working memory']?.split(', ').at(-1), bytesText(stats.bytes))
  const { checkedThroughSeq } = cycles.corruption
  same(
    'chain',
    health['Chain of cycles']?.match(/\d+ of \d+/)?.[0],
    `${checkedThroughSeq ?? 0} of ${cycles.completedCycles}`,
  )
  const path = { id: acme.tenantId }
  const { body: status } = await loci.management.call('GET /api/v1/tenants/{id}/status', { path })
  const { records, bytes, databases, requests_per_second } = status.limits
  same(
    'limits',
    await textsOf(page, '.holds .mut'),
    [count(records.limit), bytesText(bytes.limit), count(databases.limit), count(requests_per_second.limit)].map(
      (text) => `of ${text}`,
    ),
  )
  await page.close()
}

async function workingMemoryPage({ same }: Comparison, scene: Scene): Promise<void> {
  const { ada, loci, serviceId, slug } = scene
  const daemon = await loci.service(serviceId).user('default').daemon()
  const page = await openPage(scene, ada, `/s/${slug}/working-memory?slot=hostile`, '.with-panel [data-lamp]')
  const { body: list } = await daemon.call('GET /v1/working-memory/slots')
  const { body: stats } = await daemon.call('GET /v1/working-memory/stats')
  const rows = await page.evaluate<string[]>(`[...document.querySelectorAll('.wm tbody tr:not(.free)')].map((row) =>
    [row.querySelector('[data-row]').title, row.querySelector('.value').textContent, row.cells[3].textContent].join(' '))`)
  const expected = list.slots.map(
    ({ key, activation, accessCount }) => `${key} ${activation.toFixed(2)} ${accessCount || '–'}`,
  )
  same('slots', rows.toSorted(), expected.toSorted())
  same('places', await textOf(page, '.places .many'), `${list.count} of ${list.capacity} places`)
  const left = (await page.locator('h2:text-is("Left") + *').innerText()).match(/^\d+/)?.[0]
  same('left', left, String(stats.evictions))
  const slot = list.slots.find(({ key }) => key === 'hostile')
  const parts = await textsOf(page, '.with-panel .parts tbody tr td:last-child')
  same(
    'parts of a slot',
    parts,
    slot?.explain.parts.map(({ contribution }) => contribution.toFixed(6)),
  )
  await page.close()
}

async function eventsPage({ same }: Comparison, scene: Scene): Promise<void> {
  const { ada, slug } = scene
  const page = await openPage(scene, ada, `/s/${slug}/events`, '.tail tbody tr')
  const kept = await keptEvents(scene)
  const newest = Number(kept.at(-1)?.split(' ')[0])
  await until(
    page,
    `[...document.querySelectorAll('.tail .seq')].some((one) => one.textContent === '${count(newest)}')`,
  )
  const rows = await page.evaluate<string[]>(`[...document.querySelectorAll('.tail tbody tr')].map((row) =>
    row.querySelector('.seq').textContent.replace(',', '') + ' ' + row.querySelector('.code').textContent)`)
  // The page begins with the newest two hundred.
  same('events', rows, kept.toReversed().slice(0, rows.length))
  await page.close()
}

/** By an agent's own way to them, up to the newest that the database has. */
async function keptEvents({ loci, serviceId, world }: Scene): Promise<string[]> {
  const [last] = await runSql<{ seq: string }>(
    world.postgres.adminUrl('loci_cell'),
    `select max(seq)::text as seq from loci.events where instance_id = '${serviceId}'`,
  )
  const kept: string[] = []
  for await (const { seq, type } of loci.service(serviceId).events({ after: '0' })) {
    if (seq > 0) kept.push(`${seq} ${type}`)
    if (seq >= Number(last?.seq)) break
  }
  return kept
}

async function settingsPage({ same }: Comparison, scene: Scene): Promise<void> {
  const { ada, loci, serviceId, slug } = scene
  const daemon = await loci.service(serviceId).user('default').daemon()
  const page = await openPage(scene, ada, `/s/${slug}/settings`, '.setting')
  const shown = await page.evaluate<
    Record<string, string>
  >(`Object.fromEntries([...document.querySelectorAll('.setting')]
    .map((row) => [row.querySelector('code').textContent, row.querySelector('input, select').value]))`)
  for (const { settings } of [
    (await daemon.call('GET /v1/working-memory/settings')).body,
    (await daemon.call('GET /v1/cognitive/settings')).body,
  ])
    for (const { key, value } of settings)
      if (key in shown) same(`setting ${key}`, shown[key], typeof value === 'object' ? '' : String(value))
  await page.close()
}

/** The check costs what it costs, so it is not made twice: what it answered to the page is what the page shows. */
async function integrityPage({ same }: Comparison, scene: Scene): Promise<void> {
  const page = await scene.ada.newPage()
  const answers: Promise<{ checks: Check[] }>[] = []
  page.on('response', (response) => {
    if (!response.ok() || !response.url().includes('/v1/kv/consistency')) return
    const answer: Promise<{ checks: Check[] }> = response.json()
    answers.push(answer)
    // Where the page is not settled in time that is told, and not that its answers went with it.
    answer.catch(() => {})
  })
  await page.goto(`${scene.origin}/s/${scene.slug}/integrity?check=full`)
  // A walk pays for each page, and waits where the plan's rate is used up: longer where the machine is slow.
  await settled(page, '.links [data-link="whole"]', 300_000)
  const summed = new Map<string, Check>()
  for (const { checks } of await Promise.all(answers))
    for (const { name, checked, failed } of checks) {
      const before = summed.get(name)
      summed.set(name, { name, checked: checked + (before?.checked ?? 0), failed: failed + (before?.failed ?? 0) })
    }
  const rows = await page.evaluate<string[]>(`[...document.querySelectorAll('main table tbody tr')].map((row) =>
    [row.querySelector('.id').textContent, row.cells[1].textContent.replace(',', ''), row.cells[2].textContent].join(' '))`)
  const expected = [...summed.values()].map(({ name, checked, failed }) => `${name} ${checked} ${failed}`)
  same('checks', rows.toSorted(), expected.toSorted())
  await page.close()
}

interface Check {
  name: string
  checked: number
  failed: number
}

async function usagePage({ same }: Comparison, scene: Scene): Promise<void> {
  const { ada, acme, loci } = scene
  const from = new Date(Date.now() - 14 * 86_400_000).toISOString()
  const read = async () => {
    const query = { by: 'service' as const, step: 'day' as const, from }
    const { body } = await loci.management.call('GET /api/v1/usage', { query })
    const most = (of: 'records' | 'bytes') => Math.max(...body.services.map(({ usage }) => usage.at(-1)?.[of] ?? 0))
    return { records: most('records'), bytes: most('bytes') }
  }
  const { body: status } = await loci.management.call('GET /api/v1/tenants/{id}/status', {
    path: { id: acme.tenantId },
  })
  const { services, records, bytes } = status.limits
  // Daemons report once a minute: what is read before and after is the same unless one did in between.
  for (let tries = 0; ; tries += 1) {
    const held = await read()
    const page = await openPage(scene, ada, '/o/usage', '.meters .tn')
    await until(page, `document.querySelectorAll('.meters .meter').length === 4`)
    const shown = await textsOf(page, '.meters .nowrap')
    await page.close()
    if (tries < 5 && JSON.stringify(await read()) !== JSON.stringify(held)) continue
    same('meters', shown.slice(0, 3), [
      `${count(services.used)} of ${count(services.limit)}`,
      `${count(held.records)} of ${count(records.limit)}`,
      `${bytesText(held.bytes)} of ${bytesText(bytes.limit)}`,
    ])
    return
  }
}

async function textsOf(page: Page, selector: string): Promise<string[]> {
  return (await page.locator(selector).allInnerTexts()).map((text) => text.trim().replace(/\s+/g, ' '))
}

async function textOf(page: Page, selector: string): Promise<string | undefined> {
  return (await textsOf(page, selector))[0]
}

function count(value: number): string {
  return value.toLocaleString('en')
}

/** The powers of 1024, with one decimal below a hundred. */
function bytesText(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let scaled = value
  let unit = 0
  for (; scaled >= 1024 && unit < units.length - 1; unit += 1) scaled /= 1024
  return `${unit > 0 && scaled < 100 ? String(Math.round(scaled * 10) / 10) : Math.round(scaled).toLocaleString('en')} ${units[unit]}`
}
