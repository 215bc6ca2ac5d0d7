// What a cycle did, for a person: which slots came and which left, by their keys. Keys are names, so the sentence may
// stand in the chain; content never does. Pure.

import type { Decision, ReasonCode } from './shapes.ts'

/** Of those that came, and of those that left; the decisions have them all. */
const NAMED_MAX = 5
const NAME_CHARS_MAX = 64

/** Why a slot leaves. */
const WHY: Partial<Record<ReasonCode, string>> = {
  outcompeted: 'others were stronger',
  below_threshold: 'too far from the focus',
  over_limit: 'too large for a slot',
  expired: 'its time was over',
  superseded: 'something newer took its place',
  forgotten: 'it was forgotten',
}

export function summaryOf(decisions: readonly Decision[], slotsAfter: number): string {
  const came = decisions.filter(({ action }) => action === 'admitted').map(({ subject }) => named(subject.key))
  const left = decisions
    .filter(({ action }) => action === 'evicted')
    .map(({ subject, reasonCode }) => `${named(subject.key)} (${WHY[reasonCode] ?? reasonCode})`)
  const moved =
    came.length + left.length === 0 ? 'Nothing came and nothing left.' : [told('Came', came), told('Left', left)]
  return [moved, `${slotsAfter} ${slotsAfter === 1 ? 'slot is' : 'slots are'} in mind.`].flat().join(' ')
}

function told(what: string, names: string[]): string {
  if (names.length === 0) return `${what}: nothing.`
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `${what}: ${names.slice(0, NAMED_MAX).join(', ')}${more}.`
}

function named(key: string): string {
  const characters = [...key]
  return `\`${characters.length > NAME_CHARS_MAX ? `${characters.slice(0, NAME_CHARS_MAX - 1).join('')}…` : key}\``
}
