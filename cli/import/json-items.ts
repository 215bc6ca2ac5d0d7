// A JSON document as it comes, item by item, so that one of hundreds of megabytes needs the memory of its largest item:
// the elements of a list; or the members of an object, and of a member that is a list its elements.

import type { Item } from './kind.ts'

export class Broken extends Error {}

const ITEM_CHARS_MAX = 64 * 1024 * 1024

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

const isBlank = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

interface State {
  /** What was entered and is not an item: the document, and a list that is a member of it. */
  within: ('list' | 'object')[]
  /** Of the member that is read; undefined before its name. */
  name: string | undefined
  /** Of the item that is being read. */
  parts: string[]
  chars: number
  depth: number
  inText: boolean
  isEscaped: boolean
  isOpen: boolean
  isDone: boolean
}

export async function* jsonItems(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  const state: State = {
    ...{ within: [], name: undefined, parts: [], chars: 0, depth: 0 },
    ...{ inText: false, isEscaped: false, isOpen: false, isDone: false },
  }
  let count = 0
  for await (const chunk of chunks) {
    for (const item of itemsIn(chunk, state)) {
      count += 1
      yield item
    }
  }
  if (!state.isDone)
    throw new Broken(
      count === 0 ? 'it is not whole JSON' : `it ends in the middle, after ${count} items: it was cut off`,
    )
}

function* itemsIn(chunk: string, state: State): Generator<Item> {
  let from = 0
  for (let at = 0; at < chunk.length; at += 1) {
    const code = chunk.charCodeAt(at)
    if (!state.isOpen) {
      if (isBlank(code) || (state.within.length > 0 && code === COMMA)) continue
      if (enter(code, state)) continue
      state.isOpen = true
      from = at
    }
    const end = endIn(code, state)
    if (end === undefined) continue
    const text = state.parts.join('') + chunk.slice(from, at + (end === 'with' ? 1 : 0))
    reset(state)
    // A bare value ends where something else begins, which is read again.
    if (end === 'before') at -= 1
    const item = itemOf(text, state)
    if (item) yield item
  }
  if (!state.isOpen) return
  state.parts.push(chunk.slice(from))
  state.chars += chunk.length - from
  if (state.chars > ITEM_CHARS_MAX) throw new Broken('one of its items is larger than 64 MB')
}

/** Whether the character belongs to the document and not to an item. */
function enter(code: number, state: State): boolean {
  const { within, name } = state
  const inner = within.at(-1)
  if (state.isDone) throw new Broken('something follows its end: with a document per line it is NDJSON')
  if (inner === undefined) {
    if (code !== OPEN_LIST && code !== OPEN_OBJECT) throw new Broken('it is not JSON')
    within.push(code === OPEN_LIST ? 'list' : 'object')
    return true
  }
  if (code === (inner === 'list' ? CLOSE_LIST : CLOSE_OBJECT)) {
    within.pop()
    state.name = undefined
    state.isDone = within.length === 0
    return true
  }
  if (inner === 'list' || name === undefined) return false
  if (code === COLON) return true
  if (code !== OPEN_LIST) return false
  within.push('list')
  return true
}

/** Whether the item ends: with this character, or before it. */
function endIn(code: number, state: State): 'with' | 'before' | undefined {
  if (state.inText) {
    if (state.isEscaped) state.isEscaped = false
    else if (code === BACKSLASH) state.isEscaped = true
    else if (code === QUOTE) state.inText = false
    return !state.inText && state.depth === 0 ? 'with' : undefined
  }
  if (code === QUOTE) state.inText = true
  else if (code === OPEN_LIST || code === OPEN_OBJECT) state.depth += 1
  else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
    if (state.depth === 0) return 'before'
    state.depth -= 1
    if (state.depth === 0) return 'with'
  } else if (state.depth === 0 && (code === COMMA || isBlank(code))) return 'before'
  return undefined
}

function reset(state: State): void {
  state.parts = []
  state.chars = 0
  state.isOpen = false
}

/** The name of a member is read as an item is, and kept for the value behind it. */
function itemOf(text: string, state: State): Item | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Broken(`it is not JSON at: ${text.slice(0, 60)}`)
  }
  const { within, name } = state
  if (within.at(-1) === 'object' && name === undefined) {
    state.name = String(value)
    return undefined
  }
  const path = name === undefined ? [] : [name]
  if (within.at(-1) === 'object') state.name = undefined
  return { path, value }
}
