// How long a memory was true, and what happened to it: rules without React.

import type { Record as Memory, RecordDeleted } from '@loci/sdk/daemon.ts'
import type { IconName } from '../../parts/icon.tsx'

export type State = 'holds' | 'superseded' | 'archived' | 'expired'

/** What ended it first is what it is. */
export function stateOf({ validTo, archivedAt, expiresAt }: Memory, now: number): { state: State; at: string | null } {
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return { state: 'expired', at: expiresAt }
  if (validTo !== null) return { state: 'superseded', at: validTo }
  if (archivedAt !== null) return { state: 'archived', at: archivedAt }
  return { state: 'holds', at: null }
}

export interface Validity {
  from: string
  /** Where it ended, or will end by itself; null: nobody knows. */
  to: string | null
  /** How long it was true, or has been so far. */
  ms: number
  /** Of the bar, from `from` to now or, where that lies ahead, to its end. */
  share: number
}

export function validityOf(record: Memory, now: number): Validity {
  const { at } = stateOf(record, now)
  const from = Date.parse(record.validFrom)
  const end = at === null ? null : Date.parse(at)
  const ahead = end === null && record.expiresAt !== null ? Date.parse(record.expiresAt) : null
  const [until, whole] = [end ?? now, ahead ?? Math.max(now, end ?? now)]
  const length = whole - from
  return {
    from: record.validFrom,
    to: at ?? record.expiresAt,
    ms: Math.max(0, until - from),
    share: length <= 0 ? 1 : Math.min(1, Math.max(0, (until - from) / length)),
  }
}

export interface Passage {
  what: 'said' | 'stored' | 'superseded' | 'archived' | 'expired' | 'expires'
  at: string
}

/** In the order in which it happened; what was said was stored after it. */
export function lifeOf({ occurredAt, createdAt, validTo, archivedAt, expiresAt }: Memory, now: number): Passage[] {
  const passed = (at: string | null, what: Passage['what']): Passage[] => (at === null ? [] : [{ what, at }])
  const found: Passage[] = [
    ...passed(occurredAt, 'said'),
    ...passed(createdAt, 'stored'),
    ...passed(validTo, 'superseded'),
    ...passed(archivedAt, 'archived'),
    ...passed(expiresAt, expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'expires'),
  ]
  const began = (what: Passage['what']) => (what === 'said' ? 0 : what === 'stored' ? 1 : 2)
  return found.toSorted(
    (one, other) => began(one.what) - began(other.what) || Date.parse(one.at) - Date.parse(other.at),
  )
}

export const PASSAGE_ICONS: Readonly<Record<Passage['what'], IconName>> = {
  said: 'down',
  stored: 'memory',
  superseded: 'swap',
  archived: 'paused',
  expired: 'clock',
  expires: 'clock',
}

/** What was not found needed no erasing; what was found and not erased must be said. */
export function isWhole({ checked }: RecordDeleted): boolean {
  return checked.every(({ found, erased }) => erased >= found)
}
