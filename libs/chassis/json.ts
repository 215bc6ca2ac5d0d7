// Reads a JSON body. parseJson() has rules that hold for the whole body, ignored fields too.

import { ApiError } from './api-error.ts'

const DEPTH_MAX = 32
/** A megabyte of `[],[],…` took 110 ms of processor time to parse and check; of text it takes 2 ms. */
const MEMBERS_MAX = 20_000
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseJson(bytes: Uint8Array): unknown {
  const text = textOf(bytes)
  // Before the parser sees it: a body of a million brackets must cost one pass, not a deep structure.
  requireModest(text)
  const value = parsed(text)
  requireSafe(value)
  return value
}

/**
 * For a reader that picks the fields it knows and must not refuse a body for the others: names, depth and numbers are
 * as sent. A member called __proto__ is an own property, as JSON.parse() makes it. Call requireText() on what is used.
 */
export function parseOpenJson(bytes: Uint8Array): unknown {
  return parsed(textOf(bytes))
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw refusal('The body is not valid UTF-8.')
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refusal('The body is not valid JSON.')
  }
}

/** Checks depth and number of parts in one pass over the text: one per member or element, one per comma. */
function requireModest(text: string): void {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i)
    if (c === 34 /* " */) i = endOfString(text, i + 1)
    else if (c === 44 /* , */) members += 1
    else if (c === 123 /* { */ || c === 91 /* [ */) {
      depth += 1
      members += 1
      if (depth > DEPTH_MAX) throw refusal(`The body is nested deeper than ${DEPTH_MAX} levels.`)
    } else if (c === 125 || c === 93) depth -= 1
  }
  if (members > MEMBERS_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The body has more than ${MEMBERS_MAX} members and elements.`)
}

/** Of a string so many characters are looked at one by one, and again behind each quote in it that is escaped. */
const NEAR = 32

/**
 * Where the string ends whose text begins at `from`. To look at each character of a megabyte of text took 9 ms, five
 * times as long as to parse it; to look for the next quote takes a tenth of one.
 */
function endOfString(text: string, from: number): number {
  for (let i = from; i < text.length; ) {
    for (const near = i + NEAR; i < near; i += 1) {
      const c = text.charCodeAt(i)
      if (c === 92 /* \ */) i += 1
      else if (c === 34) return i
    }
    const quote = text.indexOf('"', i)
    if (quote < 0) break
    let first = quote
    while (first > i && text.charCodeAt(first - 1) === 92) first -= 1
    if ((quote - first) % 2 === 0) return quote
    i = quote + 1
  }
  return text.length
}

function requireSafe(value: unknown): void {
  if (typeof value === 'string') requireText(value)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw refusal('The body has a number outside the range of a double.')
  }
  if (value === null || typeof value !== 'object') return
  if (Array.isArray(value)) {
    for (const element of value) requireSafe(element)
    return
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || key === 'constructor') throw refusal(`A field may not be called ${key}.`)
    requireText(key)
    requireSafe((value as Record<string, unknown>)[key])
  }
}

export function requireText(text: string): void {
  if (text.includes('\0')) throw refusal('The body has a NUL character.')
  if (!text.isWellFormed()) throw refusal('The body has a lone surrogate.')
}

function refusal(message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', message)
}
