// Vectors in a segment: one per item, as the encoder made it, in bytes. What is compared are directions, so a vector
// needs no length, and the cosine of two is computed in whole numbers: the same on every machine. A vector of zeros
// says that its text has none, being in another script; NOT_YET in the first place, that none was made yet.

import type { EncoderFacts } from '../encoder/folder.ts'
import { DamagedSegmentError, type Sections, type Segment } from './format.ts'

/** Null: the text has none. Undefined: none was made yet. */
export type Vector = Int8Array | null

/** A vector's own bytes are from -127 to 127. */
const NOT_YET = -128

type Packed = Pick<Sections, 'encoder' | 'vectors'> & Pick<Segment, 'mark' | 'pending'>

export function packVectors(
  rows: readonly { vector?: Vector | undefined }[],
  encoder: EncoderFacts | undefined,
): Packed {
  if (encoder === undefined || rows.length === 0)
    return { encoder: new Uint8Array(), vectors: new Int8Array(), mark: 0, pending: 0 }
  const { name, digest, dimensions, mark } = encoder
  const vectors = new Int8Array(rows.length * dimensions)
  let pending = 0
  for (const [at, { vector }] of rows.entries()) {
    if (vector) vectors.set(vector, at * dimensions)
    else if (vector === undefined) {
      vectors[at * dimensions] = NOT_YET
      pending += 1
    }
  }
  return { encoder: Buffer.from(JSON.stringify({ name, digest, dimensions, mark })), vectors, mark, pending }
}

export function encoderOf(segment: Pick<Segment, 'encoder' | 'mark'> | undefined): EncoderFacts | undefined {
  if (!segment?.mark) return undefined
  try {
    return JSON.parse(Buffer.from(segment.encoder).toString()) as EncoderFacts
  } catch {
    throw new DamagedSegmentError('its encoder is unreadable')
  }
}

/** As it lies in the segment. */
export function vectorAt({ vectors, items, mark }: Segment, i: number): Vector | undefined {
  if (mark === 0) return undefined
  const dimensions = vectors.length / items
  const vector = vectors.subarray(i * dimensions, (i + 1) * dimensions)
  if (vector[0] === NOT_YET) return undefined
  return vector.some((value) => value !== 0) ? vector : null
}

/** Seqs of the items that have no vector of this encoder yet. */
export function pendingSeqs(segment: Segment, mark: number): number[] {
  const seqs = [...segment.seq]
  return segment.mark === mark ? seqs.filter((_, i) => vectorAt(segment, i) === undefined) : seqs
}
