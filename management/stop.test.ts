import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { newKeyPair, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { startProcess, untilState } from '@loci/chassis/testing/process.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testLog } from '@loci/chassis/testing/server.ts'
import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import { testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { createManagement } from './app.ts'
import { addCell } from './cells/cells.ts'
import { SCHEMA } from './schema.ts'
import { testSettings } from './testing/management.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
/** What the making of partitions waits for: a process that warms up stands still as long as somebody else has it. */
const PARTITIONS_LOCK = ADVISORY_LOCKS.auditPartitions

test('a process that is told to stop answers the polls that wait and ends without cutting one', async () => {
  await using database = await testDatabase({ schema: SCHEMA, program: 'management' })
  const { publicJwk, privateJwk } = newKeyPair()
  const pool = testPool(database.appUrl)
  const place = { name: 'one', region: 'r', capacity: 1, endpoint: 'http://127.0.0.1:1', tenantId: null }
  const cell = await transaction(pool, (sql) =>
    addCell(sql, { ...place, publicKeys: [publicJwk.x] }, { actor: 'test' }),
  )
  await pool.close()
  const aud = 'http://127.0.0.1:4400'
  const { child, ...started } = startProcess(MAIN, {
    LOCI_DATABASE_URL: database.appUrl,
    LOCI_PUBLIC_URL: aud,
    LOCI_SEALING_KEYS: `a:${randomBytes(32).toString('base64')}`,
  })
  try {
    const url = await started.url
    await untilState(`${url}/health/lifecycle`, 'ready')
    const feed = async (query: string) => {
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: cell.id, aud, iat: now, exp: now + 60, jti: randomUUID() }
      const token = signJws({ alg: 'EdDSA', typ: 'loci-cell+jwt' }, claims, privateKeyOf(privateJwk))
      const answer = await fetch(`${url}/cell/v1/feed?${query}`, { headers: { authorization: `Bearer ${token}` } })
      return { status: answer.status, body: (await answer.json()) as { epoch: string; next: number; items: unknown[] } }
    }
    const { epoch, next } = (await feed('')).body
    const waiting = feed(`epoch=${epoch}&after=${next}&wait=20`)
    await untilInside(url, 2)
    const toldAt = performance.now()

    child.kill('SIGTERM')

    const answer = await waiting
    assert.deepEqual([answer.status, answer.body.items], [200, []])
    assert.equal(await started.exited, 0)
    assert.ok(performance.now() - toldAt < 18_000, 'before its wait was over')
  } finally {
    child.kill('SIGKILL')
  }
})

/** The request that asks is one of them. */
async function untilInside(url: string, requests: number): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${url}/health/lifecycle`)
    return ((await answer.json()) as { drain: { in_flight: number } }).drain.in_flight >= requests
  })
}

// It ended with 70 before. Mutants: call warm() in serve.ts once, outside the job (70 again); let close() not abort.
test('a process whose database blinks while it warms up waits, and one that is told to stop then ends well', async () => {
  await using database = await testDatabase({ schema: SCHEMA, program: 'management' })
  const pool = testPool(database.appUrl)
  const holder = await pool.client()
  await holder.query({ text: 'select pg_advisory_lock($1)', values: [PARTITIONS_LOCK] })
  const settings = {
    LOCI_DATABASE_URL: database.appUrl,
    LOCI_SEALING_KEYS: `a:${randomBytes(32).toString('base64')}`,
  }
  const [patient, stopped] = [startProcess(MAIN, settings), startProcess(MAIN, settings)]
  try {
    const [patientUrl, stoppedUrl] = await Promise.all([patient.url, stopped.url])
    const reach = (url: string, state: string) => untilState(`${url}/health/lifecycle`, state)
    await Promise.all([reach(patientUrl, 'warming'), reach(stoppedUrl, 'warming')])
    // The first try has waited for the lock as long as a statement does, and failed.
    for (const { printed } of [patient, stopped]) await eventually(() => printed().includes('startup load failed'))

    stopped.child.kill('SIGTERM')
    assert.equal(await stopped.exited, 0)

    await holder.query({ text: 'select pg_advisory_unlock($1)', values: [PARTITIONS_LOCK] })
    await reach(patientUrl, 'ready')
    patient.child.kill('SIGTERM')
    assert.equal(await patient.exited, 0)
  } finally {
    for (const { child } of [patient, stopped]) child.kill('SIGKILL')
    holder.release()
    await pool.close()
  }
})

// It failed with "a draining process cannot become ready". Mutant: leave out isStopping() after warmUp() in serve.ts.
test('a start that is overtaken by a stop ends without an error', async () => {
  await using database = await testDatabase({ schema: SCHEMA, program: 'management' })
  const pool = testPool(database.appUrl)
  const holder = await pool.client()
  await holder.query({ text: 'select pg_advisory_lock($1)', values: [PARTITIONS_LOCK] })
  const management = await createManagement({
    settings: testSettings(database.appUrl, [{ id: 'test', key: randomBytes(32) }]),
    log: testLog().log,
    version: '0.0.0-test',
  })
  const started = management.start()
  await eventually(() => management.lifecycle.state === 'warming')

  management.lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 0 })
  await Promise.all(management.servers.map((server) => server.close(0)))
  await holder.query({ text: 'select pg_advisory_unlock($1)', values: [PARTITIONS_LOCK] })
  await started
  await management.close()

  assert.equal(management.lifecycle.state, 'draining')
  holder.release()
  await pool.close()
})
