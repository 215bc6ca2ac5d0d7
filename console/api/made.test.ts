import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endsWith, type Made, sentenceOf } from './made.ts'

const NOW = Date.parse('2026-11-18T12:00:00Z')
const token = (id: string, sub: string | null, ends = '2026-11-19T12:00:00Z', revoked: string | null = null) => {
  return { token_id: id, name: id, sub, expires_at: ends, revoked_at: revoked }
}
const ALL: Made = {
  apiKeys: [
    { id: 'key_1', name: 'ci', user_id: 'usr_joost', made_by: 'usr_joost' },
    { id: 'key_2', name: 'made by ci', user_id: 'usr_joost', made_by: 'key_1' },
    { id: 'key_3', name: 'other', user_id: 'usr_mira', made_by: 'usr_mira' },
  ],
  tokens: [
    token('by joost', 'usr_joost'),
    token('by his key', 'key_2'),
    token('by mira', 'key_3'),
    token('expired', 'key_1', '2026-11-17T12:00:00Z'),
    token('revoked', 'key_1', '2026-11-19T12:00:00Z', '2026-11-18T10:00:00Z'),
    token('of a command', null),
  ],
  partners: [
    { id: 'ptr_1', name: 'crm', made_by: 'key_2' },
    { id: 'ptr_2', name: 'shop', made_by: null },
  ],
  invitations: [{ id: 'inv_1', email: 'sam@acme.example', invited_by: 'usr_mira' }],
  grants: [{ id: 'gra_1', user_id: 'usr_joost', client_name: 'Desktop' }],
}

// Mutants: what a key of his key made is left out; what had ended is counted.
test('with a member ends what the member made, and what those keys made, and nothing that had ended', () => {
  const made = endsWith(ALL, { ids: ['usr_joost'], now: NOW })
  assert.deepEqual(
    made.apiKeys.map(({ id }) => id),
    ['key_1', 'key_2'],
  )
  assert.deepEqual(
    made.tokens.map(({ token_id }) => token_id),
    ['by joost', 'by his key'],
  )
  assert.equal(sentenceOf(made), '2 API keys, 2 tokens, 1 partner credential and 1 client that was allowed')
})

test('with a key ends what it made, and not the key that made it', () => {
  const made = endsWith(ALL, { ids: ['key_2'], now: NOW })
  assert.equal(sentenceOf(made), '1 token and 1 partner credential')
  assert.equal(sentenceOf(endsWith(ALL, { ids: ['key_9'], now: NOW })), undefined)
})
