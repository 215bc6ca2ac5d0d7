// A kind of request that nobody named: for ten minutes routes and sizes are drawn by lot, each sent at the full rate of
// the plan from one service or from ten of one organization, and the worst that a quiet tenant feels is the figure. One
// window is at the mercy of the machine, so what was worst is measured again, in more rounds, before it counts.

import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { setLimits, setRate } from './cell-limits.ts'
import { COUNTING, mutantBeside } from './dear-mutants.ts'
import { type Kind, LIVE_P99_MS_MAX, measure, RATIO_MAX, ratioOf, verdictOf, type Window } from './dear-windows.ts'
import { drawKind, ENTRIES, RECORDS } from './drawn-kinds.ts'
import { type PlainRequest, plainClient } from './plain-client.ts'
import { seeded, seedOfRun } from './seeded.ts'

/** Of the free plan (management/plans.json). */
const PLAN_PER_SECOND = 20
const FILL_PER_SECOND = 1_000_000
const SERVICES = 10
/** So that the debt of one draw is worked off before its organization sends the next. */
const ORGANIZATIONS = 2
const SECONDS = 2
const MINUTES = 10
const SHORT_MINUTES = 1
const SUSPECTS_MAX = 8
const ROUNDS = { rounds: 4, roundsMax: 8 }
/** Draws that the mutant is tried with: those that were refused most. */
const MUTANT_KINDS = 4

export async function drawnRequests(
  report: Report,
  world: World,
  daemon: LociProcess,
  quiet: WorldTenant,
  isShort: boolean,
): Promise<void> {
  const seed = seedOfRun()
  const random = seeded(seed)
  report.note(`drawn by --seed=${seed}`)
  await fill(daemon, quiet)
  const organizations = await makeOrganizations(world, daemon)
  const endsAt = performance.now() + (isShort ? SHORT_MINUTES : MINUTES) * 60_000
  const quietly = { note: () => undefined }
  const windows: Window[] = []
  const kinds: Kind[] = []
  while (performance.now() < endsAt) {
    const services = organizations[kinds.length % ORGANIZATIONS] as [WorldTenant, ...WorldTenant[]]
    const count = random.chance(0.5) ? SERVICES : 1
    const drawn = drawKind(random, kinds.length + 1)
    const kind: Kind = {
      ...drawn,
      name: count === 1 ? drawn.name : `${drawn.name}, ${count} services`,
      service: services[0],
      tokens: services
        .slice(0, count)
        .map(({ partner, capability }) => (drawn.isPartner ? partner.token : capability.token)),
      perSecond: PLAN_PER_SECOND * count,
    }
    kinds.push(kind)
    windows.push(...(await measure(quietly, daemon, quiet, [kind], { rounds: 1, roundsMax: 1, seconds: SECONDS })))
  }
  const worstFirst = (all: Kind[]) => all.toSorted((a, b) => ratioIn(windows, b) - ratioIn(windows, a))
  const suspects = worstFirst(kinds.filter((kind) => ratioIn(windows, kind) > RATIO_MAX)).slice(0, SUSPECTS_MAX)
  report.note(
    `${kinds.length} kinds were drawn; measured again: ${suspects.map(({ name }) => name).join('; ') || 'none'}`,
  )
  if (suspects.length > 0)
    windows.push(...(await measure(report, daemon, quiet, suspects, { ...ROUNDS, seconds: SECONDS })))

  const live = await report.within(LIVE_P99_MS_MAX)
  // A kind that looked bad once and was not among the suspects looked less bad than all of them.
  const judged = suspects.length > 0 ? suspects : worstFirst(kinds).slice(0, 1)
  const [worst] = worstFirst(judged) as [Kind]
  for (const kind of worstFirst(judged).slice(1))
    report.note(`${kind.name}: ${verdictOf(of(windows, kind), live).figure}`)
  const { figure } = verdictOf(of(windows, worst), live)
  const answered = windows.filter(({ greedy }) => Object.keys(greedy.statuses).length > 0).length
  const admitted = windows.filter(({ greedy }) => (greedy.statuses['200'] ?? 0) > 0).length
  report.promise(
    `a quiet tenant beside ${kinds.length} kinds of requests drawn by lot`,
    judged.every((kind) => isBearable(of(windows, kind), live.ms)) && answered === windows.length,
    `the worst was ${worst.name}: ${figure}; ${Math.round((100 * admitted) / windows.length)} % of the draws did something; --seed=${seed}`,
  )
  // In a short run hardly a dear kind is drawn, so the mutant would feel like the product.
  if (isShort) return
  const refused = (kind: Kind) => partRefused(of(windows, kind))
  await mutantBeside(report, world, quiet, {
    name: 'the rate counts requests',
    edit: COUNTING,
    of: kinds.toSorted((a, b) => refused(b) - refused(a)).slice(0, MUTANT_KINDS),
    lengths: { rounds: 3, seconds: SECONDS },
    usual: windows,
  })
}

function of(windows: Window[], kind: Kind): Window[] {
  return windows.filter((window) => window.kind === kind)
}

function ratioIn(windows: Window[], kind: Kind): number {
  return ratioOf(of(windows, kind)).ratio
}

/** What is refused whatever its rate is judged by what others feel alone. */
function isBearable(windows: Window[], liveMs: number): boolean {
  const live = windows.map((window) => window.liveMs).toSorted((a, b) => a - b)[windows.length >> 1] as number
  return ratioOf(windows).ratio <= RATIO_MAX && live <= liveMs && windows.every(({ failed }) => failed === 0)
}

/** The part for its rate, of those that would have been let in: dear ones are refused most. */
function partRefused(windows: Window[]): number {
  const total = (status: string) => windows.reduce((sum, { greedy }) => sum + (greedy.statuses[status] ?? 0), 0)
  return total('200') === 0 ? 0 : total('429') / (total('200') + total('429'))
}

async function makeOrganizations(world: World, daemon: LociProcess): Promise<WorldTenant[][]> {
  const organizations: WorldTenant[][] = []
  for (let n = 0; n < ORGANIZATIONS; n += 1) {
    const services: WorldTenant[] = []
    while (services.length < SERVICES)
      services.push(
        await addTenant(world, { name: `drawn${n}`, plan: 'free', ...(services[0] ? { of: services[0] } : {}) }),
      )
    const room = { records: 10_000_000, bytes: 100_000_000_000 }
    await setLimits(world, services, { ...room, requests_per_second: FILL_PER_SECOND, burst: FILL_PER_SECOND })
    for (const service of services) await fill(daemon, service)
    await setRate(world, services, PLAN_PER_SECOND)
    organizations.push(services)
  }
  return organizations
}

/** Entries of a few hundred bytes and short memories in conversations. */
async function fill({ url }: LociProcess, { capability }: WorldTenant): Promise<void> {
  const client = plainClient()
  const send = async (path: string, body: object) => {
    const headers = { 'x-loci-capability': capability.token }
    const request: PlainRequest = { method: 'POST', path, headers, body: JSON.stringify(body) }
    const outcome = await client.send(url, request)
    if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`filling: ${JSON.stringify(outcome)}`)
  }
  const hundred = Array.from({ length: 100 }, (_, n) => n)
  for (let at = 0; at < ENTRIES; at += 100)
    await send('/v1/kv/entries/batch', {
      operations: hundred.map((n) => ({ op: 'put', key: `k${at + n}`, value: 'x'.repeat(300) })),
    })
  for (let at = 0; at < RECORDS; at += 100)
    await send('/v1/memory/records/batch', {
      records: hundred.map((n) => ({
        content: `order ${at + n} of customer ${(at + n) % 37} was sent to street ${(at + n) % 91} on day ${(at + n) % 28}`,
        contextId: `chat ${(at + n) % 50}`,
        tags: [`tag ${n % 8}`],
      })),
    })
  client.close()
}
