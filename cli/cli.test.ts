// One loci for the whole file: its start is the longest part of it. First what only uses it, then what kills it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Host } from './host.ts'
import { runHere } from './testing/host.ts'
import { type TestHome, testHome } from './testing/loci.ts'

interface Up {
  pid: number
  management: string
  daemon: string
  profile: string
  api_key?: string
}
interface Status {
  running: boolean
  ready: boolean
  pid: number | null
  parts: { name: string; pid: number | null; restarts: number }[]
}

let home: TestHome
let up: Up

before(async () => {
  home = await testHome()
  const { code, document } = await home.json<Up>(['up', '-d', '--port', String(home.port)])
  assert.equal(code, 0, JSON.stringify(document.error))
  up = document.data
})
after(() => home[Symbol.asyncDispose]())

const statusOf = async () => (await home.json<Status>(['status'])).document.data
const pidOf = async (name: string) => (await statusOf()).parts.find((part) => part.name === name)?.pid as number

const here = <Data = Record<string, unknown>>(argv: string[], given: Partial<Host> = {}) =>
  runHere<Data>(argv, { home: home.home, env: home.env, ...given })
const jsonHere = <Data = Record<string, unknown>>(argv: string[], given: Partial<Host> = {}) =>
  here<Data>([...argv, '--json'], given)

test('a memory is stored, recalled with its reasons, and forgotten', async () => {
  const ada = ['--user', 'ada']
  const stored = await jsonHere<{ id: string }>(['memory', 'store', 'Ada prefers replies in Dutch', ...ada])
  const { id } = stored.document.data
  const recalled = await here(['memory', 'recall', 'which language for Ada?', '--why', ...ada])
  assert.match(recalled.stdout, new RegExp(`Ada prefers replies in Dutch {2}${id}[^]*covers language \\(Dutch\\), Ada`))
  assert.match(
    (await here(['memory', 'recall', 'which language for Ada?', '--user', 'ben'])).stdout,
    /^nothing that is/,
  )

  const unsure = await jsonHere(['memory', 'forget', id, ...ada])
  assert.deepEqual([unsure.code, unsure.document.error.code], [2, 'USAGE'])
  assert.match((await here(['memory', 'forget', id, '--dry-run', ...ada])).stdout, /^would forget/)
  assert.equal((await jsonHere(['memory', 'forget', id, '--yes', ...ada])).code, 0)
  assert.equal((await jsonHere(['memory', 'get', id, ...ada])).code, 3)

  assert.equal((await jsonHere(['memory', 'store', 'Eve lives in Utrecht', '--user', 'eve'])).code, 0)
  assert.match((await here(['people', 'list'])).stdout, /^eve +1 memory +0 slots/m)
  assert.equal((await jsonHere(['people', 'forget', 'eve', '--yes'])).code, 0)
  assert.match((await here(['memory', 'list', '--user', 'eve'])).stdout, /^nothing is remembered of eve yet/)
  const unnamed = await jsonHere(['memory', 'store', 'x', '--user', 'Ada Lovelace'])
  assert.deepEqual([unnamed.code, unnamed.document.error.code], [2, 'USAGE'])
  assert.match(unnamed.document.error.message, /a-z, 0-9, _ and -, such as ada-lovelace/)
  assert.match((await here(['memory', 'list', '--service', 'nobody'])).stderr, /loci services create <name>/)
})

test('the version is told as every program tells it, and a group without a verb tells its verbs', async () => {
  const told = await Promise.all([['version'], ['--version'], ['-V']].map(async (argv) => (await here(argv)).stdout))
  assert.match(told[0] as string, /^loci \d+\.\d+\.\d+\n$/)
  assert.equal(new Set(told).size, 1)
  assert.deepEqual((await jsonHere(['--version'])).document.data, { version: told[0]?.slice(5, -1) })
  assert.match((await here(['memory'])).stderr, /needs a verb: store, recall, get, list, forget\./)
  // An option of a command stays that.
  assert.equal((await here(['memory', 'recall', 'x', '--version'])).code, 2)
})

// Mutant: print() also with --json.
test('every command prints exactly one JSON document with --json, and no escape byte', async () => {
  const { document } = await jsonHere<{
    commands: { command: string; arguments: { choices?: string[] }[]; json: boolean }[]
  }>(['help'])
  const { commands } = document.data
  assert.ok(commands.length > 70, String(commands.length))
  // Some of them change what is known on the machine: each has a copy of its own.
  const cwd = join(home.home, 'sweep')
  const LOCI_CONFIG_DIR = join(cwd, 'config')
  const env = { ...home.env, LOCI_CONFIG_DIR, HOME: cwd }
  for (const { command, arguments: taken, json } of commands) {
    // Those that start and stop what this file uses have tests of their own, and nobody approves a login here.
    if (/^(?:up|down|login)$/.test(command)) continue
    const words = command.split(' ')
    const some = taken.map(({ choices }) => choices?.[0] ?? 'x')
    for (const argv of [words, [...words, ...some], [...words, '--nonsense']]) {
      rmSync(cwd, { recursive: true, force: true })
      cpSync(join(home.home, '.config/loci'), LOCI_CONFIG_DIR, { recursive: true })
      const ran = await jsonHere(argv, { env, cwd, home: cwd })
      assert.equal(typeof ran.document.ok, 'boolean', argv.join(' '))
      assert.equal(ran.document.ok, ran.code === 0, argv.join(' '))
      if (!ran.document.ok && ran.document.error) assert.match(ran.document.error.message, /\S/)
      assert.ok(!`${ran.stdout}${ran.stderr}`.includes('\u001b'), argv.join(' '))
      if (!json) assert.equal(ran.code, 2, argv.join(' '))
    }
  }
})

// Mutant: exitOf() answers 'unexpected'.
test('fourteen exit codes tell failures apart', async () => {
  const { env } = home
  await using silent = await answering(() => {})
  await using broken = await answering((response) =>
    response
      .writeHead(500, { 'content-type': 'application/json' })
      .end('{"error":{"code":"INTERNAL_ERROR","message":"no"}}'),
  )
  const at = (url: string) => ({ env: { ...env, LOCI_URL: url, LOCI_API_KEY: 'loci_sk_x' } })
  const narrow = await jsonHere<{ secret: string }>(['keys', 'create', 'narrow', '--scope', 'services:read'])
  const gone = await answering(() => {})
  await gone[Symbol.asyncDispose]()
  const stopped = new AbortController()
  setTimeout(() => stopped.abort(), 300)
  const codes = {
    0: await here(['services', 'list']),
    1: await here(['doctor'], { env: { ...env, HTTP_PROXY: 'http://127.0.0.1:1' } }),
    2: await here(['memroy']),
    3: await here(['memory', 'get', 'mem_00000000000000000000000000']),
    4: await here(['services', 'list'], { env: { ...env, LOCI_API_KEY: 'loci_sk_nobody' } }),
    5: await here(['keys', 'create', 'more'], { env: { ...env, LOCI_API_KEY: narrow.document.data.secret } }),
    6: await here(['profiles', 'create', up.profile, '--url', 'http://127.0.0.1:1']),
    7: await untilRefused(() => here(['api', 'POST', '/api/v1/cli-logins', '-d', '{}'])),
    8: await here(['services', 'list', '--timeout', '1'], at(silent.url)),
    9: await here(['api', 'POST', '/api/v1/organizations', '-d', '{}'], at(broken.url)),
    69: await here(['services', 'list'], at(gone.url)),
    70: await here(['memory', 'store', '-'], { readInput: () => Promise.reject(new TypeError('broken')) }),
    78: await here(['services', 'list', '--profile', 'nobody']),
    130: await here(['services', 'list'], { ...at(silent.url), signal: stopped.signal }),
  }
  assert.deepEqual(
    Object.fromEntries(Object.entries(codes).map(([code, ran]) => [code, ran.code])),
    Object.fromEntries(Object.keys(codes).map((code) => [code, Number(code)])),
  )
  assert.match(
    codes[69].stderr,
    /127\.0\.0\.1:\d+ could not be reached.* \(connection refused\)(?:.|\n)*loci up(?:.|\n)*loci doctor/,
  )
  assert.match(codes[2].stderr, /Did you mean: loci memory/)
})

// Mutant: install() writes the token of the profile.
test('mcp serves an agent over standard input, and is installed in five clients once, beside others, without a secret', async () => {
  const child = home.spawn(['mcp', '--user', 'ada'])
  const answers: string[] = []
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => answers.push(line))
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  })
  send({ method: 'notifications/initialized' })
  send({ id: 2, method: 'tools/call', params: { name: 'remember', arguments: { text: 'Ben likes tea.' } } })
  child.stdin?.end()
  await once(child, 'close')
  const told = answers.map((line) => JSON.parse(line))
  assert.deepEqual(
    told.map(({ id, result }) => [id, result !== undefined && result.isError !== true]),
    [
      [1, true],
      [2, true],
    ],
  )

  const apiKey = readFileSync(join(home.data, 'secrets/api-key'), 'utf8').trim()
  mkdirSync(join(home.home, '.cursor'))
  writeFileSync(join(home.home, '.cursor/mcp.json'), '{"mcpServers":{"other":{"command":"x"}},"kept":1}')
  for (const client of ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex']) {
    const first = await jsonHere<{ file: string; changed: boolean }>(['mcp', 'install', client])
    const text = readFileSync(first.document.data.file, 'utf8')
    const again = await jsonHere<{ changed: boolean }>(['mcp', 'install', client])
    assert.deepEqual([first.document.data.changed, again.document.data.changed], [true, false], client)
    assert.equal(readFileSync(first.document.data.file, 'utf8'), text, client)
    assert.ok(text.includes('loci') && !text.includes(apiKey) && !/loci_(?:sk|cap)/.test(text), client)
  }
  const cursor = JSON.parse(readFileSync(join(home.home, '.cursor/mcp.json'), 'utf8'))
  assert.deepEqual([Object.keys(cursor.mcpServers), cursor.kept], [['other', 'loci'], 1])
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(join(home.home, '.vscode/mcp.json'), 'utf8'))), ['servers'])
  const codex = await jsonHere<{ text: string }>(['mcp', 'install', 'codex', '--http', `${up.daemon}/mcp`, '--dry-run'])
  assert.match(codex.document.data.text, /bearer_token_env_var = "LOCI_TOKEN"/)
})

test('completion knows commands, options, and the services of the server, in four shells', async () => {
  const complete = async (...words: string[]) => (await here(['__complete', '--', ...words])).stdout.trim().split('\n')
  assert.deepEqual(await complete('mem'), ['memory'])
  assert.deepEqual(await complete('memory', 're'), ['recall'])
  assert.deepEqual(await complete('memory', 'recall', '--wh'), ['--why'])
  assert.deepEqual(await complete('services', 'get', 'def'), ['default'])
  assert.deepEqual(await complete('memory', 'list', '--service', 'def'), ['default'])
  for (const shell of ['bash', 'zsh', 'fish', 'powershell'])
    assert.match((await here(['completion', shell])).stdout, /loci __complete/)
})

// Mutant: server() of doctor.ts answers ok for every status.
test('doctor finds what is wrong and says what to do', async () => {
  const { env } = home
  const bad = { config: join(home.home, 'bad'), loose: join(home.home, 'loose') }
  mkdirSync(bad.config)
  writeFileSync(join(bad.config, 'config.toml'), 'active = "gone"\n[profiles.other]\nurl = "http://127.0.0.1:1"\n')
  mkdirSync(bad.loose)
  writeFileSync(join(bad.loose, 'config.toml'), `active = "dev"\n[profiles.dev]\nurl = "${up.management}"\n`)
  writeFileSync(join(bad.loose, 'credentials.toml'), '[profiles.dev]\napi_key = "loci_sk_x"\n', { mode: 0o644 })
  await using late = await answering((response) =>
    response.writeHead(200, { date: new Date(Date.now() - 600_000).toUTCString() }).end('{"info":{"version":"9.0.0"}}'),
  )
  const faults: [check: string, env: Record<string, string>, status: string][] = [
    ['config', { LOCI_CONFIG_DIR: bad.config }, 'fail'],
    ['credentials', { LOCI_CONFIG_DIR: bad.loose }, 'fail'],
    ['server', { LOCI_URL: 'http://127.0.0.1:9' }, 'fail'],
    ['clock', { LOCI_URL: late.url, LOCI_API_KEY: 'loci_sk_x' }, 'fail'],
    ['version', { LOCI_URL: late.url, LOCI_API_KEY: 'loci_sk_x' }, 'warn'],
    ['key', { LOCI_API_KEY: 'loci_sk_nobody' }, 'fail'],
    ['daemon', { LOCI_SERVICE: 'nobody' }, 'fail'],
    ['consistency', { LOCI_API_KEY: 'loci_sk_nobody' }, 'fail'],
    ['proxy', { HTTP_PROXY: 'http://127.0.0.1:1' }, 'fail'],
  ]
  for (const [check, extra, status] of faults) {
    const { document } = await jsonHere<{ checks: { name: string; status: string; fix?: string }[] }>(['doctor'], {
      env: { ...env, ...extra },
    })
    const found = document.data.checks.find(({ name }) => name === check)
    assert.equal(found?.status, status, `${check}: ${JSON.stringify(found)}`)
    assert.match(found?.fix ?? '', /\S/, check)
    assert.equal(document.data.checks.length, 12)
  }
  assert.equal((await here(['doctor'])).code, 0)
})

// Mutant: writeWhole() with the mode 0o644.
test('what loci up keeps is for its owner alone, and no secret stands in a log or among arguments', async () => {
  const secrets = readdirSync(join(home.data, 'secrets'))
  for (const name of secrets) assert.equal(statSync(join(home.data, 'secrets', name)).mode & 0o777, 0o600, name)
  assert.equal(statSync(home.data).mode & 0o007, 0)
  const config = join(home.home, '.config/loci')
  assert.equal(statSync(join(config, 'credentials.toml')).mode & 0o777, 0o600)
  const apiKey = readFileSync(join(home.data, 'secrets/api-key'), 'utf8').trim()
  assert.ok(!readFileSync(join(config, 'config.toml'), 'utf8').includes(apiKey))
  const texts = readdirSync(join(home.data, 'logs')).map((name) => readFileSync(join(home.data, 'logs', name), 'utf8'))
  const { parts, pid } = await statusOf()
  for (const one of [pid, ...parts.map((part) => part.pid)])
    if (existsSync(`/proc/${one}/cmdline`)) texts.push(readFileSync(`/proc/${one}/cmdline`, 'utf8'))
  for (const name of secrets) {
    const secret = readFileSync(join(home.data, 'secrets', name), 'utf8').trim()
    for (const text of texts) assert.ok(!text.includes(secret), name)
  }
})

// Mutant: up() does not look for a supervisor.
test('a second start says that it runs, and shows the key only when it is asked', async () => {
  const again = await home.json<Up>(['up', '-d'])
  assert.deepEqual([again.code, again.document.data.pid, again.document.data.api_key], [0, up.pid, undefined])
  const shown = await home.json<Up>(['up', '--print-key'])
  assert.match(shown.document.data.api_key ?? '', /^\S{20,}$/)
  assert.match((await home.loci(['up'])).stdout, new RegExp(`already running, pid ${up.pid}`))
  const elsewhere = await home.json(['up', '-d', '--port', '4999'])
  assert.deepEqual([elsewhere.code, elsewhere.document.error.code], [78, 'LOCI-REMEMBERED'])
})

test('a port that is taken is named with whose it is', async () => {
  await using other = await testHome()
  await using taken = await listening(other.port + 10)
  const blocked = await other.json(['up', '-d', '--port', String(other.port)])
  assert.deepEqual([blocked.code, blocked.document.error.code], [69, 'LOCI-PORT'])
  assert.match(blocked.document.error.message, new RegExp(`:${taken.port} is in use by pid ${process.pid} `))
  assert.equal((await other.json(['status'])).code, 69)
})

// Mutants: runCycles() without its key: 38 cycles; remember() without its source: twice as many memories.
test('the sample is there once, also after a start that was cut off, and shows what each command is for', async () => {
  const sown = async () => (await home.json<{ sample: object }>(['up', '--seed', 'demo'])).document.data.sample
  const counts = async (): Promise<[cycles: number, memories: string | undefined]> => [
    (await jsonHere<{ totalCycles: number }>(['cycles', 'stats'])).document.data.totalCycles,
    (await here(['people', 'list'])).stdout.match(/^default +\d+ memories/m)?.[0],
  ]
  const [cyclesBefore] = await counts()
  const first = await sown()
  const before = await counts()
  const state = join(home.data, 'state.json')
  const { demo, ...kept } = JSON.parse(readFileSync(state, 'utf8'))
  writeFileSync(state, JSON.stringify({ ...kept, demo: { endedAt: demo.endedAt } }))
  const again = await sown()

  assert.deepEqual([again, await counts()], [first, before])
  assert.equal(before[0] - cyclesBefore, 19)
  const recalled = await here(['memory', 'recall', 'which refund needs no approval?', '--why'])
  assert.match(recalled.stdout, /From today a refund up to 75 EUR needs no approval/)
  assert.match((await here(['wm', 'list'])).stdout, /pinned +rule\.privacy(?:.|\n)*of 12 slots/)
  assert.match((await here(['wm', 'evictions'])).stdout, /Others are stronger, and there is no more room/)
  assert.match(
    (await here(['advice', 'rank', 'is a rear wheel there?', '--class', 'stock'])).stdout,
    /^1 .*shop\.stock/,
  )
  assert.match((await here(['kv', 'list'])).stdout, /shop\.hours/)
})

// Mutant: changeConfig() asks as the user: 403 OPERATOR_REQUIRED.
test('a configuration is read and replaced by whoever may mint the right of the operator', async () => {
  const narrow = await jsonHere<{ secret: string }>(['keys', 'create', 'reader', '--scope', 'services:read'])
  const set = ['wm', 'config', 'set', 'capacity=9', '--user', 'carl']
  assert.equal((await jsonHere(set)).code, 0)
  assert.match((await here(['wm', 'config', 'get', '--user', 'carl'])).stdout, /"?capacity"?[": ]+9\b/)
  const refused = await here(set, { env: { ...home.env, LOCI_API_KEY: narrow.document.data.secret } })
  assert.equal(refused.code, 5)
})

// Mutant: endLeftovers() ends nothing: the ports are taken. And: startProgram() without `held`.
test('after kill -9 of the supervisor the issuer’s port stays taken; ports and database are remembered; the next start takes over', async () => {
  const issuerPort = home.port + 20
  const left = await pidOf('management')
  process.kill(up.pid, 'SIGKILL')
  await eventually(async () => !(await statusOf()).running)

  const stranger = await listening(issuerPort).catch((error: NodeJS.ErrnoException) => error.code)
  assert.equal(stranger, 'EADDRINUSE')
  // Mutant: chosen() takes the given port over the remembered one.
  for (const other of [
    ['--port', '4999'],
    ['--database-url', 'postgres://somebody@127.0.0.1/other'],
  ]) {
    const refused = await home.json(['up', '-d', ...other])
    assert.deepEqual([refused.code, refused.document.error.code], [78, 'LOCI-REMEMBERED'])
  }
  const { code, document } = await home.json<Up>(['up', '-d'])
  assert.equal(code, 0, JSON.stringify(document.error))
  assert.equal(document.data.management, up.management)
  up = document.data
  assert.notEqual(await pidOf('management'), left)
  assert.equal((await statusOf()).ready, true)
})

// Mutants: over() of keepRunning() schedules nothing; status() with --watch returns after its first look.
test('a process that is killed is started again, and status --watch shows it', async () => {
  const watch = home.spawn(['status', '--watch'])
  let seen = ''
  watch.stdout?.setEncoding('utf8').on('data', (text: string) => {
    seen += text
  })
  await eventually(() => /^loci runs/.test(seen))
  for (const name of ['daemon', 'postgres']) {
    const pid = await pidOf(name)
    process.kill(pid, 'SIGKILL')
    await eventually(async () => {
      const { ready, parts } = await statusOf()
      return ready && parts.every((part) => part.pid !== null && part.pid !== pid)
    })
  }
  await eventually(() => /started again 1 ×/.test(seen))
  watch.kill('SIGINT')
  const [code] = await once(watch, 'exit')
  assert.equal(code, 0)
})

async function untilRefused(work: () => Promise<{ code: number }>) {
  for (let tries = 1; ; tries += 1) {
    const ran = await work()
    if (ran.code !== 0 || tries === 200) return ran
  }
}

/** A server that answers everything alike, or never. */
async function answering(answer: (response: ServerResponse) => void): Promise<{ url: string } & AsyncDisposable> {
  const server = createHttpServer((_, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function listening(port: number): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port }, resolve)
  })
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}
