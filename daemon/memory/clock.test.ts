import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { testDaemon } from '../testing/daemon.ts'
import { moveClockOf } from '../testing/moved-clock.ts'
import type { TestRecord } from '../testing/records.ts'
import { addTenant } from '../testing/tenant.ts'

const HOUR_MS = 3_600_000
const WHERE = 'In which street does Ada live?'

// Mutants: record_holds() by `valid_to > p_now`: a cycle shows Elm Street and Oak Street; recall.ts by held() alone:
// recall does not show Oak Street, which begins in the future; mem_store() that leaves valid_from at p_now, under a key
// or with `supersedes`: as of half an hour ago there are two.
test('after the clock was set back a superseded fact is not shown beside its successor', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const clock = await moveClockOf(database)
  await using daemon = await testDaemon({ database })
  const tenant = await addTenant(daemon)
  const { call, run, get } = cyclesOf(tenant, 'moved')
  const ago = (hours: number) => new Date(Date.now() - hours * HOUR_MS).toISOString()
  const store = async (street: string, rest: object) => {
    const answer = await call('POST /v1/memory/records', { content: `Ada lives in ${street} Street`, ...rest })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<TestRecord>()
  }
  const streets = (contents: string[]) => contents.map((content) => /in (\w+) Street/.exec(content)?.[1]).sort()
  /** Whatever the score: of so few records, recall else abstains. */
  const recalled = async (asOf?: string) => {
    const answer = await call('POST /v1/memory/recall', { query: WHERE, minScore: -100, ...(asOf && { asOf }) })
    assert.equal(answer.status, 200, answer.text)
    return streets(answer.json<{ results: TestRecord[] }>().results.map(({ content }) => content))
  }
  /** Of a cycle that begins with nothing in working memory. */
  const inMind = async () => {
    assert.equal((await call('POST /v1/working-memory/slots/clear', {})).status, 200)
    await run({ focus: WHERE })
    return streets(
      (await get<{ slots: { value: string }[] }>('/v1/working-memory/slots')).slots.map(({ value }) => value),
    )
  }
  const listed = async () => {
    const { records } = await get<{ records: TestRecord[] }>('/v1/memory/records')
    return streets(records.filter(({ validTo }) => validTo === null).map(({ content }) => content))
  }
  const shown = async () => ({ recalled: await recalled(), inMind: await inMind(), listed: await listed() })
  const only = (street: string) => ({ recalled: [street], inMind: [street], listed: [street] })

  try {
    const elm = await store('Elm', { key: 'home', occurredAt: ago(3) })
    const oak = await store('Oak', { key: 'home' })
    await clock.move(-HOUR_MS)
    assert.deepEqual(await shown(), only('Oak'))
    assert.equal((await get<TestRecord>(`/v1/memory/records/${elm.id}`)).validTo, oak.validFrom)

    const pine = await store('Pine', { key: 'home' })
    assert.deepEqual(await shown(), only('Pine'))
    const ash = await store('Ash', { supersedes: pine.id })
    assert.deepEqual(await shown(), only('Ash'))
    assert.notEqual((await get<TestRecord>(`/v1/memory/records/${pine.id}`)).validTo, null)

    // Each moment has one answer, those that the clock passes a second time too.
    assert.deepEqual(await recalled(ago(4)), [])
    assert.deepEqual(await recalled(ago(2)), ['Elm'])
    assert.deepEqual(await recalled(ago(0.5)), ['Elm'])
    assert.deepEqual(await recalled(ash.validFrom), ['Ash'])
  } finally {
    await clock.close()
  }
})
