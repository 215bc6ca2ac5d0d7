// A vector for each term: the encoder's output for its words, averaged, with what all words have in common taken away.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Term } from './words.ts'

/** As much of onnxruntime-node as is used here. It is no dependency: whoever makes the tables brings it. */
interface Runtime {
  InferenceSession: { create(file: string, options: object): Promise<Session> }
  Tensor: new (type: 'int64', values: BigInt64Array, dims: number[]) => unknown
}
interface Session {
  outputNames: readonly string[]
  run(inputs: Record<string, unknown>): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>>
}

export interface Encoder {
  vocabulary: readonly string[]
  width: number
  /** The mean of the outputs for one plain word. One word at a time: an int8 vector depends on its batch. */
  encode(word: string): Promise<Float64Array>
}

/** `modules`: a folder whose node_modules has onnxruntime-node. */
export async function openEncoder(files: { model: string; tokenizer: string; modules: string }): Promise<Encoder> {
  const runtime: Runtime = createRequire(path.resolve(files.modules, 'package.json'))('onnxruntime-node')
  const vocabulary = readVocabulary(files.tokenizer)
  const numbers = new Map(vocabulary.map((piece, number) => [piece, number]))
  const session = await runtime.InferenceSession.create(files.model, { intraOpNumThreads: 1, interOpNumThreads: 1 })
  const run = async (pieces: readonly number[]) => {
    const tensor = (values: readonly number[]) =>
      new runtime.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])
    const outputs = await session.run({
      input_ids: tensor(pieces),
      attention_mask: tensor(pieces.map(() => 1)),
      token_type_ids: tensor(pieces.map(() => 0)),
    })
    const output = outputs[session.outputNames[0] ?? '']
    if (output === undefined) throw new Error('the model has no output')
    const width = output.dims[2] ?? 0
    const mean = new Float64Array(width)
    for (const [at, value] of output.data.entries()) mean[at % width] = (mean[at % width] ?? 0) + value / pieces.length
    return mean
  }
  const encode = (word: string) => run(piecesOf(word, numbers))
  return { vocabulary, encode, width: (await encode('word')).length }
}

/** Rows of unit length, in the order of `terms`. */
export async function vectorsOf(encoder: Encoder, terms: readonly Term[]): Promise<Float32Array> {
  const { width } = encoder
  const words = new Map<string, Float64Array>()
  const mean = new Float64Array(width)
  for (const { word } of terms.flatMap((term) => term.words)) {
    const vector = await encoder.encode(word)
    words.set(word, vector)
    for (const [h, value] of vector.entries()) mean[h] = (mean[h] ?? 0) + value
    if (words.size % 5_000 === 0) console.log(`${words.size} words encoded`)
  }
  const vectors = new Float32Array(terms.length * width)
  for (const [at, term] of terms.entries()) {
    const sum = new Float64Array(width)
    for (const { word, share } of term.words) {
      const centred = (words.get(word) ?? sum).map((value, h) => value - (mean[h] ?? 0) / words.size)
      // The root: a common form speaks loudest and does not drown the others.
      const weight = Math.sqrt(share) / Math.hypot(...centred)
      for (const [h, value] of centred.entries()) sum[h] = (sum[h] ?? 0) + weight * value
    }
    const length = Math.hypot(...sum)
    for (const [h, value] of sum.entries()) vectors[at * width + h] = value / length
  }
  return vectors
}

function readVocabulary(tokenizer: string): string[] {
  const { model } = JSON.parse(readFileSync(tokenizer, 'utf8')) as { model: { vocab: Record<string, number> } }
  const vocabulary: string[] = []
  for (const [piece, number] of Object.entries(model.vocab)) vocabulary[number] = piece
  return vocabulary
}

/** A word of a-z alone: the longest piece that fits, again and again, between the marks of a text's ends. */
function piecesOf(word: string, numbers: ReadonlyMap<string, number>): number[] {
  const numberOf = (piece: string) => {
    const number = numbers.get(piece)
    if (number === undefined) throw new Error(`the vocabulary has no piece '${piece}'`)
    return number
  }
  const pieces = [numberOf('[CLS]')]
  for (let from = 0; from < word.length; ) {
    let to = word.length
    const piece = () => (from > 0 ? '##' : '') + word.slice(from, to)
    while (to > from + 1 && !numbers.has(piece())) to--
    pieces.push(numberOf(piece()))
    from = to
  }
  return [...pieces, numberOf('[SEP]')]
}
