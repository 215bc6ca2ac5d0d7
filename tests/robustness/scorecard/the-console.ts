// Checks 21 to 29: what a person sees, in a real browser, of the console of `loci up --seed demo`.

import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { makeService, makeToken, revokeNewest } from '../console/by-keyboard.ts'
import {
  changesInTabs,
  isInTime,
  STREAMS_MAX,
  slotAndStatus,
  streamsApart,
  streamsAt,
  TABS,
  tabsText,
} from '../console/eight-tabs.ts'
import { inScheme, inspect } from '../console/look.ts'
import { type ConsolePage, PAGES } from '../console/pages.ts'
import { restored } from '../console/restored.ts'
import { openPage } from '../console/scene.ts'
import { isLight, type Weight, weighFirstLoad, weightText } from '../console/weight.ts'
import { seenBy, type Visit } from './console-visit.ts'
import { IS_STALE, listForms } from './list-forms.ts'
import { type Check, dataOf, type Setting, type Verdict } from './setting.ts'

const SEEN_MS_MAX = 2_000

interface Explained {
  score: number
  parts: { contribution: number }[]
}

export const CONSOLE: readonly Check[] = [
  seenBy({ number: 21, title: 'console of the same origin as the API, no account elsewhere', look: oneOrigin }),
  seenBy({ number: 22, title: 'locked or upsell pages where people host it themselves: 0', look: upsells }),
  seenBy({ number: 23, title: 'violations that axe finds, all pages, light and dark: 0', look: violations }),
  seenBy({ number: 24, title: 'a service made and a token revoked by the keyboard alone', look: byKeyboard }),
  seenBy({
    number: 25,
    title: 'what is loaded first: at most 200 KB of JavaScript and 20 KB of CSS, compressed',
    look: weight,
  }),
  seenBy({
    number: 26,
    title: `a change is seen within ${SEEN_MS_MAX / 1_000} s; at most ${STREAMS_MAX} event streams with ${TABS} tabs open`,
    look: changes,
  }),
  seenBy({ number: 27, title: 'every list has its loading, empty, error and stale form', look: forms }),
  {
    number: 28,
    title: 'every evicted slot, hit and ranked tool says why, and its parts sum to its score: 100 %',
    async measure({ loci }) {
      await dataOf(loci, ['up', '-d', '--seed', 'demo'])
      const { results } = await dataOf<{ results: { explain?: Explained; score: number }[] }>(loci, [
        ...['memory', 'recall', 'which refund needs no approval?', '--why'],
      ])
      const { evictions } = await dataOf<{ evictions: { explain: Explained; reason: string }[] }>(loci, [
        'wm',
        'evictions',
      ])
      const { rankedTools } = await dataOf<{ rankedTools: { explain: Explained; score: number; reasons: string[] }[] }>(
        loci,
        ['advice', 'rank', 'is a rear wheel there?', '--class', 'stock'],
      )
      const all = [
        ...results.map(({ explain, score }) => ({ explain, score, why: 'its parts' })),
        ...evictions.map(({ explain, reason }) => ({ explain, score: explain.score, why: reason })),
        ...rankedTools.map(({ explain, score, reasons }) => ({ explain, score, why: reasons.join() })),
      ]
      const isWhole = ({ explain, score, why }: (typeof all)[number]) => why !== '' && sums(explain, score)
      const [first] = all
      const [, ...fewer] = first?.explain?.parts ?? []
      return {
        passes: all.length > 10 && all.every(isWhole),
        value: `${all.filter(isWhole).length} of ${all.length}: ${results.length} hits, ${evictions.length} evictions, ${rankedTools.length} tools`,
        mutant: {
          name: 'a hit without its first part',
          caught:
            first?.explain && !sums({ ...first.explain, parts: fewer }, first.score) ? 'it does not sum' : undefined,
        },
      }
    },
  },
  seenBy({ number: 29, title: 'the address restores the view after a reload', look: addresses }),
]

/** All but those of platform staff, whose addresses say that to anybody else. */
const OWN = PAGES.filter(({ name }) => !['cells', 'quarantine', 'audit'].includes(name))

async function eachPage({ place, person }: Visit, pages: readonly ConsolePage[], look: Look): Promise<number> {
  for (const one of pages) {
    const page = await openPage(place, person, one.path(place))
    await look(page, one)
    await page.close()
  }
  return pages.length
}

type Look = (page: Awaited<ReturnType<typeof openPage>>, of: ConsolePage) => Promise<void>

async function oneOrigin(visit: Visit, { quick }: Setting): Promise<Verdict> {
  const { place, person, asked, up } = visit
  const count = await eachPage(visit, OWN, async () => {})
  const elsewhere = () => asked.filter((url) => /^https?:/.test(url) && new URL(url).origin !== place.origin)
  const found = elsewhere()
  const api = asked.filter((url) => url.startsWith(`${place.origin}/api/v1/`)).length
  const page = await person.newPage()
  await page.setContent('<img src="http://192.0.2.7/pixel.png">')
  const planted = elsewhere().length - found.length
  return {
    passes: quick.isRecalled && place.origin === up.management && found.length === 0 && api > count,
    value: `${found.length} of ${asked.length} requests of ${count} pages elsewhere, ${api} of the API at the same origin; signed in by a code of the same loci ${found[0] ?? ''}`,
    mutant: { name: 'an image of somebody else', caught: planted === 1 ? 'counted' : undefined },
  }
}

const UPSELL =
  /\b(?:upgrade (?:to|now|your)|contact sales|talk to (?:us|sales)|(?:free|start a|your) trial|unlock|premium|paid plans?|(?:only|available) (?:in|on|with) (?:the )?(?:pro|enterprise|cloud)|coming soon|book a demo)\b/i
/** Also what is shown as not to be had: a link that leads nowhere, a page that says that a right is missing. */
const LOCKED = `[...document.querySelectorAll('nav [aria-disabled="true"], nav a:not([href]), main .right')].map((one) => one.textContent)`

async function upsells(visit: Visit): Promise<Verdict> {
  const found: string[] = []
  let planted: string[] = []
  const sold = async (page: Parameters<Look>[0]) => [
    ...(UPSELL.exec(await page.evaluate<string>('document.body.innerText')) ?? []),
    ...(await page.evaluate<string[]>(LOCKED)),
  ]
  const count = await eachPage(visit, OWN, async (page, { name }) => {
    found.push(...(await sold(page)).map((text) => `${name}: ${text}`))
    await page.evaluate(`document.querySelector('main').append('Unlock this page: contact sales')`)
    planted = await sold(page)
  })
  return {
    passes: found.length === 0,
    value: `${found.length} on ${count} pages ${found[0] ?? ''}`,
    mutant: { name: 'a page that sells something', caught: planted[0] && `'${planted[0]}'` },
  }
}

async function violations(visit: Visit): Promise<Verdict> {
  const found: string[] = []
  const look: Look = async (page, { name }) => {
    for (const scheme of ['light', 'dark'] as const) {
      await inScheme(page, scheme)
      const seen = await inspect(page, `scorecard-${name}-${scheme}`, { widths: [] })
      found.push(...seen.violations.map((one) => `${name} ${scheme}: ${one}`))
    }
  }
  const count = await eachPage(visit, PAGES, look)
  const real = found.length
  await eachPage(visit, PAGES.slice(0, 1), async (page, one) => {
    await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)
    await look(page, one)
  })
  return {
    passes: real === 0,
    value: `${real} on ${count} pages × light, dark ${real > 0 ? found[0] : ''}`,
    mutant: { name: 'a button without a name', caught: found.length > real ? found.at(-1)?.slice(0, 60) : undefined },
  }
}

async function byKeyboard({ place, person }: Visit): Promise<Verdict> {
  const services = await openPage(place, person, '/services', '.sv tbody tr')
  const steps = await makeService(services, place, 'By keyboard')
  await services.close()
  const tokens = await openPage(place, person, '/o/tokens', '.tk tbody tr')
  const { token, isGone } = await makeToken(tokens, 'by keyboard')
  await revokeNewest(tokens, 'by keyboard')
  await tokens.evaluate(`document.querySelectorAll('main a, main button').forEach((one) => { one.tabIndex = -1 })`)
  const lost = await makeToken(tokens, 'never').then(
    () => undefined,
    (error: Error) => error.message.slice(0, 60),
  )
  await tokens.close()
  return {
    passes: steps.length === 3 && token.length > 100 && isGone,
    value: `${steps.join(', ')}; a token of ${token.length} characters made and revoked`,
    mutant: { name: 'buttons that the keyboard does not come to', caught: lost },
  }
}

async function weight({ browser, person, place }: Visit, { installed }: Setting): Promise<Verdict> {
  const first = await weighFirstLoad(browser, person, place)
  const all = everything(path.join(installed.folder, 'node_modules/@locihq/server/console/dist/assets'))
  return {
    passes: isLight(first),
    value: weightText(first),
    mutant: { name: 'all pages at once', caught: isLight(all) ? undefined : weightText(all) },
  }
}

function everything(folder: string): Pick<Weight, 'javascript' | 'css'> {
  const files = readdirSync(folder).map((name) => [name, statSync(path.join(folder, name)).size] as const)
  const weigh = (ending: string) =>
    files.filter(([name]) => name.endsWith(ending)).reduce((sum, [, bytes]) => sum + bytes, 0)
  return { javascript: weigh('.js.br'), css: weigh('.css.br') }
}

async function changes(visit: Visit, { within }: Setting): Promise<Verdict> {
  const { place, person, up, another } = visit
  const streams = () => streamsAt({ management: up.management, daemons: [up.daemon] })
  const seen = await changesInTabs(place, person, { changes: slotAndStatus(place, visit), streams })
  const apart = await Promise.all(Array.from({ length: TABS }, another))
  const slots = { path: `/s/${place.slug}/working-memory`, shows: '.wm [data-lamp]', streams }
  const ofApart = await streamsApart(place, apart, slots)
  const bound = await within(SEEN_MS_MAX)
  return {
    passes: isInTime(seen, bound) && seen.streams.ofTabs <= STREAMS_MAX,
    value: `${tabsText(seen)} (${bound.text})`,
    mutant: {
      name: 'tabs that share nothing',
      caught: ofApart > STREAMS_MAX ? `${ofApart} streams` : undefined,
    },
  }
}

async function forms(visit: Visit): Promise<Verdict> {
  const { lists, forms: count, problems } = await listForms(visit)
  const page = await openPage(visit.place, visit.person, '/services')
  const isStale = await page.evaluate<boolean>(IS_STALE)
  return {
    passes: problems.length === 0,
    value: `${lists} lists, ${count - problems.length} of ${count} forms ${problems.join('; ')}`,
    mutant: { name: 'a list that does not say that it is old', caught: isStale ? undefined : 'no such form' },
  }
}

async function addresses({ place, person }: Visit): Promise<Verdict> {
  const { count, problems } = await restored(place, person)
  const forgetful = await restored(place, person, {
    only: ['form of a token'],
    before: (page) => page.evaluate(`history.replaceState(null, '', location.pathname)`),
  })
  return {
    passes: problems.length === 0,
    value: `${count - problems.length} of ${count} filters, tabs and drawers ${problems[0] ?? ''}`,
    mutant: { name: 'a choice that is not in the address', caught: forgetful.problems[0]?.slice(0, 60) },
  }
}

/** Each part is rounded to six digits. */
function sums(explain: Explained | undefined, score: number): boolean {
  if (!explain || explain.parts.length === 0) return false
  const sum = explain.parts.reduce((total, { contribution }) => total + contribution, 0)
  return Math.abs(sum - score) <= 1e-6 * (explain.parts.length + 1)
}
