import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ID_TYPES, type IdType, isId, newId } from './ids.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

function uuidOf(id: string): string {
  let number = 0n
  for (const character of id.slice(id.indexOf('_') + 1)) number = (number << 5n) | BigInt(ALPHABET.indexOf(character))
  return number.toString(16).padStart(32, '0')
}

test('an id is a UUIDv7 whose first 48 bits are its creation time', () => {
  const now = 1_794_700_000_123
  for (let i = 0; i < 2_000; i += 1) {
    const uuid = uuidOf(newId('svc', now))
    assert.equal(uuid.length, 32)
    assert.equal(Number.parseInt(uuid.slice(0, 12), 16), now)
    assert.equal(uuid[12], '7')
    assert.match(uuid[16] as string, /[89ab]/)
  }
})

test('ids of later milliseconds sort behind earlier ones, and none repeats', () => {
  const ids = Array.from({ length: 5_000 }, (_, i) => newId('req', 1_700_000_000_000 + i))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(Array.from({ length: 20_000 }, () => newId('req', 5))).size, 20_000)
})

test('isId takes its own type and form only', () => {
  for (const type of Object.keys(ID_TYPES) as IdType[]) assert.ok(isId(type, newId(type)))
  const id = newId('org')
  for (const wrong of [
    '',
    'org_',
    id.slice(0, -1),
    `${id}0`,
    id.toUpperCase(),
    id.replace('org_', 'ten_'),
    `org_8${id.slice(5)}`,
    `${id}\n`,
  ]) {
    assert.ok(!isId('org', wrong), wrong)
  }
})
