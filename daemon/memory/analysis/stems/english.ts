// The Snowball stemmer for English (Porter2), over folded words: lower case, letters only. Equal to PostgreSQL's
// english_stem on the words of its test. Written here because the packages that carry Snowball are unmaintained.

const WHOLE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    skis: 'ski',
    skies: 'sky',
    dying: 'die',
    lying: 'lie',
    tying: 'tie',
    idly: 'idl',
    gently: 'gentl',
    ugly: 'ugli',
    early: 'earli',
    only: 'onli',
    singly: 'singl',
    sky: 'sky',
    news: 'news',
    howe: 'howe',
    atlas: 'atlas',
    cosmos: 'cosmos',
    bias: 'bias',
    andes: 'andes',
  }),
)
/** Left alone once their plural is gone. */
const KEPT = new Set(['inning', 'outing', 'canning', 'herring', 'earring', 'proceed', 'exceed', 'succeed'])

// Longest suffix first: the first that fits is the only one that is looked at.
const STEP_2: readonly (readonly [suffix: string, to: string])[] = [
  ['ization', 'ize'],
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['bli', 'ble'],
]
const STEP_3: readonly (readonly [suffix: string, to: string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]
const STEP_4 = [
  ...['ement', 'ance', 'ence', 'able', 'ible', 'ment', 'ant', 'ent', 'ism', 'ate', 'iti', 'ous', 'ive', 'ize'],
  ...['al', 'er', 'ic'],
]

const VOWEL = /[aeiouy]/
const DOUBLE_END = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/
const SHORT_END = /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$/

export function stemEnglish(word: string): string {
  if (word.length < 3) return word
  const whole = WHOLE.get(word)
  if (whole !== undefined) return whole
  // A y that stands for a consonant is written Y until the end.
  const marked = word.replace(/^y/, 'Y').replace(/([aeiouy])y/g, '$1Y')
  const start = /^(?:gener|commun|arsen)/.exec(marked)
  const r1 = start ? start[0].length : regionAfter(marked, 0)
  const r2 = regionAfter(marked, r1)
  const singular = withoutPlural(marked)
  if (KEPT.has(singular)) return singular
  let stem = withoutTense(singular, r1).replace(/(?<=.[^aeiouy])[yY]$/, 'i')
  stem = step2(stem, r1)
  stem = step3(stem, r1, r2)
  stem = step4(stem, r2)
  return withoutFinalE(stem, r1, r2).toLowerCase()
}

/** The region after the first non-vowel that follows a vowel, counted from `from`. */
function regionAfter(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from))
  return found ? from + found.index + 2 : word.length
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (/(?:ied|ies)$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1)
  if (/(?:us|ss)$/.test(word) || !word.endsWith('s')) return word
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word
}

function withoutTense(word: string, r1: number): string {
  const eed = /(?:eedly|eed)$/.exec(word)
  if (eed) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word
  const tense = /(?:ingly|edly|ing|ed)$/.exec(word)
  if (!tense || !VOWEL.test(word.slice(0, tense.index))) return word
  const rest = word.slice(0, tense.index)
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`
  if (DOUBLE_END.test(rest)) return rest.slice(0, -1)
  return r1 >= rest.length && SHORT_END.test(rest) ? `${rest}e` : rest
}

function step2(word: string, r1: number): string {
  for (const [suffix, to] of STEP_2) if (word.endsWith(suffix)) return replaceEnd(word, suffix, to, r1)
  if (word.endsWith('logi')) return word.length - 3 >= r1 ? word.slice(0, -1) : word
  return /[cdeghkmnrt]li$/.test(word) ? replaceEnd(word, 'li', '', r1) : word
}

function step3(word: string, r1: number, r2: number): string {
  for (const [suffix, to] of STEP_3) if (word.endsWith(suffix)) return replaceEnd(word, suffix, to, r1)
  return word.endsWith('ative') ? replaceEnd(word, 'ative', '', r2) : word
}

function step4(word: string, r2: number): string {
  for (const suffix of STEP_4) if (word.endsWith(suffix)) return replaceEnd(word, suffix, '', r2)
  return /[st]ion$/.test(word) ? replaceEnd(word, 'ion', '', r2) : word
}

function withoutFinalE(word: string, r1: number, r2: number): string {
  const at = word.length - 1
  if (word.endsWith('e')) return at >= r2 || (at >= r1 && !SHORT_END.test(word.slice(0, -1))) ? word.slice(0, -1) : word
  return word.endsWith('ll') && at >= r2 ? word.slice(0, -1) : word
}

function replaceEnd(word: string, suffix: string, to: string, region: number): string {
  const at = word.length - suffix.length
  return at >= region ? word.slice(0, at) + to : word
}
