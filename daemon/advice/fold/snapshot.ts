// A state as rows: a head, and a row of bytes for each tool. Equal states give equal bytes: everything is written in
// the order of its keys. What can be derived, names' words and the index of terms, is not written.

import { analyserOf } from '../../memory/analysis/item.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { sortEntries } from './sorting.ts'
import { type AdviceState, type Counter, emptyState, indexTerm, requireTool, type Tool } from './state.ts'

/** Raise it with any change of the fold, of its parameters or of these bytes. */
const FOLD_VERSION = 3
/** A snapshot of another version is not read: the outcomes are folded again, with the weights that were stored. */
const SNAPSHOT_VERSION = FOLD_VERSION * 65_536 + analyserOf('auto')

export interface ToolRow {
  place: number
  name: string
  bytes: Buffer
}

export interface Snapshot {
  head: Buffer
  /** Those that changed since the last one: a store keeps the newest row of each place. */
  tools: ToolRow[]
}

/** In pieces, as it is opened: one tool may have all words of the database. The state may not change meanwhile. */
export function* takeSnapshot(state: AdviceState): Generator<void, Snapshot> {
  const head = new ByteWriter()
  head.whole(SNAPSHOT_VERSION)
  head.whole(state.t)
  head.real(state.successes)
  writeCounter(head, state.pool)
  head.whole(Number(state.isFull.words))
  head.whole(Number(state.isFull.tallies))
  for (const { keys, entries } of [state.terms, state.pairs]) {
    head.whole(keys)
    head.whole(entries)
  }
  const tools: ToolRow[] = []
  for (const place of [...state.changed].sort((x, y) => x - y)) {
    const tool = state.tools[place] as Tool
    tools.push({ place, name: tool.name, bytes: yield* writeTool(tool) })
    yield
  }
  state.changed.clear()
  return { head: head.done(), tools }
}

/**
 * `tools`: every tool's newest row, by place. In pieces, so that who has others to serve does so in between. null for a
 * snapshot of another version.
 */
export function* openSnapshot(head: Buffer, tools: readonly ToolRow[]): Generator<void, AdviceState | null> {
  const state = emptyState()
  const reader = new ByteReader(head)
  if (reader.whole() !== SNAPSHOT_VERSION) return null
  state.t = reader.whole()
  state.successes = reader.real()
  state.pool = readCounter(reader)
  state.isFull = { words: reader.whole() === 1, tallies: reader.whole() === 1 }
  for (const postings of [state.terms, state.pairs]) postings.expect(reader.whole(), reader.whole())
  for (const { place, name, bytes } of tools) {
    if (requireTool(state, name) !== place) throw new Error(`advice snapshot: tool ${place} is missing or twice`)
    yield* readTool(state, place, state.tools[place] as Tool, new ByteReader(bytes))
    yield
  }
  for (const postings of [state.terms, state.pairs]) yield* postings.settle()
  state.changed.clear()
  return state
}

function* writeTool(tool: Tool): Generator<void, Buffer> {
  const writer = new ByteWriter()
  writer.whole(tool.u)
  writeCounter(writer, tool.reliability)
  writer.real(tool.health.o)
  writer.real(tool.health.e)
  writer.whole(tool.health.t)
  writer.whole(tool.health.s)
  writer.whole(tool.cells.size)
  for (const [key, cell] of yield* sortEntries(tool.cells)) {
    writer.text(key)
    writeCounter(writer, cell)
    writer.whole(cell.tallies.size)
    for (const [partner, { attempts, successes, failures }] of yield* sortEntries(cell.tallies)) {
      writer.text(partner)
      writer.whole(attempts)
      writer.whole(successes)
      writer.whole(failures)
      yield
    }
  }
  yield* tool.terms.write(writer)
  yield* tool.pairs.write(writer)
  return writer.done()
}

function* readTool(state: AdviceState, place: number, tool: Tool, reader: ByteReader): Generator<void, void> {
  tool.u = reader.whole()
  tool.reliability = readCounter(reader)
  tool.health = { o: reader.real(), e: reader.real(), t: reader.whole(), s: reader.whole() }
  for (let cells = reader.whole(); cells > 0; cells--) {
    const key = reader.text()
    const cell = { ...readCounter(reader), tallies: new Map() }
    for (let tallies = reader.whole(); tallies > 0; tallies--) {
      const partner = reader.text()
      cell.tallies.set(partner, { attempts: reader.whole(), successes: reader.whole(), failures: reader.whole() })
      yield
    }
    tool.cells.set(key, cell)
    state.tallies += cell.tallies.size
  }
  yield* tool.terms.read(reader, (key, halves) => indexTerm(state, place, key, halves / 2))
  yield* tool.pairs.read(reader, (key, halves) => state.pairs.add(key, place, halves / 2))
  if (!reader.isAtEnd) throw new Error(`advice snapshot: tool ${place} has more bytes than it says`)
}

function writeCounter(writer: ByteWriter, { a, n, t }: Counter): void {
  writer.real(a)
  writer.real(n)
  writer.whole(t)
}

function readCounter(reader: ByteReader): Counter {
  return { a: reader.real(), n: reader.real(), t: reader.whole() }
}
