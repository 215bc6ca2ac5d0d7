import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runHere } from '../testing/host.ts'

// Mutants: OWN_TABLE with `\n` for `\r?\n`; without the names in quotes; without what may follow on its line.
test('mcp install writes one table into the file of Codex, however somebody else has written it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'loci-codex-'))
  const file = join(home, '.codex/config.toml')
  mkdirSync(join(home, '.codex'))
  const others = ['model = "x"', '', '[mcp_servers.other]', 'command = "y"', '']
  const last = ['', '[mcp_servers.last]', 'command = "z"', '']
  const own = ['[mcp_servers.loci]', 'command = "loci"', 'args = ["mcp"]']
  try {
    for (const head of ['[mcp_servers.loci]', '[mcp_servers."loci"]', '[ mcp_servers.loci ] # mine'])
      for (const end of ['\n', '\r\n']) {
        writeFileSync(file, [...others, head, 'command = "old"', ...last].join(end))
        for (const changed of [true, false]) {
          const { document } = await runHere<{ changed: boolean }>(['mcp', 'install', 'codex', '--json'], {
            env: {},
            home,
          })
          assert.equal(document.data.changed, changed)
          assert.equal(readFileSync(file, 'utf8'), [...others, ...own, ...last].join(end), JSON.stringify([head, end]))
        }
      }
    writeFileSync(file, ['model = "x"', ''].join('\r\n'))
    await runHere(['mcp', 'install', 'codex'], { env: {}, home })
    assert.equal(readFileSync(file, 'utf8'), ['model = "x"', '', ...own, ''].join('\r\n'))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
