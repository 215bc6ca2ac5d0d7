import assert from 'node:assert/strict'
import { test } from 'node:test'
// Made once with the tokenizers library, release 0.23.3, from the tokenizer file of the artefact.
import tokenised from './testing/tokenised.json' with { type: 'json' }
import { createWordPiece } from './wordpiece.ts'

/** Of all pieces those that the texts have: what is longest among all is longest among these. */
const PIECES = ['[UNK]', '[CLS]', '[SEP]', ...new Set(tokenised.flatMap(({ pieces }) => pieces.split(' ')))]
const words = createWordPiece(PIECES)
const piecesOf = (text: string, max = 512) => words.encode(text, max).map((id) => PIECES[id])

// Mutants: no NFD; ideographs not split; ASCII signs that are no \p{P} ($, +, <) left in words; '##' left out.
test('texts are cut into the pieces that the tokenizer of the model cuts them into', () => {
  for (const { text, pieces } of tokenised) {
    const expected = ['[CLS]', ...(pieces === '' ? [] : pieces.split(' ')), '[SEP]']
    assert.deepEqual(piecesOf(text), expected, JSON.stringify(text))
  }
})

test('a text cannot name the special pieces, and a word of more than 100 characters is unknown', () => {
  assert.ok(!piecesOf('say [SEP] now').slice(1, -1).includes('[SEP]'))
  assert.deepEqual(piecesOf(`${'x'.repeat(101)} ada`), ['[CLS]', '[UNK]', 'ada', '[SEP]'])
})

test('a long text is cut, and what is behind the cut is not read', () => {
  assert.deepEqual(piecesOf('ada in dutch ada in dutch', 5), ['[CLS]', 'ada', 'in', 'dutch', '[SEP]'])
  assert.equal(words.encode('ada '.repeat(1_000_000), 512).length, 512)
})

test('a vocabulary without the special pieces is refused', () => {
  assert.throws(() => createWordPiece(['ada']), /no \[UNK\]/)
})
