import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const { start } = createRequire(import.meta.url)('./start.cjs') as {
  start(name: string, load: () => Promise<unknown>, host: object): Promise<void> | undefined
}

function scene(node: string) {
  const told: string[] = []
  const host = {
    versions: { node },
    execPath: '/usr/bin/node',
    stderr: { write: (text: string) => void told.push(text) },
    exit: (code: number) => void told.push(String(code)),
  }
  return { told, host }
}

// Found with Debian's Node 20: "Unknown file extension .ts" and a stack. Mutant: main.ts a file and no link.
test('a Node that is too old is told in one line, with exit code 78', async () => {
  for (const node of ['20.20.2', '22.0.0', '22.23.1']) {
    const { told, host } = scene(node)
    await start('daemon', () => assert.fail('it must not load anything'), host)
    assert.deepEqual(told, [
      `daemon does not start: it needs Node 24 or newer, and /usr/bin/node is Node ${node}\n`,
      '78',
    ])
  }
  for (const program of ['daemon', 'management'])
    assert.equal(readlinkSync(join(ROOT, program, 'main.ts')), 'start.cjs')
  // With a real one, where the machine has some.
  const versionOf = (node: string) => Number(execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1, 3))
  for (const node of ['/usr/bin/node', '/usr/local/bin/node'].filter(
    (file) => existsSync(file) && versionOf(file) < 24,
  ))
    for (const program of ['daemon', 'management']) {
      const { status, stderr, stdout } = spawnSync(node, [`${program}/main.ts`], { cwd: ROOT, encoding: 'utf8' })
      assert.deepEqual([status, stdout, stderr.split('\n').length], [78, '', 2], stderr)
      assert.match(stderr, new RegExp(`^${program} does not start: it needs Node 24`))
    }
})

// Found by following install.md on one host: `npm ci -w daemon` had removed management's packages. Mutant: `throw
// error` for all.
test('a package that is not installed is told in one line; any other failure flies on', async () => {
  const missing = Object.assign(new Error(`Cannot find package 'openid-client' imported from /srv/loci/x.ts`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })
  const { told, host } = scene('24.21.0')
  await start('management', () => Promise.reject(missing), host)
  assert.deepEqual(told, [
    'management does not start: the package openid-client is not installed: run npm ci --omit=dev in the checkout\n',
    '78',
  ])
  await assert.rejects(async () => start('management', () => Promise.reject(new Error('a bug')), host), /a bug/)
  await start('management', () => Promise.resolve(), host)
  assert.equal(told.length, 2)
})
