// How the local stack is: what runs, and what it wrote.

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import type { Call, Result } from '../tree/command.ts'
import { dataDirectoryOf, readJson, readText } from './files.ts'
import { isAlive } from './processes.ts'
import { addressesOf, DEFAULT_PORT, PARTS, readRunning, type State } from './state.ts'

const WATCH_MS = 1_000

/** With --watch: again whenever it is another than before, until Ctrl-C. */
export async function status(call: Call): Promise<Result> {
  if (!call.has('watch')) return look(call)
  if (call.isJson) throw usage('--watch goes on for as long as it runs: it has no --json.')
  let shown = ''
  while (!call.host.signal.aborted) {
    const { lines = [] } = await look(call)
    const now = `${lines.join('\n')}\n`
    if (now !== shown) call.host.out(shown === '' ? now : `\n${now}`)
    shown = now
    await sleep(WATCH_MS, undefined, { signal: call.host.signal }).catch(() => {})
  }
  return { data: null }
}

async function look(call: Call): Promise<Result> {
  const data = dataDirectoryOf(call.host, call.text('data'))
  const running = readRunning(data)
  const state = readJson<State>(data.state)
  const isRunning = running !== undefined && isAlive(running.supervisor)
  const addresses = addressesOf(state?.port ?? DEFAULT_PORT)
  const isReady = (url: string) =>
    fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(3_000) }).then(
      ({ status: code }) => code === 200,
      () => false,
    )
  // A server of somebody's own is not ours to start, and not ours to judge: the programs say whether it serves them.
  const own = PARTS.filter((name) => name !== 'postgres' || state?.database !== 'own')
  const parts = await Promise.all(
    own.map(async (name) => {
      const mark = running?.parts[name]
      const alive = mark !== undefined && isAlive(mark)
      const url = name === 'postgres' ? null : addresses[name]
      const ready = url === null ? alive : alive && (await isReady(url))
      return {
        name,
        pid: alive ? mark.pid : null,
        url,
        state: ready ? 'ready' : alive ? 'not ready' : 'stopped',
        restarts: running?.restarts[name] ?? 0,
      }
    }),
  )
  const isWell = isRunning && parts.every((part) => part.state === 'ready')
  const left = parts.filter(({ pid }) => pid !== null)
  const first = isRunning
    ? `loci runs, pid ${running.supervisor.pid}, ${running.phase}, since ${running.since}`
    : left.length > 0
      ? 'nobody supervises what runs here: loci up takes it over'
      : `nothing runs in ${data.path}: loci up`
  return {
    data: {
      running: isRunning,
      ready: isWell,
      pid: isRunning ? running.supervisor.pid : null,
      data_directory: data.path,
      parts,
    },
    lines: [
      first,
      ...parts.map(
        ({ name, pid, url, state: how, restarts }) =>
          `  ${name.padEnd(12)} ${how.padEnd(10)} ${String(pid ?? '-').padEnd(8)} ${url ?? data.socket}${restarts > 0 ? `  started again ${restarts} ×` : ''}`,
      ),
    ],
    exit: isWell ? EXIT.ok : EXIT.unavailable,
  }
}

export async function logs(call: Call): Promise<Result> {
  const data = dataDirectoryOf(call.host, call.text('data'))
  const [name = 'up'] = call.arguments
  const file = join(data.logs, `${name}.log`)
  if (!existsSync(file)) throw new CommandFailure('notFound', 'NOT_FOUND', `There is no ${file}.`, { hint: 'loci up' })
  const count = Number(call.text('lines') ?? 50)
  if (!Number.isInteger(count) || count < 0) throw usage('--lines is a whole number.')
  const text = readText(file) ?? ''
  const lines = text.split('\n').slice(-count)
  if (!call.has('follow')) return { data: { file, lines }, lines }
  if (call.isJson) throw usage('--follow goes on for as long as it runs: it has no --json.')
  call.host.out(`${lines.join('\n')}\n`)
  const fd = openSync(file, 'r')
  try {
    let at = Buffer.byteLength(text) + 1
    const buffer = Buffer.alloc(65_536)
    while (!call.host.signal.aborted) {
      if (fstatSync(fd).size < at) at = 0
      const bytes = readSync(fd, buffer, 0, buffer.length, at)
      at += bytes
      if (bytes > 0) call.host.out(buffer.toString('utf8', 0, bytes))
      else await sleep(200)
    }
  } finally {
    closeSync(fd)
  }
  return { data: null }
}
