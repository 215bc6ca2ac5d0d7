// Which slot was held when, from what left, what is held and what cycles decided. Pure.
//
// Of a key one slot is held at a time. So what a cycle says of a key is of the stay that ends next under that key, and
// where none ends, of the one that goes on.

import { idsFrom } from '@loci/contract/ids.ts'
import type { Timeline, TimelineItem } from '@loci/contract/timeline.ts'
import { TIMELINE_TEXT_MAX } from '@loci/contract/timeline.ts'
import { contentOf } from '../../working-memory/slots.ts'
import type { Decision } from '../shapes.ts'
import type { End, Said, VersionFound, VersionOf } from './store.ts'

/** A cycle of the page; `decisions` undefined: they are not kept, or lost. */
export interface CycleOfPage {
  seq: number
  startedAt: number
  decisions: readonly Decision[] | undefined
}

/** What is in mind at the end of what is asked for. */
export interface HeldAtEnd {
  key: string
  said: Said
  /** Its time was over before that, and nobody has removed it yet. */
  expiredAt: number | null
}

export interface Stay {
  key: string
  end: End | undefined
  expiredAt: number | null
  /** As it is read where `said` is not known. */
  version: VersionOf | undefined
  said: Said | undefined
  isDamaged: boolean
  /** By the cycle that brought it, where that is of this page. */
  from: NonNullable<TimelineItem['from']> | undefined
  recordId: string | null
  scores: [number, number][]
}

/** `cycles`: oldest first. Stays whose end is damaged are left out. */
export function staysOf(
  cycles: readonly CycleOfPage[],
  ends: readonly { end: End; found: VersionFound }[],
  held: readonly HeldAtEnd[],
): Stay[] {
  const endsOf = Map.groupBy(
    ends.map(({ end, found }) => {
      const said = found?.said
      return stayOf(end.key, { end, said, isDamaged: found !== undefined && said === undefined })
    }),
    ({ key }) => key,
  )
  for (const stays of endsOf.values()) stays.sort((one, other) => (one.end?.seq ?? 0) - (other.end?.seq ?? 0))
  const open = new Map(held.map((one) => [one.key, stayOf(one.key, one)]))
  for (const cycle of cycles) for (const decision of cycle.decisions ?? []) mention(cycle, decision)
  return [...endsOf.values(), [...open.values()]].flat().filter(({ end }) => !end || end.why)

  function mention({ seq, startedAt, decisions }: CycleOfPage, decision: Decision): void {
    const { action, subject, score, evidenceRefs } = decision
    if (subject.kind !== 'slot') return
    const isHeld = action === 'kept' || action === 'admitted'
    if (!isHeld && action !== 'evicted' && action !== 'consolidated') return
    // What leaves by this cycle ends when it began, and what it keeps, later.
    const stay = endingFrom(subject.key, isHeld ? startedAt + 1 : startedAt)
    stay.recordId = evidenceRefs[0] ?? stay.recordId
    if (!isHeld) return
    stay.scores.push([seq, score])
    if (subject.version !== null && !stay.end) stay.version = { key: subject.key, version: subject.version }
    if (action !== 'admitted') return
    const isHeard =
      stay.recordId === null ||
      stay.recordId >= idsFrom('mem', startedAt) ||
      decisions?.some((one) => one.action === 'reinforced' && one.evidenceRefs[0] === stay.recordId)
    stay.from = { at: timeOf(startedAt), by: isHeard ? 'observed' : 'recalled', cycle: seq }
  }

  function endingFrom(key: string, at: number): Stay {
    const found = endsOf.get(key)?.find(({ end }) => end !== undefined && end.at >= at) ?? open.get(key)
    if (found) return found
    const stay = stayOf(key, {})
    open.set(key, stay)
    return stay
  }
}

function stayOf(key: string, known: Partial<Pick<Stay, 'end' | 'expiredAt' | 'said' | 'isDamaged'>>): Stay {
  return {
    ...{ key, end: undefined, expiredAt: null, said: undefined, isDamaged: false, ...known },
    ...{ version: undefined, from: undefined, recordId: null, scores: [] },
  }
}

/** As it is sent. `numbers`: of cycles, by when they began. */
export function itemOf(
  { key, end, expiredAt, said, isDamaged, from, recordId, scores }: Stay,
  { numbers, isContent }: { numbers: ReadonlyMap<number, number>; isContent: boolean },
): TimelineItem {
  return {
    key,
    recordId: recordId ?? said?.recordId ?? null,
    pinned: said?.pinned ?? false,
    from: said ? fromOf(said) : (from ?? null),
    to: end?.why
      ? {
          ...{ at: timeOf(end.at), reasonCode: end.why.reasonCode, displacedBy: end.why.displacedBy },
          cycle: isOfCycle(end) ? (numbers.get(end.at) ?? null) : null,
        }
      : expiredAt === null
        ? null
        : { at: timeOf(expiredAt), reasonCode: 'expired', displacedBy: null, cycle: null },
    activation: said?.activation ?? null,
    scores,
    ...(isContent ? wordsOf(said, isDamaged) : {}),
  }
}

/** What nobody but a write or a worker does. */
function isOfCycle({ why }: End): boolean {
  return why?.reasonCode !== 'cleared' && why?.reasonCode !== 'deleted'
}

function fromOf({ createdAt, admittedCycle, isPut, recordId, seen }: Said): NonNullable<TimelineItem['from']> {
  const at = timeOf(createdAt)
  if (isPut) return { at, by: 'put', cycle: null }
  // A record that was made with it or since was heard, and one that was presented just then was heard again.
  const isHeard = recordId === null || recordId >= idsFrom('mem', createdAt) || seen.recent.includes(createdAt)
  return { at, by: isHeard ? 'observed' : 'recalled', cycle: admittedCycle }
}

function wordsOf(said: Said | undefined, isDamaged: boolean): Pick<TimelineItem, 'text' | 'cut' | 'redacted'> {
  if (!said) return isDamaged ? {} : { redacted: true }
  const words = contentOf(said.value)
  // No half of a pair: it would be no text.
  const text = words.slice(0, TIMELINE_TEXT_MAX).replace(/[\uD800-\uDBFF]$/, '')
  return { text, ...(words.length > TIMELINE_TEXT_MAX ? { cut: true } : {}) }
}

/** By when they began; what nobody knows first. */
export function inOrder(items: Timeline['items']): Timeline['items'] {
  return items.sort((one, other) => {
    const [own, its] = [one.from?.at ?? '', other.from?.at ?? '']
    return own < its ? -1 : own > its ? 1 : one.key < other.key ? -1 : 1
  })
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
