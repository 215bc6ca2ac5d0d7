import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcess, untilState } from '@loci/chassis/testing/process.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testLog } from '@loci/chassis/testing/server.ts'
import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import { testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { createDaemon } from './app.ts'
import { SCHEMA } from './schema.ts'
import { testSettings } from './testing/daemon.ts'

/** What the making of partitions waits for: a daemon that warms up stands still as long as somebody else has it. */
const PARTITIONS_LOCK = ADVISORY_LOCKS.auditPartitions

// Mutants: call warm() in serve.ts once, outside the job (ends with 70); let close() not abort (the stopped one waits
// for ever).
test('a daemon whose database blinks while it warms up waits, and one that is told to stop then ends well', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = testPool(database.appUrl)
  const holder = await pool.client()
  await holder.query({ text: 'select pg_advisory_lock($1)', values: [PARTITIONS_LOCK] })
  const settings = {
    LOCI_DATABASE_URL: database.appUrl,
    LOCI_ADMIN_TOKEN_DIGESTS: createHash('sha256').update(randomBytes(32)).digest('hex'),
    LOCI_SEALING_KEYS: `a:${randomBytes(32).toString('base64')}`,
  }
  const start = () => startProcess(join(import.meta.dirname, 'main.ts'), settings)
  const [patient, stopped] = [start(), start()]
  try {
    const [patientUrl, stoppedUrl] = await Promise.all([patient.url, stopped.url])
    const reach = (url: string, state: string) => untilState(`${url}/v1/lifecycle/status`, state)
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

// Mutant: leave out isStopping() after warmUp() in serve.ts (a draining process cannot become ready).
test('a start that is overtaken by a stop ends without an error', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = testPool(database.appUrl)
  const holder = await pool.client()
  await holder.query({ text: 'select pg_advisory_lock($1)', values: [PARTITIONS_LOCK] })
  const daemon = await createDaemon({
    settings: testSettings(database.appUrl, 'token'),
    log: testLog().log,
    version: '0.0.0-test',
  })
  const started = daemon.start()
  await eventually(() => daemon.lifecycle.state === 'warming')

  daemon.lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 0 })
  await Promise.all(daemon.servers.map((server) => server.close(0)))
  await holder.query({ text: 'select pg_advisory_unlock($1)', values: [PARTITIONS_LOCK] })
  await started
  await daemon.close()

  assert.equal(daemon.lifecycle.state, 'draining')
  holder.release()
  await pool.close()
})
