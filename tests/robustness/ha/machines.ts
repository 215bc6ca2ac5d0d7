// Three machines as network namespaces on a bridge, 10.99.0.1 to 10.99.0.3; this process is 10.99.0.254. Each has its
// etcd, a certificate, and a disk of its own that can be full.

import { execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Software } from './software.ts'

export const NUMBERS = [1, 2, 3]
const BRIDGE = 'loci-ha'
const DISK_MB = 4_000
export const PGBOUNCER_PASSWORD = 'change-me-pgbouncer'

export interface Machines extends AsyncDisposable {
  directory: string
  ca: string
  /** Files of deploy/patroni with the places of this machine; `change` is what else differs. */
  file(machine: number, name: string, change?: (text: string) => string): string
  /** A folder of the machine that the user of PostgreSQL may write in. */
  folder(machine: number, name: string): void
  /** deploy/patroni/node.env of this machine. */
  settings(machine: number): Record<string, string>
  /** As the user of PostgreSQL, in a group of its own; its pid. */
  start(machine: number, name: string, command: string[], env?: Record<string, string>): number
  /** Whether what was started goes on. */
  runs(pid: number | undefined): boolean
  /** Every process of the machine. */
  pids(machine: number): number[]
  pause(machine: number): () => void
  /** It and the other two do not hear each other; this process hears all. */
  cut(machine: number): () => void
  /** What the disk has left is taken. */
  fillDisk(machine: number): () => void
  stopEtcd(machine: number): void
  startEtcd(machine: number): void
}

export const addressOf = (machine: number) => `10.99.0.${machine}`
const nameOf = (machine: number) => `loci-ha-${machine}`

export function startMachines(software: Software): Machines {
  const directory = mkdtempSync(join(tmpdir(), 'loci-ha-'))
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })))
  const own = (path: string) => chownSync(path, uid as number, gid as number)
  own(directory)
  const place = (machine: number, ...rest: string[]) => join(directory, `m${machine}`, ...rest)
  down()
  sh(`ip link add ${BRIDGE} type bridge && ip addr add 10.99.0.254/24 dev ${BRIDGE} && ip link set ${BRIDGE} up`)
  sh(
    `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=loci-ha -keyout ca.key -out ca.crt`,
    directory,
  )
  const etcds = new Map<number, number>()
  for (const machine of NUMBERS) {
    mkdirSync(place(machine))
    sh(`mount -t tmpfs -o size=${DISK_MB}m,mode=700,uid=${uid},gid=${gid} loci-ha ${place(machine)}`)
    for (const folder of ['etc', 'run', 'data', 'etcd']) {
      mkdirSync(place(machine, folder), { mode: 0o700 })
      own(place(machine, folder))
    }
    const [ns, veth] = [nameOf(machine), `locihave${machine}`]
    sh(`ip netns add ${ns} && ip link add ${veth} type veth peer name eth0 netns ${ns}`)
    sh(`ip link set ${veth} master ${BRIDGE} up && ip -n ${ns} addr add ${addressOf(machine)}/24 dev eth0`)
    sh(`ip -n ${ns} link set eth0 up && ip -n ${ns} link set lo up`)
    certify(directory, place(machine, 'etc'), addressOf(machine), own)
    writeFileSync(place(machine, 'etc', 'pgbouncer.users'), `"pgbouncer_auth" "${PGBOUNCER_PASSWORD}"\n`)
  }
  const ofMachine = (text: string, machine: number) =>
    text
      .replaceAll('/etc/loci-ha', place(machine, 'etc'))
      .replaceAll('/run/postgresql', place(machine, 'run'))
      .replaceAll('/var/lib/postgresql/15/loci', place(machine, 'data', 'postgres'))
      .replaceAll('/var/lib/etcd/loci', place(machine, 'etcd', 'data'))
  const machines: Machines = {
    directory,
    ca: readFileSync(join(directory, 'ca.crt'), 'utf8'),
    file(machine, name, change = (text) => text) {
      const text = ofMachine(readFileSync(deployed(name), 'utf8'), machine)
      const path = place(machine, 'etc', `${Math.random().toString(36).slice(2)}-${name}`)
      writeFileSync(path, change(text), { mode: 0o600 })
      own(path)
      return path
    },
    folder(machine, name) {
      mkdirSync(place(machine, name), { recursive: true, mode: 0o700 })
      own(place(machine, name))
    },
    settings(machine) {
      const lines = ofMachine(readFileSync(deployed('node.env'), 'utf8'), machine)
        .replaceAll(/^((?!\w*(?:HOSTS|CLUSTER)=).*)10\.99\.0\.1\b/gm, `$1${addressOf(machine)}`)
        .replaceAll(/^(\w+_NAME)=node-1$/gm, `$1=node-${machine}`)
        .split('\n')
        .filter((line) => /^\w+=/.test(line))
      return Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      )
    },
    start(machine, name, command, env = {}) {
      const log = openSync(join(directory, `${machine}-${name}`), 'a')
      const as = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
      const child = spawn('ip', ['netns', 'exec', nameOf(machine), ...as, ...command], {
        cwd: place(machine),
        detached: true,
        stdio: ['ignore', log, log],
        env: { PATH: process.env.PATH, LANG: 'C.UTF-8', ...env },
      })
      child.unref()
      // `ip netns exec` and setpriv become the command: the pid is its own.
      return child.pid as number
    },
    runs(pid) {
      if (pid === undefined) return false
      try {
        return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      } catch {
        return false
      }
    },
    pids: (machine) =>
      execFileSync('ip', ['netns', 'pids', nameOf(machine)], { encoding: 'utf8' })
        .split('\n')
        .filter(Boolean)
        .map(Number),
    pause(machine) {
      const pids = machines.pids(machine)
      for (const pid of pids) signal(pid, 'SIGSTOP')
      return () => {
        for (const pid of pids) signal(pid, 'SIGCONT')
      }
    },
    cut(machine) {
      for (const other of NUMBERS.filter((one) => one !== machine))
        for (const [chain, flag] of [
          ['INPUT', '-s'],
          ['OUTPUT', '-d'],
        ])
          sh(`ip netns exec ${nameOf(machine)} iptables -w -A ${chain} ${flag} ${addressOf(other)} -j DROP`)
      return () => sh(`ip netns exec ${nameOf(machine)} iptables -w -F`)
    },
    fillDisk(machine) {
      const filler = place(machine, 'data', 'filler')
      // What nobody asks for in one piece: the last kilobytes go too.
      sh(`dd if=/dev/zero of=${filler} bs=64k 2>/dev/null || true`)
      return () => rmSync(filler, { force: true })
    },
    stopEtcd(machine) {
      signal(etcds.get(machine) as number, 'SIGKILL')
    },
    startEtcd(machine) {
      if (machines.runs(etcds.get(machine))) return
      const env = Object.fromEntries(
        Object.entries(machines.settings(machine)).filter(([name]) => name.startsWith('ETCD_')),
      )
      etcds.set(machine, machines.start(machine, 'etcd.log', [software.etcd], env))
    },
    async [Symbol.asyncDispose]() {
      down()
      for (const machine of NUMBERS) sh(`umount -l ${place(machine)}`)
      rmSync(directory, { recursive: true, force: true })
    },
  }
  for (const machine of NUMBERS) machines.startEtcd(machine)
  return machines
}

function down(): void {
  for (const machine of NUMBERS)
    sh(
      `ip netns pids ${nameOf(machine)} 2>/dev/null | xargs -r kill -9; ip netns del ${nameOf(machine)} 2>/dev/null || true; ip link del locihave${machine} 2>/dev/null || true`,
    )
  sh(`ip link del ${BRIDGE} 2>/dev/null || true`)
}

function certify(directory: string, etc: string, address: string, own: (path: string) => void): void {
  writeFileSync(join(etc, 'san'), `subjectAltName=IP:${address},IP:127.0.0.1\n`)
  sh(
    `openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${address} -keyout node.key -out node.csr
     openssl x509 -req -days 2 -in node.csr -CA ${directory}/ca.crt -CAkey ${directory}/ca.key -CAcreateserial -extfile san -out node.crt
     cp ${directory}/ca.crt ca.crt && chmod 600 node.key`,
    etc,
  )
  for (const file of ['node.key', 'node.crt', 'ca.crt']) own(join(etc, file))
}

export function deployed(name: string): string {
  return fileURLToPath(new URL(`../../../deploy/patroni/${name}`, import.meta.url))
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function sh(command: string, cwd?: string): void {
  execFileSync('sh', ['-ec', command], { stdio: ['ignore', 'pipe', 'pipe'], ...(cwd ? { cwd } : {}) })
}
