// By what the billing events of one subscription are ordered: `metadata.sequence`, else
// `metadata.occurred_at`, else the order of arrival. The last event of the highest ordering that has one decides.

export type Ordering = (typeof ORDERINGS)[number]

/** The highest first. */
export const ORDERINGS = ['sequence', 'occurred_at', 'arrival'] as const

/** How far the clock of a provider may be ahead of ours. */
const AHEAD_MS_MAX = 10 * 60_000

/** What orders an event. */
export interface Marks {
  /** Whole and below 10^15: an exact number. */
  sequence: number | null
  occurredAt: Date | null
}

interface Ordered extends Marks {
  /** Order of arrival within the tenant; no two events share one. */
  arrival: number
}

export function orderingOf({ sequence, occurredAt }: Marks): Ordering {
  if (sequence !== null) return 'sequence'
  return occurredAt ? 'occurred_at' : 'arrival'
}

/** Where an event stands in its ordering. */
export function positionOf({ sequence, occurredAt, arrival }: Ordered): number {
  // Milliseconds: two times that differ by less are a tie, and the more severe status wins it.
  return sequence ?? occurredAt?.getTime() ?? arrival
}

/**
 * A malformed mark counts as absent; the event itself is still good. A time that is more than a clock's error ahead is
 * malformed too: until that time came, it would outrank every event with a true one.
 */
export function readMarks(metadata: Readonly<Record<string, string>> | undefined, receivedAt: Date): Marks {
  const sequence = metadata?.sequence ?? ''
  const occurredAt = readTime(metadata?.occurred_at ?? null)
  const isAhead = occurredAt !== null && occurredAt.getTime() - receivedAt.getTime() > AHEAD_MS_MAX
  return {
    sequence: /^[0-9]{1,15}$/.test(sequence) ? Number(sequence) : null,
    occurredAt: isAhead ? null : occurredAt,
  }
}

/** A full RFC 3339 time, a plain date (its midnight UTC) or epoch seconds; null for anything else. */
export function readPeriod(text: string | null): Date | null {
  if (text === null) return null
  if (/^[0-9]{1,12}$/.test(text)) return inFourDigitYears(new Date(Number(text) * 1000))
  return readTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
}

const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Null for everything that is not a full RFC 3339 time, and for a day that the calendar does not have. */
function readTime(text: string | null): Date | null {
  const [, day, clock, fraction = '', offset = ''] = RFC_3339.exec(text ?? '') ?? []
  if (day === undefined) return null
  // The parser takes 30 February for 2 March.
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null
  return inFourDigitYears(new Date(`${day}T${clock}${fraction.slice(0, 4)}${offset.toUpperCase()}`))
}

/** An offset, or a number of seconds, can reach the year 10000 or one before 0, which no time that we emit can be. */
function inFourDigitYears(time: Date): Date | null {
  return /^\d{4}-/.test(time.toISOString()) ? time : null
}
