// Pages of the console follow a service: through management, by the sessions of two people, cut off again and again,
// while a daemon is killed. No event is lost, told twice or reordered; a daemon has one stream for all of them, which
// takes none from the agents of a plan with two.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Follower, follow, followCapability, type Place } from '../robustness/event-followers.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { signInAt } from '../robustness/signed-in.ts'
import { plantMutant } from '../world/mutant.ts'
import type { LociProcess } from '../world/process.ts'
import { mapWidth, reportOn } from '../world/report.ts'
import { addOrganization, addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const WRITES = isShort ? 150 : 600
const PAGES = 8
const STAY_MS = 1_500
const SETTLE_MS = 60_000
const random = seeded(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- console-events --seed=${SEED}`)
  const world = await startWorld({ replicas: 2, people: PEOPLE, isBilled: true })
  try {
    const acme = await addOrganization(world, 'acme')
    const { capability, serviceId } = await addTenant(world, { name: 'acme', plan: 'free', of: acme })
    const place = await placeOf(world, serviceId)
    const management = (world.management as LociProcess).url
    const [first, second] = world.daemons as [LociProcess, LociProcess]

    // The plan free has two streams on each replica: agents have them all.
    const agents = [1, 2].map(() => follow([first.url], followCapability(capability.token), random, 10 * 60_000))
    const staying = [1, 2, 3].map(() => follow([management], place, random, 10 * 60_000))
    const kept = await followed([management], place, { token: capability.token, staying, at: first.url })
    report.promise(
      `${PAGES} pages that come and go and 3 that stay miss nothing, are told nothing twice, and nothing out of order`,
      isKept(kept, WRITES),
      shown(kept),
    )
    let streams = 0
    await until(async () => {
      streams = await streamsOf(first)
      return streams === 3
    })
    report.promise(
      'a daemon has one stream for all pages, beside two of agents on the plan free, and nobody was refused',
      streams === 3 && agents.every(({ connections }) => connections === 1) && staying.every(isUnbroken),
      `${streams} streams, ${agents.map(({ connections }) => connections).join(' and ')} connections of agents`,
    )

    const url = first.url
    await first.kill()
    const restarted = sleep(1_000).then(() => world.startDaemon({ LOCI_LISTEN: url.slice('http://'.length) }))
    const killed = await followed([management], place, { token: capability.token, staying, at: second.url })
    await restarted
    report.promise(
      'the same while the daemon behind the stream is killed and started again',
      isKept(killed, WRITES),
      shown(killed),
    )
    for (const one of [...agents, ...staying]) one.stop()

    await using forgetful = await plantMutant([
      {
        file: 'management/proxy/tail.ts',
        from: 'if (found?.id === id) return found.place',
        to: 'if (found?.id === id) return end',
      },
    ])
    const other = await forgetful.startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
    const lossy = await followed([other.url], place, { token: capability.token, staying: [], at: second.url })
    await other.stop()
    report.mutant('a tail that goes on at its end', isKept(lossy, WRITES) ? undefined : shown(lossy))

    await using counting = await plantMutant([
      {
        file: 'daemon/events/routes.ts',
        from: 'rootHolder === CONSOLE_HOLDER',
        to: 'rootHolder === `not the ${CONSOLE_HOLDER}`',
      },
    ])
    await Promise.all(world.daemons.map((daemon) => daemon.kill()))
    const daemon = await counting.startProgram(
      'daemon',
      world.daemonSettings({ LOCI_LISTEN: url.slice('http://'.length) }),
    )
    const both = [1, 2].map(() => follow([url], followCapability(capability.token), random, 10 * 60_000))
    let refusal = 0
    await until(async () => {
      refusal = await statusOf(management, place)
      return refusal === 429
    })
    for (const agent of both) agent.stop()
    await daemon.stop()
    report.mutant('the plan counts the console', refusal === 429 ? 'a page got 429' : undefined)
  } finally {
    await world.stop()
  }
})

async function placeOf(world: World, serviceId: string): Promise<Place> {
  const { access } = await signInAt(world)
  const cookie = `loci_access_token=${access}`
  return { path: `/api/v1/services/${serviceId}/proxy/v1/events`, headers: { cookie, 'sec-fetch-site': 'same-origin' } }
}

interface Findings {
  writes: number
  missed: number
  /** Seen again, or after a later one. */
  reordered: number
  connections: number
}

function isKept({ writes, missed, reordered }: Findings, expected: number): boolean {
  return writes === expected && missed === 0 && reordered === 0
}

function isUnbroken({ connections }: Follower): boolean {
  return connections === 1
}

function shown({ writes, missed, reordered, connections }: Findings): string {
  return `${missed} missed, ${reordered} reordered of ${writes} events, ${connections} connections`
}

interface Writing {
  token: string
  /** Followers that are there already. */
  staying: Follower[]
  /** The replica that is written at. */
  at: string
}

async function followed(urls: string[], place: Place, { token, staying, at }: Writing): Promise<Findings> {
  // Each has been told where it begins before anything is written.
  const coming = Array.from({ length: PAGES }, () => follow(urls, place, random, STAY_MS))
  const all = [...staying, ...coming]
  const from = new Map(all.map((one) => [one, one.seen.length]))
  await until(() => all.every(({ isPlaced }) => isPlaced))
  const acknowledged = await mapWidth(Array.from({ length: WRITES }), 2, async (_, n) => {
    for (;;) {
      const answer = await fetch(`${at}/v1/working-memory/slots/w${n % 8}`, {
        method: 'PUT',
        headers: { 'x-loci-capability': token, 'content-type': 'application/json' },
        body: JSON.stringify({ value: n }),
      })
      const body = (await answer.json()) as { version: number }
      if (answer.status === 200) return body.version
      // The plan's rate: it says when to come back.
      if (answer.status !== 429) throw new Error(`a write was answered ${answer.status}: ${JSON.stringify(body)}`)
      await sleep(Number(answer.headers.get('retry-after')) * 1_000)
    }
  })
  const seenBy = (one: Follower) => one.seen.slice(from.get(one))
  const missedBy = (one: Follower) => {
    const known = new Set(seenBy(one).map(({ data }) => data.version))
    return acknowledged.filter((version) => !known.has(version)).length
  }
  await until(() => all.every((one) => missedBy(one) === 0))
  for (const one of coming) one.stop()
  return {
    writes: new Set(acknowledged).size,
    missed: all.reduce((sum, one) => sum + missedBy(one), 0),
    reordered: all.reduce((sum, one) => sum + reorderedIn(seenBy(one)), 0),
    connections: all.reduce((sum, { connections }) => sum + connections, 0),
  }
}

/** Or until the time is over: what it is then is what is told. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + SETTLE_MS
  while (performance.now() < end && !(await holds())) await sleep(100)
}

async function streamsOf({ url }: LociProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^loci_event_streams (\d+)$/m.exec(text)?.[1])
}

async function statusOf(url: string, { path, headers }: Place): Promise<number> {
  const stop = new AbortController()
  const { status } = await fetch(`${url}${path}`, { headers, signal: stop.signal })
  stop.abort()
  return status
}

function reorderedIn(seen: Follower['seen']): number {
  return seen.filter(({ seq }, at) => at > 0 && seq <= (seen[at - 1] as { seq: number }).seq).length
}
