// What a score is made of. Its parts are told apart by family, not by name: eighteen names are too many colours, and a
// name that a newer server adds still has a family. What takes something off is a family of its own, whatever its name.

export interface Part {
  name: string
  value: number
  weight: number
  contribution: number
}

export const FAMILIES = ['words', 'around', 'strength', 'held', 'due', 'penalty'] as const
export type Family = (typeof FAMILIES)[number]

export const FAMILY_WORDS: Readonly<Record<Family, string>> = {
  words: 'its words',
  around: 'its surroundings',
  strength: 'its strength',
  held: 'held already',
  due: 'due',
  penalty: 'taken off',
}

const OTHERS: Readonly<Record<string, Family>> = {
  context: 'around',
  base: 'strength',
  salience: 'strength',
  hint: 'strength',
  noise: 'strength',
  stickiness: 'held',
  due: 'due',
}

/** The score was rounded to six decimals, after its parts. */
const ADDS_UP_WITHIN = 1e-6

export function familyOf({ name, contribution }: Part): Family {
  return contribution < 0 ? 'penalty' : (OTHERS[name] ?? 'words')
}

/** By family, and in a family the largest first; what takes off comes last. */
export function inOrder<One extends Part>(parts: readonly One[]): One[] {
  return parts
    .filter(({ contribution }) => contribution !== 0)
    .toSorted(
      (one, other) =>
        FAMILIES.indexOf(familyOf(one)) - FAMILIES.indexOf(familyOf(other)) ||
        Math.abs(other.contribution) - Math.abs(one.contribution),
    )
}

/** Asked of every answer: what is shown as the reason is the whole reason. */
export function addsUp(score: number, parts: readonly Part[]): boolean {
  return Math.abs(sumOf(parts) - score) < ADDS_UP_WITHIN
}

export function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { contribution }) => sum + contribution, 0)
}

/** How long the bar is before something is taken off. */
export function raised(parts: readonly Part[]): number {
  return parts.reduce((sum, { contribution }) => sum + Math.max(0, contribution), 0)
}

export interface Stretch {
  part: Part
  family: Family
  /** Of the scale. */
  from: number
  width: number
}

/**
 * The bar of a score on a scale from 0. What takes off lies over the end of what came before it, so what is left in
 * plain colour ends at the score: one look compares it with another, and with the bar of a focus.
 */
export function stretches(parts: readonly Part[], scale: number): Stretch[] {
  const found: Stretch[] = []
  let end = 0
  for (const part of inOrder(parts)) {
    const family = familyOf(part)
    const length = Math.min(Math.abs(part.contribution), family === 'penalty' ? end : Number.POSITIVE_INFINITY)
    if (family === 'penalty') end -= length
    found.push({ part, family, from: end / scale, width: length / scale })
    if (family !== 'penalty') end += length
  }
  return found
}
