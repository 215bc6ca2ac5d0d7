import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { runAll } from './all.ts'

test('--left runs what has not passed and keeps what has', async () => {
  using tests = someTests({ long: 'ok', new: 'ok', red: 'red' })
  tests.keep([row('long', 900, 1), row('red', 5, 0), { ...row('new', 1, 1), isShort: true }])

  const first = await tests.run(['--left'])
  assert.deepEqual(first, { ran: ['new', 'red'], kept: ['long 1/0', 'new 1/0', 'new short 1/0', 'red 0/1'], code: 1 })
  tests.write('red', 'ok')
  const second = await tests.run(['--left'])
  assert.deepEqual(second, { ran: ['red'], kept: ['long 1/0', 'new 1/0', 'new short 1/0', 'red 1/0'], code: 0 })
  assert.deepEqual((await tests.run(['--left'])).ran, [])
})

test('without --left every test runs anew, the longest last, and the table of short runs stays', async () => {
  using tests = someTests({ a: 'ok', b: 'ok', c: 'ok' })
  tests.keep([row('a', 900, 1), row('c', 7, 1), { ...row('a', 3, 1), isShort: true }])
  const { ran, kept } = await tests.run([])
  assert.deepEqual(ran, ['b', 'c', 'a'])
  assert.deepEqual(kept, ['a 1/0', 'a short 1/0', 'b 1/0', 'c 1/0'])
})

test('a run that is stopped keeps no result of the test it was in, and what has no result counts as failed', async () => {
  using tests = someTests({ a: 'ok', b: 'slow', c: 'ok' })
  tests.keep([row('a', 1, 1), row('b', 2, 1), row('c', 3, 1)])
  const stopped = tests.run([])
  while (!tests.ran().includes('b')) await setTimeout(5)
  tests.stop()
  assert.deepEqual(await stopped, { ran: ['a', 'b'], kept: ['a 1/0'], code: 1 })
})

test('a test that ends without its count, or badly in spite of it, has failed', async () => {
  using tests = someTests({ silent: 'silent', late: 'late' })
  assert.deepEqual((await tests.run([])).kept, ['late 1/1', 'silent 0/1'])
})

const SCRIPTS = {
  ok: "console.log('1 passed, 0 failed')",
  red: "console.log('0 passed, 1 failed'); process.exitCode = 1",
  slow: 'setTimeout(() => {}, 600_000)',
  silent: "console.log('half of it')",
  late: "console.log('1 passed, 0 failed'); process.exitCode = 1",
}

function row(name: string, seconds: number, passed: number) {
  const failed = 1 - passed
  return { name, seconds, passed, failed, tail: `${passed} passed, ${failed} failed`, commit: 'abc', isShort: false }
}

function someTests(scripts: Record<string, keyof typeof SCRIPTS>) {
  const directory = mkdtempSync(path.join(tmpdir(), 'loci-all-'))
  const kept = path.join(directory, 'kept.json')
  const log = path.join(directory, 'log')
  const write = (name: string, kind: keyof typeof SCRIPTS) =>
    writeFileSync(
      path.join(directory, `${name}.ts`),
      `import { appendFileSync } from 'node:fs'\nappendFileSync('${log}', '${name}\\n')\n${SCRIPTS[kind]}\n`,
    )
  const ran = () => readFileSync(log, 'utf8').split('\n').filter(Boolean)
  const stop = new AbortController()
  for (const [name, kind] of Object.entries(scripts)) write(name, kind)
  return {
    write,
    ran,
    stop: () => stop.abort(),
    keep: (rows: ReturnType<typeof row>[]) => writeFileSync(kept, JSON.stringify(rows)),
    async run(args: string[]) {
      writeFileSync(log, '')
      const code = await runAll({ names: Object.keys(scripts), directory, kept, stop: stop.signal }, args, process.env)
      const rows = JSON.parse(readFileSync(kept, 'utf8')) as ReturnType<typeof row>[]
      return {
        ran: ran(),
        kept: rows
          .map(({ name, isShort, passed, failed }) => `${name}${isShort ? ' short' : ''} ${passed}/${failed}`)
          .sort(),
        code,
      }
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  }
}
