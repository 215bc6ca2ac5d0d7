import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseClock, isExact, threadUs, wallClock } from './clock.ts'
import { beside, catchUp, current, enter, meterTotals, noteStatement, outside, resume, Work, workFor } from './meter.ts'

/** Processor time, not wall time: on a loaded machine it takes longer and is as much. */
function busy(us: number): void {
  const until = threadUs() + us
  while (threadUs() < until) JSON.stringify({ until })
}

const near = (us: number, wanted: number) => {
  assert.ok(us >= wanted * 0.9, `${us} µs are less than ${wanted}`)
  assert.ok(us <= wanted * 1.6 + 2_000, `${us} µs are more than ${wanted}`)
}

test('each is given what it used, also after waits, and what nobody asked for is nobody’s', async () => {
  const [one, other] = [new Work(), new Work()]
  const run = async (us: number) => {
    busy(us)
    await sleep(5)
    resume()
    busy(us)
  }
  const before = meterTotals().nobodyUs
  await Promise.all([workFor(one, () => run(10_000)), workFor(other, () => run(30_000))])
  enter(undefined)
  busy(15_000)
  near(one.us, 20_000)
  near(other.us, 60_000)
  near(meterTotals().nobodyUs - before, 15_000)
})

test('a slice ends with the turn of the loop: what follows is not paid by whoever was last', async () => {
  const work = new Work()
  workFor(work, () => busy(5_000))
  await new Promise((resolve) => setImmediate(resolve))
  await sleep(1)
  busy(20_000)
  enter(undefined)
  near(work.us, 5_000)
})

test('what is begun outside carries nobody’s name', async () => {
  const work = new Work()
  const seen = await workFor(work, async () => {
    assert.equal(current(), work)
    return outside(async () => {
      await sleep(1)
      return current()
    })
  })
  assert.equal(seen, undefined)
  assert.equal(current(), undefined)
})

test('while another thread works this one’s own time counts', () => {
  const work = new Work()
  beside(1)
  workFor(work, () => busy(10_000))
  catchUp()
  beside(-1)
  enter(undefined)
  near(work.us, 10_000)
})

test('a statement is charged by its call, bytes and rows', () => {
  const work = new Work()
  noteStatement(work, { sent: 1_000, received: 10_000, rows: 10, writes: false })
  assert.equal(work.storeUs, 150 + 50 + 60 + 50)
  noteStatement(work, { sent: 0, received: 0, rows: 10, writes: true })
  assert.equal(work.totalUs, 310 + 150 + 300)
})

test('a clock that moves by ticks is found out, and time is estimated by the wall', () => {
  const ticking = () => Math.floor(threadUs() / 4_000) * 4_000
  assert.equal(isExact(ticking), false)
  const clock = chooseClock({ whole: ticking, thread: ticking, isExact: true })
  assert.equal(clock.isExact, false)
  const from = clock.whole()
  busy(10_000)
  assert.ok(clock.whole() - from >= 9_000)
})

test('the wall counts as much as the process ran of it', () => {
  let at = 0
  const clock = wallClock(() => at)
  at = 10
  assert.equal(clock.whole(), 10_000)
})
