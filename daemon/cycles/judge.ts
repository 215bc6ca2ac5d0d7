// How strongly each candidate stands: the parts that the index knows, and those of the mind: the
// sender's hint, the base level, stickiness, what is due. Every contribution is rounded before it is summed, so that
// what is shown adds up to the score that decided.

import { createHash } from 'node:crypto'
import type { Explanation } from '@loci/contract/working-memory.ts'
import { PARTS } from '../memory/weights.ts'
import { baseLevel, type Presentations, rounded } from '../working-memory/activation.ts'
import { contentOf } from '../working-memory/slots.ts'
import { termsOf } from './own-words.ts'
import { type Fresh, type Heard, type Held, onceAt } from './perceive.ts'
import type { CycleConfig, CycleInput, KnownRecord, RecallAnswer, Recalled } from './shapes.ts'

const NAMES = [...PARTS, 'hint', 'base', 'stickiness', 'due', 'echo', 'noise'] as const
const AT = Object.fromEntries(NAMES.map((name, at) => [name, at])) as Record<(typeof NAMES)[number], number>

/** What was presented less than this ago was presented now. */
const AGE_MS_MIN = 60_000

export interface Candidate {
  /** Of its record; of a slot that stands for none, the slot's. */
  id: string
  held: Held | null
  fresh: Fresh | null
  record: KnownRecord | null
  actor: string | null
  content: string
  occurredAt: number
  /** Its number in the search: of two that happened at once the higher is the newer. */
  order: number
  hint: number
  dueAt: number | null
  seen: Presentations
  /** The share of the cue that its own words have, and with its neighbours' words. */
  own: number
  said: number
  sketch: number
  /** What each of NAMES contributes. */
  contributions: number[]
  score: number
  /** The candidate that it is a near copy of. */
  copyOf: string | null
  /** The key of a slot in mind that says the same: it takes no second place. */
  sameAs: string | null
  /** Pushed down by the whole threshold: it takes no slot. */
  isHushed: boolean
}

/** What is known of a candidate beside what the index says. */
type Known = Pick<
  Candidate,
  'id' | 'held' | 'fresh' | 'record' | 'actor' | 'content' | 'occurredAt' | 'order' | 'seen' | 'hint' | 'dueAt'
>

export interface Judge {
  heldOne(held: Held, found: Recalled): Candidate
  freshOne(fresh: Fresh, found: Recalled): Candidate
  heardOne(heard: Heard, found: Recalled): Candidate
  recalledOne(record: KnownRecord, found: Recalled): Candidate
  /** A slot without a record in the index: what its own words show. */
  looseOne(held: Held): Candidate
}

export function createJudge(input: CycleInput, { terms, idfTotal }: RecallAnswer): Judge {
  const { config, now, number, focus, seed } = input
  const { weights } = config

  /** The focus loosens what it does not touch: it is held no firmer than others. */
  function stickinessOf({ held, fresh }: Known, isIdle: boolean): number {
    if (isIdle || !(held || fresh)) return 0
    // What was just heard stands as firm as what is held, or an old resident would come before the news.
    if (!held) return 1
    return 2 ** (-Math.max(number - held.slot.touchedCycle - 1, 0) / config.stickinessHalfLifeCycles)
  }

  function judge(known: Known, found: Pick<Recalled, 'own' | 'sketch'>, lexical: number[], isIdle: boolean): Candidate {
    const { hint, dueAt } = known
    const contributions = lexical
    contributions[AT.hint] = rounded(weights.hint * hint)
    contributions[AT.base] = rounded(weights.base * baseOf(known.seen, now, config))
    contributions[AT.stickiness] = rounded(config.stickiness * stickinessOf(known, isIdle))
    contributions[AT.due] = isDue(dueAt, now, config) ? config.due.weight : 0
    contributions[AT.echo] = 0
    contributions[AT.noise] = config.noise === 0 ? 0 : rounded(config.noise * noiseOf(seed, known.id))
    return {
      ...known,
      ...{ own: found.own, said: weights.cue > 0 ? (contributions[AT.cue] as number) / weights.cue : found.own },
      ...{
        sketch: found.sketch,
        contributions,
        score: sumOf(contributions),
        copyOf: null,
        sameAs: null,
        isHushed: false,
      },
    }
  }

  function judgeFound(known: Known, found: Recalled): Candidate {
    const lexical = found.parts.map(rounded)
    return judge(known, found, lexical, focus !== null && lexical[AT.context] === 0)
  }

  return {
    heldOne: (held, found) => judgeFound(knownOfHeld(held), found),
    freshOne: (fresh, found) => judgeFound(knownOfFresh(fresh), found),
    heardOne: ({ record, seen }, found) => judgeFound({ ...knownOfRecord(record), seen }, found),
    recalledOne: (record, found) => judgeFound(knownOfRecord(record), found),
    looseOne(held) {
      const words = terms.length === 0 ? undefined : termsOf(contentOf(held.slot.value))
      const shared = terms.reduce((sum, { term, idf }) => (words?.has(term) ? sum + idf : sum), 0)
      const own = shared / idfTotal
      const lexical = PARTS.map(() => 0)
      lexical[AT.salience] = rounded(weights.salience * held.slot.surface)
      lexical[AT.cue] = rounded(weights.cue * own)
      return judge(knownOfHeld(held), { own, sketch: 0 }, lexical, false)
    },
  }
}

/** The base level as cycles weigh it. */
export function baseOf(seen: Presentations, now: number, { decay, baseRecent }: CycleConfig): number {
  return baseLevel(seen, now, { decay, exact: baseRecent, ageMsMin: AGE_MS_MIN })
}

function knownOfHeld(held: Held): Known {
  const { id, record, value, seen, hint, createdAt } = held.slot
  const { actor = null, occurredAt = createdAt, dueAt = null } = record ?? {}
  return {
    ...{ id: record?.id ?? id, held, fresh: held.merged, record: null, actor, content: contentOf(value) },
    ...{ occurredAt, order: record?.seq ?? 0, seen, hint, dueAt },
  }
}

function knownOfFresh(fresh: Fresh): Known {
  const { observation, occurredAt, dueAt, seen } = fresh
  const { actor = null, content, salience: hint = 0 } = observation.write
  const order = fresh.seq
  return { id: observation.id, held: null, fresh, record: null, actor, content, occurredAt, order, seen, hint, dueAt }
}

function knownOfRecord(record: KnownRecord): Known {
  const { id, actor, content, occurredAt, seq: order, hint, dueAt } = record
  const seen = record.seen ?? onceAt(occurredAt)
  return { id, held: null, fresh: null, record, actor, content, occurredAt, order, seen, hint, dueAt }
}

export function isDue(dueAt: number | null, now: number, { due }: Pick<CycleConfig, 'due'>): boolean {
  return dueAt !== null && due.weight > 0 && now >= dueAt - due.leadMs && now <= dueAt + due.graceMs
}

export const isDueNow = ({ contributions }: Candidate): boolean => contributions[AT.due] !== 0

export function stickinessIn({ contributions }: Candidate): number {
  return contributions[AT.stickiness] as number
}

/** Pushes a near copy down. */
export function pushDown(candidate: Candidate, by: number): void {
  candidate.contributions[AT.echo] = rounded(-by)
  candidate.score = sumOf(candidate.contributions)
}

/** Parts that contribute nothing are left out. */
export function explanationOf({ score, contributions }: Candidate, config: CycleConfig): Explanation {
  const parts: Explanation['parts'] = []
  for (let at = 0; at < NAMES.length; at += 1) {
    const contribution = contributions[at] as number
    if (contribution === 0) continue
    const name = NAMES[at] as (typeof NAMES)[number]
    const weight = weightOf(name, config)
    parts.push({ name, value: rounded(contribution / weight), weight, contribution })
  }
  return { score, parts }
}

function weightOf(name: (typeof NAMES)[number], { weights, stickiness, due, echo, noise }: CycleConfig): number {
  if (name === 'stickiness') return stickiness
  if (name === 'due') return due.weight
  if (name === 'echo') return -echo.weight
  return name === 'noise' ? noise : weights[name]
}

/** What the text itself shows, to be kept with its slot. */
export function surfaceIn({ contributions }: Candidate, { weights }: Pick<CycleConfig, 'weights'>): number {
  return weights.salience > 0 ? rounded((contributions[AT.salience] as number) / weights.salience) : 0
}

function sumOf(contributions: readonly number[]): number {
  let sum = 0
  for (const contribution of contributions) sum += contribution
  return rounded(sum)
}

/** Logistic, the same for the same cycle and candidate. */
function noiseOf(seed: string, id: string): number {
  const drawn = createHash('sha256').update(`${seed}|${id}`).digest().readUIntBE(0, 6)
  const share = (drawn + 0.5) / 2 ** 48
  return Math.log(share / (1 - share))
}
