// What is chosen at a start of `loci up`, what of it stays, and what it keeps to itself.

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runHere } from '../testing/host.ts'
import { type TestHome, testHome } from '../testing/loci.ts'
import { isAlive, type ProcessMark } from './processes.ts'

interface Running {
  supervisor: ProcessMark
  parts: { management: ProcessMark }
}

// Mutants: wordsOfChild() hands the words on as they were given; databaseOf() with keepSecret(): the mistyped address
// stays; the issuer closes first and startProgram() goes without `held`; up() without isKeyDue: no key at all, and
// without keyShown: twice; chosenEncoder() does not look at the state.
test('on a server of one’s own: a mistyped address is given again, its password is not among arguments, the key is printed once, an encoder stays chosen', async () => {
  await using home = await testHome()
  await using postgres = await startThrowaway()
  const address = postgres.adminUrl()
  const encoder = join(home.home, 'encoder')
  mkdirSync(encoder)
  writeFileSync(join(encoder, 'encoder.json'), '{}')
  const port = ['--port', String(home.port)]

  const mistyped = await home.json(['up', '-d', ...port, '--database-url', 'postgres://nobody:x@127.0.0.1:9/none'])
  const begun = await home.loci(['up', '-d', ...port, '--database-url', address, '--encoder', encoder])
  const { supervisor, parts } = JSON.parse(readFileSync(join(home.data, 'running.json'), 'utf8')) as Running
  const words = readFileSync(`/proc/${supervisor.pid}/cmdline`, 'utf8')

  assert.deepEqual([mistyped.code, mistyped.document.error.code], [69, 'LOCI-DATABASE'])
  assert.equal(begun.code, 0, begun.stderr)
  assert.match(begun.stderr, /recall +by words: the encoder of .*\/encoder is off: \S/)
  assert.match(words, /--database-url-file/)
  assert.doesNotMatch(words, /postgres:\/\//)

  const [stopped, freed] = await Promise.all([home.json(['down']), untilFree(home.port + 20, parts.management)])
  assert.deepEqual([stopped.code, freed], [0, 'management had ended'])

  const outputs: string[] = []
  for (const more of [[], ['--no-encoder'], []]) outputs.push(await untilServing(home, ['--print-key-once', ...more]))
  assert.deepEqual(
    outputs.map((text) => /API key +loci_sk_/.test(text)),
    [true, false, false],
  )
  assert.deepEqual(
    outputs.map((text) => /^ +recall +(by words[^/]*)/m.exec(text)?.[1]),
    ['by words: the encoder of ', 'by words (an encoder adds meaning: docs', 'by words (an encoder adds meaning: docs'],
  )
})

/** Asks for the port until it has it, and says whether management was there still. */
async function untilFree(port: number, management: ProcessMark): Promise<string> {
  for (;;) {
    const probe = createServer()
    const isOurs = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen({ host: '127.0.0.1', port }, () => resolve(true))
    })
    if (!isOurs) continue
    const answer = isAlive(management) ? 'management was there' : 'management had ended'
    await new Promise((resolve) => probe.close(resolve))
    return answer
  }
}

/** In the foreground, until it says that it serves; then Ctrl-C. */
async function untilServing(home: TestHome, args: string[]): Promise<string> {
  const child: ChildProcess = home.spawn(['up', ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('Ctrl-C stops it')) child.kill('SIGINT')
    })
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 0, output)
  return output
}

// Mutants: makeEnterable() without chmodSync() and openToAll() without its loop, both under root: PostgreSQL does not
// start; copyCluster() without lchownSync(), under root, or without the copy.
test('with a umask of 077 it starts, and a newer version leaves a copy that can be put back', async () => {
  await using home = await testHome()
  const data = join(home.data, 'deep', 'below')
  const env = { LOCI_UP_DATA: data }
  // Its own directory is there already, and is not opened by us.
  chmodSync(home.data, 0o711)
  const before = process.umask(0o077)
  try {
    const begun = await home.json(['up', '-d', '--port', String(home.port)], { env })
    assert.equal(begun.code, 0, JSON.stringify(begun.document.error))
    for (const name of ['secrets', 'state.json']) assert.equal(statSync(join(data, name)).mode & 0o077, 0, name)
    const texts = ['Ada prefers replies in Dutch', 'Ben likes tea']
    await home.json(['memory', 'store', texts[0] as string], { env })
    await home.json(['down'], { env })

    const state = join(data, 'state.json')
    writeFileSync(state, JSON.stringify({ ...JSON.parse(readFileSync(state, 'utf8')), version: '0.0.9' }))
    assert.equal((await home.json(['up', '-d'], { env })).code, 0)
    await home.json(['memory', 'store', texts[1] as string], { env })
    await home.json(['down'], { env })
    rmSync(join(data, 'postgres'), { recursive: true })
    renameSync(join(data, 'copies/postgres-0.0.9'), join(data, 'postgres'))
    const again = await home.json(['up', '-d'], { env })
    assert.equal(again.code, 0, JSON.stringify(again.document.error))
    const found = (await home.loci(['memory', 'list'], { env })).stdout
    assert.deepEqual(
      texts.map((text) => found.includes(text)),
      [true, false],
    )
  } finally {
    process.umask(before)
    await home.json(['down'], { env })
  }
})

// Mutants: replaceFile() without chmodSync(); renameSync() to `file` and not to `place`.
test('files that somebody closed to others or linked elsewhere stay so when the command line writes them', async () => {
  const home = mkdtempSync(join(tmpdir(), 'loci-kept-'))
  const codex = join(home, '.codex/config.toml')
  const env = { HOME: home }
  const loci = (argv: string[]) => runHere([...argv, '--json'], { home, env })
  try {
    mkdirSync(join(home, '.codex'))
    mkdirSync(join(home, 'dotfiles'))
    writeFileSync(join(home, 'dotfiles/codex.toml'), 'token = "secret"\n', { mode: 0o600 })
    symlinkSync(join(home, 'dotfiles/codex.toml'), codex)
    assert.equal((await loci(['mcp', 'install', 'codex'])).code, 0)
    assert.equal(statSync(join(home, 'dotfiles/codex.toml')).mode & 0o777, 0o600)
    assert.match(readFileSync(join(home, 'dotfiles/codex.toml'), 'utf8'), /^token = "secret"\n\n\[mcp_servers\.loci\]/)

    await loci(['profiles', 'create', 'a', '--url', 'http://127.0.0.1:1'])
    const config = join(home, '.config/loci/config.toml')
    assert.equal(statSync(config).mode & 0o777, 0o644)
    writeFileSync(`${config}.private`, readFileSync(config), { mode: 0o640 })
    renameSync(`${config}.private`, config)
    await loci(['profiles', 'create', 'b', '--url', 'http://127.0.0.1:2'])
    assert.equal(statSync(config).mode & 0o777, 0o640)

    const script = join(home, '.local/share/bash-completion/completions/loci')
    mkdirSync(join(script, '..'), { recursive: true })
    writeFileSync(script, 'old', { mode: 0o600 })
    assert.equal((await loci(['completion', 'bash', '--install'])).code, 0)
    assert.equal(statSync(script).mode & 0o777, 0o600)
    assert.ok(!existsSync(join(home, '.bashrc')))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
