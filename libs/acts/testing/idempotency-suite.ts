// What both programs promise about Idempotency-Key, tried through HTTP on the real database. A program runs it with one
// of its acts.

import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'

interface KeyedAct {
  /** Names what is made: no other test makes the same. */
  subject: string
  headers: Record<string, string>
  /** Another body for the same subject. */
  isOther?: boolean
  /** Somebody else of the same owner, or somebody else's owner. */
  as?: 'another caller' | 'another owner'
  /** By a second process whose newest sealing key is another one. */
  atRotated?: boolean
}

export interface KeyedProgram extends AsyncDisposable {
  /** As superuser. */
  adminUrl: string
  send(act: KeyedAct): Promise<TestAnswer>
  /** How often the subject was made, by whomever. */
  effects(subject: string): Promise<number>
  /** Without the right to insert here the act fails in the middle. */
  table: string
}

export function idempotencySuite(open: () => Promise<KeyedProgram>): void {
  let program: KeyedProgram
  let admin: Pool
  before(async () => {
    program = await open()
    admin = openPool({
      ...PATIENT,
      url: program.adminUrl,
      applicationName: 'test',
      connectionsMax: 2,
      onError: () => {},
    })
  })
  after(async () => {
    await admin?.close()
    await program?.[Symbol.asyncDispose]()
  })

  const keyed = (key: string, act: Omit<KeyedAct, 'headers'>) =>
    program.send({ ...act, headers: { 'idempotency-key': key } })
  const isReplay = ({ headers }: TestAnswer) => headers['idempotent-replayed'] === 'true'

  // Mutant: `isFirst` always true in act(): the subject is made twice.
  test('a repeat gets the first answer byte for byte, marked, and the act is done once', async () => {
    const subject = randomUUID()
    const first = await keyed(`k-${subject}`, { subject })
    const again = await keyed(`k-${subject}`, { subject })
    assert.ok(first.status < 300, first.text)
    assert.deepEqual([isReplay(first), isReplay(again)], [false, true])
    assert.deepEqual([again.status, again.text], [first.status, first.text])
    assert.equal(await program.effects(subject), 1)
  })

  // Mutant: timingSafeEqual() left out of replay().
  test('another body with a known key is 422, and nothing is done', async () => {
    const subject = randomUUID()
    await keyed(`k-${subject}`, { subject })
    const other = await keyed(`k-${subject}`, { subject, isOther: true })
    assert.deepEqual([other.status, other.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
    assert.equal(await program.effects(subject), 1)
  })

  test('a key is the same bare and quoted; one that is empty, too long or invisible is 400', async () => {
    const subject = randomUUID()
    await keyed(`"k-${subject}"`, { subject })
    assert.ok(isReplay(await keyed(`k-${subject}`, { subject })))
    for (const key of ['""', 'x'.repeat(256), 'a b', '"a"b"\u00e9'])
      assert.equal((await keyed(key, { subject: randomUUID() })).status, 400, key)
    assert.ok((await keyed('x'.repeat(255), { subject: randomUUID() })).status < 300)
  })

  // Mutant: the owner or the caller left out of scopeOf(): the second one is answered with the first one's answer, or
  // 422.
  test('the same key of another caller or of another owner is another key', async () => {
    const subject = randomUUID()
    for (const as of [undefined, 'another caller', 'another owner'] as const) {
      const answer = await keyed(`k-${subject}`, { subject, ...(as ? { as } : {}) })
      assert.ok(answer.status < 300, answer.text)
      assert.equal(isReplay(answer), false, as ?? 'the first')
    }
  })

  test('of ten at once one is done, and all have its answer or are told to wait', async () => {
    const subject = randomUUID()
    const answers = await Promise.all(Array.from({ length: 10 }, () => keyed(`k-${subject}`, { subject })))
    const done = answers.filter(({ status }) => status < 300)
    for (const { status } of answers) assert.ok(status < 300 || status === 409 || status === 503, String(status))
    assert.equal(done.filter((answer) => !isReplay(answer)).length, 1)
    assert.equal(new Set(done.map(({ text }) => text)).size, 1)
    assert.equal(await program.effects(subject), 1)
  })

  // Mutant: keep() before the work in act(), in a transaction of its own.
  test('an act that fails in the middle leaves its key free', async () => {
    const subject = randomUUID()
    await admin.query({ text: `revoke insert on ${program.table} from loci_app` })
    const failed = await keyed(`k-${subject}`, { subject })
    await admin.query({ text: `grant insert on ${program.table} to loci_app` })
    assert.ok(failed.status >= 500, failed.text)
    const again = await keyed(`k-${subject}`, { subject })
    assert.ok(again.status < 300, again.text)
    assert.equal(isReplay(again), false)
    assert.equal(await program.effects(subject), 1)
  })

  // Mutant: '55P03' not looked for in act(): the second one is 503.
  test('while the first one is at work the second is 409 with Retry-After, and nothing is done', async () => {
    const subject = randomUUID()
    await keyed(`k-${subject}`, { subject })
    const first = await admin.client()
    await first.query({ text: 'begin' })
    // What a first request has written that has not committed yet: the same claim under another key.
    await first.query({
      text: `insert into loci.idempotency select (jsonb_populate_record(i, jsonb_build_object('key', $2::text))).*
        from loci.idempotency i where key = $1`,
      values: [`k-${subject}`, `at-work-${subject}`],
    })
    const second = await keyed(`at-work-${subject}`, { subject })
    await first.query({ text: 'rollback' })
    first.release()
    assert.deepEqual([second.status, second.error.code], [409, 'IDEMPOTENCY_IN_PROGRESS'])
    assert.equal(second.headers['retry-after'], '1')
    assert.equal(await program.effects(subject), 1)
  })

  // Mutant: '24 hours' made '48 hours' in the claim.
  test('a day later the key is free, and its answer is that of the new act', async () => {
    const subject = randomUUID()
    await keyed(`k-${subject}`, { subject })
    await admin.query({
      text: `update loci.idempotency set created_at = now() - interval '24 hours 1 minute' where key = $1`,
      values: [`k-${subject}`],
    })
    const later = await keyed(`k-${subject}`, { subject, isOther: true })
    assert.ok(later.status < 300, later.text)
    assert.equal(isReplay(later), false)
    assert.equal((await keyed(`k-${subject}`, { subject, isOther: true })).text, later.text)
    assert.equal(await program.effects(subject), 2)
  })

  // Mutant: replay() compares with the newest sealing key alone.
  test('a repeat is answered after the sealing key was rotated; 422 says so when the old key is gone', async () => {
    const subject = randomUUID()
    const first = await keyed(`k-${subject}`, { subject })
    const again = await keyed(`k-${subject}`, { subject, atRotated: true })
    assert.deepEqual([again.status, again.text, isReplay(again)], [first.status, first.text, true])
    await admin.query({
      text: `update loci.idempotency set sealed_with = 'gone' where key = $1`,
      values: [`k-${subject}`],
    })
    const late = await keyed(`k-${subject}`, { subject })
    assert.deepEqual([late.status, late.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
    assert.match(late.error.message, /sealing key .* is gone/)
  })

  test('without a key the act is done each time', async () => {
    const subject = randomUUID()
    await program.send({ subject, headers: {} })
    await program.send({ subject, headers: {} })
    assert.equal(await program.effects(subject), 2)
  })
}

export function anotherSealingKey(): { id: string; key: Buffer } {
  return { id: 'next', key: randomBytes(32) }
}
