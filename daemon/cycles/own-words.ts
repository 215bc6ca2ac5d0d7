// The terms of a text, as the index makes them; numbers folded, for what is a near copy of what.

import { createCache } from '@loci/chassis/cache.ts'
import { analyseItem } from '../memory/analysis/analyse.ts'

/**
 * What is remembered of texts: the same few are held cycle after cycle. Forgetting them changes nothing but the time.
 * By bytes: two thousand texts of a thousand Chinese characters took 140 MB.
 */
const REMEMBERED_BYTES_MAX = 4 * 1024 * 1024
const REMEMBERED_LENGTH_MAX = 1_024
/** Of a term in its set, and of the set. */
const TERM_BYTES = 64
const SET_BYTES = 300

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
  const known = createCache<ReadonlySet<string>>(REMEMBERED_BYTES_MAX)
  return (content) => {
    const before = known.find(content)
    if (before) return before
    const made = make(content)
    if (content.length <= REMEMBERED_LENGTH_MAX)
      known.keep(content, made, SET_BYTES + 2 * content.length + TERM_BYTES * made.size)
    return made
  }
}
