import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { selfSigned } from '@loci/chassis/testing/certificate.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runHere } from '../testing/host.ts'
import { readiness } from './health.ts'

const ROOT = join(import.meta.dirname, '../..')
const SECRETS = ['control-sealing-keys', 'cell-sealing-keys', 'admin-token', 'admin-digests', 'cell-key', 'api-key']

interface Ready {
  organization_id: string
  cell_id: string
  running: { program: string; ready: boolean }[]
  units: string[]
}

// Mutants: keep() of folder.ts makes a new text every time: the sealing keys differ; replace() without chmodSync: 600
// instead of 640; chosenFor() takes what is given: 0 instead of 78; requireOwn() looks for nothing: 0 instead of 6.
test('one command sets up what both programs need; again it keeps every key and mode, and takes nothing over', async () => {
  await using postgres = await startThrowaway()
  const place = mkdtempSync(join(tmpdir(), 'loci-setup-'))
  const directory = join(place, 'etc')
  writeFileSync(join(place, 'admin-url'), postgres.adminUrl(), { mode: 0o600 })
  const ports = [await freePort(), await freePort()]
  const [url, cellUrl] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string]
  const setup = (args: string[] = [], to = directory) =>
    runHere<Ready>(['setup', '--directory', to, ...args, '--json'], { home: place, env: { PATH: process.env.PATH } })
  const first = ['--database-url-file', 'admin-url', '--owner-email', 'ada@example.com', '--public-url', url]
  const where = ['--cell-url', cellUrl, '--listen', new URL(url).host, '--cell-listen', new URL(cellUrl).host]
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  const programs: AbortController[] = []
  try {
    const planned = await setup([...first, ...where, '--dry-run'])
    assert.deepEqual([planned.code, existsSync(directory)], [0, false])

    const made = await setup([...first, ...where])
    assert.equal(made.code, 0, JSON.stringify(made.document.error))
    assert.deepEqual(
      made.document.data.running.map(({ ready }) => ready),
      [false, false],
    )
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    for (const { parentPath, name } of files) assert.equal(statSync(join(parentPath, name)).mode & 0o777, 0o600, name)
    const secrets = SECRETS.map(read)

    // One by its variables, the other as systemd starts it.
    programs.push(start('management', read('management.env')))
    const [, unit = ''] = made.document.data.units
    programs.push(startUnit(readFileSync(unit, 'utf8'), directory))
    for (const base of [url, cellUrl])
      await eventually(async () => (await fetch(`${base}/health/ready`).catch(() => undefined))?.status === 200)
    const answer = await fetch(`${url}/api/v1/organizations`, { headers: { 'x-api-key': read('api-key').trim() } })
    assert.equal(answer.status, 200)

    // As after an upgrade: without the administrator, while the programs run.
    chmodSync(join(directory, 'management.env'), 0o640)
    const again = await setup(['--listen', `127.0.0.1:${ports[0]}`])
    assert.deepEqual(
      again.document.data.running.map(({ ready }) => ready),
      [true, true],
    )
    assert.deepEqual([again.document.data.cell_id, SECRETS.map(read)], [made.document.data.cell_id, secrets])
    const moved = await setup(['--listen', `127.0.0.2:${ports[0]}`])
    assert.deepEqual([moved.code, statSync(join(directory, 'management.env')).mode & 0o777], [0, 0o640])
    assert.match(read('management.env'), /^LOCI_LISTEN=127\.0\.0\.2:/m)

    const whole = () => files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    const before = whole()
    const other = await setup(['--public-url', 'https://elsewhere.example'])
    assert.deepEqual([other.code, other.document.error.code], [78, 'LOCI-REMEMBERED'])
    assert.deepEqual(whole(), before)
    const taken = await setup([...first, ...where], join(place, 'another'))
    assert.deepEqual([taken.code, existsSync(join(place, 'another'))], [6, false])
  } finally {
    for (const program of programs) program.abort()
    rmSync(place, { recursive: true, force: true })
  }
})

/**
 * As systemd: `%d` has copies of the files that are loaded for it, and nothing else of the folder is known. Mutant:
 * unitText() takes every setting for one of `others`.
 */
function startUnit(text: string, directory: string): AbortController {
  const credentials = mkdtempSync(join(tmpdir(), 'loci-credentials-'))
  const valuesOf = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value as string)
  for (const loaded of valuesOf('LoadCredential')) {
    const [id = '', file = ''] = loaded.split(/:(.*)/s)
    copyFileSync(file, join(credentials, id))
  }
  assert.ok(!text.replaceAll(/^LoadCredential=.*$/gm, '').includes(directory))
  const variables = valuesOf('Environment')
    .flatMap((line) => line.split(' '))
    .map((pair) => pair.replace('%d', credentials).replace('%C', credentials).split(/=(.*)/s).slice(0, 2))
  const [program = '', ...args] = (valuesOf('ExecStart')[0] as string).split(' ')
  const stop = new AbortController()
  const { signal } = stop
  const env = { PATH: '/usr/bin:/bin', ...Object.fromEntries(variables) }
  spawn(program, args, { env, cwd: '/', stdio: 'ignore', signal, killSignal: 'SIGKILL' })
    .on('error', () => {})
    .on('exit', () => rmSync(credentials, { recursive: true, force: true }))
  return stop
}

function start(program: string, env: string): AbortController {
  const stop = new AbortController()
  const settings = Object.fromEntries(
    env
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  )
  const { signal } = stop
  spawn(process.execPath, [join(ROOT, program, 'main.ts')], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: 'ignore',
    signal,
    killSignal: 'SIGKILL',
  }).on('error', () => {})
  return stop
}

// Mutant: readiness() with `rejectUnauthorized: false`: a certificate of another name is taken.
test('what was set up with TLS is asked by the name of its certificate, and not over plain http', async () => {
  const place = mkdtempSync(join(tmpdir(), 'loci-setup-'))
  const { cert, key } = selfSigned('loci.example')
  const server = createServer({ cert, key }, (_, answer) => answer.writeHead(200).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const tlsCert = join(place, 'cert.pem')
  writeFileSync(tlsCert, cert)
  const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    assert.equal(await readiness({ listen, url: 'https://loci.example', tlsCert }), 200)
    assert.equal(await readiness({ listen, url: 'https://other.example', tlsCert }), undefined)
    assert.equal(await readiness({ listen, url: 'https://loci.example', tlsCert: undefined }), undefined)
  } finally {
    server.closeAllConnections()
    server.close()
    rmSync(place, { recursive: true, force: true })
  }
})
