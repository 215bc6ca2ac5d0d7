import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'

const AT_ONCE = 30

// Mutant: shareBefore of capability.ts answers undefined (none is refused).
test('of tokens of instances that live elsewhere, from an address over its failures, one is looked up at a time', async () => {
  // Suspects have one slot together, and four may wait for it.
  const settings = { unauthenticatedPerMinute: 5, concurrencyMax: 16, queueMax: 16, queueMs: 30_000 }
  await using daemon = await testDaemon({ settings })
  await using authority = await testAuthority(daemon)
  const { root } = await authority.addInstance()
  const list = (token: string) => ask(daemon.url, 'GET /v1/kv/entries', { headers: { 'x-loci-capability': token } })
  const own = root()
  // Each of an instance of its own, so that no miss is remembered.
  const elsewhere = () => {
    const svc = newId('svc')
    return root({ svc, aud: svc })
  }
  assert.equal((await list(own)).status, 200)
  for (let n = 0; n <= 5; n += 1) await list(elsewhere())
  const tokens = Array.from({ length: AT_ONCE }, elsewhere)
  const pool = testPool(daemon.database.adminUrl)
  const holder = await pool.client()
  await holder.query({ text: 'begin' })
  await holder.query({ text: 'lock table loci.instances in access exclusive mode' })

  let refused = 0
  const asked = tokens.map(async (token) => {
    if ((await list(token)).text.includes('limit of concurrent requests')) refused += 1
  })
  await eventually(() => refused === AT_ONCE - 5)
  await holder.query({ text: 'rollback' })
  holder.release()
  assert.equal((await list(own)).status, 200)
  await Promise.all(asked)
  assert.equal(refused, AT_ONCE - 5)
  await pool.close()
})
