// A light stemmer for Arabic, over folded words (one alef, no vowel marks, heh for teh marbuta): the article and the
// particles written to a word are taken off its front, the commonest endings off its back. Roots are not looked for:
// unlike words would fall together.

const PREFIXES = ['وال', 'بال', 'كال', 'فال', 'ال', 'لل']
const SUFFIXES = ['ها', 'ان', 'ات', 'ون', 'ين', 'يه', 'هم', 'نا', 'ه', 'ي']

export function stemArabic(word: string): string {
  let stem = word
  // "and" is written to the word; what is left must still be a word.
  if (stem.startsWith('و') && stem.length >= 5) stem = stem.slice(1)
  const prefix = PREFIXES.find((each) => stem.startsWith(each) && stem.length - each.length >= 2)
  if (prefix !== undefined) stem = stem.slice(prefix.length)
  const suffix = SUFFIXES.find((each) => stem.endsWith(each) && stem.length - each.length >= 3)
  return suffix === undefined ? stem : stem.slice(0, -suffix.length)
}
