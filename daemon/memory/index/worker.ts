// The worker thread: one engine, one message at a time. Everything that fails is answered; what cannot be answered
// ends the thread, and the main thread refuses what was waiting for it.

import { parentPort } from 'node:worker_threads'
import { threadUs } from '@loci/meter/clock.ts'
import type { Language, RecordText } from '../analysis/item.ts'
import type { EncoderFacts } from '../encoder/folder.ts'
import { PARTS } from '../weights.ts'
import { type MergeOptions, mergeSegments } from './build.ts'
import { buildFrom, createEngine, type EngineRequest, MissingPartError } from './engine.ts'
import { DamagedSegmentError } from './format.ts'
import type { Listed, Page } from './listing.ts'
import type { Found, Ranked, SearchWork } from './search.ts'

export type Task =
  | { kind: 'search'; request: EngineRequest }
  | { kind: 'list'; request: EngineRequest & { page: Page } }
  | { kind: 'build'; records: readonly RecordText[]; language: Language; encoder?: EncoderFacts | undefined }
  | ({ kind: 'merge'; bodies: readonly Uint8Array[]; drop: readonly number[] } & MergeOptions)

export type ToWorker = { kind: 'forget'; key: string } | (Task & { id: number; expiresAt: number })

type Answer =
  | ({ id: number; ranked: Float64Array; derivedBytes: number; work: SearchWork } & Omit<Found, 'ranked'>)
  | ({ id: number; derivedBytes: number } & Listed)
  | { id: number; body: Uint8Array }
  | { id: number; expired: true }
  | { id: number; failed: { problem: string; because: 'damage' | 'missing' | 'fault' } }

/** `us`: of processor time that the task took. */
export type FromWorker = Answer & { us: number }

/**
 * A ranked item as numbers: seq, score, day, bits (hinted, has evidence), own share, sketch, cosines (NaN for none),
 * relevance, parts. One buffer is handed over; objects would be copied one by one.
 */
const PARTS_AT = 9
const WIDTH = PARTS_AT + PARTS.length
const HINTED = 1
const EVIDENCE = 2

function packRanked(ranked: readonly Ranked[]): Float64Array {
  const numbers = new Float64Array(ranked.length * WIDTH)
  let at = 0
  for (const { seq, score, day, isHinted, hasEvidence, own, sketch, cosine, smoothed, relevance, parts } of ranked) {
    numbers[at] = seq
    numbers[at + 1] = score
    numbers[at + 2] = day
    numbers[at + 3] = (isHinted ? HINTED : 0) | (hasEvidence ? EVIDENCE : 0)
    numbers[at + 4] = own
    numbers[at + 5] = sketch
    numbers[at + 6] = cosine ?? Number.NaN
    numbers[at + 7] = smoothed ?? Number.NaN
    numbers[at + 8] = relevance
    for (let part = 0; part < PARTS.length; part++) numbers[at + PARTS_AT + part] = parts[part]!
    at += WIDTH
  }
  return numbers
}

/** Number by number: Array.from() of a part of the buffer took many times as long, .23 ms of two hundred items. */
export function unpackRanked(numbers: Float64Array): Ranked[] {
  const ranked: Ranked[] = []
  for (let at = 0; at < numbers.length; at += WIDTH) {
    const parts: number[] = []
    for (let from = at + PARTS_AT; from < at + WIDTH; from++) parts.push(numbers[from]!)
    ranked.push({
      seq: numbers[at]!,
      score: numbers[at + 1]!,
      day: numbers[at + 2]!,
      isHinted: (numbers[at + 3]! & HINTED) !== 0,
      hasEvidence: (numbers[at + 3]! & EVIDENCE) !== 0,
      own: numbers[at + 4]!,
      sketch: numbers[at + 5]!,
      cosine: Number.isNaN(numbers[at + 6]) ? null : numbers[at + 6]!,
      smoothed: Number.isNaN(numbers[at + 7]) ? null : numbers[at + 7]!,
      relevance: numbers[at + 8]!,
      parts,
    })
  }
  return ranked
}

type Failure = Extract<FromWorker, { failed: unknown }>['failed']

/** What the other thread makes the same error of. */
function failureOf(error: unknown): Failure {
  if (error instanceof DamagedSegmentError) return { because: 'damage', problem: error.problem }
  if (error instanceof MissingPartError) return { because: 'missing', problem: error.problem }
  return { because: 'fault', problem: error instanceof Error ? error.message : String(error) }
}

if (parentPort !== null) {
  const port = parentPort
  const engine = createEngine()
  let beganAt = 0
  const send = (message: Answer, buffers: ArrayBuffer[] = []) =>
    port.postMessage({ ...message, us: threadUs() - beganAt } satisfies FromWorker, buffers)

  const run = (task: Exclude<ToWorker, { kind: 'forget' }>) => {
    if (task.kind === 'search') {
      const { ranked, ...rest } = engine.search(task.request)
      const numbers = packRanked(ranked)
      return send({ id: task.id, ranked: numbers, ...rest }, [numbers.buffer as ArrayBuffer])
    }
    if (task.kind === 'list') return send({ id: task.id, ...engine.list(task.request) })
    const body =
      task.kind === 'build'
        ? buildFrom(task.records, task.language, task.encoder)
        : mergeSegments(task.bodies, new Set(task.drop), task)
    return send({ id: task.id, body }, [body.buffer as ArrayBuffer])
  }

  port.on('message', (message: ToWorker) => {
    if (message.kind === 'forget') return engine.forget(message.key)
    beganAt = threadUs()
    try {
      if (Date.now() <= message.expiresAt) return run(message)
      // Nobody waits for it any more.
      if (message.kind === 'search' || message.kind === 'list') engine.accept(message.request)
      send({ id: message.id, expired: true })
    } catch (error) {
      send({ id: message.id, failed: failureOf(error) })
    }
  })
}
