// Values of PostgreSQL as this product has them: whole numbers that fit, times as dates.

import pg from 'pg'

const INT8 = 20
const TIMESTAMPTZ = 1184
const INT8_ARRAY = 1016
// The driver's types list no arrays, but it parses them.
const parseTexts = pg.types.getTypeParser(1009 as number as 25)

export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (format === 'binary') return pg.types.getTypeParser(oid, 'binary')
  if (oid === INT8) return parseInt8
  if (oid === TIMESTAMPTZ) return parseTimestamptz
  if (oid === INT8_ARRAY) return (text: string) => parseInt8s(parseTexts(text))
  return pg.types.getTypeParser(oid, 'text')
}

const parseAnyTime = pg.types.getTypeParser(TIMESTAMPTZ, 'text')

/** The driver parses times by regular expression, a tenth of reading a row; UTC text is almost ISO already. */
function parseTimestamptz(text: string): Date {
  const isUsual = text.length >= 22 && text.endsWith('+00') && text.charCodeAt(10) === 32
  return isUsual ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : (parseAnyTime(text) as unknown as Date)
}

function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 ${text} does not fit a number: select it as text`)
  return value
}

function parseInt8s(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parseInt8s)
  return typeof value === 'string' ? parseInt8(value) : value
}
