// Many memories by their ids: their words while they are there, and nothing of what is erased, damaged or another's.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { memoryOf, type TestMemory, type TestRecord } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

interface Read {
  records: TestRecord[]
  missing: string[]
  left?: string[]
  damaged?: { ref: string | null; reason: string }[]
}

async function read(memory: TestMemory, ids: string[]): Promise<Read> {
  const answer = await memory.call('POST /v1/memory/records/read', { ids })
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

// Mutants: readRoutes() that keeps repeats; one that names nothing as missing.
test('memories are read in the order of their ids, once each, as each is read alone', async () => {
  const memory = memoryOf(ada, 'order')
  const stored = await memory.storeAll(['one', 'two', 'three'].map((content) => ({ content, key: 'fact' })))
  const [one, two, three] = stored.map(({ id }) => id) as [string, string, string]
  const unknown = newId('mem')
  const { records, missing, ...rest } = await read(memory, [three, one, unknown, three, two])
  const alone = await Promise.all([three, one, two].map(async (id) => (await memory.get(id)).json<TestRecord>()))
  assert.deepEqual([records, missing, rest], [alone, [unknown], {}])
})

// Mutant: findRecords() that is handed another database.
test('a memory of another database or tenant is missing, as one that was never there', async () => {
  const { id } = await memoryOf(ada, 'own').store('The code of the safe is 4711')
  const eve = await addTenant(daemon)
  for (const memory of [memoryOf(ada, 'others'), memoryOf(eve, 'own')])
    assert.deepEqual(await read(memory, [id]), { records: [], missing: [id] })
})

test('an erased memory is missing, and no word of it is answered', async () => {
  const memory = memoryOf(ada, 'erased')
  const [gone, kept] = await memory.storeAll([{ content: 'The code is 4711' }, { content: 'The lamp is lit' }])
  const ids = [gone?.id as string, kept?.id as string]
  assert.equal((await memory.call(`DELETE /v1/memory/records/${ids[0]}`)).status, 200)
  const after = await memory.call('POST /v1/memory/records/read', { ids })
  assert.deepEqual([after.json<Read>().missing, after.text.includes('4711')], [[ids[0]], false])
  assert.deepEqual(
    after.json<Read>().records.map(({ content }) => content),
    ['The lamp is lit'],
  )
})

// Mutants: the loop without its bound of bytes; `left` that begins with the last one that was read.
test('an answer ends at a megabyte and names what is left, which the next call reads', async () => {
  const memory = memoryOf(ada, 'large')
  const content = (n: number) => `${n} ${'ä'.repeat(8_000)}`
  const stored: TestRecord[] = []
  for (const from of [0, 49])
    stored.push(...(await memory.storeAll(Array.from({ length: 49 }, (_, n) => ({ content: content(from + n) })))))
  let ids = stored.map(({ id }) => id)
  const contents: string[] = []
  for (let calls = 1; ids.length > 0; calls += 1) {
    const { records, missing, left = [] } = await read(memory, ids)
    assert.deepEqual(missing, [])
    // Sixteen are read at once: the last of them may go over it.
    assert.ok(records.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0) < 1.3 * 2 ** 20)
    contents.push(...records.map((one) => one.content))
    ids = left
    assert.ok(calls <= 2)
  }
  assert.deepEqual(
    contents,
    stored.map((_, n) => content(n)),
  )
})

// Mutants: readRoutes() without findAround(): 500 for all; damaged ones that are named missing.
test('a damaged memory is named and hides no other, also where its row cannot be read', async () => {
  const memory = memoryOf(ada, 'damage')
  const stored = await memory.storeAll(['one', 'two', 'three'].map((content) => ({ content })))
  const ids = stored.map(({ id }) => id) as [string, string, string]
  await daemon.sql(`update loci.records set body = replace(body, 'two', 'twO') where id = $1`, [ids[1]])
  const edited = await read(memory, ids)
  assert.deepEqual(edited.damaged, [{ ref: ids[1], reason: 'digest_mismatch' }])
  await daemon.sql(`alter function loci.record_is_intact rename to real_intact;
    create function loci.record_is_intact(r loci.records, p_instance text, p_database text) returns boolean language plpgsql stable as $$
    begin
      if r.id = '${ids[1]}' then raise exception 'invalid page' using errcode = 'XX001'; end if;
      return loci.real_intact(r, p_instance, p_database);
    end $$`)
  try {
    const rotten = await read(memory, ids)
    assert.deepEqual(rotten.damaged, [{ ref: ids[1], reason: 'page_unreadable' }])
    for (const { records, missing } of [edited, rotten])
      assert.deepEqual([records.map(({ content }) => content), missing], [['one', 'three'], []])
  } finally {
    await daemon.sql('drop function loci.record_is_intact; alter function loci.real_intact rename to record_is_intact')
  }
})

test('no id, more than a hundred, what is no id of a memory and an unknown field are refused', async () => {
  const memory = memoryOf(ada, 'refused')
  const many = Array.from({ length: 101 }, () => newId('mem'))
  for (const body of [
    {},
    { ids: [] },
    { ids: many },
    { ids: [newId('cyc')] },
    { ids: many.slice(1), namespace: 'a' },
  ]) {
    const { status, error } = await memory.call('POST /v1/memory/records/read', body)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'])
  }
})
