// Whose a thing is: an id of the source becomes the name of a database. What a name may have stays as it is; every
// other byte becomes `__` and two hexadecimal digits, and so does a `_` that would make one, so each name stands for
// one id.

import { digestOf } from './source-id.ts'

const NAME_CHARS_MAX = 64

/** For ids of the first field that says it. */
export function databaseOf(id: string): string {
  const name = escaped(id)
  // No id is written with `__-`.
  return name.length <= NAME_CHARS_MAX ? name : `long__-${digestOf(id).slice(0, 40)}`
}

/** For ids of another field, such as an agent's: nobody's name begins so. */
export function databaseOfField(field: string, id: string): string {
  const name = `${escaped(field)}__-${escaped(id)}`
  return name.length <= NAME_CHARS_MAX ? name : `long__-${digestOf(`${field} ${id}`).slice(0, 40)}`
}

function escaped(id: string): string {
  const bytes = [...Buffer.from(id, 'utf8')]
  return bytes.map((byte, at) => (isPlain(byte, bytes[at + 1]) ? String.fromCharCode(byte) : hex(byte))).join('')
}

/** A `_` stands for itself unless another one follows, or the first of an escape. */
function isPlain(byte: number, next: number | undefined): boolean {
  const character = String.fromCharCode(byte)
  if (!/[a-z0-9_-]/.test(character)) return false
  if (character !== '_' || next === undefined) return true
  return next !== 0x5f && /[a-z0-9-]/.test(String.fromCharCode(next))
}

function hex(byte: number): string {
  return `__${byte.toString(16).padStart(2, '0')}`
}
