// A rolling restart fails no request. Two replicas behind a health-checked balancer, 24 clients that never pause, and
// every replica replaced in each round.

import { Agent, request as httpRequest } from 'node:http'
import { type HealthProxy, startHealthProxy } from '../world/health-proxy.ts'
import type { LociProcess } from '../world/process.ts'
import { reportOn } from '../world/report.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const ROUNDS = isShort ? 2 : 4
/** A slow machine restarts more often until it has had as many. */
const REQUESTS_MIN = isShort ? 2_000 : 7_000
const RESTARTS_MAX = 40
/** Told 503 because the machine is busy: nothing was done, and no restart is the cause. */
const BUSY = /"code":"(OVERLOADED|STORE_UNAVAILABLE)"/
const BUSY_SHARE_MAX = 0.02
const CLIENTS = 24
const PAUSE_MS = 2
/** A request that was lost is never answered; on a busy machine some take long. */
const HANG_MS = 60_000
/** The default: longer than the balancer takes to notice, and a client to use its connection, on an idle machine. */
const GRACE_MS = 3_000
const GRACE_MS_MAX = 60_000

interface Load {
  requests: number
  busy: number
  failures: string[]
  latenciesMs: number[]
  stop(): Promise<void>
}

const MIX = [
  { method: 'GET', path: '/v1/health/all' },
  { method: 'GET', path: '/openapi.json' },
  { method: 'GET', path: '/admin/services/status' },
  { method: 'POST', path: '/admin/services/enable', body: '{"services":["kv"],"dry_run":true}' },
]

await reportOn(async (report) => {
  // What is promised is that a restart costs no request. 24 administrators at once may wait their turn on a busy
  // machine.
  const graceMs = Math.min(GRACE_MS_MAX, Math.round((await report.within(GRACE_MS)).ms))
  const settings = {
    LOCI_QUEUE_MS: '5000',
    LOCI_DRAIN_GRACE_MS: String(graceMs),
    LOCI_TRUSTED_PROXIES: '127.0.0.1/32',
  }
  const world = await startWorld({ replicas: 0, management: false, settings })
  try {
    const result = await roll(world, {}, ROUNDS, 'SIGTERM', REQUESTS_MIN)
    for (const failure of result.failures.slice(0, 10)) report.note(failure)
    report.promise(
      `rolling restarts of 2 replicas, ${CLIENTS} clients`,
      result.failures.length === 0 &&
        result.requests >= REQUESTS_MIN &&
        result.busy <= BUSY_SHARE_MAX * result.requests,
      `${result.codes.length / 2} times with a grace of ${graceMs} ms, ${result.failures.length} failed of ${result.requests} (at least ${REQUESTS_MIN}), ${result.busy} refused by a busy machine (at most ${BUSY_SHARE_MAX * 100} %), p99 ${result.p99Ms} ms, worst ${result.worstMs} ms`,
    )
    report.promise(
      'every replaced replica drained by itself',
      result.codes.every((code) => code === 0),
      `${result.codes.length} restarts, exit codes ${[...new Set(result.codes)].join(', ')}, slowest ${result.slowestDrainMs} ms`,
    )
    const hasty = await roll(world, { LOCI_DRAIN_GRACE_MS: '0', LOCI_DRAIN_MS: '0' }, isShort ? 1 : 2)
    report.mutant(
      'close at once (no grace, no drain)',
      hasty.failures.length > 0
        ? `${hasty.failures.length} failed of ${hasty.requests}, e.g. ${hasty.failures[0]}`
        : undefined,
    )
    if (isShort) return
    const killed = await roll(world, {}, 1, 'SIGKILL')
    report.mutant(
      'kill -9 instead of SIGTERM',
      killed.failures.length > 0 ? `${killed.failures.length} failed of ${killed.requests}` : undefined,
    )
  } finally {
    await world.stop()
  }
})

async function roll(
  world: World,
  settings: Record<string, string>,
  rounds: number,
  signal: NodeJS.Signals = 'SIGTERM',
  requestsMin = 0,
) {
  const proxy = await startHealthProxy()
  const replicas: LociProcess[] = []
  const codes: (number | null)[] = []
  let slowestDrainMs = 0
  for (let i = 0; i < 2; i += 1) replicas.push(await join(world, proxy, settings))
  const load = startLoad(proxy, world.adminToken)
  try {
    await sleep(500)
    for (let i = 0; i < rounds * 2 || (load.requests < requestsMin && i < RESTARTS_MAX); i += 1) {
      const old = replicas.shift() as LociProcess
      const startedAt = performance.now()
      old.child.kill(signal)
      const ended = old.exited.then(({ code }) => {
        codes.push(code)
        slowestDrainMs = Math.max(slowestDrainMs, Math.round(performance.now() - startedAt))
        proxy.remove(old.url)
      })
      replicas.push(await join(world, proxy, settings))
      await ended
    }
    await sleep(500)
  } finally {
    await load.stop()
    proxy.close()
    await Promise.all(replicas.map((replica) => replica.stop()))
  }
  const sorted = load.latenciesMs.sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  const { requests, busy, failures } = load
  return { requests, busy, failures, codes, slowestDrainMs, p99Ms: at(0.99), worstMs: at(1) }
}

async function join(world: World, proxy: HealthProxy, settings: Record<string, string>): Promise<LociProcess> {
  const replica = await world.startDaemon(settings)
  await proxy.add(replica.url)
  return replica
}

/** Half the clients through each kind of balancer, each with one connection that it keeps as long as it is let. */
function startLoad(proxy: HealthProxy, token: string): Load {
  let stopped = false
  const load: Load = {
    requests: 0,
    busy: 0,
    failures: [],
    latenciesMs: [],
    async stop() {
      stopped = true
      await Promise.all(clients)
    },
  }
  const client = async (number: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const [kind, url] = number % 2 === 0 ? ['http', proxy.httpUrl] : ['tcp', proxy.tcpUrl]
    for (let i = number; !stopped; i += 1) {
      const one = MIX[i % MIX.length] as (typeof MIX)[number]
      const startedAt = performance.now()
      // As many people as requests: one address alone is slowed on open routes. The administration is for loopback.
      const address = `127.${1 + number}.${(i >> 8) & 255}.${i & 255}`
      const outcome = await send(agent, url as string, one, { token, address })
      load.latenciesMs.push(performance.now() - startedAt)
      load.requests += 1
      if (BUSY.test(outcome)) load.busy += 1
      else if (outcome !== '200') load.failures.push(`${kind} ${one.method} ${one.path}: ${outcome}`)
      await sleep(PAUSE_MS)
    }
    agent.destroy()
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
  return load
}

function send(
  agent: Agent,
  url: string,
  one: (typeof MIX)[number],
  { token, address }: { token: string; address: string },
): Promise<string> {
  return new Promise((resolve) => {
    const headers = {
      'x-loci-admin-token': token,
      'x-forwarded-for': address,
      ...(one.body ? { 'content-type': 'application/json', 'content-length': String(one.body.length) } : {}),
    }
    const request = httpRequest(url + one.path, { agent, method: one.method, headers, timeout: HANG_MS }, (answer) => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (text: string) => {
        body += text
      })
      answer.on('error', (error) => resolve(`cut: ${error.message}`))
      answer.on('end', () => resolve(answer.statusCode === 200 ? '200' : `${answer.statusCode} ${body.slice(0, 160)}`))
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${HANG_MS} ms`)))
    request.on('error', (error) => resolve(error.message))
    request.end(one.body)
  })
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
