import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { sharePool } from './shares.ts'
import { PATIENT, testDatabase } from './testing/database.ts'

const schema = schemaIn(join(import.meta.dirname, 'testing'))
const refusal = () => new Error('as many as it may')

// Mutants: `each` never reached; leave() that forgets whoever waits; release() that gives back twice.
test('a caller has its share of the connections, the next call waits for one of its own, and others are not touched', async () => {
  await using database = await testDatabase({ schema })
  const pool = openPool({
    ...PATIENT,
    url: database.adminUrl,
    applicationName: 'test',
    connectionsMax: 3,
    onError: () => {},
  })
  const shares = sharePool(pool, { connectionsMax: 3, each: 2, waitMs: 60_000, refusal })
  const own = shares.of('a')
  const [first, second] = [await own.client(), await own.client()]
  let isIn = false
  const third = shares
    .of('a')
    .query<{ one: number }>({ text: 'select 1 as one' })
    .then(({ rows }) => {
      isIn = true
      return rows
    })
  assert.deepEqual((await shares.of('b').query({ text: 'select 2 as two' })).rows, [{ two: 2 }])
  assert.equal(isIn, false)
  first.release()
  first.release()
  assert.deepEqual(await third, [{ one: 1 }])
  const again = await own.client()
  const impatient = sharePool(pool, { connectionsMax: 3, each: 1, waitMs: 20, refusal })
  again.release()
  const held = await impatient.of('a').client()
  await assert.rejects(impatient.of('a').client(), { message: 'as many as it may' })
  held.release()
  await impatient.of('a').query({ text: 'select 1' })
  second.release()
  await pool.close()
})

// Mutant: of() and inTurn() that leave shareOf() out.
test('callers of one share have it together', async () => {
  await using database = await testDatabase({ schema })
  const pool = openPool({
    ...PATIENT,
    url: database.adminUrl,
    applicationName: 'test',
    connectionsMax: 3,
    onError: () => {},
  })
  const shareOf = (caller: string) => caller.slice(0, 1)
  const shares = sharePool(pool, { connectionsMax: 3, each: 1, waitMs: 20, refusal, shareOf })
  await shares.inTurn('a1', async () => {
    await assert.rejects(shares.of('a2').query({ text: 'select 1' }), { message: 'as many as it may' })
    await shares.of('b1').query({ text: 'select 1' })
  })
  await pool.close()
})

test('a connection that cannot be had gives its place back', async () => {
  const pool = openPool({
    ...PATIENT,
    url: 'postgres://nobody@127.0.0.1:1/none',
    applicationName: 'test',
    connectionsMax: 1,
    onError: () => {},
  })
  const shares = sharePool(pool, { connectionsMax: 3, each: 1, waitMs: 60_000, refusal })
  for (let n = 0; n < 2; n += 1) await assert.rejects(shares.of('a').client(), { name: 'DatabaseUnavailableError' })
  await pool.close()
})
