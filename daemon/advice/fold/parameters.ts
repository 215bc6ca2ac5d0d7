// The numbers of tool advice. Measured on MetaTool and on a world that drifts (npm run eval -- advice). Those marked
// with * go into what a fold stores: whoever changes one raises FOLD_VERSION of snapshot.ts.

/** Saturation of a word's count, and how much a long document pays for its length. * */
export const SATURATION = 3
export const LENGTH_SHARE = 0.4
/** What a word of a name, of a description and of a request's frame counts. Halves, so that counts are exact. * */
export const NAME_WEIGHT = 2
export const DESCRIPTION_WEIGHT = 1.5
export const FRAME_WEIGHT = 0.6
/** Two neighbouring words. * */
export const PAIR_WEIGHT = 0.5
/** Four letters of a word, for the cold start: gone when so many outcomes succeeded. */
export const GRAM_WEIGHT = 0.7
export const GRAM_UNTIL = 2_000
/** How sharply the text decides. * */
export const SHARPNESS = 30

/** What is believed of a tool before anything is told, in outcomes; and of a level below the tool. * */
export const TOOL_PRIOR = 8
export const LEVEL_PRIOR = 2
/** Half-lives, in outcomes of the database. Never the clock: an idle night must not change an answer. * */
export const RELIABILITY_HALF_LIFE = 12_000
export const POOL_HALF_LIFE = 693
/** Of health, in uses of the tool; times HEALTH_RELAX in outcomes of the database, so that a mended tool is tried. * */
export const HEALTH_HALF_LIFE = 30
export const HEALTH_RELAX = 8
export const HEALTH_PRIOR = 3
/** A tool as ill as this or more is not blamed in full: its failures say little about the task. * */
export const HEALTH_SPARE = 0.6

/** How far a draw from what is believed of a tool may move it: 0 takes what is best known, 1 is Thompson sampling. */
export const EXPLORE = 0.5

/**
 * Tools of a database: outcomes of further ones add nothing. A tool takes 4 KB, and whoever weighs a failure looks at
 * each of them: 96,000 took 650 MB and held the thread for 46 s. *
 */
export const TOOLS_MAX = 8_192
/**
 * Terms, and pairs, that one projection teaches all of its tools together. One may tell of 64 tools, with 128 of each:
 * 75 of those held the thread for seconds and took 80 MB. *
 */
export const TAUGHT_MAX = 512
/**
 * The first so many outcomes of a database all teach their words; of each doubling behind them a quarter as many do,
 * and the first few of each tool. A word counts by count / (count + 3), so what the hundredth outcome says of a tool is
 * known. 10^7 outcomes that all teach: 24 MB of snapshot for 200 tools, which open in 4.8 s. *
 */
export const TAUGHT_ALL = 16_384
export const TAUGHT_YOUNG = 8
/**
 * Entries of words, and of tallies, that a database may have: about 45 MB each. Behind them known ones go on and none
 * is added. *
 */
export const ENTRIES_MAX = 2 ** 20
export const TALLIES_MAX = 2 ** 17
