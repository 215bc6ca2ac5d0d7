import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, test } from 'node:test'
import { watchLeaving } from './test-leaving.ts'

/** Far above what a process takes to leave on a loaded machine. */
const LEAVE_MS = 15_000
const ENDS: Record<string, string> = {
  'well.mjs': '',
  'stuck.mjs': "process.on('exit', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))",
  'bad.mjs': 'process.exitCode = 3',
}

// Mutants: isOurs() false, or true of whatever file failed; end() that ends nobody.
test('a process that told its results and cannot leave is ended, and its results count', {
  skip: existsSync('/proc/self/wchan') ? false : 'no /proc here: the bound of the whole run holds',
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'loci-leaving-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [name, end] of Object.entries(ENDS))
    writeFileSync(join(directory, name), `import { test } from 'node:test'\ntest('good', () => {})\n${end}\n`)

  // Node runs no tests inside of a test unless this is gone.
  const context = process.env.NODE_TEST_CONTEXT
  delete process.env.NODE_TEST_CONTEXT
  t.after(() => {
    if (context !== undefined) process.env.NODE_TEST_CONTEXT = context
  })
  const said: string[] = []
  const leaving = watchLeaving((line) => said.push(line), LEAVE_MS)
  const failed: string[] = []
  let passed = 0
  for await (const { type, data } of run({ files: Object.keys(ENDS).map((name) => join(directory, name)) })) {
    if (type === 'test:summary' && data.file) leaving.watch(data.file)
    else if (type === 'test:complete' && data.name === data.file) leaving.left(data.file)
    else if (type === 'test:pass' && data.name === 'good') passed += 1
    else if (type === 'test:fail' && !leaving.isOurs(data)) failed.push(data.name)
  }

  assert.equal(passed, 3)
  assert.deepEqual(failed, [join(directory, 'bad.mjs')])
  assert.match(
    said.join('\n'),
    /^\S+stuck\.mjs told its results and did not end within 15 s \(in \S*\): process \d+ is ended$/,
  )
})
