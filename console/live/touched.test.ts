// Mutants: the database not compared; every memory touched by what happened to one; a service's event that touches the
// organization; erases() without `truncated`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsKey, organizationKey, wordsKey } from '../api/cache.ts'
import { erases, isTouched, type Told } from './touched.ts'

const AT = { id: 'svc_1', database: 'default' }
const told = (type: string, rest: Partial<Told> = {}): Told => ({
  ...{ kind: 'service', of: 'svc_1', type, database: 'default', data: {} },
  ...rest,
})
const touches = (type: string, key: readonly unknown[], rest?: Partial<Told>) => isTouched(key, told(type, rest))

test('what a cycle, a slot or a memory changes is asked again, and nothing else', () => {
  for (const what of ['slots', 'evictions', 'cycles']) assert.ok(touches('cycle.completed', wordsKey(AT, what)), what)
  for (const what of ['stats', 'slot-stats']) assert.ok(touches('slot.written', factsKey(AT, what)), what)
  assert.ok(touches('memory.stored', wordsKey(AT, 'records', { limit: 50 })))
  assert.ok(!touches('slot.written', wordsKey(AT, 'records', { limit: 50 })))
  // One that ran does not change, and what was decided does not either.
  assert.ok(!touches('cycle.completed', wordsKey(AT, 'decisions', 'cyc_1')))
  // The answer to a question is of its moment.
  assert.ok(!touches('memory.stored', wordsKey(AT, 'recall', { query: 'x' })))
})

test('another database and another service are not touched; the list of databases is of all', () => {
  assert.ok(!touches('slot.written', wordsKey({ ...AT, database: 'ada' }, 'slots')))
  assert.ok(!touches('slot.written', wordsKey({ ...AT, id: 'svc_2' }, 'slots')))
  assert.ok(touches('memory.stored', factsKey({ ...AT, database: '' }, 'databases')))
})

test('a memory is touched by what happened to itself', () => {
  const key = wordsKey(AT, 'records', 'mem_1')
  assert.ok(touches('memory.superseded', key, { data: { id: 'mem_1', supersededBy: 'mem_2' } }))
  assert.ok(!touches('memory.stored', key, { data: { id: 'mem_2' } }))
})

test('an organization’s events touch its services and each one’s state, or all else of it', () => {
  const own = organizationKey({ organization: { id: 'org_1' } }, 'services')
  const members = organizationKey({ organization: { id: 'org_1' } }, 'members')
  const rest: Partial<Told> = { kind: 'organization', of: 'org_1', database: undefined }
  for (const type of ['service.status_changed', 'operation.finished']) {
    assert.ok(touches(type, own, rest) && touches(type, factsKey({ ...AT, database: '' }, 'detail', 'active'), rest))
    assert.ok(!touches(type, members, rest) && !touches(type, wordsKey(AT, 'slots'), rest))
  }
  assert.ok(touches('member.joined', members, rest) && !touches('member.joined', own, rest))
})

test('after an erasure, or where it is not known whether there was one, nothing that holds words is kept', () => {
  for (const type of ['memory.erased', 'database.deleted', 'truncated']) assert.ok(erases({ type }), type)
  for (const type of ['memory.superseded', 'slot.deleted', 'begun']) assert.ok(!erases({ type }), type)
  for (const type of ['truncated', 'begun']) assert.ok(touches(type, wordsKey(AT, 'decisions', 'cyc_1')), type)
})
