// Ids are `<type>_` and a UUIDv7 in 26 characters of lower-case Crockford base32: they sort by creation time, are made
// by the application (a table can be moved to any engine or cell), and show their type when one appears in a log.

export const ID_TYPES = {
  org: 'organization',
  ten: 'tenant',
  svc: 'service',
  op: 'operation',
  usr: 'user',
  key: 'API key',
  cap: 'capability',
  ses: 'session',
  evt: 'event',
  req: 'request',
  cyc: 'cycle',
  slt: 'slot',
  mem: 'memory record',
  prj: 'projection',
  aud: 'audit entry',
  cell: 'cell',
  ptr: 'partner credential',
  inv: 'invitation',
  rev: 'revocation',
  oac: 'OAuth client',
  oag: 'OAuth grant',
} as const

export type IdType = keyof typeof ID_TYPES

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

// Drawing 10 random bytes per id costs a system call each; 4 KiB at a time makes an id about ten times cheaper, and
// every request makes one.
const pool = new Uint8Array(4_000)
let used = pool.length

export function newId(type: IdType, now: number = Date.now()): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += 10
  return idFrom(type, now, pool.subarray(used - 10, used))
}

/** Of ten bytes that the caller has: the same bytes and moment are the same id. */
export function idFrom(type: IdType, now: number, r: Uint8Array): string {
  const time = timeDigits(now)
  // The other 80 bits: version 7, 12 random, variant 10, 62 random; eight digits from each half.
  const high =
    0x7000000000 +
    (at(r, 0) & 0x0f) * 2 ** 32 +
    at(r, 1) * 2 ** 24 +
    (0x80 | (at(r, 2) & 0x3f)) * 2 ** 16 +
    at(r, 3) * 2 ** 8 +
    at(r, 4)
  const low = at(r, 5) * 2 ** 32 + at(r, 6) * 2 ** 24 + at(r, 7) * 2 ** 16 + at(r, 8) * 2 ** 8 + at(r, 9)
  return `${type}_${time}${digits(high)}${digits(low)}`
}

/** Sorts below every id of the type made from that moment on, and above every one made before. */
export function idsFrom(type: IdType, ms: number): string {
  return `${type}_${timeDigits(ms)}`
}

/** 128 bits in 26 digits of 5 bits leave the first digit with 3: the 48 bits of time fill 3 + 9 × 5 of them exactly. */
function timeDigits(ms: number): string {
  let time = ''
  let rest = ms
  for (let i = 0; i < 9; i += 1) {
    time = ALPHABET[rest % 32] + time
    rest = Math.floor(rest / 32)
  }
  return ALPHABET[rest % 8] + time
}

/** Of any type, also of a later release's: no name may look like an id. */
export function looksLikeId(text: string): boolean {
  return /^[a-z]{2,5}_[0-9a-z]{26}$/i.test(text.trim())
}

export function isId(type: IdType, text: string): boolean {
  return text.startsWith(`${type}_`) && /^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text.slice(type.length + 1))
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] as number
}

/** 40 bits as eight digits; beyond 32 bits, so no bit operators on the whole. */
function digits(value: number): string {
  const top = Math.floor(value / 2 ** 20)
  const bottom = value % 2 ** 20
  return (
    digit(top >> 15) +
    digit(top >> 10) +
    digit(top >> 5) +
    digit(top) +
    digit(bottom >> 15) +
    digit(bottom >> 10) +
    digit(bottom >> 5) +
    digit(bottom)
  )
}

function digit(value: number): string {
  return ALPHABET[value & 31] as string
}

/** Its creation time according to the id itself, in milliseconds. */
export function timeOfId(id: string): number {
  const time = id.slice(id.indexOf('_') + 1).slice(0, 10)
  return [...time].reduce((sum, digit) => sum * 32 + ALPHABET.indexOf(digit), 0)
}
