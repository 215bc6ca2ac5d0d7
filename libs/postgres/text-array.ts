/** Of the type text. */
const TEXT_OID = 25
const HEAD_BYTES = 12
const DIMENSION_BYTES = 8

/**
 * Texts as a value of the type text[], in PostgreSQL's binary form. As text each quote and each backslash of them is
 * escaped here and taken out there, character by character; of JSON every fifth character is a quote.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  let size = HEAD_BYTES + (texts.length > 0 ? DIMENSION_BYTES : 0)
  let hasNull = 0
  for (const text of texts) {
    size += 4
    if (text === null) hasNull = 1
    else size += Buffer.byteLength(text)
  }
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  const number = (value: number) => {
    at = bytes.writeInt32BE(value, at)
  }
  for (const value of [texts.length > 0 ? 1 : 0, hasNull, TEXT_OID]) number(value)
  if (texts.length > 0) for (const value of [texts.length, 1]) number(value)
  for (const text of texts) {
    const written = text === null ? -1 : bytes.write(text, at + 4)
    number(written)
    if (written > 0) at += written
  }
  return bytes
}
