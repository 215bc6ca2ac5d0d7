import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonical, facetsOf, keyedHash, MANY_MEMBERS, MEMBERS_MAX } from './facets.ts'

// Mutant: keyedHash() with two rounds at its end.
test('the hash is HalfSipHash-2-4, as its authors published it', () => {
  const hash = keyedHash(0x0302_0100, 0x0706_0504)
  const bytes = (count: number) => String.fromCharCode(...Array.from({ length: count }, (_, n) => n))
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((count) => hash(bytes(count))),
    [
      ...[0x5b9f_35a9, 0xb85a_4727, 0x03a6_62fa, 0x04e7_fe8a, 0x8946_6e2a, 0x69b6_fac5, 0x23fc_6358, 0xc563_cf8b],
      0x8f84_b8d0,
    ],
  )
})

// Mutants: members() that hashes the value alone, or as text; canonical() without the order of the names.
test('equal members have equal facets, whatever the order of their names, and other types, names and instances have others', () => {
  const facets = facetsOf({ id: 'a', key: Buffer.alloc(32, 1) })
  const one = (value: unknown, name = 'tier') => facets.members({ [name]: value })[0]
  assert.equal(one({ a: 1, b: { c: [2], d: null } }), one({ b: { d: null, c: [2] }, a: 1 }))
  const different = [
    one(1),
    one('1'),
    one(true),
    one(null),
    one([1]),
    one(1, 'other'),
    facets.key('1'),
    facets.context('1'),
  ]
  assert.equal(new Set(different).size, different.length)
  assert.notEqual(one(1), facetsOf({ id: 'a', key: Buffer.alloc(32, 2) }).members({ tier: 1 })[0])
  assert.equal(canonical([{ b: 1, a: [{ d: 1, c: 2 }] }]), '[{"a":[{"c":2,"d":1}],"b":1}]')
})

test('of metadata with very many members the first are hashed, and the record says that it has more', () => {
  const facets = facetsOf({ id: 'a', key: Buffer.alloc(32, 1) })
  const members = (count: number) =>
    facets.members(Object.fromEntries(Array.from({ length: count }, (_, n) => [`name ${n}`, n])))
  assert.equal(members(MEMBERS_MAX).includes(MANY_MEMBERS), false)
  assert.equal(members(2_000).length, MEMBERS_MAX + 1)
  assert.equal(members(2_000).includes(MANY_MEMBERS), true)
})
