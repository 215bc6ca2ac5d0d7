import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testLog } from '@loci/chassis/testing/server.ts'
import { createDaemon } from './app.ts'
import { testDaemon, testSettings } from './testing/daemon.ts'

// A replica with other keys refused cursors and repeats of its neighbours, and said nothing.
// Mutant: noteSealingKeys() not asked by prepareDatabase().
test('a replica whose sealing keys are not those of its cell does not start and names the setting', async () => {
  await using first = await testDaemon()
  const { sealingKeys: own } = testSettings(first.database.appUrl, first.adminToken)
  const start = async (sealingKeys: { id: string; key: Buffer }[]) => {
    const settings = { ...testSettings(first.database.appUrl, first.adminToken), sealingKeys }
    const daemon = await createDaemon({ settings, log: testLog().log, version: '0.0.0-test' })
    try {
      await daemon.start()
    } finally {
      await Promise.all(daemon.servers.map((server) => server.close(0)))
      await daemon.close()
    }
  }
  const refused = (reason: RegExp) => (error: Error & { reasons?: string[] }) =>
    error.constructor.name === 'StartRefused' && reason.test(`${error.message} ${error.reasons?.join()}`)
  await assert.rejects(
    start([{ id: 'test', key: randomBytes(32) }]),
    refused(/LOCI_SEALING_KEYS has another key under the id 'test'/),
  )
  await assert.rejects(
    start([{ id: 'mine', key: randomBytes(32) }]),
    refused(/LOCI_SEALING_KEYS has none of the keys that this database knows \('test'\)/),
  )

  const next = { id: 'next', key: randomBytes(32) }
  await start([next, ...own])
  await start([next])
  await start(own)
})
