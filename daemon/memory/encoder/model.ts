// The model in its thread: text in, vector out. One text at a time, because the numbers of a quantized model depend on
// what else is in its batch: only single texts give the same vector twice.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { MODEL, VOCABULARY } from './folder.ts'
import { createWordPiece } from './wordpiece.ts'

export interface Model {
  encode(text: string): Promise<Int8Array>
}

/**
 * Tokens that are read of a text, of the 512 that the model can. What a text costs grows faster than its length: 8 ms
 * of a core for 16 tokens, 40 for 128, 110 for 256, 290 for 512 (measured on a busy machine), and a question waits for
 * the text that is being read.
 */
const TOKENS_MAX = 256

/** As much of onnxruntime-node as is used. */
interface Runtime {
  Tensor: new (type: 'int64', values: BigInt64Array, dimensions: readonly number[]) => unknown
  InferenceSession: {
    create(file: string, options: object): Promise<Session>
  }
}
interface Session {
  inputNames: readonly string[]
  outputNames: readonly string[]
  run(feeds: Record<string, unknown>): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>>
}

/** One thread: a second one would take a core from those that serve, and gains a third. */
const SESSION = { intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential' }

export async function openModel(folder: string, dimensions: number): Promise<Model> {
  const require = createRequire(path.join(path.resolve(folder), 'encoder.js'))
  const { Tensor, InferenceSession } = require('onnxruntime-node') as Runtime
  const pieces = readFileSync(path.join(folder, VOCABULARY), 'utf8').trimEnd().split('\n')
  const words = createWordPiece(pieces)
  const session = await InferenceSession.create(path.join(folder, MODEL), SESSION)
  const [output = ''] = session.outputNames
  const tensor = (values: BigInt64Array) => new Tensor('int64', values, [1, values.length])
  const model: Model = {
    async encode(text) {
      const ids = words.encode(text, TOKENS_MAX)
      const inputs: Record<string, unknown> = {
        input_ids: tensor(BigInt64Array.from(ids, BigInt)),
        attention_mask: tensor(new BigInt64Array(ids.length).fill(1n)),
        token_type_ids: tensor(new BigInt64Array(ids.length)),
      }
      const feeds = Object.fromEntries(session.inputNames.map((name) => [name, inputs[name]]))
      // One row of numbers per token; the first is [CLS], which this model is trained to say the whole text with.
      const { data } = (await session.run(feeds))[output] as { data: Float32Array }
      return toBytes(data.subarray(0, dimensions))
    },
  }
  // What the first text would wait for; and it shows that the model is of so many dimensions.
  if ((await model.encode('ready')).length !== dimensions) throw new Error(`the model has no ${dimensions} dimensions`)
  return model
}

const BYTE_MAX = 127

/**
 * The direction of a vector in bytes: its largest number becomes 127. Its length is not kept, and is not needed: what
 * is compared are directions, and the cosine is computed of the bytes as they are.
 */
export function toBytes(vector: Float32Array): Int8Array {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  if (!(most > 0 && Number.isFinite(most))) throw new Error('the model answered no vector')
  return Int8Array.from(vector, (value) => Math.round((value / most) * BYTE_MAX))
}
