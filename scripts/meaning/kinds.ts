// What is a kind of what, for the words that people ask with: of WordNet's nouns, those below the words named here.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ENGLISH } from '@loci/daemon/memory/analysis/languages/en.ts'
import { termOf } from '@loci/daemon/memory/analysis/terms.ts'

export interface Kind {
  /** Terms that ask for it. */
  asks: string[]
  /** Terms that are of this kind, the commonest first. */
  members: string[]
}
/** A member beside the nouns that made it one. */
export type Nouns = ReadonlyMap<string, readonly string[]>

/** The words that ask, and WordNet's words above what they ask for; a longer one counts by its last word. */
const QUESTIONS: readonly (readonly [asks: string, above: string])[] = [
  ['drink beverage', 'beverage drink'],
  ['food eat meal diet', 'food foodstuff dish meal nutriment meat vegetable edible_fruit'],
  ['fruit', 'edible_fruit'],
  ['vegetable', 'vegetable'],
  ['meat', 'meat'],
  ['language tongue speak', 'language'],
  ['country nation', 'country'],
  ['city town', 'city town'],
  ['place', 'city town country'],
  ['live', 'city town'],
  ['color', 'color'],
  ['shape', 'shape'],
  ['material', 'material fabric'],
  ['metal', 'metal'],
  ['animal pet', 'animal'],
  ['bird', 'bird'],
  ['fish', 'fish'],
  ['insect', 'insect'],
  ['dog', 'dog'],
  ['plant', 'plant'],
  ['flower', 'flower'],
  ['tree', 'tree'],
  ['sport', 'sport athletics athlete'],
  ['game', 'game'],
  ['music genre', 'music'],
  ['instrument musician', 'musical_instrument'],
  ['musician', 'musician'],
  ['dance', 'dance'],
  ['book', 'book'],
  ['vehicle transport', 'vehicle transport public_transport'],
  ['car auto automobile', 'car motorcar'],
  ['ship boat', 'ship boat'],
  ['plane aircraft', 'aircraft'],
  ['clothes clothing wear', 'clothing garment'],
  ['shoe footwear', 'footwear shoe'],
  ['jewelry', 'jewelry'],
  ['furniture', 'furniture'],
  ['building house', 'building house'],
  ['room', 'room'],
  ['tool', 'tool'],
  ['weapon', 'weapon'],
  ['computer', 'computer'],
  ['device machine', 'machine device'],
  ['body', 'body_part organ'],
  ['medicine drug medication', 'medicine drug'],
  ['illness disease sick condition', 'illness disease disorder'],
  ['injury hurt', 'injury'],
  ['emotion feel', 'emotion feeling'],
  ['family relative', 'relative'],
  ['parent', 'parent'],
  ['child kid', 'child offspring'],
  [
    'job profession occupation career work',
    'professional worker educator expert scientist craftsman artist official leader engineer',
  ],
  ['company employer business', 'company'],
  ['religion faith', 'religion'],
  ['science subject study field', 'science discipline'],
  ['money currency', 'currency monetary_unit'],
  ['day weekday', 'day'],
  ['month', 'month'],
  ['season', 'season'],
]

/** Things that WordNet knows first as people who do that work. */
const NO_JOBS = new Set(
  'printer computer scanner dishwasher washer dryer freezer cooker mixer charger player server monitor tracker planner'.split(
    ' ',
  ),
)

/** Kinds whose members are single things with a name. Of the others none is: a David who was a king is no job. */
const NAMED_TERMS = new Set(['country', 'city', 'place', 'live'].map((word) => termOf(word, ENGLISH)))
/** Adjectives like "Dutch" in index.sense: one that is met says that the noun is known. */
const OF_A_NOUN = '3:01:'

interface Synset {
  words: string[]
  above: string[]
  instanceOf: string[]
}
interface Noun {
  noun: string
  senses: { synset: string; count: number }[]
  total: number
}

/** `folder`: WordNet's dictionary files. `terms`: those that may be members, the commonest first. */
export function readKinds(folder: string, terms: readonly string[]): { kinds: Kind[]; nouns: Nouns } {
  const synsets = readSynsets(path.join(folder, 'data.noun'))
  const speakers = readSpeakers(folder, new Set(terms))
  const kinds = QUESTIONS.map(([asks]) => ({
    asks: [...new Set(asks.split(' ').map((word) => termOf(word, ENGLISH)))],
    members: [] as string[],
  }))
  const kindsAbove = kindFinder(synsets)
  const nouns = new Map<string, string[]>()
  for (const term of terms) {
    const found = new Set<number>()
    for (const { noun, senses } of speakers.get(term) ?? []) {
      for (const synset of senses.flatMap((sense) => (isMeant(sense, senses) ? [sense.synset] : []))) {
        // Above the word, not the word itself: a city is no kind of city.
        const { above = [], instanceOf = [] } = synsets.get(synset) ?? {}
        for (const kind of above.flatMap((each) => [...kindsAbove(each)])) {
          if (!isRefused(noun, kinds[kind])) found.add(kind)
        }
        for (const kind of instanceOf.flatMap((each) => [...kindsAbove(each)])) {
          if (kinds[kind]?.asks.some((ask) => NAMED_TERMS.has(ask))) found.add(kind)
        }
      }
    }
    for (const kind of found) {
      if (kinds[kind]?.asks.includes(term)) continue
      kinds[kind]?.members.push(term)
      nouns.set(term, speakers.get(term)?.map(({ noun }) => noun) ?? [])
    }
  }
  return { kinds, nouns }
}

/** The first sense; the second only where it is met about as often ("Dutch" the language, after the people). */
function isMeant(sense: Noun['senses'][number], senses: Noun['senses']): boolean {
  return sense === senses[0] || (sense === senses[1] && sense.count >= 0.25 * (senses[0]?.count ?? 0))
}

function isRefused(noun: string, kind: Kind | undefined): boolean {
  return NO_JOBS.has(noun) && kind?.asks.includes('job') === true
}

function kindFinder(synsets: ReadonlyMap<string, Synset>): (synset: string) => ReadonlySet<number> {
  const named = new Map<string, number[]>()
  for (const [kind, [, above]] of QUESTIONS.entries()) {
    for (const word of above.split(' ')) named.set(word, [...(named.get(word) ?? []), kind])
  }
  const found = new Map<string, Set<number>>()
  return function find(synset) {
    const known = found.get(synset)
    if (known) return known
    const kinds = new Set<number>()
    found.set(synset, kinds)
    const { words, above } = synsets.get(synset) ?? { words: [], above: [] }
    for (const word of words) {
      for (const name of [word, word.split('_').at(-1) ?? word])
        for (const kind of named.get(name) ?? []) kinds.add(kind)
    }
    for (const each of above) for (const kind of find(each)) kinds.add(kind)
    return kinds
  }
}

/** A line of data.noun: offset, file, type, count of words (hex), words with a number each, count of links, links. */
function readSynsets(file: string): Map<string, Synset> {
  const synsets = new Map<string, Synset>()
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    if (!/^\d{8} /.test(line)) continue
    const fields = (line.split(' | ', 1)[0] ?? '').split(' ')
    const wordCount = Number.parseInt(fields[3] ?? '', 16)
    const links = 4 + 2 * wordCount
    const above: string[] = []
    const instanceOf: string[] = []
    for (let link = 0; link < Number(fields[links]); link++) {
      const [symbol, target] = fields.slice(links + 1 + 4 * link)
      if (symbol === '@' && target !== undefined) above.push(target)
      if (symbol === '@i' && target !== undefined) instanceOf.push(target)
    }
    const words = Array.from({ length: wordCount }, (_, at) => (fields[4 + 2 * at] ?? '').toLowerCase())
    synsets.set(fields[0] ?? '', { words, above, instanceOf })
  }
  return synsets
}

/**
 * Of each term the nouns that were met most often in tagged text: several words have one stem, and the commonest of
 * them speaks, "meeting" and not an athletic "meet". A word that was met, and never as a noun, is none: "low", "must".
 */
function readSpeakers(folder: string, terms: ReadonlySet<string>): Map<string, Noun[]> {
  const counts = new Map<string, number>()
  const otherwise = new Set<string>()
  for (const line of readFileSync(path.join(folder, 'index.sense'), 'latin1').split('\n')) {
    const [key = '', synset, , count] = line.trim().split(' ')
    const [word = '', place = ''] = key.split('%')
    if (place.startsWith('1:')) counts.set(`${word} ${synset}`, Number(count))
    else if (!place.startsWith(OF_A_NOUN) && Number(count) > 0) otherwise.add(word)
  }
  const speakers = new Map<string, Noun[]>()
  for (const line of readFileSync(path.join(folder, 'index.noun'), 'latin1').split('\n')) {
    const fields = line.trim().split(/ +/)
    const noun = fields[0] ?? ''
    if (!/^[a-z]{2,}$/.test(noun)) continue
    const term = termOf(noun, ENGLISH)
    if (!terms.has(term)) continue
    const senses = fields
      .slice(6 + Number(fields[3]))
      .map((synset) => ({ synset, count: counts.get(`${noun} ${synset}`) ?? 0 }))
    const total = senses.reduce((sum, { count }) => sum + count, 0)
    if (total === 0 && otherwise.has(noun)) continue
    const most = speakers.get(term)?.[0]?.total ?? -1
    if (total > most) speakers.set(term, [{ noun, senses, total }])
    else if (total === most) speakers.get(term)?.push({ noun, senses, total })
  }
  return speakers
}
