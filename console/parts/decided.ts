// The words for what cycles decide and for why something leaves: one word each, everywhere. The code of the API stands
// in the tip of the pointer. A code that a newer server has is said as it is.

import type { IconName } from './icon.tsx'

export type Kind = 'came' | 'stayed' | 'left' | 'other'

interface Decided {
  kind: Kind
  word: string
  icon: IconName
}

const ACTIONS: Readonly<Record<string, Decided>> = {
  admitted: { kind: 'came', word: 'came', icon: 'down' },
  kept: { kind: 'stayed', word: 'stayed', icon: 'check' },
  evicted: { kind: 'left', word: 'left', icon: 'cross' },
  merged: { kind: 'other', word: 'merged', icon: 'swap' },
  reinforced: { kind: 'other', word: 'said again', icon: 'cycles' },
  stored: { kind: 'other', word: 'only stored', icon: 'memory' },
  consolidated: { kind: 'other', word: 'became a memory', icon: 'memory' },
  rejected: { kind: 'other', word: 'refused', icon: 'lock' },
  forgotten: { kind: 'other', word: 'forgotten', icon: 'erase' },
}

const LEFT: Readonly<Record<string, { word: string; icon: IconName; mark: string }>> = {
  outcompeted: { word: 'outcompeted', icon: 'cross', mark: '×' },
  below_threshold: { word: 'under the bar', icon: 'down', mark: '↓' },
  expired: { word: 'expired', icon: 'clock', mark: '⌛' },
  superseded: { word: 'superseded', icon: 'next', mark: '→' },
  cleared: { word: 'cleared', icon: 'erase', mark: '∅' },
  deleted: { word: 'deleted', icon: 'erase', mark: '∅' },
  forgotten: { word: 'erased', icon: 'erase', mark: '∅' },
  over_limit: { word: 'too large', icon: 'warning', mark: '!' },
}

/** Why something has its place or not, where a few words say it. */
const BECAUSE: Readonly<Record<string, string>> = {
  admitted: 'there was room',
  matched: 'its words are looked for',
  reinforced: 'the same was said again',
  merged: 'its key holds one current fact',
  consolidated: 'what was only a slot became a memory',
  superseded: 'something newer took its place',
  duplicate: 'the same event was told before',
}

export function decidedOf(action: string): Decided {
  return ACTIONS[action] ?? { kind: 'other', word: action.replaceAll('_', ' '), icon: 'info' }
}

export function leftOf(reasonCode: string): { word: string; icon: IconName; mark: string } {
  return LEFT[reasonCode] ?? { word: reasonCode.replaceAll('_', ' '), icon: 'info', mark: '·' }
}

export function because(reasonCode: string): string | undefined {
  return BECAUSE[reasonCode]
}
