// What is counted of answers, and how it is printed.

import { type Asked, SIZES } from './questions.ts'

/** One question asked of one store. */
export interface Outcome {
  asked: Asked
  size: number
  abstained: boolean
  /** Where the answer stands among the results, from 0; -1 where it is none of them. */
  at: number
  hits: number
  /** Of the best result, or of the nearest record where it abstained. */
  relevance?: number
}

interface Row {
  name: string
  of: (asked: Asked) => boolean
}

const isKnown = ({ fact }: Asked) => fact !== undefined
const isEnglish = ({ lang }: Asked) => lang === 'en'

/** English by kind, the other languages as a whole: theirs are 18 to 22 questions of a half. */
function rowsOf(asked: readonly Asked[]): Row[] {
  const known = asked.filter(isKnown)
  const kinds = [...new Set(known.flatMap(({ kind }) => kind ?? []))]
  const languages = [...new Set(known.map(({ lang }) => lang))].filter((lang) => lang !== 'en')
  return [
    { name: 'English', of: isEnglish },
    ...kinds.map((kind) => ({ name: `  ${kind}`, of: (one: Asked) => isEnglish(one) && one.kind === kind })),
    { name: '  names somebody', of: (one) => isEnglish(one) && one.isNamed === true },
    { name: '  names nobody', of: (one) => isEnglish(one) && one.isNamed === false },
    ...languages.map((lang) => ({ name: lang, of: (one: Asked) => one.lang === lang })),
  ]
}

const percent = (share: number) => `${Math.round(100 * share)}`

function shareOf(outcomes: readonly Outcome[], counts: (one: Outcome) => boolean): number {
  return outcomes.length === 0 ? 0 : outcomes.filter(counts).length / outcomes.length
}

function line(name: string, count: number, cells: readonly string[]): string {
  return `${name.padEnd(30)}${String(count).padStart(4)}${cells.map((cell) => cell.padStart(14)).join('')}`
}

const isFirst = ({ abstained, at }: Outcome) => !abstained && at === 0
const isInFive = ({ abstained, at }: Outcome) => !abstained && at >= 0 && at < 5

/** Right first / in the first five / wrongly silent; unknown ones answered; hits per answer. */
export function printAnswers(title: string, outcomes: readonly Outcome[]): void {
  console.log(`\n${line(title, 0, SIZES.map(String)).replace(/ 0(?= )/, '  ')}`)
  const asked = outcomes.filter(({ size }) => size === SIZES[0]).map((one) => one.asked)
  for (const { name, of } of rowsOf(asked)) {
    const rows = outcomes.filter((one) => isKnown(one.asked) && of(one.asked))
    const cells = SIZES.map((size) => {
      const own = rows.filter((one) => one.size === size)
      return [isFirst, isInFive, (one: Outcome) => one.abstained]
        .map((counts) => percent(shareOf(own, counts)))
        .join('/')
    })
    console.log(line(name, rows.length / SIZES.length, cells))
  }
  for (const lang of new Set(asked.map((one) => one.lang))) {
    for (const near of lang === 'en' ? [undefined, true, false] : [undefined]) {
      const rows = outcomes.filter((one) => !isKnown(one.asked) && one.asked.lang === lang)
      const own = near === undefined ? rows : rows.filter((one) => one.asked.near === near)
      const name = `unknown, answered: ${lang}${near === undefined ? '' : near ? ' near' : ' far'}`
      const of = (size: number) => own.filter((one) => one.size === size)
      console.log(
        line(
          name,
          of(1).length,
          SIZES.map((size) => percent(shareOf(of(size), (one) => !one.abstained))),
        ),
      )
    }
  }
  const answered = outcomes.filter((one) => isKnown(one.asked) && isEnglish(one.asked) && !one.abstained)
  const hits = SIZES.map((size) => {
    const own = answered.filter((one) => one.size === size)
    return (own.reduce((sum, one) => sum + one.hits, 0) / (own.length || 1)).toFixed(1)
  })
  console.log(
    line('hits per answer, English', answered.length / SIZES.length, hits.map(String)).replace(/\.\d+(?= )/, ''),
  )
}

/** Without abstaining: right first / in the first five, of English and of all. */
export function printOrder(name: string, outcomes: readonly Outcome[]): void {
  for (const [language, of] of [
    ['English', isEnglish],
    ['other languages', (one: Asked) => !isEnglish(one)],
  ] as const) {
    const rows = outcomes.filter((one) => isKnown(one.asked) && of(one.asked))
    const cells = SIZES.map((size) => {
      const own = rows.filter((one) => one.size === size)
      return [isFirst, isInFive].map((counts) => percent(shareOf(own, counts))).join('/')
    })
    console.log(line(`${name}, ${language}`, rows.length / SIZES.length, cells))
  }
}

const BUCKETS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const

/**
 * How often the first is right where the best relevance is so large, unknown questions included; and how far that is
 * from the relevance itself, as a mean over the buckets by their size.
 */
export function printCalibration(outcomes: readonly Outcome[]): void {
  const rated = outcomes.filter((one) => one.relevance !== undefined && isEnglish(one.asked))
  if (rated.length === 0) return
  let error = 0
  const cells = BUCKETS.map((from) => {
    const own = rated.filter(({ relevance = 0 }) => relevance >= from && (relevance < from + 0.1 || from === 0.9))
    const right = shareOf(own, ({ at }) => at === 0)
    const mean = own.reduce((sum, { relevance = 0 }) => sum + relevance, 0) / (own.length || 1)
    error += (Math.abs(right - mean) * own.length) / rated.length
    return `${right.toFixed(2)} of ${own.length}`.padStart(12)
  })
  console.log(`\nright first by relevance, English, from ${BUCKETS.join(', ')}:\n${cells.join('')}`)
  console.log(`mean distance from the relevance: ${error.toFixed(3)}`)
}
