// Uncased BERT tokenisation, as the model was trained with: clean, split CJK, lower case, strip accents, split at
// punctuation, then the longest pieces that the vocabulary has. Pure. The tests hold it against tokenisations that the
// model's own tokenizer made.

export interface WordPiece {
  /** Ids of the text between [CLS] and [SEP], at most `max` with both. */
  encode(text: string, max: number): number[]
}

/** A longer word is unknown as a whole. */
const WORD_CHARACTERS_MAX = 100
/** Characters that are read of a text for each id that is wanted: what stands behind them cannot be among the first. */
const CHARACTERS_PER_ID = WORD_CHARACTERS_MAX + 1
/** Pieces of words that were met, cleared when full: most words come again. */
const KNOWN_WORDS_MAX = 20_000

/** `pieces`: the vocabulary in the order of its ids. */
export function createWordPiece(pieces: readonly string[]): WordPiece {
  const ids = new Map(pieces.map((piece, id) => [piece, id]))
  const special = (name: string): number => {
    const id = ids.get(name)
    if (id === undefined) throw new Error(`the vocabulary has no ${name}`)
    return id
  }
  const [unknown, first, last] = [special('[UNK]'), special('[CLS]'), special('[SEP]')]
  const known = new Map<string, readonly number[]>()

  function idsOf(word: string): readonly number[] {
    const before = known.get(word)
    if (before) return before
    const made = split(word)
    if (known.size >= KNOWN_WORDS_MAX) known.clear()
    known.set(word, made)
    return made
  }

  /** Greedy, the longest first; a word of which one part is in no piece is unknown as a whole. */
  function split(word: string): number[] {
    const characters = [...word]
    if (characters.length > WORD_CHARACTERS_MAX) return [unknown]
    const found: number[] = []
    let from = 0
    while (from < characters.length) {
      let to = characters.length
      let id: number | undefined
      while (to > from) {
        id = ids.get((from === 0 ? '' : '##') + characters.slice(from, to).join(''))
        if (id !== undefined) break
        to -= 1
      }
      if (id === undefined) return [unknown]
      found.push(id)
      from = to
    }
    return found
  }

  return {
    encode(text, max) {
      const taken = [first]
      for (const word of wordsOf(text.slice(0, max * CHARACTERS_PER_ID))) {
        taken.push(...idsOf(word))
        if (taken.length >= max) break
      }
      taken.length = Math.min(taken.length, max - 1)
      taken.push(last)
      return taken
    },
  }
}

/** Control and format characters, and what stands for bytes that were no text. Tab and line ends are spaces. */
const REMOVED = /[^\P{C}\t\n\r]|\ufffd/gu
const IDEOGRAPH =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu
const ACCENT = /\p{Mn}/gu
/** Every sign of ASCII that is no letter and no digit counts as punctuation. */
const WORD = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu

function wordsOf(text: string): string[] {
  const clean = text.replace(REMOVED, '').replace(IDEOGRAPH, ' $& ')
  return clean.normalize('NFD').replace(ACCENT, '').toLowerCase().match(WORD) ?? []
}
