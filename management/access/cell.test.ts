import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { newKeyPair, type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { addressSet } from '@loci/chassis/addresses.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { newId } from '@loci/contract/ids.ts'
import { cellAccess } from './cell.ts'

const PUBLIC_URL = 'http://127.0.0.1:4400'
const STRANGERS = 500

function tokenOf(cellId: string, key: PrivateJwk): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: cellId, aud: PUBLIC_URL, iat: now, exp: now + 60, jti: randomUUID() }
  return signJws({ alg: 'EdDSA', typ: 'loci-cell+jwt' }, claims, privateKeyOf(key))
}

function accessTo(cells: Map<string, string[]>) {
  let lists = 0
  let lines = 0
  const warn = () => (lines += 1)
  const access = cellAccess({
    listCellKeys: async () => {
      lists += 1
      return new Map(cells)
    },
    findCellKeys: async (id) => cells.get(id) ?? [],
    publicUrl: PUBLIC_URL,
    log: { warn } as unknown as Parameters<typeof cellAccess>[0]['log'],
    failures: createFailures(1_000_000),
    trustedProxies: addressSet([]),
  })
  const outcome = async (token: string): Promise<string> => {
    const arrival = {
      method: 'GET',
      target: '/',
      peer: '127.0.0.1',
      requestId: 'req',
      answer: { header() {}, append() {} },
    }
    const headers = { authorization: `Bearer ${token}` }
    try {
      return (await access.authorize({ ...arrival, headers })).cellId
    } catch (error) {
      return (error as { options: { details: { reason: string } } }).options.details.reason
    }
  }
  return { access, outcome, lists: () => lists, lines: () => lines }
}

// Measured from outside: tokens of invented cells, 900 connections, held the slots of the cells while the database was
// asked for each, and a revocation had not reached a cell after 9 s. Mutants: mayAsk() always true; loggedAt.clear() in
// place of `return false` in createNews() (each stranger is a line of the log).
test('strangers who call themselves cells ask the database a bounded number of times, and cells go on', async () => {
  const own = newKeyPair()
  const id = newId('cell')
  const cells = new Map([[id, [own.publicJwk.x]]])
  const { outcome, lists, lines } = accessTo(cells)
  assert.equal(await outcome(tokenOf(id, own.privateJwk)), id)
  const stranger = newKeyPair().privateJwk
  const startedAt = performance.now()
  for (let i = 0; i < STRANGERS; i += 1) {
    assert.equal(await outcome(tokenOf(newId('cell'), stranger)), 'unknown_cell')
    assert.equal(await outcome(tokenOf(id, stranger)), 'unknown_key')
  }
  const allowed = 1 + 20 + Math.ceil(((performance.now() - startedAt) / 1_000) * 20)
  assert.ok(lists() <= allowed, `${lists()} of at most ${allowed}`)
  const minutes = Math.ceil((performance.now() - startedAt) / 60_000)
  assert.ok(lines() <= 100 * minutes, `${lines()} lines: each names another cell`)
  assert.equal(await outcome(tokenOf(id, own.privateJwk)), id)
})

// Mutant: the second isSigned() gone.
test('a key that is taken out ends at once, one that is put in is known at once', async () => {
  const [first, second] = [newKeyPair(), newKeyPair()]
  const id = newId('cell')
  const cells = new Map([[id, [first.publicJwk.x]]])
  const { outcome, access } = accessTo(cells)
  assert.equal(await outcome(tokenOf(id, first.privateJwk)), id)
  cells.set(id, [second.publicJwk.x])
  assert.equal(await outcome(tokenOf(id, first.privateJwk)), 'unknown_key')
  assert.equal(await outcome(tokenOf(id, second.privateJwk)), id)
  cells.delete(id)
  assert.equal(await outcome(tokenOf(id, second.privateJwk)), 'unknown_key')
  assert.equal(access.shareOf?.({ cellId: id, jti: '', replica: '', address: '' }), id)
})
