import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Cycle } from '@loci/contract/cognitive.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { isLedgered } from '../databases/store.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { tracesOf } from '../testing/traces.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const SECRET = 'The launch code is tulipsecret'

interface Receipt {
  checked: { place: string; found: number; erased: number }[]
}
interface Slots {
  slots: { key: string; value: unknown; version: number }[]
}

// Mutants: eraseRoutes() without forgetSlots, or without forgetInCycles; isOf() without the value; stepColumns() with
// the HMAC of another text; mem_places that finds the record alone, or of the others only those that hold; wm_erase
// that leaves the bytes of its weeks; writesOf() that refuses an undo where a version is gone; cycle_erase that leaves
// the salt; forgetInCycles without metadata.
test('what is erased stands in no table: not in slots, their history, clears, a focus, metadata, nor another record', async () => {
  const { run, get, call: ask } = cyclesOf(ada, 'erased')
  // A busy machine says 503: nothing was done, by its own word.
  const call: typeof ask = async (...asked) => {
    const answer = await ask(...asked)
    return answer.status === 503 ? call(...asked) : answer
  }
  const first = await run({
    ...{ focus: SECRET, metadata: { note: ['of', SECRET.toUpperCase()] } },
    observations: [{ content: SECRET, key: 'code' }, { content: 'The pad is orange' }],
  })
  // Said again by somebody else, and put into slots: one that stays, one that is overwritten, one that is cleared.
  const said = await run({ observations: [{ content: SECRET.toLowerCase(), actor: 'Bob' }], focus: 'tulipsecret' })
  const put = async (key: string, value: string, more = {}) =>
    assert.equal((await call(`PUT /v1/working-memory/slots/${key}`, { value, ephemeral: true, ...more })).status, 200)
  await put('note', ` ${SECRET}  `, { pinned: true })
  await put('other', SECRET)
  await put('other', 'Something else')
  await put('wide', SECRET.replace('tulip', 'ｔｕｌｉｐ'))
  await call('DELETE /v1/working-memory/slots/wide')
  await run({ focus: SECRET }, { 'idempotency-key': 'focus' })
  // Its record is closed, and its slot has other content.
  await run({ observations: [{ content: 'The code was changed', key: 'code' }] })
  await put('cleared', SECRET)
  const { undo } = (await call('POST /v1/working-memory/slots/clear')).json<{ undo: { token: string } }>()
  const { records } = await get<{ records: { id: string; actor: string | null }[] }>('/v1/memory/records')
  const id = records.find(({ actor }) => actor === 'Bob')?.id
  assert.deepEqual(await tracesOf(daemon, 'lipsecret'), ['cycles', 'records', 'slot_versions', 'working_memory'])

  const { checked } = (await call(`DELETE /v1/memory/records/${id}`)).json<Receipt>()

  const erased = Object.fromEntries(checked.map(({ place, found, erased: count }) => [place, found === count && count]))
  assert.deepEqual([erased.records, erased.cycles, erased.segments], [2, 2, 0])
  // The pinned one; every version of it, of three others that were put, and of two that cycles made.
  assert.ok(erased.slots === 1 && Number(erased.slot_versions) >= 6, JSON.stringify(erased))
  // One cycle was asked for the word alone, which is not what was erased.
  assert.deepEqual(await tracesOf(daemon, 'launch code is tulipsecret'), [])
  assert.deepEqual(await tracesOf(daemon, 'lipsecret'), ['cycles'])

  const list = await get<{ cycles: Cycle[]; corruption: { status: string } }>('/v1/cognitive/cycles')
  assert.equal(list.corruption.status, 'clean')
  const redacted = list.cycles.find((one) => one.id === first.id)
  assert.deepEqual(
    [redacted?.focus, redacted?.metadata, redacted?.redacted, redacted?.hash],
    [null, null, true, first.hash],
  )
  assert.equal(list.cycles.find((one) => one.id === said.id)?.focus, 'tulipsecret')
  const again = (
    await call('POST /v1/cognitive/cycles', { focus: SECRET }, { 'idempotency-key': 'focus' })
  ).json<Cycle>()
  assert.deepEqual([again.focus, again.redacted], [null, true])
  const restored = (await call('POST /v1/working-memory/slots/restore', { undoToken: undo.token })).json<Slots>()
  assert.ok(
    restored.slots.some(({ value }) => value === 'The code was changed'),
    JSON.stringify(restored),
  )
  assert.deepEqual(await tracesOf(daemon, 'lipsecret'), ['cycles'])
  assert.equal(await fullConsistency(call), 'consistent')
})

// Found by kill --seed=132347221: PostgreSQL was killed behind the commit, and a record that was erased was told 503,
// which says that nothing was done. Mutant: isLedgered() that throws.
test('whether an erasure is acknowledged is not known where nobody answers, and fails nothing', async () => {
  const nobody = openPool({
    ...PATIENT,
    ...{ url: 'postgresql://nobody@127.0.0.1:1/nothing', applicationName: 'loci-test', connectionsMax: 1 },
    onError: () => {}, // What needs the connection is told by itself.
  })
  await assert.rejects(nobody.query({ text: 'select' }))
  assert.equal(await isLedgered(nobody, { instanceId: 'svc', database: 'default' }, Buffer.alloc(32)), false)
  await nobody.close()
})
