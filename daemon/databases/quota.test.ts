import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../access/authority.ts'
import { createQuota } from './quota.ts'

// Every write that came while the totals were read read them too, each with a connection of its own. Mutant: `if (last)
// last.at = …` left out.
test('the totals of an instance are read once for all writes that come meanwhile', async () => {
  let reads = 0
  let goOn = () => {}
  const quota = createQuota(async () => {
    reads += 1
    if (reads > 1) await new Promise<void>((resolve) => (goOn = resolve))
    return { records: 1, bytes: 10, events: 0, acts: 0 }
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
