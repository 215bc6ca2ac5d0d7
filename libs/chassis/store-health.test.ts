import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLifecycle } from './lifecycle.ts'
import { createMetrics } from './metrics.ts'
import { createStoreHealth } from './store-health.ts'

const failure = (code: string) => Object.assign(new Error(code), { code })

/** A store whose answers the test chooses, and a clock that it moves. */
function scene() {
  const lifecycle = createLifecycle()
  lifecycle.move('warming', 'test')
  lifecycle.move('ready', 'test')
  const metrics = createMetrics({ version: 'test' })
  const state = {
    now: 0,
    hasRoom: true,
    snapshot: undefined as { xmin: string; transactions: number } | undefined,
    gaps: [] as string[],
    canKeep: true,
  }
  const health = createStoreHealth({
    ...{ lifecycle, metrics, nowMs: () => state.now },
    async probeSpace() {
      if (!state.hasRoom) throw failure('53100')
    },
    readOldestSnapshot: async () => state.snapshot,
    listPartitionGaps: async () => state.gaps,
    async keepPartitions() {
      if (!state.canKeep) throw failure('55P03')
      state.gaps = []
    },
  })
  const [probe, snapshot, partitions] = health.jobs.map((job) => () => job.run(new AbortController().signal))
  const reasons = () => lifecycle.status(0).reasons
  const metric = async (name: string) =>
    new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(await metrics.registry.metrics())?.[1]
  return { state, health, reasons, metric, probe, snapshot, partitions, lifecycle } as const
}

// Mutants: the probe of space not asked while it is full; isFull cleared by time.
test('a full disk degrades from the first write that met it until a probe finds room', async () => {
  const { state, health, reasons, metric, probe } = scene()
  state.hasRoom = false
  health.note(failure('53100'))
  assert.deepEqual(reasons(), ['postgres disk: no space left on its disk: reads go on, writes fail'])
  assert.equal(health.worst()?.status, 'full')
  state.now += 3_600_000
  await probe?.()
  assert.equal(health.worst()?.status, 'full', 'nobody has written for an hour, and it is still full')
  assert.equal(await metric('loci_postgres_disk_full'), '1')
  assert.equal(await metric('loci_postgres_failures_total{kind="full"}'), '1')
  state.hasRoom = true
  await probe?.()
  assert.deepEqual([reasons(), health.worst()], [[], undefined])
  assert.equal(await metric('loci_postgres_disk_full'), '0')
})

// Mutant: SLOW_MIN of 1.
test('statements that run into their limit degrade from the third in a minute on, for a minute', async () => {
  const { state, health, probe, metric } = scene()
  for (const seconds of [0, 70, 1]) {
    state.now += seconds * 1_000
    health.note(failure('57014'))
    await probe?.()
    assert.equal(health.worst(), undefined, 'one long ago and two of now')
  }
  health.note(failure('57014'))
  await probe?.()
  assert.equal(health.worst()?.status, 'slow')
  assert.equal(await metric('loci_postgres_failures_total{kind="slow"}'), '4')
  state.now += 61_000
  await probe?.()
  assert.equal(health.worst(), undefined)
})

test('a refused login is told for a minute, once: where the beat says it, not again', async () => {
  const { state, health, probe, reasons, lifecycle } = scene()
  health.note(failure('28P01'))
  await probe?.()
  assert.equal(health.worst()?.status, 'refused')
  lifecycle.report('postgres', 'refuses the login of this program: look at its role and password')
  await probe?.()
  assert.deepEqual(reasons(), ['postgres: refuses the login of this program: look at its role and password'])
  lifecycle.report('postgres', undefined)
  state.now += 61_000
  await probe?.()
  assert.equal(health.worst(), undefined)
})

// Mutants: the time counted from the first look at any snapshot; transactions not looked at.
test('a snapshot that is held for a minute of writes is told with its age, one that moves on is not', async () => {
  const { state, health, snapshot, metric } = scene()
  for (let xmin = 1; xmin <= 10; xmin += 1) {
    state.snapshot = { xmin: String(xmin), transactions: 5_000 }
    await snapshot?.()
    state.now += 10_000
  }
  assert.equal(health.worst(), undefined, 'each was another one')
  state.snapshot = { xmin: '10', transactions: 40 }
  state.now += 60_000
  await snapshot?.()
  assert.equal(health.worst(), undefined, 'nobody writes')
  state.snapshot = { xmin: '10', transactions: 5_000 }
  await snapshot?.()
  assert.equal(health.worst()?.status, 'snapshot')
  assert.equal(await metric('loci_postgres_oldest_snapshot_seconds'), '70')
  assert.equal(await metric('loci_postgres_oldest_snapshot_transactions'), '5000')
  state.snapshot = undefined
  await snapshot?.()
  assert.equal(health.worst(), undefined)
  assert.equal(await metric('loci_postgres_oldest_snapshot_seconds'), '0')
})

// Mutant: a gap that could not be closed is not reported.
test('a gap of partitions is closed, and told by table while it cannot be', async () => {
  const { state, health, partitions, reasons, metric } = scene()
  state.gaps = ['events']
  await partitions?.()
  assert.equal(health.worst(), undefined, 'made at once')
  state.gaps = ['audit', 'events']
  state.canKeep = false
  await assert.rejects(async () => partitions?.())
  assert.deepEqual(reasons(), ['postgres partitions: no partition for now in audit, events: writes fail'])
  assert.equal(await metric('loci_postgres_partition_gaps'), '2')
  state.canKeep = true
  await partitions?.()
  assert.deepEqual([reasons(), health.worst()], [[], undefined])
})
