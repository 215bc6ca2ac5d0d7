// The list of services by a part of a name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestParty, testManagement } from '../testing/management.ts'

const create = (party: TestParty, body: object) =>
  party.ask('POST /api/v1/services', { body: { service_type: 'memory', ...body } })

interface Found {
  services: { name: string; slug: string; region: string; status_reason: string | null }[]
  pagination: { total: number; searched_all?: boolean }
}

// Mutants: `strpos(name, $2)`, which minds the case; no conditionsOf() in searchServices(); total of the page.
test('a list is searched by a part of name or slug, in any case, within the other filters; its rows say region and reason', async () => {
  await using management = await testManagement()
  const party = await management.organization()
  const names = ['Night shift', 'Day NIGHT', 'Afternoon', 'Under_score 100%']
  for (const name of names) await create(party, { name })
  await create(party, { name: 'Elsewhere', slug: 'late-night' })
  await create(party, { name: 'night kv', service_type: 'kv' })
  const search = async (query: string) => {
    const answer = await party.ask(`GET /api/v1/services?${query}`)
    assert.equal(answer.status, 200, answer.text)
    const { services, pagination } = answer.json<Found>()
    return { names: services.map(({ name }) => name), ...pagination, services }
  }

  const all = await search('q=nIGHt')
  assert.deepEqual(all.names, ['night kv', 'Elsewhere', 'Day NIGHT', 'Night shift'])
  assert.deepEqual([all.total, all.searched_all], [4, true])
  assert.deepEqual([all.services[0]?.region, all.services[0]?.status_reason], ['us-east-1', null])
  const second = await search('q=night&limit=1&offset=1')
  assert.deepEqual([second.names, second.total], [['Elsewhere'], 4])
  assert.deepEqual((await search('q=night&service_type=kv')).names, ['night kv'])
  assert.deepEqual((await search('q=night&status=deleted')).names, [])
  // What is a pattern elsewhere is text here.
  assert.deepEqual((await search('q=100%25')).names, ['Under_score 100%'])
  assert.deepEqual((await search('q=r_s')).names, ['Under_score 100%'])
  assert.deepEqual((await search('q=%25night')).names, [])
  assert.equal((await search('')).searched_all, undefined)
  const stranger = await management.organization()
  assert.deepEqual((await stranger.ask('GET /api/v1/services?q=night')).json<Found>().services, [])
  assert.equal((await party.ask('GET /api/v1/services?q=')).status, 400)
})
