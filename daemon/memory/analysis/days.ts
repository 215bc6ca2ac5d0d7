// Days since 1970 (UTC), and the days that time words mean. Pure: "today" is the day of the record, never of the clock.

import type { DayRange } from './item.ts'

export const DAY_MS = 86_400_000
/** More time words than this in one record say nothing about a day. */
const RANGES_MAX = 16

export interface Today {
  day: number
  /** 0 is Sunday. */
  weekday: number
  year: number
  /** 0 is January. */
  month: number
}

export function todayOf(ms: number): Today {
  const date = new Date(ms)
  return {
    day: Math.floor(ms / DAY_MS),
    weekday: date.getUTCDay(),
    year: date.getUTCFullYear(),
    month: date.getUTCMonth(),
  }
}

/** The spans that a language's table names. Weeks begin on Sunday and weekends are wide: people are not exact. */
const SPANS = {
  dayBeforeYesterday: (now: Today) => days(now, -2, -2),
  yesterday: (now: Today) => days(now, -1, -1),
  today: (now: Today) => days(now, 0, 0),
  tomorrow: (now: Today) => days(now, 1, 1),
  dayAfterTomorrow: (now: Today) => days(now, 2, 2),
  lastWeekend: ({ day, weekday }: Today): DayRange => [day - weekday - (weekday === 0 ? 2 : 1), day - weekday],
  thisWeekend: ({ day, weekday }: Today): DayRange => [day + 5 - weekday, day + 8 - weekday],
  lastWeek: ({ day, weekday }: Today): DayRange => [day - weekday - 7, day - weekday],
  thisWeek: ({ day, weekday }: Today): DayRange => [day - weekday, day + 6 - weekday],
  nextWeek: ({ day, weekday }: Today): DayRange => [day + 7 - weekday, day + 13 - weekday],
  lastMonth: ({ year, month }: Today) => monthSpan(year, month - 1),
  thisMonth: ({ year, month }: Today) => monthSpan(year, month),
  nextMonth: ({ year, month }: Today) => monthSpan(year, month + 1),
  lastYear: ({ year }: Today): DayRange => [dayOf(year - 1, 0, 1), dayOf(year - 1, 11, 31)],
} as const
export type Span = keyof typeof SPANS

export type Unit = 'day' | 'week' | 'month' | 'year'
const UNIT_DAYS: Readonly<Record<Unit, number>> = { day: 1, week: 7, month: 30, year: 365 }

/**
 * A language's time words, over folded text. `pattern` is global and names what it found: a group per span, or `count`
 * and `unit` of "three weeks ago", or `weekday` with `next` when it lies ahead.
 */
export interface TimeWords {
  pattern: RegExp
  counts: Readonly<Record<string, number>>
  /** A unit's word, and how many it stands for: Arabic has a word for two weeks. */
  units: Readonly<Record<string, readonly [unit: Unit, count: number]>>
  /** 0 is Sunday. */
  weekdays: Readonly<Record<string, number>>
}

export function rangesOf(folded: string, now: Today, words: TimeWords): DayRange[] {
  const ranges: DayRange[] = []
  for (const { groups } of folded.matchAll(words.pattern)) {
    const range = groups === undefined ? null : rangeOf(groups, now, words)
    if (range === null || ranges.some(([from, to]) => from === range[0] && to === range[1])) continue
    ranges.push(range)
    if (ranges.length === RANGES_MAX) break
  }
  return ranges
}

function rangeOf(groups: Record<string, string | undefined>, now: Today, words: TimeWords): DayRange | null {
  if (groups.unit !== undefined) return agoRange(groups, now, words)
  if (groups.weekday !== undefined) {
    const weekday = words.weekdays[groups.weekday] ?? 0
    // Named without a direction it is the one before: people tell more than they plan.
    const ahead = (weekday - now.weekday + 7) % 7 || 7
    const back = (now.weekday - weekday + 7) % 7 || 7
    return groups.next === undefined ? days(now, -back, -back) : days(now, ahead, ahead)
  }
  for (const [name, span] of Object.entries(SPANS)) if (groups[name] !== undefined) return span(now)
  return null
}

function agoRange(groups: Record<string, string | undefined>, now: Today, words: TimeWords): DayRange | null {
  const [unit, each] = words.units[groups.unit ?? ''] ?? [null, 0]
  const count = each * (groups.count === undefined ? 1 : (words.counts[groups.count] ?? Number(groups.count)))
  if (unit === null || !Number.isInteger(count) || count > 1000) return null
  const length = UNIT_DAYS[unit]
  // "Three weeks ago" is about three weeks: a quarter of the unit either way.
  const slack = length > 1 ? Math.floor(length / 4) : 0
  return days(now, -count * length - slack, -count * length + slack)
}

function days(now: Today, from: number, to: number): DayRange {
  return [now.day + from, now.day + to]
}

function monthSpan(year: number, month: number): DayRange {
  return [dayOf(year, month, 1), dayOf(year, month + 1, 0)]
}

function dayOf(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day) / DAY_MS
}
