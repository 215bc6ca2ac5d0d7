// The Snowball stemmer for Dutch, over folded words: lower case, without accents. Equal to PostgreSQL's dutch_stem on
// the words of its test. Written here because the packages that carry Snowball are unmaintained.

export function stemDutch(word: string): string {
  if (word.length < 3) return word
  // A y or i that stands for a consonant is written in upper case until the end.
  let stem = word
    .replace(/^y/, 'Y')
    .replace(/([aeiouy])y/g, '$1Y')
    .replace(/([aeiouy])i(?=[aeiouy])/g, '$1I')
  const region = regionAfter(stem, 0)
  const r1 = Math.max(region, Math.min(3, stem.length))
  const r2 = regionAfter(stem, region)

  stem = step1(stem, r1)
  const short = withoutE(stem, r1)
  const isEGone = short !== stem
  stem = short
  if (stem.endsWith('heid') && stem.length - 4 >= r2 && stem.at(-5) !== 'c')
    stem = withoutEn(stem.slice(0, -4), 'en', r1)
  stem = step3b(stem, r1, r2, isEGone)
  stem = stem.replace(/([^aeiouy])(aa|ee|oo|uu)([^aeiouyI])$/, (_, before, vowel, after) => before + vowel[0] + after)
  return stem.toLowerCase()
}

/** The region after the first non-vowel that follows a vowel, counted from `from`. */
function regionAfter(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from))
  return found ? from + found.index + 2 : word.length
}

function step1(word: string, r1: number): string {
  if (word.endsWith('heden')) return word.length - 5 >= r1 ? `${word.slice(0, -5)}heid` : word
  if (word.endsWith('ene')) return withoutEn(word, 'ene', r1)
  if (word.endsWith('en')) return withoutEn(word, 'en', r1)
  const s = /(?:se|s)$/.exec(word)
  if (!s || s.index < r1) return word
  return /[^aeiouyj]$/.test(word.slice(0, s.index)) ? word.slice(0, s.index) : word
}

function withoutEn(word: string, suffix: 'en' | 'ene', r1: number): string {
  const at = word.length - suffix.length
  const rest = word.slice(0, at)
  if (!word.endsWith(suffix) || at < r1 || !/[^aeiouy]$/.test(rest) || rest.endsWith('gem')) return word
  return undoubled(rest)
}

function withoutE(word: string, r1: number): string {
  const at = word.length - 1
  return word.endsWith('e') && at >= r1 && /[^aeiouy]$/.test(word.slice(0, at)) ? undoubled(word.slice(0, at)) : word
}

function step3b(word: string, r1: number, r2: number, isEGone: boolean): string {
  const found = /(?:end|ing|ig|lijk|baar|bar)$/.exec(word)
  if (!found || found.index < r2) return word
  const rest = word.slice(0, found.index)
  switch (found[0]) {
    case 'end':
    case 'ing':
      return rest.endsWith('ig') && rest.length - 2 >= r2 && rest.at(-3) !== 'e' ? rest.slice(0, -2) : undoubled(rest)
    case 'ig':
      return rest.endsWith('e') ? word : rest
    case 'lijk':
      return withoutE(rest, r1)
    case 'baar':
      return rest
    default:
      return isEGone ? rest : word
  }
}

function undoubled(word: string): string {
  return /(?:kk|dd|tt)$/.test(word) ? word.slice(0, -1) : word
}
