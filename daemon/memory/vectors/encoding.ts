// Makes the vectors that segments lack: of records that another replica stored, of a segment that was built anew, of
// all when the encoder is another. Behind every commit, never in one; until it is done the words count.

import type { Pool } from '@loci/postgres/pool.ts'
import type { InstanceKeys } from '../../databases/instance-keys.ts'
import { type Due, postponeDue } from '../../databases/store.ts'
import { openSegment } from '../index/format.ts'
import type { RecallIndex } from '../index/recall-index.ts'
import { pendingSeqs, type Vector } from '../index/vectors.ts'
import { formatOf, languageOf } from '../upkeep/config.ts'
import { keysOf, recordTextsOf, storedBody } from '../upkeep/indexing.ts'
import { readingSegments } from '../upkeep/reading.ts'
import { isToBeEncoded, type Part, partsOf, segmentDigest } from '../upkeep/segments.ts'
import { commitIndex, readIndex, readTexts, type SegmentRow } from '../upkeep/store.ts'
import { endVectorsDue } from './store.ts'

/** Of the work of one claim, which holds for 5 s. */
const WORK_MS = 2_000

/**
 * The handler of due work `vectors`: one segment of a claim, the latest first. What it makes stays with the encoder for
 * a while, so that a segment of 4,096 is written once and not once for each claim.
 */
export async function encodeSegments(pool: Pool, index: RecallIndex, keys: InstanceKeys, due: Due): Promise<void> {
  const { encoder } = index
  const endsAt = performance.now() + WORK_MS
  const state = await readIndex(pool, due.instanceId, due.database, { tailMax: 0 })
  const parts = partsOf(state, formatOf(languageOf(state))).filter((part) => isToBeEncoded(part, encoder))
  const part = parts.at(-1) as (Part & SegmentRow) | undefined
  if (!encoder || !part) return endVectorsDue(pool, due)
  const body = await storedBody(readingSegments(pool, due), due, part)
  // Damaged: whoever searches it has it built again, and what is built is encoded.
  if (!body) return parts.length > 1 ? postponeDue(pool, 'vectors', due, LATER_MS) : endVectorsDue(pool, due)
  const missing = new Set(pendingSeqs(openSegment(body), encoder.mark))
  const texts = await readTexts(pool, due.instanceId, due.database, part)
  const rows = await recordTextsOf(
    keys,
    due.instanceId,
    texts.filter(({ seq }) => missing.has(seq)),
  )
  const made = await index.encode(rows, endsAt)
  if (made.size === rows.length) {
    // Those that ended since have no text any more, and nobody asks for them.
    const vectors = new Map<number, Vector>([...missing].map((seq) => [seq, made.get(seq) ?? null]))
    const row = { from: part.from, through: part.through, items: part.items, format: part.format }
    const encoded = await index.merge([body], [], vectors)
    const segments = [{ ...row, body: encoded, digest: segmentDigest(due, row, encoded) }]
    const replaced = [part.id]
    const { through, indexedAt: at } = state
    // Overtaken, it is due again: the list is another.
    if ((await commitIndex(pool, due, state, { replaced, segments, through, at })) === 'done')
      index.forget(due.instanceId, keysOf(state.segments, replaced))
  }
  await postponeDue(pool, 'vectors', due, 0)
}

const LATER_MS = 60_000
