import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runToEnd } from './to-end.ts'

test('what ends is told with its code and what it printed', async () => {
  const said = 'console.log("one"); console.error("two"); process.exitCode = 3'
  const { code, output } = await runToEnd([process.execPath, '-e', said], { cwd: tmpdir(), withinMs: 250_000 })
  assert.deepEqual([code, output.trim().split('\n').sort()], [3, ['one', 'two']])
})

// Mutants: runToEnd() that does not run again, or believes the code of the second; only the child itself is ended.
test('what does not end is ended with all below it and run once more; the second time it has failed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'loci-to-end-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const said = t.mock.method(console, 'log', () => {})
  // Each run leaves a file and holds on to the output through a child of its own, as a hung compiler would.
  const hang = `cd ${directory}; n=$(ls | wc -l); touch $n; [ $n -ge $0 ] && exit 0; sleep 1000 & wait`
  const run = (hangs: number, withinMs: number) =>
    runToEnd(['sh', '-c', hang, String(hangs)], { cwd: directory, withinMs })

  // Time enough for a shell on a loaded machine: here the second run ends by itself.
  assert.equal((await run(1, 15_000)).code, 0)
  assert.match(String(said.mock.calls[0]?.arguments[0]), /did not end within 15 s and is run again:[\s\S]*sleep 1000/)

  const { code, output } = await run(100, 1_000)
  assert.equal(code, 1)
  assert.match(output, /did not end within 1 s, twice$/)
})
