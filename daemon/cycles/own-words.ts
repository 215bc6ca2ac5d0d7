// The terms of a text, as the index makes them; numbers folded, for what is a near copy of what.

import { analyseItem } from '../memory/analysis/analyse.ts'

/** Texts that are remembered: the same few are held cycle after cycle. Forgetting them changes nothing but the time. */
const REMEMBERED_MAX = 2_048
const REMEMBERED_LENGTH_MAX = 1_024

const HAS_NUMBER = /\p{N}/u
const terms = remembered((content) => new Set(itemTerms(content)))
const folded = remembered((content) => new Set(itemTerms(content).map((term) => (HAS_NUMBER.test(term) ? '#' : term))))

export function termsOf(content: string): ReadonlySet<string> {
  return terms(content)
}

/** Two readings of one gauge have the same. */
export function foldedTermsOf(content: string): ReadonlySet<string> {
  return folded(content)
}

function itemTerms(content: string): string[] {
  const nowhere = { seq: 0, context: 0, position: 0, actor: null, occurredAt: 0 }
  return [...analyseItem({ ...nowhere, content }, 'auto').terms.keys()]
}

function remembered(make: (content: string) => ReadonlySet<string>): (content: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>()
  return (content) => {
    const before = known.get(content)
    if (before) return before
    const made = make(content)
    if (known.size >= REMEMBERED_MAX) known.clear()
    if (content.length <= REMEMBERED_LENGTH_MAX) known.set(content, made)
    return made
  }
}
