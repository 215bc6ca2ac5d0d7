// Nobody waits for somebody else who is slow: clients that drip, a client that does not read, a PostgreSQL far away, a
// row that somebody holds.

import { connect, type NetConnectOpts } from 'node:net'
import { slotsTaken } from '../robustness/crowd-taken.ts'
import { faultsOf, feel, figureOf } from '../robustness/crowded-bodies.ts'
import { startDrippers } from '../robustness/drippers.ts'
import { farDatabase } from '../robustness/far-database.ts'
import { startFaultProxy } from '../robustness/fault-proxy.ts'
import { floodedAccess } from '../robustness/flooded-access.ts'
import { lockedRow } from '../robustness/locked-row.ts'
import { plainClient } from '../robustness/plain-client.ts'
import { faultOf, parseAnswers, type StreamResult, sendStream } from '../robustness/raw-stream.ts'
import { sleep, startOthers, told } from '../robustness/timed-others.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant, type WorldOrganization, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
/** --only=far: one scene alone. */
const ONLY = process.argv.find((given) => given.startsWith('--only='))?.slice('--only='.length)
const DRIP_MS_MAX = 12_000
const DRIPPERS = isShort ? 70 : 200
const SILENCE_MS = 60_000
/** The slots of both programs beside a crowd of bodies, so that the crowd need not be larger. */
const SLOTS = 64
const CROWD = 4 * SLOTS
const CROWD_MS = isShort ? 4_000 : 10_000
const SLACK_MS = 100

await reportOn(async (report) => {
  const world = await startWorld({ asShipped: true, replicas: 1 })
  const proxy = await startFaultProxy(() => world.postgres.port)
  try {
    const [daemon] = world.daemons as [LociProcess]
    const tenants = [
      await addTenant(world, { name: 'acme', plan: 'enterprise' }),
      await addTenant(world, { name: 'globex', plan: 'enterprise' }),
    ] as [WorldTenant, WorldTenant]
    const [tenant] = tenants
    let silence = async () => {}
    const scenes: Record<string, () => Promise<void>> = {
      // First, and on a daemon of its own: the minute after which it is cut off passes beside the others.
      async reader() {
        silence = await slowReader(report, await world.startDaemon({}), tenant)
      },
      bodies: () => crowdedBodies(report, world, tenants[1]),
      flood: () => floodedAccess(report, world, isShort),
      // One after the other on its own: each wants to see the others' part of the daemon unharmed.
      drips: async () => void (await Promise.all([drips(report, daemon, tenant), mutants(report, world, tenant)])),
      lock: () => lockedRow(report, world, daemon, tenants),
      async far() {
        const url = `postgres://loci_daemon@127.0.0.1:${proxy.port}/loci_cell`
        await farDatabase(report, await world.startDaemon({ LOCI_DATABASE_URL: url }), tenant, proxy, isShort)
      },
    }
    for (const [name, scene] of Object.entries(scenes)) if (ONLY === undefined || name === ONLY) await scene()
    await silence()
  } finally {
    for (const { child, lines, pid } of world.daemons)
      if (child.exitCode !== null || child.signalCode !== null)
        report.promise(
          'every daemon lives',
          false,
          `${pid} ended with ${child.exitCode ?? child.signalCode}: ${lines.slice(-3).join('\n')}`,
        )
    proxy.delayMs = 0
    await world.stop()
    await proxy.close()
  }
})

async function drips(report: Report, daemon: LociProcess, tenant: WorldTenant): Promise<void> {
  const others = startOthers(daemon, tenant, 'default')
  const results = await drip(daemon, tenant, DRIPPERS, 2 * DRIP_MS_MAX)
  const beside = await others.stop()
  const bound = await report.within(DRIP_MS_MAX)
  for (const [kind, list] of Object.entries(results)) {
    const faults = list.flatMap((result) => dripFaultOf(result, bound.ms) ?? [])
    const worst = Math.max(...list.map(({ ms }) => ms))
    const said = new Set(list.map(({ received }) => parseAnswers(received)[0]?.status ?? 'closed'))
    report.promise(
      `a drip of ${kind} is closed`,
      faults.length === 0,
      `${list.length} of them, the last after ${(worst / 1000).toFixed(1)} s (${bound.text}), ${[...said].join(', ')}${faults[0] ? `; ${faults[0]}` : ''}`,
    )
  }
  report.promise('others are served beside them', beside.isGood, beside.figure)
}

/**
 * H1: one free account held every slot with bodies that never came: the whole daemon, the whole of management, operator
 * included.
 */
async function crowdedBodies(report: Report, world: World, other: WorldTenant): Promise<void> {
  const free = await addTenant(world, { name: 'initech', plan: 'free' })
  const account = await addOrganization(world, 'hooli')
  // Several, so that none of them meets the rate of its own plan.
  const callers = await addCallers(world, { organizations: 8, each: 1, name: 'beside' })
  const slots = { LOCI_CONCURRENCY_MAX: String(SLOTS) }
  const attacked = await Promise.all([
    startProgram('daemon', world.daemonSettings(slots)),
    startProgram('management', world.managementSettings({ ...slots, LOCI_LISTEN: '127.0.0.1:0' })),
  ])
  const scenes = (targets: readonly [LociProcess, LociProcess]) =>
    scenesOf(world, targets, { free, account, other, callers })
  for (const target of attacked) await untilReady(target.url)
  for (const { name, scene } of scenes(attacked)) {
    const felt = await feel(scene)
    const { ms } = await report.within(SLACK_MS)
    report.promise(`${CROWD} bodies of one byte from ${name}`, faultsOf(felt, ms).length === 0, figureOf(felt))
  }
  for (const target of attacked) await target.stop()
  if (isShort) return
  await using mutant = await plantMutant([
    {
      file: 'libs/chassis/server.ts',
      from: '  if (request.complete || request.destroyed || exchange.isClosed) return\n',
      to: '  return\n',
    },
    { file: 'libs/chassis/limiter.ts', from: 'const SHARE = 4', to: 'const SHARE = 1' },
    { file: 'libs/chassis/limiter.ts', from: 'if (name === undefined) return limiter', to: 'return limiter' },
  ])
  const old = await Promise.all([
    mutant.startProgram('daemon', world.daemonSettings(slots)),
    mutant.startProgram('management', world.managementSettings({ ...slots, LOCI_LISTEN: '127.0.0.1:0' })),
  ])
  for (const target of old) await untilReady(target.url)
  for (const { name, scene } of scenes(old as [LociProcess, LociProcess])) {
    const faults = faultsOf(await feel(scene), (await report.within(SLACK_MS)).ms)
    report.mutant(`the slot is held while a body of ${name} arrives`, faults.length > 0 ? faults.join(', ') : undefined)
  }
  for (const target of old) await target.stop()
}

function scenesOf(
  world: World,
  [daemon, management]: readonly [LociProcess, LociProcess],
  parties: { free: WorldTenant; account: WorldOrganization; other: WorldTenant; callers: WorldCaller[] },
) {
  const { free, account, other, callers } = parties
  const head = (line: string, credential: string) =>
    `${line} HTTP/1.1\r\nhost: x\r\n${credential}\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n`
  const headers = { 'x-loci-capability': other.capability.token, 'x-loci-database': 'beside' }
  const get = (path: string, sent: Record<string, string> = {}) => ({ method: 'GET', path, headers: sent })
  const admin = { 'x-loci-admin-token': world.adminToken }
  const jti = JSON.stringify({ jti: `cap_${'0'.repeat(26)}` })
  const revoke = { method: 'POST', path: '/admin/revocations', headers: admin, body: jti }
  const event = { method: 'POST', path: '/api/webhooks/billing', body: '{}' }
  return [
    {
      name: 'one free capability',
      scene: {
        target: daemon,
        crowd: () =>
          startDrippers(daemon.url, head('PUT /v1/kv/entries/x', `x-loci-capability: ${free.capability.token}`), CROWD),
        others: [
          { method: 'PUT', path: '/v1/kv/entries/beside', headers, body: '{"value":1}' },
          get('/v1/kv/entries', headers),
        ],
        reserved: [{ name: 'revocation', request: revoke, fits: /^200 / }],
        ms: CROWD_MS,
      },
    },
    {
      name: 'one free API key',
      scene: {
        target: management,
        crowd: () =>
          startDrippers(management.url, head('POST /api/v1/services', `x-api-key: ${account.apiKey}`), CROWD),
        others: callers.map(({ apiKey }) => get('/api/v1/services', { 'x-api-key': apiKey })),
        // Access is decided inside a slot: a refusal of it says that there was one.
        reserved: [
          { name: 'cell feed', request: get('/cell/v1/feed?after=0'), fits: /^401 / },
          { name: 'webhook', request: event, fits: /^401 |not configured/ },
        ],
        ms: CROWD_MS,
      },
    },
  ]
}

function dripFaultOf({ end, ms, received }: StreamResult, msMax = DRIP_MS_MAX): string | undefined {
  if (end === 'refused') return 'nobody listens any more'
  if (end === 'hung' || ms > msMax) return `lived ${Math.round(ms)} ms`
  const [answer] = parseAnswers(received)
  if (!answer) return undefined
  // One caller has so many bodies on their way, and the next ones are told so.
  return faultOf(answer) ?? ([408, 503].includes(answer.status) ? undefined : `answered ${answer.status}`)
}

async function drip({ url }: LociProcess, { capability }: WorldTenant, count: number, deadlineMs: number) {
  const port = Number(new URL(url).port)
  const head = `PUT /v1/kv/entries/drip HTTP/1.1\r\nhost: x\r\nx-loci-capability: ${capability.token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`
  const kinds = {
    headers: { first: '', rest: `GET /v1/kv/entries/k HTTP/1.1\r\nhost: ${'x'.repeat(200)}` },
    'a body': { first: head, rest: ' '.repeat(200) },
  }
  const sent = Object.entries(kinds).map(async ([kind, { first, rest }]) => {
    const many = count
    const one = () =>
      sendStream(Buffer.from(rest), { port, dripMs: 500, first: Buffer.from(first), halfClose: false, deadlineMs })
    return [kind, await Promise.all(Array.from({ length: many }, one))] as const
  })
  return Object.fromEntries(await Promise.all(sent))
}

/** Asks for a megabyte again and again and reads a byte a second of it. Returns what waits for the end of that. */
async function slowReader(report: Report, daemon: LociProcess, tenant: WorldTenant): Promise<() => Promise<void>> {
  const client = plainClient()
  const headers = { 'x-loci-capability': tenant.capability.token, 'x-loci-database': 'large' }
  for (let n = 0; n < 12; n += 1) {
    const body = JSON.stringify({ value: 'x'.repeat(60_000) })
    const outcome = await client.send(daemon.url, { method: 'PUT', path: `/v1/kv/entries/large${n}`, headers, body })
    if (told(outcome) !== '200') throw new Error(`filling: ${told(outcome)}`)
  }
  client.close()
  const { hostname, port } = new URL(daemon.url)
  const readers = Array.from({ length: isShort ? 40 : 64 }, () => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      readableHighWaterMark: 1,
    } as unknown as NetConnectOpts)
    socket.on('error', () => {})
    const request = `GET /v1/kv/entries?limit=100 HTTP/1.1\r\nhost: x\r\nx-loci-capability: ${tenant.capability.token}\r\nx-loci-database: large\r\n\r\n`
    socket.write(request.repeat(8))
    socket.pause()
    const timer = setInterval(() => socket.read(1), 1_000)
    return {
      end() {
        clearInterval(timer)
        socket.destroy()
      },
    }
  })
  // Until what they asked for is answered and lies there: before that it is the work of this tenant, as any other is.
  do await sleep(1_000)
  while ((await slotsTaken(daemon.url)) > 0)
  const others = startOthers(daemon, tenant, 'default')
  await sleep(isShort ? 3_000 : 5_000)
  const beside = await others.stop()
  report.promise('others are served beside clients that do not read', beside.isGood, beside.figure)
  const silentFrom = performance.now()
  return async () => {
    // Asked of the daemon: a client that does not read does not see either that it was cut off.
    const isOver = async () => (await inFlight(daemon)) <= 1 || performance.now() - silentFrom > SILENCE_MS + 15_000
    while (!isShort && !(await isOver())) await sleep(500)
    const left = await inFlight(daemon)
    for (const reader of readers) reader.end()
    if (isShort) return
    report.promise(
      'who does not read is gone after the silence',
      left <= 1,
      `${left} of ${readers.length} answers under way ${Math.round((performance.now() - silentFrom) / 1000)} s later (60 s of silence)`,
    )
  }
}

async function inFlight({ url }: LociProcess): Promise<number> {
  const status = (await (await fetch(`${url}/v1/lifecycle/status`)).json()) as { drain: { inFlight: number } }
  return status.drain.inFlight
}

async function mutants(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  if (isShort) {
    report.note('the mutant (Node looks for overdue requests every 30 s) needs its time: without --short')
    return
  }
  await using mutant = await plantMutant([
    { file: 'libs/chassis/listener.ts', from: '    connectionsCheckingInterval: 1_000,\n', to: '' },
  ])
  const daemon = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(daemon.url)
  const results = await drip(daemon, tenant, 3, DRIP_MS_MAX + 3_000)
  const faults = Object.values(results).flatMap((list) => list.flatMap((result) => dripFaultOf(result) ?? []))
  report.mutant('requestTimeout alone', faults.length > 0 ? `${faults.length} drips, e.g. ${faults[0]}` : undefined)
  await daemon.stop()
}
