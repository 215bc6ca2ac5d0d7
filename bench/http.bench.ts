// npm run bench -- http [--seconds N] [--rounds N] [--profile]: what the whole chassis costs. GET of a small JSON
// through request id, limiter, log and metrics, as a ratio of bare node:http that answers the same bytes; both in
// turns. Beside them, for what the router costs, a path with a parameter.

import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startWorld } from '@loci/tests/world/world.ts'
import { readProfile } from './cpu-profile.ts'
import { type BenchServer, KEYED_PATH, PATH, type ServerKind, startServer } from './http-server.ts'
import { type LoadResult, runLoad } from './load.ts'

const TARGET = 0.6
const STRETCH = 0.75
const CONNECTIONS = [8, 16, 32]

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)

interface Run extends LoadResult {
  connections: number
  /** Share of a core that the server's main thread used, and what one request cost it. */
  serverCpu: number
  serverMicros: number
}

const directory = mkdtempSync(join(tmpdir(), 'loci-bench-'))
const logFile = join(directory, 'log')
try {
  const isReached = options.profile ? await profile() : await compare()
  process.exitCode = isReached ? 0 : 1
} finally {
  rmSync(directory, { recursive: true })
}

async function compare(): Promise<boolean> {
  const servers = { bare: await startServer('bare', '/dev/null'), chassis: await startServer('chassis', logFile) }
  const best: Record<ServerKind, Run[]> = { bare: [], chassis: [] }
  const keyed: Run[] = []
  let requests = 0
  try {
    for (const server of Object.values(servers)) await measure(server, 16, 1)
    console.log('        conns      req/s   p50 ms   p99 ms   errors  server cpu  µs/request  generator cpu')
    for (let round = 0; round < rounds; round += 1) {
      const runs: Record<ServerKind, Run[]> = { bare: [], chassis: [] }
      for (const connections of CONNECTIONS) {
        for (const kind of ['bare', 'chassis'] as const)
          runs[kind].push(await measure(servers[kind], connections, seconds))
      }
      for (const kind of ['bare', 'chassis'] as const) {
        const fastest = runs[kind].reduce((a, b) => (b.perSecond > a.perSecond ? b : a))
        best[kind].push(fastest)
        console.log(row(kind, fastest))
      }
      keyed.push(await measure(servers.chassis, 16, seconds, KEYED_PATH))
      console.log(row('keyed', keyed.at(-1) as Run))
      requests += [...runs.chassis, keyed.at(-1) as Run].reduce((sum, run) => sum + run.requests, 0)
    }
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
  }
  await requireLogged(requests)
  await measureDaemon()
  const micros = median(keyed.map(({ serverMicros }) => serverMicros))
  console.log(`with a parameter in its path: ${micros.toFixed(1)} µs per request`)
  return verdict(best.bare, best.chassis)
}

async function measure(server: BenchServer, connections: number, forSeconds: number, path = PATH): Promise<Run> {
  const marks: Promise<number>[] = []
  const result = await runLoad(
    { url: server.url, path, variants: 1_000, connections, seconds: forSeconds, warmUpSeconds: 0.3 },
    () => marks.push(server.cpuSeconds()),
  )
  const [before, after] = (await Promise.all(marks)) as [number, number]
  if (result.errors > 0 || result.requests !== result.statuses['200'])
    throw new Error(`not every answer was a 200: ${JSON.stringify(result)}`)
  return {
    ...result,
    connections,
    serverCpu: (after - before) / result.seconds,
    serverMicros: ((after - before) / result.requests) * 1e6,
  }
}

/** A chassis that dropped its log lines would be measured as fast. */
async function requireLogged(requests: number): Promise<void> {
  let lines = 0
  // In parts: on a quiet machine the log is longer than a string may be.
  for await (const part of createReadStream(logFile) as AsyncIterable<Buffer>)
    for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) lines += 1
  if (lines < requests) throw new Error(`${requests} requests were answered and only ${lines} lines logged`)
}

/** For information: the real program, a probe (outside the limiter, logged at debug and so not at all). */
async function measureDaemon(): Promise<void> {
  const world = await startWorld({ asShipped: true, replicas: 1, management: false })
  try {
    const { url } = world.daemons[0] as { url: string }
    const result = await runLoad({ url, path: '/health/live', connections: 16, seconds, warmUpSeconds: 1 })
    console.log(`\nfor information: the daemon’s GET /health/live, ${result.perSecond.toFixed(0)} req/s`)
  } finally {
    await world.stop()
  }
}

function verdict(bare: Run[], chassis: Run[]): boolean {
  const rate = (runs: Run[]) => median(runs.map(({ perSecond }) => perSecond)).toFixed(0)
  const micros = (runs: Run[]) => median(runs.map(({ serverMicros }) => serverMicros))
  const byProcessorTime = micros(bare) / micros(chassis)
  console.log(`medians: bare ${rate(bare)} req/s, chassis ${rate(chassis)} req/s`)
  console.log(
    `processor time per request: bare ${micros(bare).toFixed(1)} µs, chassis ${micros(chassis).toFixed(1)} µs ` +
      `(${byProcessorTime.toFixed(2)})`,
  )
  if (median(bare.map(({ cpu }) => cpu)) > 0.9)
    console.log('the generator used its core up: bare may be faster than it could ask, and the ratio flatters')
  const quiet = [...bare.keys()].filter((round) => isQuiet(bare[round] as Run) && isQuiet(chassis[round] as Run))
  const isJudgedByRate = quiet.length > rounds / 2
  if (!isJudgedByRate)
    console.log(
      `only ${quiet.length} of ${rounds} rounds were quiet: judged by processor time; repeat on an idle machine`,
    )
  const rates = quiet.map((round) => (chassis[round] as Run).perSecond / (bare[round] as Run).perSecond)
  const ratio = isJudgedByRate ? median(rates) : byProcessorTime
  console.log(`ratio ${ratio.toFixed(2)} (target ${TARGET.toFixed(2)}, stretch ${STRETCH.toFixed(2)})`)
  return ratio >= TARGET
}

/**
 * A server that did not get its core was slowed by others on the machine. Such rounds flatter us (0.75 instead of 0.46
 * was seen): bare keeps two cores busy with its generator and loses more.
 */
function isQuiet({ serverCpu }: Run): boolean {
  return serverCpu > 0.85
}

function row(kind: ServerKind | 'keyed', run: Run): string {
  return [
    kind.padEnd(7),
    String(run.connections).padStart(6),
    run.perSecond.toFixed(0).padStart(11),
    run.p50Ms.toFixed(2).padStart(9),
    run.p99Ms.toFixed(2).padStart(9),
    String(run.errors).padStart(9),
    `${(run.serverCpu * 100).toFixed(0)} %`.padStart(12),
    run.serverMicros.toFixed(1).padStart(12),
    `${(run.cpu * 100).toFixed(0)} %`.padStart(15),
  ].join('')
}

/** Where the time of ours goes. */
async function profile(): Promise<boolean> {
  const server = await startServer('chassis', logFile, ['--cpu-prof', `--cpu-prof-dir=${directory}`])
  await measure(server, 16, seconds)
  await server.stop()
  const { files, functions } = readProfile(directory)
  const show = (title: string, rows: { name: string; share: number }[]) =>
    console.log(
      [title, ...rows.map(({ name, share }) => `${(share * 100).toFixed(1).padStart(6)} %  ${name}`)].join('\n'),
    )
  show('self time by file', files.slice(0, 20))
  show('\nself time by function', functions.slice(0, 15))
  return true
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}
