// The parts `date` and `resolved`: how well an item's day, and the days that its time words mean, fit a cue's date.

import type { CueDate } from '../analysis/item.ts'
import type { Database } from './database.ts'
import { CELL_BITS, runLength } from './places.ts'
import { addEvidence, type Scratch } from './scratch.ts'

const MS_PER_DAY = 86_400_000
/** Days that get a table, 1900 to 2269: what senders write as a time may lie thousands of years apart. */
const TABLE_FROM = -25_567
const TABLE_TO = 109_572
/** A time word that means more days than this names no month. */
const MONTH_RANGE_DAYS_MAX = 40

/** Months since year 0 of a day since 1970, proleptic Gregorian. Arithmetic: there is a call per time word. */
function monthOf(days: number): number {
  // Days since 1 March of year 0, in eras of 400 years; the leap day is the last one of a year that begins in March.
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const leapDays = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const year = Math.floor((dayOfEra - leapDays) / 365)
  const dayOfYear = dayOfEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  // Months since March.
  const month = Math.floor((5 * dayOfYear + 2) / 153)
  return (era * 400 + year) * 12 + month + 2
}

/** First day of a month, in days since 1970. */
function monthStart(month: number): number {
  const year = Math.floor(month / 12)
  return new Date(0).setUTCFullYear(year, month - year * 12, 1) / MS_PER_DAY
}

export class DateFit {
  readonly #date: CueDate
  readonly #from: number
  /** Fit of each day of the table, and how many days before it fit at all. */
  readonly #fit: Float64Array
  readonly #fitting: Int32Array

  constructor(date: CueDate, { dayMin, dayMax }: Pick<Database, 'dayMin' | 'dayMax'>) {
    this.#date = date
    this.#from = Math.max(TABLE_FROM, Math.min(dayMin, TABLE_TO))
    const days = Math.max(0, Math.min(dayMax, TABLE_TO) - this.#from + 1)
    this.#fit = new Float64Array(days)
    this.#fitting = new Int32Array(days + 1)
    this.#fill(days)
  }

  #fill(days: number): void {
    for (let j = 0; j < days; ) {
      const month = monthOf(this.#from + j)
      const start = monthStart(month) - this.#from
      const end = Math.min(days, monthStart(month + 1) - this.#from)
      for (; j < end; j++) {
        const fit = this.#fitOf(month, j - start + 1)
        this.#fit[j] = fit
        this.#fitting[j + 1] = this.#fitting[j]! + (fit > 0 ? 1 : 0)
      }
    }
  }

  /** The part `date` of an item of that day. */
  of(day: number): number {
    const fit = this.#fit[day - this.#from]
    if (fit !== undefined) return fit
    const month = monthOf(day)
    return this.#fitOf(month, day - monthStart(month) + 1)
  }

  /** Whether no day from `from` to `to` fits. */
  isNone(from: number, to: number): boolean {
    const low = from - this.#from
    const high = to - this.#from
    if (low < 0 || high >= this.#fit.length) return false
    return this.#fitting[high + 1] === this.#fitting[low]
  }

  /** The part `resolved` of time words that mean the days `from` to `to`, said on `said`. */
  ofRange(from: number, to: number, said: number): number {
    const { exact, day, months } = this.#date
    if (exact || day > 0) {
      const year = this.#date.year || Math.floor(monthOf(said) / 12)
      const named = monthStart(year * 12 + months[0]! - 1) + day - 1
      const away = named < from ? from - named : named > to ? named - to : 0
      if (away === 0) return 1 / (1 + (to - from) / 7)
      return away <= 1 ? 0.5 : 0
    }
    if (to - from >= MONTH_RANGE_DAYS_MAX) return 0
    return this.#isNamed(monthOf(Math.floor((from + to) / 2))) ? 1 : 0
  }

  #fitOf(month: number, dayOfMonth: number): number {
    if (!this.#isNamed(month)) return 0
    const { exact, day } = this.#date
    const away = Math.abs(dayOfMonth - day)
    if (exact) return away === 0 ? 1 : 0
    if (day === 0 || away <= 1) return 1
    return away <= 4 ? 0.5 : 0.2
  }

  #isNamed(month: number): boolean {
    const year = Math.floor(month / 12)
    return (this.#date.year === 0 || this.#date.year === year) && this.#date.months.includes(month - year * 12 + 1)
  }
}

/** Cells of the days that fit become candidates. A run whose days do not meet the cue's is passed over. */
export function collectDays(database: Database, scratch: Scratch, fit: DateFit, weight: number): void {
  const tick = scratch.nextTick()
  // `value` is free until candidates are valued; here it is the best fit of each cell.
  const { cellStamp, value: best } = scratch
  const cells: number[] = []
  for (const [k, segment] of database.segments.entries()) {
    const first = database.itemAt[k]!
    for (let r = 0; r < segment.runStart.length; r++) {
      if (fit.isNone(database.runDayMin[k]![r]!, database.runDayMax[k]![r]!)) continue
      const shift = database.shift[k]![r]!
      const start = segment.runStart[r]!
      for (let i = start, end = start + runLength(segment, r); i < end; i++) {
        const value = fit.of(segment.day[i]!)
        const place = i + shift
        if (value === 0 || database.placeItem[place] !== first + i) continue
        const cell = place >> CELL_BITS
        if (cellStamp[cell] !== tick) {
          cellStamp[cell] = tick
          best[cell] = value
          cells.push(cell)
        } else if (value > best[cell]!) best[cell] = value
      }
    }
  }
  for (const cell of cells) addEvidence(scratch, cell, weight * best[cell]!)
}

/** Fills the part `resolved`; answers the places that have it. Their cells become candidates. */
export function collectRanges(database: Database, scratch: Scratch, fit: DateFit, weight: number): number[] {
  const { resolved } = scratch
  const places: number[] = []
  for (const [k, segment] of database.segments.entries()) {
    const { rangeItem, rangeFrom, rangeTo, run, day } = segment
    for (let j = 0; j < rangeItem.length; j++) {
      const i = rangeItem[j]!
      const value = fit.ofRange(rangeFrom[j]!, rangeTo[j]!, day[i]!)
      if (value === 0) continue
      const place = i + database.shift[k]![run[i]!]!
      if (database.placeItem[place] !== database.itemAt[k]! + i || value <= resolved[place]!) continue
      if (resolved[place] === 0) places.push(place)
      resolved[place] = value
    }
  }
  // By cell, in the order of the places: a cell's evidence is a sum, and sums must not depend on the segments.
  places.sort((a, b) => a - b)
  for (const place of places) addEvidence(scratch, place >> CELL_BITS, weight * resolved[place]!)
  return places
}
