// The bytes of a segment. A segment is immutable, holds up to 65,535 items in one buffer and is searched where it
// lies: opening it makes typed views. The bytes are canonical (items by context and position, terms and actors
// sorted), so that a merge or a rewrite gives the bytes of a fresh build, and their digest can be compared.
//
// Layout: eight words of head, one length in bytes per section, the sections in the order of SECTIONS, each starting at
// a multiple of four. All numbers are little-endian, as every machine that Node runs on.

import { crc32 } from 'node:zlib'

const MAGIC = 0x4947_4f4c
/** Raise it with any change of the layout: a segment of another format is refused and must be built anew. */
export const FORMAT = 5
const HEAD_WORDS = 8

/** Terms per block of the dictionary: the first is written whole, the others share letters with the one before. */
export const BLOCK = 16
export const ITEMS_MAX = 65_535
/** Bytes of a term. Shared and own length of a dictionary entry are one byte each, so it must stay below 128. */
export const TERM_BYTES_MAX = 120

const SECTIONS = [
  ['seqLow', Uint32Array],
  ['seqHigh', Uint32Array],
  ['day', Int32Array],
  ['time', Uint32Array],
  ['sketch', Uint32Array],
  ['runContext', Uint32Array],
  ['runPosition', Uint32Array],
  ['runFacet', Uint32Array],
  ['rangeFrom', Int32Array],
  ['rangeTo', Int32Array],
  ['facet', Uint32Array],
  ['blockText', Uint32Array],
  ['blockPosting', Uint32Array],
  ['run', Uint16Array],
  ['actor', Uint16Array],
  ['label', Uint16Array],
  ['flags', Uint16Array],
  ['length', Uint16Array],
  ['runStart', Uint16Array],
  ['rangeItem', Uint16Array],
  ['facetItem', Uint16Array],
  ['first', Uint16Array],
  ['caps', Uint8Array],
  ['past', Uint8Array],
  ['names', Uint8Array],
  ['labels', Uint8Array],
  ['dictionary', Uint8Array],
  ['postings', Uint8Array],
  ['encoder', Uint8Array],
  ['vectors', Int8Array],
] as const
const HEAD_BYTES = 4 * (HEAD_WORDS + SECTIONS.length)

export interface Sections {
  /** Per item: its seq in two halves; the higher ones are left out where all are 0. */
  seqLow: Uint32Array
  seqHigh: Uint32Array
  day: Int32Array
  /** Milliseconds of the day. */
  time: Uint32Array
  /** What near copies have in common (sketch.ts). */
  sketch: Uint32Array
  /** Index of the item's run. */
  run: Uint16Array
  /** Index into `actors`. */
  actor: Uint16Array
  /** Index into what readLabels() answers. */
  label: Uint16Array
  flags: Uint16Array
  length: Uint16Array
  caps: Uint8Array
  past: Uint8Array
  /** Runs: items at consecutive positions of one context. */
  runContext: Uint32Array
  runPosition: Uint32Array
  /** Of the context's name (memory/facets.ts); 0 without one. */
  runFacet: Uint32Array
  /** First item of the run. */
  runStart: Uint16Array
  /** Days that time words mean, by item. */
  rangeItem: Uint16Array
  rangeFrom: Int32Array
  rangeTo: Int32Array
  /** Of keys and members of metadata (memory/facets.ts), sorted, and the item that each is of. */
  facet: Uint32Array
  facetItem: Uint16Array
  /** Where a block of the dictionary, and its first posting list, begin. */
  blockText: Uint32Array
  blockPosting: Uint32Array
  /** Per term: its item of the lowest seq. */
  first: Uint16Array
  /** JSON array of the actors, sorted. */
  names: Uint8Array
  /** JSON array of kind and tags, sorted, of the items that share them. */
  labels: Uint8Array
  /** Per term: letters shared, own letters, df, bytes of its postings. */
  dictionary: Uint8Array
  /** Per posting: distance to the one before, twice, plus one if a count follows (else the term is said once). */
  postings: Uint8Array
  /** JSON of EncoderFacts; empty without one. */
  encoder: Uint8Array
  /** Per item as many numbers as the encoder has dimensions (vectors.ts); empty without an encoder. */
  vectors: Int8Array
}

export interface Segment extends Sections {
  bytes: Uint8Array
  /** Per item. A database counts every change of every domain, so beyond 2^32 where entries are written for years. */
  seq: Uint32Array | Float64Array
  /** analyserOf() of the items. A segment of another analyser must be built anew. */
  analyser: number
  items: number
  terms: number
  /** Mark of the encoder that made the vectors, 0 without one, and how many items have none of it yet. */
  mark: number
  pending: number
  actors: string[]
  seqMin: number
  seqMax: number
}

export class DamagedSegmentError extends Error {
  readonly problem: string
  constructor(problem: string) {
    super(`index segment is damaged: ${problem}`)
    this.name = 'DamagedSegmentError'
    this.problem = problem
  }
}

export type Head = Pick<Segment, 'analyser' | 'items' | 'terms' | 'mark' | 'pending'>

export function packSegment({ analyser, items, terms, mark, pending }: Head, sections: Sections): Uint8Array {
  let size = HEAD_BYTES
  for (const [name] of SECTIONS) size += padded(sections[name].byteLength)
  const bytes = new Uint8Array(size)
  const head = new Uint32Array(bytes.buffer, 0, HEAD_BYTES / 4)
  head.set([MAGIC, FORMAT, 0, analyser, items, terms, mark, pending])
  let at = HEAD_BYTES
  for (const [index, [name]] of SECTIONS.entries()) {
    const { buffer, byteOffset, byteLength } = sections[name]
    head[HEAD_WORDS + index] = byteLength
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at)
    at += padded(byteLength)
  }
  head[2] = checksum(bytes)
  return bytes
}

/**
 * Views on the bytes of a segment. The checksum finds damage; lengths and bounds are checked as well, so that no loop
 * of the search can leave its arrays whatever the bytes are. Bytes at an odd address are copied: typed views need
 * aligned ones.
 */
export function openSegment(given: Uint8Array): Segment {
  const bytes = given.byteOffset % 4 === 0 ? given : given.slice()
  if (bytes.byteLength < HEAD_BYTES || bytes.byteLength % 4 !== 0) throw new DamagedSegmentError('too short')
  const head = new Uint32Array(bytes.buffer, bytes.byteOffset, HEAD_BYTES / 4)
  if (head[0] !== MAGIC) throw new DamagedSegmentError('not a segment')
  if (head[1] !== FORMAT) throw new DamagedSegmentError(`format ${head[1]}, this version reads ${FORMAT}`)
  if (head[2] !== checksum(bytes)) throw new DamagedSegmentError('checksum does not match')
  const views: Partial<Record<keyof Sections, unknown>> = {}
  let at = HEAD_BYTES
  for (const [index, [name, View]] of SECTIONS.entries()) {
    const length = head[HEAD_WORDS + index]!
    if (length % View.BYTES_PER_ELEMENT !== 0 || at + length > bytes.byteLength) {
      throw new DamagedSegmentError(`section ${name} is too long`)
    }
    // Shared memory is as good: the type of the constructors' union knows ArrayBuffer alone.
    views[name] = new View(bytes.buffer as ArrayBuffer, bytes.byteOffset + at, length / View.BYTES_PER_ELEMENT)
    at += padded(length)
  }
  if (at !== bytes.byteLength) throw new DamagedSegmentError('bytes behind the last section')
  const sections = views as Sections
  const seq = wholeSeqs(sections)
  const segment = {
    ...sections,
    ...{ bytes, analyser: head[3]!, items: head[4]!, terms: head[5]!, mark: head[6]!, pending: head[7]! },
    seq,
    ...seqRange(seq),
  }
  requireConsistent(segment)
  return { ...segment, actors: readActors(segment) }
}

/** The number of a segment's items, without opening it. */
export function itemsOfSegment(bytes: Uint8Array): number {
  if (bytes.byteLength < HEAD_BYTES) throw new DamagedSegmentError('too short')
  return new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES).getUint32(16, true)
}

/** The number of its terms, likewise. */
export function termsOfSegment(bytes: Uint8Array): number {
  if (bytes.byteLength < HEAD_BYTES) throw new DamagedSegmentError('too short')
  return new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES).getUint32(20, true)
}

function checksum(bytes: Uint8Array): number {
  // The words before and after the checksum itself.
  return crc32(bytes.subarray(12), crc32(bytes.subarray(0, 8)))
}

function padded(length: number): number {
  return (length + 3) & ~3
}

const HALF = 2 ** 32

function wholeSeqs({ seqLow, seqHigh }: Sections): Uint32Array | Float64Array {
  if (seqHigh.length === 0) return seqLow
  if (seqHigh.length !== seqLow.length) throw new DamagedSegmentError('a seq has no other half')
  return Float64Array.from(seqLow, (low, i) => seqHigh[i]! * HALF + low)
}

/** As sections. */
export function halvesOf(seqs: readonly number[]): Pick<Sections, 'seqLow' | 'seqHigh'> {
  const isHigh = seqs.some((seq) => seq >= HALF)
  return {
    seqLow: Uint32Array.from(seqs, (seq) => seq % HALF),
    seqHigh: Uint32Array.from(isHigh ? seqs : [], (seq) => Math.floor(seq / HALF)),
  }
}

function seqRange(seq: Uint32Array | Float64Array): { seqMin: number; seqMax: number } {
  let seqMin = Number.POSITIVE_INFINITY
  let seqMax = -1
  for (const value of seq) {
    if (value < seqMin) seqMin = value
    if (value > seqMax) seqMax = value
  }
  return { seqMin, seqMax }
}

function requireConsistent(segment: Omit<Segment, 'actors'>): void {
  const { items, terms, runStart, run, rangeItem, first, blockText, blockPosting, dictionary, postings } = segment
  const perItem = [
    ...[segment.seq, segment.day, segment.time, segment.sketch, run, segment.actor, segment.label],
    ...[segment.flags, segment.length, segment.caps, segment.past],
  ]
  const runs = runStart.length
  const blocks = Math.ceil(terms / BLOCK)
  const agree =
    items <= ITEMS_MAX &&
    perItem.every((column) => column.length === items) &&
    [segment.runContext, segment.runPosition, segment.runFacet].every((column) => column.length === runs) &&
    [segment.rangeFrom, segment.rangeTo].every((column) => column.length === rangeItem.length) &&
    segment.facet.length === segment.facetItem.length &&
    first.length === terms &&
    blockText.length === blocks &&
    blockPosting.length === blocks &&
    // Whole vectors, of every item or of none.
    (segment.mark === 0 ? segment.vectors.length === 0 : items > 0 && segment.vectors.length % items === 0)
  if (!agree) throw new DamagedSegmentError('sections disagree on their number of entries')
  for (let r = 0; r < runs; r++) {
    const from = runStart[r]!
    const to = r + 1 < runs ? runStart[r + 1]! : items
    if ((r === 0 && from !== 0) || to <= from) throw new DamagedSegmentError('runs are out of order')
    for (let i = from; i < to; i++) if (run[i] !== r) throw new DamagedSegmentError('an item is outside its run')
  }
  if (items > 0 && runs === 0) throw new DamagedSegmentError('items without runs')
  for (const i of rangeItem) if (i >= items) throw new DamagedSegmentError('a range without an item')
  for (const i of segment.facetItem) if (i >= items) throw new DamagedSegmentError('a facet without an item')
  for (const i of first) if (i >= items) throw new DamagedSegmentError('a term without an item')
  for (let b = 0; b < blocks; b++) {
    if (blockText[b]! >= dictionary.length || blockPosting[b]! >= postings.length) {
      throw new DamagedSegmentError('a dictionary block is out of bounds')
    }
  }
}

function readActors({ names, actor }: Omit<Segment, 'actors'>): string[] {
  let actors: unknown
  try {
    // A copy: TextDecoder refuses shared memory.
    actors = JSON.parse(Buffer.from(names).toString())
  } catch {
    throw new DamagedSegmentError('actors are unreadable')
  }
  if (!Array.isArray(actors) || !actors.every((name) => typeof name === 'string')) {
    throw new DamagedSegmentError('actors are unreadable')
  }
  for (const index of actor) if (index >= actors.length) throw new DamagedSegmentError('an item without an actor')
  return actors
}

/**
 * Kind and tags, as many combinations of them as the items have. Read when they are asked for: every record may have
 * tags of its own, which as objects would be as much as the segment.
 */
export function readLabels({ labels, label }: Segment): string[][] {
  const read = JSON.parse(Buffer.from(labels).toString()) as string[][]
  for (const index of label) if (index >= read.length) throw new DamagedSegmentError('an item without labels')
  return read
}
