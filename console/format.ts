// Numbers and times as people read them: the one place where that is decided. What is not known is "–", never 0.

const NOTHING = '–'
const MINUS = '\u2212'
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export type Zone = 'local' | 'utc'

export function count(value: number | null | undefined): string {
  return isKnown(value) ? trueMinus(WHOLE.format(value)) : NOTHING
}

/** `3 memories`, `1 memory`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** `5.6M`, `300K`: of an axis, or of a sum that nobody reads to its end. */
export function compact(value: number | null | undefined): string {
  return isKnown(value) ? trueMinus(COMPACT.format(value)) : NOTHING
}

/** An activation, a relevance, a score: two decimals; `full` has the six of the table that explains it. */
export function score(value: number | null | undefined, { full = false, signed = false } = {}): string {
  if (!isKnown(value)) return NOTHING
  const text = trueMinus(value.toFixed(full ? 6 : 2))
  return signed && value > 0 ? `+${text}` : text
}

/** A weight, as it was configured: `0.5`, `4`. */
export function weight(value: number | null | undefined): string {
  return isKnown(value) ? trueMinus(String(Number(value.toFixed(6)))) : NOTHING
}

/** A sentence of the server with its long decimals as people read them; the sentence itself stays in a title. */
export function shortNumbers(sentence: string): string {
  return sentence.replace(/(\d+\.\d{2})\d+/g, (number) => Number(number).toFixed(2))
}

/** Of 1. */
export function percent(share: number | null | undefined): string {
  return isKnown(share) ? `${trueMinus((share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0))} %` : NOTHING
}

/** `0.8 per s`. */
export function perSecond(value: number | null | undefined): string {
  return isKnown(value) ? `${value.toFixed(1)} per s` : NOTHING
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytes(value: number | null | undefined): string {
  if (!isKnown(value)) return NOTHING
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1024 ** power
  return `${power > 0 && scaled < 100 ? scaled.toFixed(1).replace(/\.0$/, '') : WHOLE.format(scaled)} ${UNITS[power]}`
}

/** How long something took: one decimal below 100 ms. */
export function took(ms: number | null | undefined): string {
  if (!isKnown(ms)) return NOTHING
  if (ms < 100) return `${ms.toFixed(1)} ms`
  if (ms < 1_000) return `${WHOLE.format(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)
}

const SPANS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** `2 d`, `6 d 4 h`, `24 m`: the two largest units where the first is small. */
export function span(ms: number | null | undefined): string {
  if (!isKnown(ms)) return NOTHING
  const at = SPANS.findIndex(([, unit]) => ms >= unit)
  const [name, unit] = SPANS[at] ?? ['s', 1_000]
  const whole = Math.floor(ms / unit)
  const next = SPANS[at + 1]
  const rest = next && whole < 10 && name !== 'm' ? Math.floor((ms % unit) / next[1]) : 0
  return `${whole} ${name}${rest > 0 && next ? ` ${rest} ${next[0]}` : ''}`
}

const RELATIVE_MS_MAX = 7 * 86_400_000

/** Relative up to seven days, then a date. What lies ahead is `in 3 m`. */
export function ago(at: Date | string | null | undefined, now: number, zone: Zone = 'local'): string {
  const date = dateOf(at)
  if (!date) return NOTHING
  const ms = now - date.getTime()
  if (Math.abs(ms) > RELATIVE_MS_MAX) return day(date, zone)
  if (Math.abs(ms) < 2_000) return 'now'
  const text = span(Math.abs(ms)).replace(/(\d+ \S+) .*/, '$1')
  return ms < 0 ? `in ${text}` : `${text} ago`
}

/** `18 Nov 2026`. */
export function day(at: Date | string | null | undefined, zone: Zone = 'local'): string {
  const date = dateOf(at)
  return date ? new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', ...zoneOf(zone) }).format(date) : NOTHING
}

/** `18 Nov`, of an axis of days; `Nov 2026`, of months. */
export function date(at: Date, zone: Zone, { months = false } = {}): string {
  const parts = months ? ({ month: 'short', year: 'numeric' } as const) : ({ day: 'numeric', month: 'short' } as const)
  return new Intl.DateTimeFormat('en-GB', { ...parts, ...zoneOf(zone) }).format(at)
}

/** `11:46:36`, of axes, tails and cycles; without seconds where a minute is the step. */
export function clock(at: Date | string | null | undefined, zone: Zone = 'local', { seconds = true } = {}): string {
  const date = dateOf(at)
  if (!date) return NOTHING
  const parts = { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' as const } : {}) } as const
  return new Intl.DateTimeFormat('en-GB', { ...parts, hourCycle: 'h23', ...zoneOf(zone) }).format(date)
}

/** How far the zone is ahead of UTC then: for an axis with round hours. */
export function zoneAhead(at: number, zone: Zone): number {
  return zone === 'utc' ? 0 : -60_000 * new Date(at).getTimezoneOffset()
}

/** `18 Nov 2026, 11:46`. */
export function moment(at: Date | string | null | undefined, zone: Zone = 'local'): string {
  return dateOf(at) ? `${day(at, zone)}, ${clock(at, zone, { seconds: false })}` : NOTHING
}

/** What a title shows and what is copied: RFC 3339 in UTC. */
export function rfc3339(at: Date | string | null | undefined): string {
  return dateOf(at)?.toISOString() ?? NOTHING
}

/** The ends of an id, where there is no room for all of it: `op_m8k2…7qxd`. */
export function shortId(id: string): string {
  const at = id.indexOf('_') + 1
  // The name of a command, of the webhook: no id.
  if (at === 0) return id
  return id.length - at > 12 ? `${id.slice(0, at + 4)}…${id.slice(-4)}` : id
}

function zoneOf(zone: Zone): { timeZone?: string } {
  return zone === 'utc' ? { timeZone: 'UTC' } : {}
}

function dateOf(at: Date | string | null | undefined): Date | undefined {
  if (at === null || at === undefined) return undefined
  const date = typeof at === 'string' ? new Date(at) : at
  return Number.isNaN(date.getTime()) ? undefined : date
}

function isKnown(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function trueMinus(text: string): string {
  return text.replace('-', MINUS)
}
