import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChassis, serve } from './serve.ts'
import { eventually } from './testing/request.ts'
import { testLog } from './testing/server.ts'

const SETTINGS = {
  listen: { host: '127.0.0.1', port: 0 },
  tlsCert: undefined,
  tlsKey: undefined,
  requireHttps: false,
  trustedProxies: [],
  concurrencyMax: 8,
  queueMax: 8,
  queueMs: 100,
}

// A cell that was restored from a backup of last week has no partitions of today: the daemons that stayed up did not
// make them, and refused writes for up to an hour. Mutants: `await app.warm(signal)` of requireFree() left out; a
// failure of it ends in ready.
test('a program that was held warms up again before it is ready, as often as it takes', async () => {
  let reason: string | undefined
  let warmed = 0
  let mayWarm = true
  const chassis = createChassis({ settings: SETTINGS, log: testLog().log, version: 'test' })
  const { lifecycle } = chassis
  const serving = await serve(chassis, {
    letterCase: 'camel',
    routes: [],
    pools: [{ close: async () => {}, counts: () => ({ waiting: 0 }) }],
    prepare: async () => ({ refused: undefined, warnings: [], schemaVersion: 1, serverVersion: '15' }),
    async warm() {
      warmed += 1
      if (!mayWarm) throw new Error('not yet')
    },
    beat: { everyMs: 5, ask: async () => undefined },
    hold: () => reason,
    jobs: [],
  })
  await serving.start()
  assert.deepEqual([lifecycle.state, warmed], ['ready', 1])

  reason = 'another database'
  await eventually(() => lifecycle.state === 'warming')
  mayWarm = false
  reason = undefined
  await eventually(() => warmed >= 3)
  assert.equal(lifecycle.state, 'warming', 'it is not ready before it has warmed up')
  mayWarm = true
  await eventually(() => lifecycle.state === 'ready')
  await Promise.all(serving.servers.map((server) => server.close(0)))
  await serving.close()
})
