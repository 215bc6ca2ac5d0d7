// Mutants: a prefix that is not asked for in ID_TYPES; inOrder() with services that answer nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ID_TYPES } from '@loci/contract/ids.ts'
import { inOrder, placeOf } from './places.ts'

test('every kind of id leads somewhere, or it is said why not', () => {
  for (const type of Object.keys(ID_TYPES)) {
    const place = placeOf(`${type}_01m7rh34zee4zr1vcfxysjxxt9`)
    assert.ok(place, type)
    if (place.is === 'nowhere') assert.match(place.why, /\.$/, type)
  }
  assert.equal(placeOf('svc_01m7rh34zee4zr1vcfxysjxxt9')?.is, 'service')
})

test('what is no id of ours is told as that', () => {
  for (const text of ['xyz_01m7rh34zee4zr1vcfxysjxxt9', 'svc', 'constructor_1', '<b>', 'toString_1a'])
    assert.equal(placeOf(text), undefined, text)
})

test('the service in view is looked through first, and one that answers nothing not at all', () => {
  const of = (slug: string, status = 'active') => ({ id: `svc_${slug}`, slug, status })
  const all = [of('a'), of('b', 'provisioning'), of('c', 'suspended'), of('d')]
  assert.deepEqual(
    inOrder(all, 'd').map(({ slug }) => slug),
    ['d', 'a', 'c'],
  )
})
