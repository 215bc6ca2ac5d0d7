// Checks 21 to 29: what a person sees. All but one are measured when there is a console to look at.

import { type Check, dataOf, type Setting, type UpData } from './setting.ts'

const TITLES: Readonly<Record<number, string>> = {
  21: 'console of the same origin as the API, no account elsewhere',
  22: 'locked or upsell pages where people host it themselves: 0',
  23: 'violations that axe finds, all pages, light and dark: 0',
  24: 'a service made and a token revoked by the keyboard alone',
  25: 'what is loaded first: at most 200 KB of JavaScript and 20 KB of CSS, compressed',
  26: 'a change is seen within 2 s; one event stream with 8 tabs open',
  27: 'every list has its loading, empty, error and stale form',
  29: 'the address restores the view after a reload',
}

interface Explained {
  score: number
  parts: { contribution: number }[]
}

export const CONSOLE: readonly Check[] = [
  ...Object.entries(TITLES).map(([number, title]) => ({
    number: Number(number),
    title,
    async measure({ loci }: Setting) {
      const { management } = await dataOf<UpData>(loci, ['up', '-d'])
      const answer = await fetch(management, { headers: { accept: 'text/html' } })
      const isThere = (await answer.text()).includes('<script')
      return {
        passes: false,
        value: `/ leads to ${new URL(answer.url).pathname} (${answer.status})`,
        due: isThere ? 'there is a console now: measure it' : 'the console is in work',
      }
    },
  })),
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
]

/** Each part is rounded to six digits. */
function sums(explain: Explained | undefined, score: number): boolean {
  if (!explain || explain.parts.length === 0) return false
  const sum = explain.parts.reduce((total, { contribution }) => total + contribution, 0)
  return Math.abs(sum - score) <= 1e-6 * (explain.parts.length + 1)
}
