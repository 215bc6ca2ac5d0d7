// What the index knows of a record and of a cue. Segments store items, the search compares them with cues; both are
// made by analyse.ts, which is pure: the same text and language give the same item on every replica.

/** Raise it with any change of terms, flags or ranges: a segment made by another version must be built anew. */
const ANALYSER_VERSION = 5

/** The database's configured language. `auto` decides per text, by script and by stop words. New ones go to the end. */
export const LANGUAGES = ['auto', 'en', 'nl', 'zh', 'ar', 'es', 'de', 'fr', 'it', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]
/** A language that has tables. */
export type KnownLanguage = Exclude<Language, 'auto'>

/** One number for a segment's head: version and language. Another number means the segment must be built anew. */
export function analyserOf(language: Language): number {
  return ANALYSER_VERSION * 256 + LANGUAGES.indexOf(language)
}

/** Longest term in UTF-16 units, so at most 120 bytes of UTF-8: a term's length fits one byte of the dictionary. */
export const TERM_LENGTH_MAX = 40

/** Highest count of one term in one item. Saying a word more often than this adds nothing. */
export const TERM_COUNT_MAX = 16

/**
 * Distinct terms of one item; the words behind the first so many are counted and not found. 16 KiB of prose have fewer,
 * in languages with spaces: the bound is for lists, and for texts in pairs of characters, which could have 9,500.
 */
export const ITEM_TERMS_MAX = 1_024

/**
 * Words of one item that are made terms, doubles included; those behind them are counted. 16 KiB of prose have about
 * 2,800, of pairs of characters 5,460. What a text costs is decided here and not by who writes it: each word may have
 * to be stemmed.
 */
export const ITEM_WORDS_MAX = 6_144

/**
 * Characters of one item that are read at all, once compatibility forms are made plain: of U+FDFA alone 16 KiB would be
 * 98,000, which took 110 ms; of anything that people write 16 KiB are fewer.
 */
export const TEXT_LENGTH_MAX = 16_384

/** Highest count of an item's names, words of the past and new words: a list of words is not all that salient. */
export const CAPS_MAX = 15

/** A record as the analyser needs it. `context` and `position` are numbers of the row that erasure does not move. */
export interface RecordText {
  seq: number
  /** Tells it from another record of that seq; without one there is no other. */
  mark?: bigint
  context: number
  position: number
  /** As the sender wrote it; null without an actor. */
  actor: string | null
  /** Milliseconds since 1970: when it happened, else when it was stored. */
  occurredAt: number
  content: string
  /** A description of attached media, searched as part of the text. */
  media?: string | null
  /** What a recall may be narrowed to. */
  kind?: string
  tags?: readonly string[]
  /** Of its text (index/vectors.ts). */
  vector?: Int8Array | null | undefined
  /** The sender's hint raises it: a recall must look at it even where its words score less than others'. */
  isHinted?: boolean
  /** Its sender named the context. Otherwise it merely was stored soon after its neighbours. */
  hasContextId?: boolean
  /** Of that name, and of its key and metadata (memory/facets.ts). */
  contextFacet?: number
  facets?: readonly number[]
}

/** Bits of an item's flags. The two at DIGITS_SHIFT are no flags: digitsOf(). */
export const FLAG = {
  question: 1 << 0,
  first: 1 << 1,
  time: 1 << 2,
  media: 1 << 3,
  greet: 1 << 4,
  exclaim: 1 << 5,
  you: 1 << 6,
  place: 1 << 7,
  duration: 1 << 8,
  title: 1 << 9,
  person: 1 << 10,
  hinted: 1 << 11,
  /** The record has a contextId. */
  named: 1 << 14,
} as const
export const DIGITS_SHIFT = 12

/** How many digits the text has, at most 3. */
export function digitsOf(flags: number): number {
  return (flags >> DIGITS_SHIFT) & 3
}

/** First and last day of a time word, in days since 1970, both included. */
export type DayRange = readonly [from: number, to: number]

export interface IndexItem {
  seq: number
  context: number
  position: number
  /** Folded (foldName); empty without an actor. */
  actor: string
  /** Its kind and then its tags, sorted, as JSON: what a recall may be narrowed to. */
  labels: string
  /** Days since 1970, UTC, and milliseconds since that day began: when it happened, else when it was stored. */
  day: number
  time: number
  /** 0 without a contextId. */
  contextFacet: number
  facets: readonly number[]
  /** 15 bits: FLAG and digits. */
  flags: number
  /** Words that are terms, doubles included, at most 65,535. More than the sum of the counts where those are cut. */
  length: number
  /** Words written as names, at most CAPS_MAX. */
  caps: number
  /** Words of the past, at most CAPS_MAX. */
  past: number
  /** The first ITEM_TERMS_MAX terms to their count, 1 to TERM_COUNT_MAX. */
  terms: Map<string, number>
  /** Days that its time words ("yesterday", "two weeks ago") mean; at most 16. */
  ranges: DayRange[]
}

/** A date in a cue. Zero means: not named. */
export interface CueDate {
  day: number
  /** 1-12; at least one. */
  months: number[]
  year: number
  /** Day, month and year were all written as one date: only that day counts. */
  exact: boolean
}

export interface Cue {
  /** Distinct terms in the order of the cue, without actors' names; at most CUE_TERMS_MAX. */
  terms: string[]
  /** One term per distinct word, for stem groups; two words of one stem are two entries. */
  groups: string[]
  /** Folded names of actors that the cue names. The part `actor` counts only when there is exactly one. */
  who: string[]
  /** Asks when something happened. */
  when: boolean
  date: CueDate | null
  /** FLAG.place | duration | title | person, as far as the cue asks for one. */
  asks: number
  /** Those of `terms` that are written as a name or a number: a record without them is about something else. */
  names: string[]
  /** Asks about whoever asks: "my", "we". */
  isFirst: boolean
  /** `other`: most of its letters are of a script that no tables are for. */
  language: KnownLanguage | 'other'
}

/** A longer cue is cut: recall's cost is bounded by counts. */
export const CUE_TERMS_MAX = 64
export const CUE_LENGTH_MAX = 4_096

/**
 * The actors of a database, as the search hands them to analyseCue: made by actorNames() once per list of segments.
 * Actors' names say who, not what: they are left out of cues, of stem groups and of novelty.
 */
export interface ActorNames {
  /** Every way an actor can be named in a cue: the folded name and the first word of a longer one. */
  names: ReadonlySet<string>
  /** Terms of the names. A first occurrence of one of them is no novelty, and none of them joins a stem group. */
  terms: ReadonlySet<string>
  /** Longest name in a script without spaces that is looked up at every place of the cue, at most 16; 0 without one. */
  unspacedLengthMax: number
}

/** Whether an item's actor is the one that the cue named: the whole name, or the first word of it. */
export function isNamed(actor: string, who: string): boolean {
  return actor.startsWith(who) && (actor.length === who.length || actor[who.length] === ' ')
}
