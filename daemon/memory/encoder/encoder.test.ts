import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { testLog } from '@loci/chassis/testing/server.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { createEncoder } from './encoder.ts'
import { toBytes } from './model.ts'
import { ENCODER_FOLDER, NO_ENCODER } from './testing/folder.ts'
import { encodedText, isLatin } from './text.ts'

const LATE_MS = 60_000

/** A folder of its own with these files; undefined removes one. */
function folderWith(files: Record<string, string>, base?: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'loci-encoder-'))
  if (base) cpSync(base, folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

async function started(folder: string | undefined) {
  const { lines, log } = testLog()
  const encoder = createEncoder({ folder, log })
  await encoder.start()
  return { encoder, lines, [Symbol.asyncDispose]: () => encoder.close() }
}

function cosine(one: Int8Array, other: Int8Array): number {
  const dot = (a: Int8Array, b: Int8Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0)
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other))
}

// Mutant: checkFolder() without the comparison of digests.
test('a folder that cannot be used is told in one line, and nothing waits for its vectors', async () => {
  const manifest = (files: object) => JSON.stringify({ name: 'small', dimensions: 384, files })
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /encoder\.json cannot be read \(ENOENT\)/],
    [{ 'encoder.json': '{}' }, /is not a manifest/],
    [{ 'encoder.json': manifest({ '../outside': '0'.repeat(64) }) }, /is not a manifest/],
    [{ 'encoder.json': manifest({ 'model.onnx': '0'.repeat(64) }), 'model.onnx': 'x' }, /model\.onnx is not the file/],
    [{ 'encoder.json': manifest({}) }, /names no model\.onnx/],
  ]
  for (const [files, reason] of cases) {
    using made = folderWith(files)
    await using one = await started(made.folder)
    assert.equal(one.encoder.facts, undefined)
    assert.match(String(one.encoder.problem), reason)
    assert.equal(one.lines.filter((line) => reason.test(line)).length, 1)
    assert.equal(await one.encoder.question('which language for Ada?'), undefined)
    assert.deepEqual(await one.encoder.texts(['Ada'], performance.now() + LATE_MS), [undefined])
  }
})

test('without a folder there is no thread, no line and no vector', async () => {
  await using one = await started(undefined)
  assert.deepEqual([one.encoder.isWanted, one.encoder.facts, one.lines], [false, undefined, []])
})

test('a daemon whose encoder cannot be used serves, and its health says so', async () => {
  await using daemon = await testDaemon({ settings: { encoder: path.join(tmpdir(), 'loci-no-encoder') } })
  const { status, checks } = (await daemon.get('/v1/health/all')).json<{
    status: string
    checks: Record<string, object>
  }>()
  assert.deepEqual([status, checks.encoder], ['ok', { status: 'off', detail: 'encoder.json cannot be read (ENOENT)' }])
})

test('health names the encoder that is on, by name and digest', { skip: NO_ENCODER }, async () => {
  await using daemon = await testDaemon({ settings: { encoder: ENCODER_FOLDER } })
  const { checks } = (await daemon.get('/v1/health/all')).json<{ checks: Record<string, { detail: string }> }>()
  assert.match(String(checks.encoder?.detail), /^[\w.-]+, sha256 [0-9a-f]{64}$/)
})

// Mutant: the numbers of another token than [CLS].
test('a question is closer to what answers it than to anything else', { skip: NO_ENCODER }, async () => {
  await using one = await started(ENCODER_FOLDER)
  const question = await one.encoder.question('which language for Ada?')
  const texts = ['Ada prefers replies in Dutch', 'The heating was repaired in March']
  const [answer, other] = await one.encoder.texts(texts, performance.now() + LATE_MS)
  assert.ok(question && answer && other)
  assert.ok(cosine(question, answer) > 0.7 && cosine(question, other) < 0.45)
})

// Mutant: questions behind the texts.
test('a text has the same vector whenever it is made, and a question waits for no queue', {
  skip: NO_ENCODER,
}, async () => {
  await using one = await started(ENCODER_FOLDER)
  await using other = await started(ENCODER_FOLDER)
  const many = Array.from({ length: 40 }, (_, n) => `Room ${n} of the house is painted green`)
  const all = one.encoder.texts(many, performance.now() + LATE_MS)
  assert.ok(await one.encoder.question('who paints?'))
  assert.equal(
    many.every((text) => one.encoder.known(text)),
    false,
    'the question came first',
  )
  assert.deepEqual(await other.encoder.texts(many.slice(3, 4), performance.now() + LATE_MS), (await all).slice(3, 4))
})

test('texts in another script have no vector, and are told from those that were not made yet', {
  skip: NO_ENCODER,
}, async () => {
  await using one = await started(ENCODER_FOLDER)
  assert.deepEqual(await one.encoder.texts(['我们昨天在海边散步'], performance.now() + LATE_MS), [null])
  assert.deepEqual(await one.encoder.texts(['A text for which there is no time'], performance.now() - 1), [undefined])
})

test('which texts count as Latin', () => {
  for (const text of ['Ada', 'Zürich, São Paulo', '4411', '', 'Ada said 你好']) assert.ok(isLatin(text), text)
  for (const text of ['我们昨天在海边散步', 'Вчера Ada', 'ذهبت سلمى']) assert.ok(!isLatin(text), text)
})

test('who said it and what a picture shows are a part of the text', () => {
  assert.equal(encodedText({ actor: 'Ada', content: 'Look!', media: 'a red bicycle' }), 'Ada: Look! [a red bicycle]')
  assert.equal(encodedText({ actor: null, content: 'Look!' }), 'Look!')
})

test('a vector keeps its direction in bytes, and one without a direction is refused', () => {
  assert.deepEqual([...toBytes(Float32Array.of(0.5, -0.25, 0))], [127, -63, 0])
  for (const broken of [Float32Array.of(0, 0), Float32Array.of(Number.NaN, 1)])
    assert.throws(() => toBytes(broken), /no vector/)
})
