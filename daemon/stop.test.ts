import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testLog } from '@loci/chassis/testing/server.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { createDaemon } from './app.ts'
import { SCHEMA } from './schema.ts'
import { testSettings } from './testing/daemon.ts'

/** One for all: two daemons of one database have the same. */
const LOCI_SEALING_KEYS = `a:${randomBytes(32).toString('base64')}`

/** What the making of partitions waits for: a daemon that warms up stands still as long as somebody else has it. */
const PARTITIONS_LOCK = 7026300002

interface Started {
  child: ChildProcess
  url: Promise<string>
  exited: Promise<unknown>
  printed(): string
}

function startDaemon(databaseUrl: string): Started {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: {
      PATH: process.env.PATH ?? '',
      LOCI_LISTEN: '127.0.0.1:0',
      LOCI_DATABASE_URL: databaseUrl,
      LOCI_ADMIN_TOKEN_DIGESTS: createHash('sha256').update(randomBytes(32)).digest('hex'),
      LOCI_SEALING_KEYS,
      LOCI_DRAIN_GRACE_MS: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('exit', (code, by) => resolve(code ?? by)))
  let text = ''
  const url = new Promise<string>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`ended with ${code} before it listened`)))
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const found = /"url":"([^"]+)".*"message":"listening"/.exec(text)?.[1]
      if (found) resolve(found)
    })
  })
  return { child, url, exited, printed: () => text }
}

async function untilState(url: string, state: string): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${url}/v1/lifecycle/status`)
    return ((await answer.json()) as { state: string }).state === state
  })
}

// Mutant: let what startBackground() reads first throw (ends with 70).
test('a daemon whose database blinks while it warms up waits, and one that is told to stop then ends well', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = openPool({ url: database.appUrl, applicationName: 'test', connectionsMax: 1, onError: () => {} })
  const holder = await pool.client()
  await holder.query({ text: 'select pg_advisory_lock($1)', values: [PARTITIONS_LOCK] })
  const [patient, stopped] = [startDaemon(database.appUrl), startDaemon(database.appUrl)]
  try {
    const [patientUrl, stoppedUrl] = await Promise.all([patient.url, stopped.url])
    await Promise.all([untilState(patientUrl, 'warming'), untilState(stoppedUrl, 'warming')])
    // The first try has waited for the lock as long as a statement does, and failed.
    for (const { printed } of [patient, stopped])
      await eventually(() => printed().includes('what the replica must know could not be read'))

    stopped.child.kill('SIGTERM')
    assert.equal(await stopped.exited, 0)

    await holder.query({ text: 'select pg_advisory_unlock($1)', values: [PARTITIONS_LOCK] })
    await untilState(patientUrl, 'ready')
    patient.child.kill('SIGTERM')
    assert.equal(await patient.exited, 0)
  } finally {
    for (const { child } of [patient, stopped]) child.kill('SIGKILL')
    holder.release()
    await pool.close()
  }
})

// Mutant: move to ready without asking isStopping().
test('a start that is overtaken by a stop ends without an error', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = openPool({ url: database.appUrl, applicationName: 'test', connectionsMax: 1, onError: () => {} })
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
