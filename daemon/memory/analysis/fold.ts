// One spelling for what people write in several: compatibility forms, case, accents, Arabic letters, invisible
// characters. No locale and no dictionary of the machine: replicas must agree to the last letter.

// Bidirectional controls, zero-width characters, soft hyphen, variation selectors, tags: nobody sees them, so they must
// neither split a word nor make one that cannot be asked for.
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
const NON_ASCII = /[^\0-\x7f]/
const LATIN_MARKS = /[\u0300-\u036f]/g
// Vowel marks, superscript alef, Quranic marks and tatweel.
const ARABIC_MARKS = /[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0640]/g
const ARABIC = /[\u0600-\u06ff]/
const ARABIC_LETTERS: Readonly<Record<string, string>> = {
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
  ٱ: 'ا',
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
  ؤ: 'و',
  ئ: 'ي',
}

/** The text as it is read: compatibility forms made plain, accents and invisible characters gone, case kept. */
export function visible(text: string): string {
  if (!NON_ASCII.test(text)) return text
  return text
    .normalize('NFKD')
    .replace(INVISIBLE, '')
    .replace(LATIN_MARKS, '')
    .normalize('NFC')
    .replace(/[‘’ʼ′]/g, "'")
}

/** The text as it is compared. Takes what visible() gave. */
export function fold(text: string): string {
  const lower = text.toLowerCase()
  if (!NON_ASCII.test(lower)) return lower
  const bare = lower.replace(/ß/g, 'ss').replace(/ς/g, 'σ')
  return ARABIC.test(bare) ? foldArabic(bare) : bare
}

/** An actor's name as it is indexed and compared: its words, one space between them. */
export function foldName(name: string): string {
  const folded = fold(visible(name))
  const words = folded.replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ').trim()
  return words === '' ? folded.trim() : words
}

function foldArabic(text: string): string {
  return text
    .replace(ARABIC_MARKS, '')
    .replace(/[أإآٱىیکةؤئ]/g, (letter) => ARABIC_LETTERS[letter] ?? letter)
    .replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
}
