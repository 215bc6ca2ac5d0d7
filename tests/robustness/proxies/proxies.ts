// nginx and Caddy of this machine with the files of deploy/proxies, changed only where the files say that they are to
// be changed: names stay, addresses behind, ports and the certificate are those of the test.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@loci/postgres/testing/free-port.ts'

const SHIPPED = fileURLToPath(new URL('../../../deploy/proxies/', import.meta.url))
const START_MS_MAX = 20_000
export const NAMES = { management: 'management.loci.example', cell: 'cell-1.loci.example' }

export interface Behind {
  management: string
  cell: string
}

export interface RunningProxy {
  name: string
  port: number
  stop(): Promise<void>
}

/** Lines of a shipped file that a mutant has instead. */
export type Edit = readonly [from: string, to: string]

export interface Given {
  place: string
  behind: Behind
  certificate: { cert: string; key: string }
  edits?: readonly Edit[]
}

export const PROXIES: Record<string, { program: string; start(given: Given): Promise<RunningProxy> }> = {
  nginx: { program: 'nginx', start: startNginx },
  caddy: { program: 'caddy', start: startCaddy },
}

/** Each is asked for its version in its own way. */
export function versionOf(program: string): string | undefined {
  const { status, stdout, stderr } = spawnSync(program, [program === 'nginx' ? '-v' : 'version'], { encoding: 'utf8' })
  return status === 0 ? /\d+\.\d+\.\d+/.exec(stdout + stderr)?.[0] : undefined
}

async function startNginx({ place, behind, certificate, edits = [] }: Given): Promise<RunningProxy> {
  const [port, folder] = [await freePort(), path.join(place, 'nginx')]
  mkdirSync(folder, { recursive: true })
  const site = changed('nginx.conf', [
    ['server 127.0.0.1:4400;', `server ${hostOf(behind.management)};`],
    ['server 127.0.0.1:4410;', `server ${hostOf(behind.cell)};`],
    ...twice(['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`]),
    ...twice(['ssl_certificate /etc/ssl/loci.pem;', `ssl_certificate ${certificate.cert};`]),
    ...twice(['ssl_certificate_key /etc/ssl/private/loci.key;', `ssl_certificate_key ${certificate.key};`]),
    ...edits.filter(([from]) => isIn('nginx.conf', from)),
  ])
  const common = changed(
    'loci_proxy.conf',
    edits.filter(([from]) => isIn('loci_proxy.conf', from)),
  )
  writeFileSync(path.join(folder, 'site.conf'), site)
  writeFileSync(path.join(folder, 'loci_proxy.conf'), common)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${path.join(folder, name)};`,
  )
  writeFileSync(
    path.join(folder, 'main.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr notice; worker_processes 2; user root;
     events { worker_connections 512; }
     http { ${temporary.join(' ')} include site.conf; }`,
  )
  const args = ['-p', folder, '-c', path.join(folder, 'main.conf'), '-e', 'stderr']
  execFileSync('nginx', [...args, '-t'], { stdio: 'pipe' })
  return started('nginx', args, port)
}

async function startCaddy({ place, behind, certificate, edits = [] }: Given): Promise<RunningProxy> {
  const [port, folder] = [await freePort(), path.join(place, 'caddy')]
  mkdirSync(folder, { recursive: true })
  const tls = `\ttls ${certificate.cert} ${certificate.key}\n`
  const sites = changed('Caddyfile', [
    ...edits,
    ['\treverse_proxy 127.0.0.1:4400', `${tls}\treverse_proxy ${hostOf(behind.management)}`],
    ['\treverse_proxy 127.0.0.1:4410', `${tls}\treverse_proxy ${hostOf(behind.cell)}`],
  ])
  const file = path.join(folder, 'Caddyfile')
  const http = await freePort()
  const options = `{\n\tadmin off\n\tstorage file_system ${folder}\n\thttp_port ${http}\n\thttps_port ${port}\n`
  writeFileSync(file, `${options}\tdefault_bind 127.0.0.1\n\tauto_https disable_redirects\n}\n${sites}`)
  const args = ['--config', file, '--adapter', 'caddyfile']
  execFileSync('caddy', ['validate', ...args], { stdio: 'pipe' })
  return started('caddy', ['run', ...args], port)
}

const hostOf = (url: string) => new URL(url).host
const twice = (edit: Edit): Edit[] => [edit, edit]
const isIn = (file: string, text: string) => readFileSync(SHIPPED + file, 'utf8').includes(text)

/** Each edit must find its line: a file that was changed is a test that has to be. */
function changed(file: string, edits: readonly Edit[]): string {
  let text = readFileSync(SHIPPED + file, 'utf8')
  for (const [from, to] of edits) {
    if (!text.includes(from)) throw new Error(`deploy/proxies/${file} has no line ${JSON.stringify(from)}`)
    text = text.replace(from, () => to)
  }
  return text
}

async function started(program: string, args: string[], port: number): Promise<RunningProxy> {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const lines: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const until = performance.now() + START_MS_MAX
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > until)
      throw new Error(`${program} does not listen:\n${lines.join('').slice(-2_000)}`)
    await sleep(50)
  }
  return {
    name: program,
    port,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
