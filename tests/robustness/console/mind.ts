// Mind: a moment that is opened by its link, held against the timeline of the API; and a long day of real cycles, how
// soon it is drawn and how fast the line goes through it.

import type { Timeline, TimelineItem } from '@loci/sdk/daemon.ts'
import type { Page } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { liveAgo, openPage, type Scene, settled, until } from './scene.ts'

/** After a cycle: between two of them nothing changes. */
const LATER_MS = 36_000

/** What a panel says, line by line. */
interface Told {
  head: string
  held: string[]
  focus: string
  changed: string
  open: string
}

export async function momentByLink(report: Report, scene: Scene): Promise<void> {
  const { ada, slug } = scene
  const timeline = await timelineOf(scene)
  const busiest = timeline.cycles.filter(({ counts, bar }) => counts.evicted > 0 && bar !== null)
  const cycle = busiest.sort((one, other) => other.counts.evicted - one.counts.evicted)[0]
  if (!cycle) throw new Error('no cycle of the sample let anything go')
  const moment = Date.parse(cycle.at) + LATER_MS
  const item = heldAt(timeline, moment)[2]
  const path = `/s/${slug}/mind?at=${new Date(moment).toISOString()}&item=${item?.key}`
  const page = await openPage(scene, ada, path, '.held-then .pl')
  const problems = differ(await toldBy(page), expectedOf(timeline, moment, item?.key), 'opened by its link')

  // A cycle back by the keyboard; the address follows, and whoever reloads sees the same.
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  const before = timeline.cycles.filter(({ at }) => at < cycle.at).map(({ at }) => at)[0] as string
  await page.waitForURL((url) => Date.parse(url.searchParams.get('at') ?? '') === Date.parse(before))
  const stepped = await toldBy(page)
  problems.push(...differ(stepped, expectedOf(timeline, Date.parse(before), item?.key), 'a cycle back'))
  await page.reload()
  await settled(page, '.held-then .now li')
  problems.push(...differ(await toldBy(page), stepped, 'reloaded'))
  await page.keyboard.press('n')
  await page.waitForURL((url) => !url.searchParams.has('at'))
  await page.keyboard.press(']')
  await page.waitForURL((url) => url.searchParams.get('range') === '6h')
  await page.keyboard.press('t')
  const rows = await page.locator('.stays tbody tr').count()
  const told = timeline.items.filter(({ to }) => !to || Date.parse(to.at) >= Date.now() - 6 * 3_600_000).length
  if (rows !== told) problems.push(`${rows} rows in the table and ${told} stays`)
  await page.close()
  for (const line of problems) report.note(line)
  report.promise(
    'a moment of Mind opened by its link shows what was held then, as the timeline of the API has it, and the keyboard goes through it',
    problems.length === 0 && told > 20,
    `${expectedOf(timeline, moment, item?.key).held.length} held at ${cycle.at} and 36 s, ${rows} stays in the table`,
  )
  await forgetful(report, scene, path, expectedOf(timeline, moment, item?.key))
}

/** A server that forgets when something left, or a page that does. */
async function forgetful(report: Report, scene: Scene, path: string, expected: Told): Promise<void> {
  const page = await scene.ada.newPage()
  await page.route('**/v1/cognitive/timeline**', async (route) => {
    const answer = await route.fetch()
    // Such as that the session has to be renewed first.
    if (!answer.ok()) return await route.fulfill({ response: answer })
    const timeline = (await answer.json()) as Timeline
    const items = timeline.items.map((one, at) => (at % 5 === 0 ? { ...one, to: null } : one))
    await route.fulfill({ response: answer, json: { ...timeline, items } })
  })
  await page.goto(`${scene.origin}${path}`)
  await settled(page, '.held-then .now li')
  const [found] = differ(await toldBy(page), expected, 'mutant')
  await page.close()
  report.mutant('a stay that does not end', found?.slice(0, 90))
}

export async function timelineOf({ loci, serviceId }: Scene, database = 'default'): Promise<Timeline> {
  const daemon = await loci.service(serviceId).user(database).daemon()
  const { body } = await daemon.call('GET /v1/cognitive/timeline', { query: { content: 'true', limit: 500 } })
  if (body.nextCursor !== null) throw new Error('the sample has more than one page')
  return body
}

/** Found by the plain rule, without places or windows. */
function heldAt({ items, cycles }: Timeline, moment: number): (TimelineItem & { score: number })[] {
  const times = new Map(cycles.map(({ seq, at }) => [seq, Date.parse(at)]))
  const held = items.filter(
    ({ from, to }) => from && Date.parse(from.at) <= moment && (!to || moment < Date.parse(to.at)),
  )
  const scored = held.map((item) => {
    const last = item.scores.filter(([seq]) => (times.get(seq) ?? Number.POSITIVE_INFINITY) <= moment).at(-1)
    return { ...item, score: last?.[1] ?? item.activation ?? 0 }
  })
  return scored.sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1))
}

function expectedOf(timeline: Timeline, moment: number, item: string | undefined): Told {
  const held = heldAt(timeline, moment)
  const ran = timeline.cycles.filter(({ at }) => Date.parse(at) <= moment)
  const [cycle] = ran
  const { admitted = 0, evicted = 0 } = cycle?.counts ?? {}
  const came = admitted + evicted === 0 ? 'Nothing came and nothing left' : `${admitted} came, ${evicted} left`
  const bar =
    cycle?.bar === null || cycle === undefined ? '.' : `: the focus asked for at least ${cycle.bar.toFixed(2)}.`
  const open = held.find(({ key }) => key === item) ?? held[0]
  return {
    head: `Held at ${new Date(moment).toISOString().slice(11, 19)} ${held.length} of ${timeline.capacity}`,
    held: held.map(({ text, score }) => `${text} ${score.toFixed(2).replace('-', '\u2212')}`),
    focus: ran.find(({ focus }) => focus !== null)?.focus ?? '',
    changed: `Cycle ${cycle?.seq} ${came}${bar}`,
    open: open?.text ?? '',
  }
}

async function toldBy(page: Page): Promise<Told> {
  return page.evaluate<Told>(`(() => {
    const text = (one) => (one?.textContent ?? '').replace(/\\s+/g, ' ').trim()
    const panel = document.querySelector('.held-then')
    const when = document.querySelector('.scrub .at').getAttribute('aria-valuetext').split(',')[0]
    return {
      head: 'Held at ' + when + ' ' + text(panel.querySelector('header .r')),
      held: [...panel.querySelectorAll('.now li')].map((li) => text(li.querySelector('bdi')) + ' ' + text(li.querySelector('.value'))),
      focus: text(panel.querySelector('.foc bdi')),
      changed: text(panel.querySelector('.chg h3')) + ' ' + text(panel.querySelector('.chg p')),
      open: text(panel.querySelector('.now li.open bdi')),
    }
  })()`)
}

function differ(shown: Told, expected: Told, when: string): string[] {
  return (Object.keys(expected) as (keyof Told)[]).flatMap((name) => {
    const [one, other] = [shown[name], expected[name]].map((value) => JSON.stringify(value))
    return one === other ? [] : [`${when}, ${name}: ${one} instead of ${other}`]
  })
}

const DAY = 'long-day'
const CYCLES = 1_440
const HEARD = 7
const MINUTE_MS = 60_000
const THINGS = ['kiln', 'crate', 'ladder', 'valve', 'lamp', 'grant', 'tile', 'gate', 'soup', 'truck', 'ledger', 'roof']
const STATES = ['broken', 'packed', 'late', 'signed', 'empty', 'painted', 'missing', 'heavy', 'warm', 'closed']
const PLACES = ['depot', 'attic', 'yard', 'office', 'foyer', 'harbour']

/**
 * A day of an agent: a cycle each minute, each hearing seven things. Real ones; only the clock of the cell is moved.
 */
async function liveADay(scene: Scene): Promise<void> {
  const { loci, serviceId } = scene
  const now = Date.now()
  const begin = now - CYCLES * MINUTE_MS
  const day = await liveAgo(scene, CYCLES * MINUTE_MS)
  const agent = loci.service(serviceId).user(DAY)
  for (let minute = 0; minute < CYCLES; minute += 1) {
    await day.reach(new Date(begin + minute * MINUTE_MS))
    const of = <Item>(items: readonly Item[], at: number) => items[(minute * HEARD + at) % items.length] as Item
    const observations = Array.from({ length: HEARD }, (_, at) => ({
      content: `The ${of(THINGS, at)} in the ${of(PLACES, at * 5)} is ${of(STATES, at * 3)}, as seen in minute ${minute}, look ${at}.`,
    }))
    const focus = minute % 10 === 0 ? { focus: `What became of the ${of(THINGS, 0)} in the ${of(PLACES, 1)}?` } : {}
    await agent.cycle({ observations, ...focus })
  }
  await day.end()
}

/** Whatever of the picture is drawn while the line moves, but for the line and what stands out. */
const WATCH = `(() => {
  window.drawn = 0
  new MutationObserver((all) => { window.drawn += all.filter(({ target }) => !target.closest('.in-mind, .scrub, .since-cycle, .held-then') && target.closest('.lanes, .strip')).length })
    .observe(document.querySelector('.mindgrid').parentElement, { subtree: true, childList: true, attributes: true, characterData: false })
})()`

const FRAMES = `(() => {
  window.frames = []
  const count = (at) => { window.frames.push(at); window.counting = requestAnimationFrame(count) }
  window.counting = requestAnimationFrame(count)
})()`

/** When the canvas first has its bars, and when the last answer before it was there. */
const PAINTED = `new MutationObserver((_, self) => {
  if (!document.querySelector('.lanes canvas.bars')) return
  self.disconnect()
  requestAnimationFrame(() => setTimeout(() => {
    const asked = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/cognitive/timeline'))
    window.painted = { at: performance.now(), dataAt: Math.max(...asked.map(({ responseEnd }) => responseEnd)), answers: asked.length }
  }))
}).observe(document, { subtree: true, childList: true })`

/**
 * How soon a day is drawn and how fast the line goes through it is printed, beside what the machine was doing; what is
 * promised of it does not depend on the machine: that all of it is there, and that the line draws nothing else again.
 */
export async function longDay(report: Report, scene: Scene): Promise<void> {
  const { ada, origin, slug } = scene
  const begun = performance.now()
  await liveADay(scene)
  report.note(
    `${CYCLES} cycles that hear ${HEARD} things each ran in ${((performance.now() - begun) / 1_000).toFixed(0)} s`,
  )
  const page = await ada.newPage()
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.addInitScript(PAINTED)
  await page.goto(`${origin}/s/${slug}/mind?db=${DAY}&range=24h`)
  await page.locator('.lanes canvas.bars').waitFor({ timeout: 300_000 })
  await until(page, `window.painted !== undefined`)
  const painted = await page.evaluate<{ at: number; dataAt: number; answers: number }>('window.painted')
  const said = (await page.locator('.lanes > svg[role="img"]').first().getAttribute('aria-label')) ?? ''
  const [, stays, cycles] = (/: ([\d,]+) items in \d+ places, ([\d,]+) cycles/.exec(said) ?? []).map((text) =>
    Number(text.replaceAll(',', '')),
  )
  report.note(`first paint ${(painted.at - painted.dataAt).toFixed(0)} ms after the last of ${painted.answers} answers`)
  // The answers that a stream asks for again when it begins.
  await quiet(page)
  const { frames, moments } = await scrub(page, report)
  const drawn = await page.evaluate<number>('window.drawn')
  const { frames: moving } = await drag(page)
  const redrawn = await page.evaluate<number>('window.drawn')
  await page.close()
  // A minute that this took is a cycle that is a day ago, and one more may be on either edge.
  const passed = Math.ceil((performance.now() - begun) / MINUTE_MS) + 1
  const perSecond = (1_000 * (frames.length - 1)) / ((frames.at(-1) ?? 0) - (frames[0] ?? 0))
  report.note(
    `scrub ${perSecond.toFixed(0)} frames/s over ${frames.length} frames, ${traceOf(frames)}; window dragged ${traceOf(moving)}`,
  )
  report.promise(
    'Mind shows a day of 1,440 cycles and 10,000 stays, and the line goes through it without any of them being drawn again',
    (stays ?? 0) >= 10_000 && (cycles ?? 0) >= CYCLES - passed && drawn === 0 && moments > 100,
    `${stays} stays, ${cycles} cycles, ${moments} moments, ${drawn} changes of the picture`,
  )
  report.mutant(
    'a line that draws the picture again',
    redrawn > drawn ? `${redrawn} changes when the window is moved` : undefined,
  )
}

/** Until no part of the day is asked for any more; the stream and what is asked each few seconds go on. */
async function quiet(page: Page): Promise<void> {
  const asked = `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/cognitive/timeline')).length`
  for (let before = -1; ; ) {
    const now = await page.evaluate<number>(asked)
    if (now === before) return
    before = now
    await page.waitForTimeout(1_000)
  }
}

async function scrub(page: Page, report: Report): Promise<{ frames: number[]; moments: number }> {
  const box = await page.locator('.lanes').boundingBox()
  if (!box) throw new Error('there is no picture')
  await page.mouse.move(box.x + box.width - 4, box.y + 200)
  await page.mouse.down()
  await page.evaluate(WATCH)
  await page.evaluate(FRAMES)
  const seen = new Set<string | null>()
  // Within the picture: beyond its edge the window goes along, and everything is drawn anew.
  const step = (box.width - 8) / 240
  for (let at = 0; at < 240; at += 1) {
    await page.mouse.move(box.x + box.width - 4 - at * step, box.y + 200)
    if (at % 2 === 0) seen.add(await page.locator('.scrub .at').getAttribute('aria-valuetext'))
  }
  const frames = await page.evaluate<number[]>('(cancelAnimationFrame(window.counting), window.frames)')
  await page.mouse.up()
  if (seen.size < 100) report.note(`only ${seen.size} moments were seen`)
  return { frames, moments: seen.size }
}

async function drag(page: Page): Promise<{ frames: number[] }> {
  await page.locator('.seg a:has-text("6 h")').click()
  const box = await page.locator('.bins .window').boundingBox()
  if (!box) throw new Error('there is no window')
  await page.mouse.move(box.x + box.width / 2, box.y + 20)
  await page.mouse.down()
  await page.evaluate(FRAMES)
  for (let at = 0; at < 60; at += 1) await page.mouse.move(box.x + box.width / 2 - at * 5, box.y + 20)
  const frames = await page.evaluate<number[]>('(cancelAnimationFrame(window.counting), window.frames)')
  await page.mouse.up()
  return { frames }
}

/** Of the frames: the middle one, and the slowest of twenty. */
function traceOf(frames: readonly number[]): string {
  const took = frames
    .slice(1)
    .map((at, index) => at - (frames[index] ?? 0))
    .sort((one, other) => one - other)
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(1)
  return `${at(0.5)} ms each, 95 % within ${at(0.95)} ms`
}
