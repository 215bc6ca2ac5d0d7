// What is the matter with a cell, in words.

import type { Cell } from '../../api/staff.ts'

/** A cell asks for its feed all the time: who was not heard for so long is silent. */
const SILENT_MS = 60_000
/** Without management for so long a cell refuses writes (LOCI_FEED_STALE_SECONDS unless set). */
const WRITES_STOP_H = 24
const NEARLY_FULL = 0.75

const ALARMS: Readonly<Record<string, string>> = {
  two_addresses: 'two addresses act as this cell in turns',
  generation: 'it reports what was not published to it',
  unknown: 'it holds an instance that nobody knows',
  foreign: 'it reported an instance of another cell',
  erased: 'it reports an erasure that nobody asked for',
  revocations: 'it revokes more than an administrator does',
  deletions: 'it reports more erasures than anybody asks for',
}

export interface Alarm {
  tone: 'warn' | 'bad'
  word: string
  /** What to do about it. */
  detail: string
}

export function alarmOf({ heard_at, alarm }: Pick<Cell, 'heard_at' | 'alarm'>, now: number): Alarm | undefined {
  if (alarm)
    return {
      tone: 'bad',
      word: ALARMS[alarm.kind] ?? alarm.kind.replaceAll('_', ' '),
      detail: `${alarm.detail} If its key may be stolen, change the keys of the cell: that clears the alarm.`,
    }
  if (heard_at === null)
    return { tone: 'warn', word: 'never heard', detail: 'Its daemons have not asked for their feed yet.' }
  if (now - Date.parse(heard_at) > SILENT_MS)
    return {
      tone: 'bad',
      word: `silent; writes stop after ${WRITES_STOP_H} h`,
      detail: `It serves on with what it knows. After ${WRITES_STOP_H} hours without management it refuses writes.`,
    }
  return undefined
}

export function partOf({ placed, capacity }: Pick<Cell, 'placed' | 'capacity'>): {
  part: number
  isNearlyFull: boolean
} {
  const part = capacity === 0 ? 1 : Math.min(1, placed / capacity)
  return { part, isNearlyFull: part >= NEARLY_FULL }
}
