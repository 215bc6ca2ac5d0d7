// What the encoder costs: start and memory, a text, a question at a size of the database, bytes of the index; what the
// coarse pass misses; and how far vectors are behind. Vectors of 1,500 texts are made, those of the others mixed of
// two of them: to encode 10^5 texts would take a quarter of an hour.

import { setTimeout as pause } from 'node:timers/promises'
import { createLog } from '@loci/chassis/log.ts'
import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { analyserOf } from '@loci/daemon/memory/analysis/item.ts'
import { createEncoder, type Encoder } from '@loci/daemon/memory/encoder/encoder.ts'
import { ENCODER_FOLDER, NO_ENCODER } from '@loci/daemon/memory/encoder/testing/folder.ts'
import { encodedText } from '@loci/daemon/memory/encoder/text.ts'
import { buildSegment } from '@loci/daemon/memory/index/build.ts'
import { type Database, openDatabase } from '@loci/daemon/memory/index/database.ts'
import { openSegment } from '@loci/daemon/memory/index/format.ts'
import { Meaning } from '@loci/daemon/memory/index/meaning.ts'
import { search } from '@loci/daemon/memory/index/search.ts'
import { corpusOf } from './recall-corpus.ts'

const SEGMENT_ITEMS = 4_096
const MADE = 1_500
const QUESTIONS = 200
const LATE_MS = 600_000
/** Of a search beside the same without a question's vector; its vector is not counted here. */
const CPU_TARGETS = [
  { items: 15_000, ms: 4 },
  { items: 100_000, ms: 10 },
]
const BYTES_TARGET = 450
const FOUND_TARGET = 0.98
const MIXED = { least: 0.3, range: 0.4, noise: 8 }

let isMissed = false

/** Whether every target was reached. */
export async function measureEncoder(sizes: readonly number[]): Promise<boolean> {
  if (!ENCODER_FOLDER) {
    console.log(`encoder skipped: ${NO_ENCODER}`)
    return true
  }
  const before = { rss: process.memoryUsage.rss(), at: performance.now(), cpu: process.cpuUsage() }
  const encoder = createEncoder({ folder: ENCODER_FOLDER, log: createLog({ level: 'warn', program: 'bench' }) })
  await encoder.start()
  console.log(
    `encoder ${encoder.facts?.name}: up in ${Math.round(performance.now() - before.at)} ms, ${Math.round(cpuSince(before.cpu))} ms of ` +
      `processor time, ${Math.round((process.memoryUsage.rss() - before.rss) / 1e6)} MB`,
  )
  const { records, questions } = corpusOf(MADE)
  const texts = records.map(encodedText)
  const vectors = await measureTexts(encoder, texts)
  const asked = questions.slice(0, QUESTIONS)
  const startedAt = process.cpuUsage()
  const questionVectors: Int8Array[] = []
  for (const { text } of asked) questionVectors.push((await encoder.question(text)) as Int8Array)
  console.log(`  a question: ${(cpuSince(startedAt) / asked.length).toFixed(1)} ms of processor time`)
  console.log(`  memory now: ${Math.round((process.memoryUsage.rss() - before.rss) / 1e6)} MB more than before`)
  await measureLag(encoder)
  for (const items of sizes) measureSearch(items, encoder, vectors, questionVectors)
  await encoder.close()
  return !isMissed
}

async function measureTexts(encoder: Encoder, texts: string[]): Promise<Int8Array[]> {
  const startedAt = process.cpuUsage()
  const made = await encoder.texts(texts, performance.now() + LATE_MS)
  const letters = texts.reduce((sum, text) => sum + text.length, 0) / texts.length
  console.log(
    `  a text of ${Math.round(letters)} characters: ${(cpuSince(startedAt) / texts.length).toFixed(1)} ms of processor time, on average of ${texts.length}`,
  )
  return made.filter((vector) => vector instanceof Int8Array)
}

/** A full tail that is stored at once: until the last of it has its vector. */
async function measureLag(encoder: Encoder): Promise<void> {
  const texts = Array.from({ length: 256 }, (_, n) => `Parcel ${n} of the second shipment arrived in hall ${n % 9}`)
  const startedAt = performance.now()
  encoder.later(texts)
  while (texts.some((text) => !encoder.known(text))) await pause(20)
  console.log(`  256 texts stored at once have their vectors after ${Math.round(performance.now() - startedAt)} ms`)
}

function measureSearch(items: number, encoder: Encoder, made: Int8Array[], asked: Int8Array[]): void {
  const { facts } = encoder
  if (!facts) throw new Error('the encoder is not on')
  const { records, questions } = corpusOf(items)
  const vectors = mixed(made, items)
  const analysed = records.map((record, n) => ({ ...analyseItem(record, 'en'), vector: vectors[n] as Int8Array }))
  const bodiesOf = (isEncoded: boolean) => {
    const bodies: Uint8Array[] = []
    for (let from = 0; from < items; from += SEGMENT_ITEMS)
      bodies.push(
        buildSegment(analysed.slice(from, from + SEGMENT_ITEMS), analyserOf('en'), isEncoded ? facts : undefined),
      )
    return bodies
  }
  const sizeOf = (bodies: Uint8Array[]) => bodies.reduce((sum, { byteLength }) => sum + byteLength, 0) / items
  const bodies = bodiesOf(true)
  const bytes = sizeOf(bodies) - sizeOf(bodiesOf(false))
  const database = openDatabase(bodies.map(openSegment), 'en')
  const cues = questions.slice(0, asked.length).map(({ text }) => analyseCue(text, 'en', database.names))
  const pass = (isAsked: boolean) => {
    const before = process.cpuUsage()
    for (const [n, cue] of cues.entries()) {
      const question = isAsked ? { vector: asked[n] as Int8Array, mark: facts.mark } : undefined
      search(database, cue, { limit: 200, question })
    }
    return cpuSince(before) / cues.length
  }
  const opened = process.cpuUsage()
  new Meaning(database, { vector: asked[0] as Int8Array, mark: facts.mark })
  const openedMs = cpuSince(opened)
  pass(true)
  // In turns, each the best of three: others use this machine too.
  const turns = [0, 1, 2].map(() => ({ plain: pass(false), asked: pass(true) }))
  const plain = Math.min(...turns.map((turn) => turn.plain))
  const ms = Math.min(...turns.map((turn) => turn.asked))
  const found = foundOf(database, facts.mark, asked)
  console.log(
    `  ${items} items: search ${plain.toFixed(2)} ms of processor time, with a question's vector ${ms.toFixed(2)} (+ ${(ms - plain).toFixed(2)}); ` +
      `index + ${bytes.toFixed(1)} bytes per item, signs of all read once in ${openedMs.toFixed(0)} ms; ` +
      `the coarse pass finds ${found.toFixed(4)} of the ten closest`,
  )
  const target = CPU_TARGETS.find((one) => one.items === items)
  if (target && ms - plain > target.ms) miss(`a question's vector costs more than ${target.ms} ms`)
  if (bytes > BYTES_TARGET) miss(`more than ${BYTES_TARGET} bytes per item`)
  if (found < FOUND_TARGET) miss(`the coarse pass finds less than ${FOUND_TARGET}`)
}

/** By chance from a seed, so that two runs measure the same. */
function mixed(made: Int8Array[], count: number): Int8Array[] {
  let state = 7
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x8000_0000
  }
  const one = () => made[Math.floor(next() * made.length)] as Int8Array
  return Array.from({ length: count }, (_, n) => {
    if (n < made.length) return made[n] as Int8Array
    const [a, b, share] = [one(), one(), MIXED.least + MIXED.range * next()]
    return a.map((value, d) =>
      Math.round(share * value + (1 - share) * (b[d] as number) + (next() - 0.5) * MIXED.noise),
    )
  })
}

/** The share of the ten closest by all vectors that are among what a search is given. */
function foundOf(database: Database, mark: number, asked: Int8Array[]): number {
  const { segments, itemAt, placeItem } = database
  let found = 0
  const sample = asked.slice(0, 40)
  for (const vector of sample) {
    const meaning = new Meaning(database, { vector, mark })
    const all = segments.flatMap((segment, k) =>
      Array.from({ length: segment.items }, (_, i) => ({
        item: (itemAt[k] as number) + i,
        cosine: meaning.cosine(k, i) ?? -1,
      })),
    )
    all.sort((a, b) => b.cosine - a.cosine)
    const near = new Set(meaning.nearest(64, null).map((place) => placeItem[place]))
    // Rounded cosines tie: whichever of the equal ones is there counts.
    const least = all[9]?.cosine ?? 0
    const given = all.filter(({ item, cosine }) => cosine >= least && near.has(item)).length
    found += Math.min(given, 10)
  }
  return found / (10 * sample.length)
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function miss(problem: string): void {
  isMissed = true
  console.log(`  MISSED: ${problem}`)
}
