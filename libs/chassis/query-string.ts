// Reads a query string strictly: a repeated or badly encoded parameter is refused, where the usual parsers guess.

import { ApiError } from './api-error.ts'

export function parseQuery(text: string): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  if (text === '') return found
  for (const part of text.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decode(at < 0 ? part : part.slice(0, at))
    if (name in found) throw new ApiError('VALIDATION_ERROR', `The query has the parameter '${name}' twice.`)
    found[name] = at < 0 ? '' : decode(part.slice(at + 1))
  }
  return found
}

function decode(text: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new ApiError('VALIDATION_ERROR', 'The query is not percent-encoded UTF-8.')
  }
  if (decoded.includes('\0')) throw new ApiError('VALIDATION_ERROR', 'The query has a NUL character.')
  return decoded
}
