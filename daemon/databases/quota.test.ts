import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@loci/chassis/testing/request.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../access/authority.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import { createQuota } from './quota.ts'

// Every write that came while the totals were read read them too, each with a connection of its own. Mutant: `if (last)
// last.at = …` left out.
test('the totals of an instance are read once for all writes that come meanwhile', async () => {
  let reads = 0
  let goOn = () => {}
  const quota = createQuota(async () => {
    reads += 1
    if (reads > 1) await new Promise<void>((resolve) => (goOn = resolve))
    return { records: 1, bytes: 10, events: 0, acts: 0, written: 0 }
  })
  const instance = { id: 'svc_1', limits: { records: 100, bytes: 1_000 } } as Instance
  const write = () => quota.requireRoom(instance, { records: 1, bytes: 10 }, {} as Sql)
  await write()
  await sleep(1_100)

  const writes = [write(), write(), write(), write()]
  assert.equal(reads, 2)
  goOn()
  await Promise.all(writes)
})

// After a downgrade. Mutant: requireTraces() that asks for room.
test('who holds more than the plan has can still configure, and is refused what would add to it', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const limits = { databases: 10, records: 100, bytes: 1e6, streams: 1, requests_per_second: 2_000, burst: 4_000 }
  const instance = await authority.addInstance({ limits })
  const token = instance.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
  const call = async (line: string, body?: unknown) => (await instance.call(token, line, { body })).status
  assert.equal(await call('PUT /v1/kv/entries/a', { value: 'x'.repeat(60_000) }), 200)
  await instance.change({ limits: { ...limits, bytes: 1_000 } })
  await eventually(async () => (await call('PUT /v1/kv/entries/b', { value: 1 })) === 403)
  assert.equal(await call('PUT /v1/cognitive/config', { schedule: { intervalMs: null } }), 200)
  assert.equal(await call('POST /v1/working-memory/slots/clear'), 200)
})
