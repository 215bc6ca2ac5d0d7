// Completions as the shells themselves run them: each loads the script and is asked what it would offer.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'

const MAIN = join(import.meta.dirname, 'main.ts')

/** What each is told to do with the script in `$1`; it prints what it offers for `loci memory re`, a line each. */
const ASKED = {
  bash: `. "$1"; COMP_WORDS=(loci memory re); COMP_CWORD=2; _loci; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; . "$1"; words=(loci memory re); CURRENT=3; _loci`,
  fish: `source $argv[1]; complete -C 'loci memory re'`,
} as const

test('bash, zsh and fish complete by the script that loci prints for them, and nothing where nothing fits', (t) => {
  const place = mkdtempSync(join(tmpdir(), 'loci-shells-'))
  try {
    const command = join(place, 'loci')
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
    chmodSync(command, 0o755)
    const env = { PATH: `${place}${delimiter}${process.env.PATH}`, HOME: place }
    for (const [shell, asked] of Object.entries(ASKED)) {
      if (spawnSync(shell, ['-c', 'true'], { env }).status !== 0) {
        t.diagnostic(`${shell} is not on this machine: left out`)
        continue
      }
      const script = join(place, shell)
      writeFileSync(script, spawnSync(command, ['completion', shell], { env }).stdout)
      const offered = (text: string) => {
        const words = shell === 'fish' ? ['-c', text, script] : ['-c', text, shell, script]
        return spawnSync(shell, words, { env, encoding: 'utf8', cwd: place }).stdout.trim().split('\n')
      }
      assert.deepEqual(offered(asked), ['recall'], shell)
      assert.deepEqual(offered(asked.replace(' re', ' zz')), [''], shell)
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})
