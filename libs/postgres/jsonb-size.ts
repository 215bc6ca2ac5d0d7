// How many bytes a JSON value has as `jsonb` text, without asking the server: what is limited as stored must be
// measured as stored. jsonb keeps numbers as numeric and writes them out: `1e308`, five bytes of a request, is 309
// digits there.

export function jsonbBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value))
  if (typeof value === 'number') return numericLength(value)
  if (value === null || typeof value !== 'object') return String(value).length
  // `[1, 2]` and `{"a": 1}`: a blank after each comma and each colon.
  const elements = Array.isArray(value)
    ? value.map(jsonbBytes)
    : Object.entries(value).map(([key, member]) => jsonbBytes(key) + 2 + jsonbBytes(member))
  return 2 + Math.max(0, elements.length - 1) * 2 + elements.reduce((sum, bytes) => sum + bytes, 0)
}

/** Of the shortest decimal that is this double, which is what JSON.stringify sends. */
function numericLength(value: number): number {
  const text = JSON.stringify(value)
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text) ?? []
  if (exponent === undefined) return text.length
  const digits = whole.length + fraction.length
  const point = whole.length + Number(exponent)
  if (point >= digits) return sign.length + point
  return sign.length + (point > 0 ? digits + 1 : 2 - point + digits)
}
