import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { keepLogsSmall } from './logs.ts'

// Mutants: no timer; renameSync in place of the copy: the log stays empty.
test('a log that grows while its program runs is moved aside, and the program goes on in it', async () => {
  const logs = mkdtempSync(join(tmpdir(), 'loci-logs-'))
  const file = join(logs, 'daemon.log')
  const log = openSync(file, 'a', 0o600)
  const lines = "let n = 0; setInterval(() => console.log('line', (n += 1)), 5)"
  const program = spawn(process.execPath, ['-e', lines], { stdio: ['ignore', log, log] })
  closeSync(log)
  const keeping = keepLogsSmall({ logs }, { bytesMax: 500, everyMs: 20 })
  try {
    await eventually(() => existsSync(`${file}.1`))
    await eventually(() => /^line \d+\n/m.test(readFileSync(file, 'utf8')))
    assert.match(readFileSync(`${file}.1`, 'utf8'), /^line \d+\n/)
    assert.doesNotMatch(readFileSync(file, 'utf8'), /\0/)
    assert.equal(statSync(`${file}.1`).mode & 0o777, 0o600)
    assert.ok(existsSync(join(logs, 'up.log')))
  } finally {
    keeping.stop()
    program.kill('SIGKILL')
    rmSync(logs, { recursive: true, force: true })
  }
})
