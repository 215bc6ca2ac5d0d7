// Vectors of records, by their numbers.

import type { RecordText } from '../analysis/item.ts'
import type { Encoder } from './encoder.ts'
import { encodedText } from './text.ts'

/** Null: the text has none. Who is not in it has none yet. */
export type Vectors = ReadonlyMap<number, Int8Array | null>

/** Rows of a tail that a question waits for: a second of work at most. The others are encoded behind it. */
const WAITED_MAX = 64
const WAITED_MS = 1_000

/** Those that were made lately. */
export function vectorsBy(encoder: Encoder, rows: readonly RecordText[]): Vectors {
  return made(
    rows,
    rows.map((row) => (encoder.facts ? encoder.known(encodedText(row)) : undefined)),
  )
}

/**
 * Of the rows that stand in no segment yet. The replica that stored them has encoded them; another one, or one that was
 * started since, does it when it is asked, the latest first.
 */
export async function tailVectors(encoder: Encoder, rows: readonly RecordText[]): Promise<Vectors> {
  const known = vectorsBy(encoder, rows)
  const missing = rows.filter(({ seq }) => !known.has(seq))
  if (missing.length === 0) return known
  const latest = missing.slice(-WAITED_MAX)
  encoder.later(missing.slice(0, -WAITED_MAX).map(encodedText))
  const vectors = await encoder.texts(latest.map(encodedText), performance.now() + WAITED_MS, true)
  return new Map([...known, ...made(latest, vectors)])
}

/** As many as are made by `endsAt`. */
export async function laterVectors(encoder: Encoder, rows: readonly RecordText[], endsAt: number): Promise<Vectors> {
  return made(rows, await encoder.texts(rows.map(encodedText), endsAt))
}

function made(rows: readonly RecordText[], vectors: readonly (Int8Array | null | undefined)[]): Vectors {
  return new Map(rows.flatMap(({ seq }, at) => (vectors[at] === undefined ? [] : [[seq, vectors[at]] as const])))
}
