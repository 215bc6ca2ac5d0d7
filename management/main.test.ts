// Management as an operator calls it from a shell.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'

function run(args: string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    const main = join(import.meta.dirname, 'main.ts')
    const child = execFile(
      process.execPath,
      [main, ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (_, out, err) => resolve({ code: child.exitCode ?? -1, out, err }),
    )
  })
}

const DATABASE = {
  LOCI_DATABASE_URL: 'postgres://loci_management@127.0.0.1:1/loci_control',
  LOCI_SEALING_KEYS: `test:${randomBytes(32).toString('base64')}`,
}

test('bootstrap without an owner is a wrong call, and without a database it makes nothing', async () => {
  for (const args of [
    ['bootstrap'],
    ['bootstrap', '--owner-email'],
    ['bootstrap', 'now', '--owner-email', 'a@b.example'],
  ]) {
    const { code, out, err } = await run(args, DATABASE)
    assert.deepEqual([code, out], [64, ''], args.join(' '))
    assert.match(err, /usage: management bootstrap --owner-email …/)
  }
  const { code, out, err } = await run(['bootstrap', '--owner-email', 'ada@example.com'], DATABASE)
  assert.deepEqual([code, out], [69, ''])
  assert.match(err, /does not answer/)
})

test('an unknown command is a wrong call, and a missing setting is a configuration error', async () => {
  const unknown = await run(['bootstarp'])
  assert.equal(unknown.code, 64)
  assert.match(unknown.err, /no command 'bootstarp'/)
  const missing = await run([])
  assert.equal(missing.code, 78)
  assert.match(missing.err, /LOCI_DATABASE_URL is required/)
})
