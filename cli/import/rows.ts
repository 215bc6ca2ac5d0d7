// Items of files that are read line by line: a JSON document per line, or CSV with the names of its columns.

import { Broken } from './json-items.ts'
import type { Item } from './kind.ts'

const LINE_CHARS_MAX = 64 * 1024 * 1024

export async function* lineItems(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  let number = 0
  for await (const line of linesOf(chunks)) {
    number += 1
    if (line.trim() === '') continue
    try {
      yield { path: [], value: JSON.parse(line) }
    } catch (error) {
      if (error instanceof SyntaxError) throw new Broken(`line ${number} is not JSON: ${line.slice(0, 60)}`)
      throw error
    }
  }
}

async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = []
  let chars = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      yield parts.join('') + chunk.slice(from, at)
      parts = []
      chars = 0
      from = at + 1
    }
    parts.push(chunk.slice(from))
    chars += chunk.length - from
    if (chars > LINE_CHARS_MAX) throw new Broken('one of its lines is longer than 64 MB')
  }
  if (parts.some((part) => part !== '')) yield parts.join('')
}

/** By RFC 4180: a field in quotes may have commas, line breaks, and quotes that are doubled. An empty one is null. */
export async function* csvItems(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  let names: string[] | undefined
  for await (const row of csvRows(chunks)) {
    if (row.length === 1 && row[0] === '') continue
    if (names === undefined) {
      names = row.map((name) => name.trim())
      continue
    }
    const known = names
    yield {
      path: [],
      value: Object.fromEntries(row.map((field, at) => [known[at] ?? `column ${at}`, field === '' ? null : field])),
    }
  }
}

async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let row: string[] = []
  let field = ''
  let state: 'plain' | 'quoted' | 'quote in quotes' = 'plain'
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (state === 'quoted') {
        if (character === '"') state = 'quote in quotes'
        else field += character
        continue
      }
      if (character === '"') {
        if (state === 'quote in quotes') field += '"'
        state = 'quoted'
      } else if (character === ',') {
        row.push(field)
        field = ''
        state = 'plain'
      } else if (character === '\n') {
        yield [...row, field]
        row = []
        field = ''
        state = 'plain'
      } else if (character !== '\r') field += character
      if (field.length > LINE_CHARS_MAX) throw new Broken('one of its fields is longer than 64 MB')
    }
  }
  if (state === 'quoted') throw new Broken('it ends within quotes: it was cut off')
  if (field !== '' || row.length > 0) yield [...row, field]
}
