import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundedOutcomes } from './advice.ts'
import { KeptEvidence, LOOKS_MAX, type Looked, SHOWN_MAX, type ShownOutcome, type ShownTask } from './evidence.ts'
import { randomFrom } from './fold/beta.ts'

interface Told {
  seq: number
  taskClass: string
  scope: string | null
  tools: string[]
  expiresAt: number | null
  isTakenBack: boolean
  refs: string[]
}

/** What a reading of all that was told finds, and among how many of the newest. */
function read(told: readonly Told[], { taskClass, scope }: ShownTask, tool: string, now: number) {
  const outcomes: ShownOutcome[] = []
  let looked = 0
  for (const one of told.toReversed()) {
    if (one.taskClass !== taskClass || !one.tools.includes(tool)) continue
    if (looked === LOOKS_MAX || outcomes.length === SHOWN_MAX) break
    looked += 1
    const isOfTask = scope === null || one.scope === null || one.scope === scope
    if (isOfTask && !one.isTakenBack && (one.expiresAt === null || one.expiresAt > now)) outcomes.push(shownOf(one))
  }
  return { outcomes, looked }
}

function shownOf({ seq, refs, expiresAt }: Told): ShownOutcome {
  return { ...{ seq, outcome: 'success', projectionId: `prj-${seq}`, refs, toldAt: seq, expiresAt }, bytes: 100 }
}

function add(kept: KeptEvidence, told: Told): void {
  const weights = told.tools.map((tool, place) => ({ place, tool, t: 0, u: 0, attempt: 1, expected: 1 }))
  kept.add({ ...told, weights, outcomeAt: () => 'success', shown: shownOf(told) })
}

// Mutants: find() that does not look at expiresAt; takeBack() that drops nothing; add() without `looked`, or that shows
// what is taken back, or that does not compare scopes; #put() that keeps more than SHOWN_MAX.
test('what is kept is what a reading would find, whatever is told, taken back or over', () => {
  const random = randomFrom(11)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  const [tools, classes, scopes] = [['a', 'b', 'c'], ['support', 'travel'], [null, 'eu', 'us', 'none'] as const]
  const kept = new KeptEvidence()
  const told: Told[] = []
  let [found, asked] = [0, 0]
  for (let now = 1; now <= 6_000; now += 1) {
    // Long times in which hardly anything is of the scope that is asked for, or is still there.
    const isRare = now % 2_000 > 1_000
    const step = random()
    if (step < 0.5) {
      const one: Told = {
        ...{ seq: now, taskClass: pick(classes), scope: isRare ? 'us' : pick(scopes.slice(0, 3)), refs: [] },
        tools: tools.filter(() => random() < 0.5),
        expiresAt: random() < 0.05 ? now + Math.floor(random() * 200) : null,
        // Its retraction came first.
        isTakenBack: random() < (isRare ? 0.5 : 0.05),
      }
      told.push(one)
      add(kept, one)
    } else if (step < 0.55 && told.length > 0) {
      const one = told[told.length - 1 - Math.floor(random() * Math.min(told.length, 60))] as Told
      one.isTakenBack = true
      kept.takeBack(one.taskClass, one.tools)
    } else {
      const [task, tool] = [{ taskClass: pick(classes), scope: pick(scopes) }, pick(tools)]
      const expected = read(told, task, tool, now)
      const known = kept.find(task, tool, now)
      asked += 1
      if (known) found += 1
      const cut = (list: Looked) => boundedOutcomes(new Map([[tool, list]]))
      if (known) assert.deepEqual(cut(known), cut(expected), `${now} ${task.taskClass} ${task.scope} ${tool}`)
      else kept.keep(task, tool, expected)
    }
  }
  assert.ok(found > asked / 2, `${found} of ${asked}`)
})

// Mutants: #makeRoom() that drops nothing, or one list alone, or is called by keep() alone; #drop() or #put() that
// leaves the bytes as they were; LIST_BYTES_MAX not looked at in keep() or #put().
test('what is kept has a bound in bytes: what was asked for least lately goes, and what is too large is never kept', () => {
  const kept = new KeptEvidence()
  const task = { taskClass: 'support', scope: null }
  const one = (seq: number, length: number): Told => {
    return { seq, ...task, tools: ['x'], expiresAt: null, isTakenBack: false, refs: ['r'.repeat(length)] }
  }
  for (let n = 0; n < 100; n += 1) {
    kept.keep(task, `tool-${n}`, { outcomes: [shownOf(one(n, 50_000))], looked: 1 })
    if (n > 0) assert.equal(kept.find(task, 'tool-0', 0)?.outcomes.length, 1, `${n}`)
  }
  assert.ok(kept.bytes > 3_900_000 && kept.bytes <= 4 * 1024 * 1024, `${kept.bytes} bytes`)
  assert.equal(kept.find(task, 'tool-1', 0), undefined)
  assert.equal(kept.find(task, 'tool-99', 0)?.outcomes.length, 1)
  // In the place of several.
  kept.keep(task, 'large', { outcomes: [shownOf(one(100, 120_000))], looked: 1 })
  assert.ok(kept.bytes <= 4 * 1024 * 1024, `${kept.bytes} bytes`)
  kept.takeBack('support', ['large'])
  for (let n = 0; n < 100; n += 1) kept.takeBack('support', [`tool-${n}`])
  assert.equal(kept.bytes, 0)
  kept.keep(task, 'x', { outcomes: [shownOf(one(1, 200_000))], looked: 1 })
  assert.equal(kept.find(task, 'x', 0), undefined)
  kept.keep(task, 'x', { outcomes: [shownOf(one(1, 100_000))], looked: 1 })
  add(kept, one(2, 100_000))
  assert.deepEqual([kept.find(task, 'x', 0), kept.bytes], [undefined, 0])
  // Told of many tools that were asked for.
  for (let n = 0; n < 200; n += 1) kept.keep(task, `tool-${n}`, { outcomes: [], looked: 0 })
  for (let n = 0; n < 200; n += 1) {
    add(kept, { ...one(n + 10, 50_000), tools: [`tool-${n}`] })
    assert.ok(kept.bytes <= 4 * 1024 * 1024, `${kept.bytes} bytes`)
  }
  assert.equal(kept.find(task, 'tool-199', 0)?.outcomes.length, 1)
})

// Mutant: keepRefs() that keeps what it is handed: 16 tasks held 25 MB of outcomes that nobody counted.
test('beside the references of a task nothing of their reading is kept', () => {
  const kept = new KeptEvidence()
  const refs = { head: 'h', refs: ['a'], isCut: false, overAt: null }
  kept.keepRefs({ taskClass: 'support', scope: null }, { ...refs, ...{ outcomes: new Map([['tool', ['large']]]) } })
  assert.deepEqual(kept.findRefs({ taskClass: 'support', scope: null }, 'h', 0), refs)
})

// Mutants: REFS_MAX or LIST_BYTES_MAX not looked at in keepRefs(); #dropRefs() that leaves the bytes as they were;
// findRefs() that does not compare heads, or does not look at overAt.
test('references are kept of the last sixteen tasks, until something is told or one of their events is over', () => {
  const kept = new KeptEvidence()
  const task = (n: number) => ({ taskClass: `class-${n}`, scope: null })
  const refsOf = (length: number, overAt: number | null = null) => {
    return { head: 'h', refs: ['r'.repeat(length)], isCut: false, overAt }
  }
  for (let n = 0; n < 40; n += 1) kept.keepRefs(task(n), refsOf(50_000))
  const found = Array.from({ length: 40 }, (_, n) => kept.findRefs(task(n), 'h', 0) !== undefined)
  assert.deepEqual(found, [...Array(24).fill(false), ...Array(16).fill(true)])
  assert.equal(kept.bytes, 16 * (2 * 50_000 + 24))
  // Too large: what was there before is gone all the same.
  kept.keepRefs(task(39), refsOf(200_000))
  assert.deepEqual([kept.findRefs(task(39), 'h', 0), kept.bytes], [undefined, 15 * (2 * 50_000 + 24)])
  kept.keepRefs(task(39), refsOf(1, 10))
  assert.equal(kept.bytes, 15 * (2 * 50_000 + 24) + 26)
  assert.deepEqual(kept.findRefs(task(39), 'h', 9)?.refs, ['r'])
  assert.deepEqual([kept.findRefs(task(39), 'h', 10), kept.findRefs(task(39), 'other', 9)], [undefined, undefined])
})

// Mutants: boundedOutcomes() that goes on with the next tool, or without the outcome that fills it, or looks at bytes
// alone.
test('an answer shows the outcomes of the best tools, up to the one that fills its bytes', () => {
  const large = (tool: string) =>
    [1, 2, 3].map((seq) => ({
      ...{ seq, outcome: 'success', projectionId: `${tool}-${seq}`, refs: [], toldAt: 0, expiresAt: null },
      bytes: 500_000,
    }))
  const shownOf = (tools: string[]) => {
    const { outcomes, isCut } = boundedOutcomes(
      new Map(tools.map((tool) => [tool, { outcomes: large(tool), looked: 3 }])),
    )
    return [isCut, [...outcomes.values()].flat().map(({ projectionId }) => projectionId)]
  }
  assert.deepEqual(shownOf(['a']), [false, ['a-1', 'a-2', 'a-3']])
  assert.deepEqual(shownOf(['b', 'a', 'c']), [true, ['b-1', 'b-2', 'b-3', 'a-1', 'a-2']])
  const lookedAt = (shown: number, looked: number) =>
    boundedOutcomes(new Map([['a', { outcomes: Array(shown).fill({ bytes: 1 }), looked }]])).isCut
  assert.deepEqual(
    [lookedAt(0, 199), lookedAt(0, 200), lookedAt(19, 200), lookedAt(20, 200)],
    [false, true, true, false],
  )
})
