// The worker thread: one engine, one message at a time. Everything that fails is answered; what cannot be answered
// ends the thread, and the main thread refuses what was waiting for it.

import { parentPort } from 'node:worker_threads'
import type { Language, RecordText } from '../analysis/item.ts'
import { PARTS } from '../weights.ts'
import { mergeSegments } from './build.ts'
import { buildFrom, createEngine, type EngineRequest, MissingPartError } from './engine.ts'
import { DamagedSegmentError } from './format.ts'
import type { Ranked } from './search.ts'

export type Task =
  | { kind: 'search'; request: EngineRequest }
  | { kind: 'build'; records: readonly RecordText[]; language: Language }
  | { kind: 'merge'; bodies: readonly Uint8Array[]; drop: readonly number[] }

export type ToWorker = { kind: 'forget'; key: string } | (Task & { id: number; expiresAt: number })

export type FromWorker =
  | { id: number; ranked: Float64Array; derivedBytes: number }
  | { id: number; body: Uint8Array }
  | { id: number; expired: true }
  | { id: number; failed: { message: string; because: 'damage' | 'missing' | 'fault' } }

/** A ranked item as numbers: seq, score, parts. One buffer is handed over; objects would be copied one by one. */
const WIDTH = 2 + PARTS.length

export function packRanked(ranked: readonly Ranked[]): Float64Array {
  const numbers = new Float64Array(ranked.length * WIDTH)
  for (const [index, { seq, score, parts }] of ranked.entries()) {
    numbers[index * WIDTH] = seq
    numbers[index * WIDTH + 1] = score
    numbers.set(parts, index * WIDTH + 2)
  }
  return numbers
}

export function unpackRanked(numbers: Float64Array): Ranked[] {
  const ranked: Ranked[] = []
  for (let at = 0; at < numbers.length; at += WIDTH) {
    const parts: number[] = []
    for (let j = at + 2; j < at + WIDTH; j++) parts.push(numbers[j]!)
    ranked.push({ seq: numbers[at]!, score: numbers[at + 1]!, parts })
  }
  return ranked
}

function causeOf(error: unknown): 'damage' | 'missing' | 'fault' {
  if (error instanceof DamagedSegmentError) return 'damage'
  return error instanceof MissingPartError ? 'missing' : 'fault'
}

if (parentPort !== null) {
  const port = parentPort
  const engine = createEngine()
  const send = (message: FromWorker, buffers: ArrayBuffer[] = []) => port.postMessage(message, buffers)

  const run = (task: Exclude<ToWorker, { kind: 'forget' }>) => {
    if (task.kind === 'search') {
      const { ranked, derivedBytes } = engine.search(task.request)
      const numbers = packRanked(ranked)
      return send({ id: task.id, ranked: numbers, derivedBytes }, [numbers.buffer as ArrayBuffer])
    }
    const body =
      task.kind === 'build' ? buildFrom(task.records, task.language) : mergeSegments(task.bodies, new Set(task.drop))
    return send({ id: task.id, body }, [body.buffer as ArrayBuffer])
  }

  port.on('message', (message: ToWorker) => {
    if (message.kind === 'forget') return engine.forget(message.key)
    try {
      if (Date.now() <= message.expiresAt) return run(message)
      // Nobody waits for it any more.
      if (message.kind === 'search') engine.accept(message.request)
      send({ id: message.id, expired: true })
    } catch (error) {
      send({
        id: message.id,
        failed: { message: error instanceof Error ? error.message : String(error), because: causeOf(error) },
      })
    }
  })
}
