import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createLog } from '@loci/chassis/log.ts'
import type { RecordText } from '../analysis/item.ts'
import { Chance } from '../testing/random-items.ts'
import { buildFrom } from './engine.ts'
import { DamagedSegmentError } from './format.ts'
import { createRecallIndex, type RecallIndex, type RecallRequest } from './recall-index.ts'
import { createThread, LateError } from './thread.ts'

const log = createLog({ level: 'silent', program: 'test' })
const MIB = 1024 * 1024
const WORDS = 'gate code boiler garden guitar panel north door copper key paint sea dog walk'.split(' ')

function records(seed: number, from: number, count: number): RecordText[] {
  const chance = new Chance(seed)
  return Array.from({ length: count }, (_, i) => ({
    ...{ seq: from + i, context: 1 + ((from + i) >> 3), position: (from + i) & 7, occurredAt: 1.7e12 },
    ...{ actor: chance.of(['Ada', 'Bob']), content: Array.from({ length: 6 }, () => chance.of(WORDS)).join(' ') },
  }))
}

function requestOf(bodies: readonly Uint8Array[], given: Partial<RecallRequest> = {}): RecallRequest {
  return {
    ...{ instanceId: 'svc_1', database: 'main', language: 'en', tail: [], masked: [] },
    ...{ query: 'Where is the key of the north gate?', options: { limit: 20 } },
    segments: bodies.map((bytes, i) => ({ id: String(i + 1), load: async () => bytes })),
    ...given,
  }
}

const BODIES = [buildFrom(records(1, 1, 60), 'en'), buildFrom(records(2, 61, 60), 'en')]
const TAIL = records(3, 121, 30)

/** What the index answers when it has just been made. */
async function freshAnswer(request: RecallRequest): Promise<unknown> {
  const index = createRecallIndex({ bytesMax: 64 * MIB, log, threadItemsMin: 1_000_000 })
  try {
    return await index.search(request)
  } finally {
    await index.close()
  }
}

async function withIndex(
  options: Partial<Parameters<typeof createRecallIndex>[0]>,
  use: (index: RecallIndex) => Promise<void>,
) {
  const index = createRecallIndex({ bytesMax: 64 * MIB, log, threads: patientThreads(), ...options })
  try {
    await use(index)
  } finally {
    await index.close()
  }
}

/** Threads with time enough for a busy machine. The one that searches ends or hangs when it is asked to. */
function patientThreads({ hangMs = 120_000, tasksMax = 64 } = {}) {
  const worker = new URL('../testing/failing-worker.ts', import.meta.url)
  const search = createThread({ name: 'search', log, worker, tasksMax, deadlineMs: 120_000, hangMs })
  return { search, build: createThread({ name: 'build', log, tasksMax: 4, deadlineMs: 120_000, hangMs: 120_000 }) }
}

function isRefused(code: string) {
  return (error: unknown) => error instanceof ApiError && error.code === code
}

// Mutants: updateTail() of engine.ts that keeps rows that are gone; updateMask() that answers the mask before.
for (const [where, threadItemsMin] of [
  ['thread', 0],
  ['main', 1_000_000],
] as const) {
  test(`searches in the ${where} answer as a fresh index does while tail, mask and segments change`, async () => {
    await withIndex({ threadItemsMin }, async (index) => {
      const [first] = BODIES as [Uint8Array, Uint8Array]
      const states = [
        requestOf([first]),
        requestOf([first], { tail: TAIL.slice(0, 5) }),
        requestOf([first], { tail: TAIL.slice(0, 20), masked: [3, 7] }),
        requestOf([first], { tail: TAIL.slice(2, 25), masked: [3, 7, 40] }),
        requestOf(BODIES, { tail: TAIL.slice(10), masked: [40, 70] }),
        requestOf(BODIES, { masked: [70] }),
        requestOf([]),
        requestOf(BODIES, { tail: TAIL }),
      ]
      for (const [n, request] of states.entries()) {
        assert.deepEqual(await index.search(request), await freshAnswer(request), `state ${n}`)
      }
    })
  })
}

test('a body that is built or merged in the thread is the one that the functions give', async () => {
  await withIndex({}, async (index) => {
    assert.deepEqual(Buffer.from(await index.build(records(1, 1, 60), 'en')), Buffer.from(BODIES[0]!))
    const merged = await index.merge(BODIES, [])
    assert.deepEqual(Buffer.from(merged), Buffer.from(buildFrom([...records(1, 1, 60), ...records(2, 61, 60)], 'en')))
  })
})

// Mutant: end() of thread.ts that does not reject what waits; createThread() that keeps the ended worker.
test('a thread that ends refuses what waits for it with 503, and the next search is answered by a new one', async () => {
  await withIndex({ threadItemsMin: 0, threads: patientThreads() }, async (index) => {
    const request = requestOf(BODIES, { tail: TAIL })
    await index.search(request)
    const waiting = [index.search({ ...request, query: 'end' }), index.search(request), index.search(request)]
    for (const one of waiting) await assert.rejects(one, isRefused('OVERLOADED'))
    assert.deepEqual(await index.search(request), await freshAnswer(request))
  })
})

// Mutant: searchOnce() that drops the database after every error, as it did: the rows are sent and analysed again.
test('what a search that was too late has made is there for the next one', async () => {
  const threads = patientThreads()
  const sent: number[] = []
  const search: typeof threads.search = {
    ...threads.search,
    async run(task) {
      if (task.kind === 'search') sent.push(task.request.texts.length)
      const answer = await threads.search.run(task)
      if (sent.length === 1) throw new LateError(5_000)
      return answer
    },
  }
  await withIndex({ threadItemsMin: 0, threads: { ...threads, search } }, async (index) => {
    const request = requestOf(BODIES, { tail: TAIL })
    await assert.rejects(index.search(request), isRefused('OVERLOADED'))
    assert.ok(index.cachedBytes > BODIES.reduce((bytes, { byteLength }) => bytes + byteLength, 0), 'rows count too')
    assert.deepEqual(await index.search(request), await freshAnswer(request))
    assert.deepEqual(sent, [TAIL.length, 0])
  })
})

// Mutant: watch() of thread.ts that does nothing.
test('a thread that hangs is ended, and the next search is answered by a new one', async () => {
  await withIndex({ threadItemsMin: 0, threads: patientThreads({ hangMs: 2_000 }) }, async (index) => {
    const request = requestOf(BODIES)
    await assert.rejects(index.search({ ...request, query: 'hang' }), isRefused('OVERLOADED'))
    let answer: unknown
    // On a busy machine the start of a thread can take longer than this test calls a hang.
    for (let n = 0; answer === undefined && n < 30; n++) answer = await index.search(request).catch(() => undefined)
    assert.deepEqual(answer, await freshAnswer(request))
  })
})

// Mutant: run() of thread.ts without the comparison with tasksMax.
test('no more searches wait than the queue has room for', async () => {
  await withIndex({ threadItemsMin: 0, threads: patientThreads({ tasksMax: 2 }) }, async (index) => {
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => index.search(requestOf(BODIES))))
    const refused = outcomes.filter((one) => one.status === 'rejected')
    assert.equal(refused.length, 3)
    for (const { reason } of refused) assert.ok(isRefused('OVERLOADED')(reason))
  })
})

// Mutants: searchOnce() that keeps the entry after an error: no search finds segment 1 again; failureOf() that sends
// the message: errorOf() puts its beginning before it once more.
test('a damaged body is an error, never an answer, and a sound one is read after it', async () => {
  const damaged = BODIES[0]!.slice()
  damaged[damaged.length - 9]! ^= 16
  for (const threadItemsMin of [0, 1_000_000]) {
    await withIndex({ threadItemsMin }, async (index) => {
      const problem = new DamagedSegmentError('checksum does not match')
      await assert.rejects(index.search(requestOf([damaged])), { name: problem.name, message: problem.message })
      assert.deepEqual(await index.search(requestOf([BODIES[0]!])), await freshAnswer(requestOf([BODIES[0]!])))
    })
  }
})

// Mutants: bytesOf() without derivedBytes; set() of cache.ts that lets nothing leave.
test('what is kept stays under its bytes, whichever databases are asked for, and answers stay the same', async () => {
  for (const threadItemsMin of [0, 1_000_000]) {
    await withIndex({ threadItemsMin, bytesMax: 64 * 1024 }, async (index) => {
      let kept = 0
      for (let n = 0; n < 40; n++) {
        const database = `d${n % 8}`
        const request = requestOf(n % 2 ? BODIES : [BODIES[0]!], { database, tail: TAIL.slice(0, n % 5) })
        assert.deepEqual(await index.search(request), await freshAnswer(request), `search ${n}`)
        assert.ok(index.cachedBytes <= 64 * 1024, `${index.cachedBytes} bytes are kept`)
        kept = Math.max(kept, index.cachedBytes)
      }
      assert.ok(kept > 32 * 1024, 'the cache keeps something')
    })
  }
})

test('a body is fetched once, and again after it was forgotten', async () => {
  await withIndex({}, async (index) => {
    let fetched = 0
    const load = async () => {
      fetched++
      return BODIES[0]!
    }
    const request = requestOf([], { segments: [{ id: '1', load }] })
    await index.search(request)
    await index.search(request)
    assert.equal(fetched, 1)
    index.forget('svc_1', ['1'])
    assert.equal(index.cachedBytes, 0)
    await index.search(request)
    assert.equal(fetched, 2)
  })
})

// Mutant: warmTexts() with one context for all: a segment with two items at one place is damaged, so nothing is warmed,
// and a daemon says so in its log alone.
test('warming up is done, and what it made is gone', async () => {
  await withIndex({ threadItemsMin: 0 }, async (index) => {
    await index.warm()
    assert.equal(index.cachedBytes, 0)
    const request = requestOf(BODIES, { tail: TAIL })
    assert.deepEqual(await index.search(request), await freshAnswer(request))
  })
})

// Mutant: close() of thread.ts that does not wait.
test('a search that waits is answered when the index is closed, and none after it', async () => {
  const index = createRecallIndex({ bytesMax: MIB, log, threadItemsMin: 0, threads: patientThreads() })
  const request = requestOf(BODIES)
  const expected = await freshAnswer(request)
  const waiting = index.search(request)
  // One turn, so that the search has reached the thread.
  await new Promise((resolve) => setImmediate(resolve))
  await index.close()
  assert.deepEqual(await waiting, expected)
  await assert.rejects(index.search(request), isRefused('DRAINING'))
})
