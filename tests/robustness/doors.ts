// A stranger with 200 connections at each door that needs no credential: documents that are asked for and not read,
// sessions and sign-ins that nobody has, sign-ins that are begun without end. A paying customer is served meanwhile.
//
// What is promised is a ratio: a harmless flood of the same shape, in the same minutes on the same machine, is what any
// crowd costs that is turned away at once. And two counts, of what the stranger takes: slots, and documents.

import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { type Taken, watchTaken } from './crowd-taken.ts'
import { type Felt, feel, OTHERS } from './crowded-bodies.ts'
import type { FloodTarget } from './flood-client.ts'
import { startFlood } from './open-flood.ts'
import type { PlainRequest } from './plain-client.ts'

const CONNECTIONS = 200
const AHEAD = 16
/** Of what the customer asked for. */
const REFUSED_MAX = 0.01
const TIMES_MAX = 3
/** Where the control is next to nothing, a multiple of it is too. */
const SLACK_MS = 100
/** Of the slots of a program: what strangers of an address, or all suspects, hold at once. */
const SHARE = 16
const SLOTS = { daemon: 128, management: 64 }
/** Of an address on open routes; an answer counts for 1 and for each 16 KiB of it. */
const UNITS_PER_SECOND = 200
const UNITS_SAVED_MAX = 2_000
const UNIT_BYTES = 16 * 1_024
/** No other address is in the way of the customer's own. */
const FLOOD = { connections: CONNECTIONS, addresses: 1 }

type Door = Omit<FloodTarget, 'url' | 'connections'>

const UNREAD: Record<string, Door> = { '/docs, sent ahead and not read': { paths: ['/docs'], ahead: AHEAD } }
const SIGN_IN: Record<string, Door> = {
  'sessions that nobody has': { paths: ['/api/auth/session'], invents: 'session' },
  'polls of sign-ins that nobody began': { paths: [], invents: 'poll' },
  '/sign-in/start': { paths: ['/sign-in/start'] },
}
const HARMLESS = ['/nothing-is-here']

/** Only the mutants, to see that they are caught for what they break. */
const isMutants = process.argv.includes('--mutants')

export async function doors(report: Report, world: World, tenant: WorldTenant, isShort: boolean): Promise<void> {
  const customer: PlainRequest = {
    method: 'GET',
    path: '/v1/kv/entries/quiet',
    headers: { 'x-loci-capability': tenant.capability.token },
  }
  const [daemon] = world.daemons as [LociProcess]
  await fetch(`${daemon.url}${customer.path}`, {
    method: 'PUT',
    headers: { ...customer.headers, 'content-type': 'application/json' },
    body: '{"value":1}',
  })
  const bytes = (await (await fetch(`${daemon.url}/docs`, { headers: { 'accept-encoding': 'identity' } })).bytes())
    .length
  const documentUnits = 1 + Math.floor(bytes / UNIT_BYTES)
  const unread = { target: daemon, slots: SLOTS.daemon, others: [customer], reserved: [], documentUnits, isShort }
  if (!isMutants) await hold(report, UNREAD, { ...unread, control: { paths: HARMLESS, ahead: AHEAD } })

  const management = await world.startManagement()
  const callers = await addCallers(world, { organizations: 8, each: 1, name: 'beside-doors' })
  const others = callers.map(({ apiKey }) => ({
    method: 'GET',
    path: '/api/v1/services',
    headers: { 'x-api-key': apiKey },
  }))
  const reserved = [revocationOf(callers[0] as WorldCaller)]
  const revoking = { slots: SLOTS.management, others, reserved, documentUnits, isShort }
  if (!isMutants) await hold(report, SIGN_IN, { target: management, ...revoking, control: { paths: HARMLESS } })
  if (isShort) return

  await withoutBounds(report, world, 'documents without a bound', OPEN_DOCUMENTS, 'daemon', (target) =>
    worst(UNREAD, { ...unread, target, control: { paths: HARMLESS, ahead: AHEAD } }),
  )
  const { 'sessions that nobody has': sessions } = SIGN_IN as Record<string, Door>
  await withoutBounds(report, world, 'sign-in without the share of suspects', OPEN_SIGN_IN, 'management', (target) =>
    worst({ sessions: sessions as Door }, { target, ...revoking, control: { paths: HARMLESS } }),
  )
}

/** As it was: encoded anew for each request, all that was sent ahead at once, no rate, 64 MiB unread for all alone. */
const OPEN_DOCUMENTS: Edit[] = [
  { file: 'libs/chassis/admission.ts', from: '  if (refused) throw refused\n', to: '' },
  { file: 'libs/chassis/unread.ts', from: ' || bytesOf(next.network, answeredUntil) > 2 * ADDRESS_BYTES_MAX', to: '' },
  { file: 'libs/chassis/unread.ts', from: 'const ADDRESS_BYTES_MAX = 8 *', to: 'const ADDRESS_BYTES_MAX = 64 *' },
  { file: 'libs/chassis/in-turn.ts', from: '  if (!before) {', to: '  if (Math) {' },
  { file: 'libs/chassis/published.ts', from: 'plain: reply(status, plain,', to: 'plain: reply(status, body,' },
]
/** As it was: strangers stand where everybody does, and are told at once. */
const OPEN_SIGN_IN: Edit[] = [
  {
    file: 'management/access/attempts.ts',
    from: 'failures.areAnyOver() && failures.isOver(addressOf(arrival)) ? SUSPECTS : undefined',
    to: '(arrival ? undefined : SUSPECTS)',
  },
  { file: 'libs/chassis/in-turn.ts', from: '  await exchange.lane.refuse(refusal)\n', to: '  throw refusal\n' },
]

interface Scene {
  target: LociProcess
  /** Of the limiter of the target. */
  slots: number
  /** What an answer with the documents counts for. */
  documentUnits: number
  others: PlainRequest[]
  reserved: Parameters<typeof feel>[0]['reserved']
  control: Door
  isShort: boolean
}

/** The owner takes a token back again and again: that there is none of this id is the answer of the database. */
function revocationOf({ apiKey, tenantId }: WorldCaller): Scene['reserved'][number] {
  const path = `/api/v1/tenants/${tenantId}/tokens/cap_${'0'.repeat(26)}`
  return {
    name: 'DELETE of a token',
    request: { method: 'DELETE', path, headers: { 'x-api-key': apiKey } },
    fits: /^404 /,
  }
}

async function hold(report: Report, named: Record<string, Door>, scene: Scene): Promise<void> {
  for (const [name, door] of Object.entries(named)) {
    const compared = await compare(door, scene)
    const faults = faultsOf(compared, scene)
    report.promise(`${CONNECTIONS} connections on ${name}`, faults.length === 0, figureOf(compared, scene))
  }
}

async function worst(named: Record<string, Door>, scene: Scene): Promise<string | undefined> {
  for (const door of Object.values(named)) {
    const faults = faultsOf(await compare(door, scene), scene)
    if (faults.length > 0) return faults.join(', ')
  }
  return undefined
}

async function withoutBounds(
  report: Report,
  world: World,
  name: string,
  edits: Edit[],
  program: 'daemon' | 'management',
  look: (target: LociProcess) => Promise<string | undefined>,
): Promise<void> {
  await using mutant = await plantMutant(edits)
  const settings =
    program === 'daemon' ? world.daemonSettings() : world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' })
  const target = await mutant.startProgram(program, settings)
  await untilReady(target.url)
  report.mutant(name, await look(target))
  await target.stop()
}

interface Round {
  attack: Felt
  control: Felt
  taken: Taken
}

interface Compared extends Round {
  rounds: Round[]
}

/** In turns, and the comparison in the middle counts: each is of one moment. What is taken counts in each. */
async function compare(door: Door, { control, isShort, ...scene }: Scene): Promise<Compared> {
  const rounds: Round[] = []
  const under = async (one: Door) => {
    let taken: Taken | undefined
    const crowd = async () => {
      const watch = await watchTaken(scene.target)
      const flood = await startFlood([{ url: scene.target.url, ...FLOOD, ...one }])
      const stop = async () => {
        const answers = await flood.stop()
        taken = await watch.stop()
        return { answers }
      }
      return { stop }
    }
    const felt = await feel({ ...scene, crowd, ms: isShort ? 4_000 : 8_000 })
    return { felt, taken: taken as unknown as Taken }
  }
  for (let round = 0; round < (isShort ? 1 : 3); round += 1) {
    const { felt: beside } = await under(control)
    // Before the first attack: else whatever is wrong with the process would count as what the attack did.
    if (round === 0 && beside.goodput < 1 - REFUSED_MAX)
      throw new Error(`beside a harmless flood ${percent(1 - beside.goodput)} refused`)
    const { felt: attack, taken } = await under(door)
    rounds.push({ control: beside, attack, taken })
  }
  const middle = rounds.toSorted((a, b) => ratioOf(a) - ratioOf(b))[rounds.length >> 1] as Round
  return { ...middle, rounds }
}

function ratioOf({ attack, control }: Round): number {
  return attack.p99Ms / boundMs(control)
}

function boundMs({ p99Ms }: Felt): number {
  return Math.max(TIMES_MAX * p99Ms, p99Ms + SLACK_MS)
}

/** Beside the strangers each of the others has one at once. */
function slotsMax({ slots, reserved }: Scene): number {
  return slots / SHARE + OTHERS + reserved.length
}

/** What is under way when the units are spent is answered. */
function documentsMax({ seconds }: Taken, { slots, documentUnits }: Scene): number {
  return Math.floor((UNITS_SAVED_MAX + UNITS_PER_SECOND * seconds) / documentUnits) + slots / SHARE
}

function faultsOf({ attack, control, rounds }: Compared, scene: Scene): string[] {
  const ms = boundMs(control)
  const takers = rounds.map(({ taken }) => taken)
  const crowded = takers.find(({ slots }) => slots > slotsMax(scene))
  const lavish = takers.find((taken) => taken.documents > documentsMax(taken, scene))
  return [
    ...(crowded ? [`${crowded.slots} slots taken of at most ${slotsMax(scene)}`] : []),
    ...(lavish ? [`documents answered ${lavish.documents} times of at most ${documentsMax(lavish, scene)}`] : []),
    ...(attack.goodput < 1 - REFUSED_MAX ? [`${percent(1 - attack.goodput)} refused`] : []),
    ...(attack.p99Ms > ms ? [`p99 ${Math.round(attack.p99Ms)} ms of at most ${Math.round(ms)}`] : []),
    ...(attack.unanswered.length > 0 ? [`${attack.unanswered.length} not answered, e.g. ${attack.unanswered[0]}`] : []),
  ]
}

function figureOf({ attack, control, rounds }: Compared, scene: Scene): string {
  const slots = Math.max(...rounds.map(({ taken }) => taken.slots))
  const documents = rounds.map(({ taken }) => `${taken.documents} of ${documentsMax(taken, scene)}`)
  return `${percent(1 - attack.goodput)} of ${attack.asked} refused (at most 1), p99 ${attack.p99Ms.toFixed(1)} ms (at most ${boundMs(control).toFixed(1)}), beside a harmless flood ${control.p99Ms.toFixed(1)} ms, quiet ${attack.quietP99Ms.toFixed(1)} ms; ${slots} slots taken (at most ${slotsMax(scene)}), documents ${documents.join(', ')}; ${attack.unanswered.length} revocations not answered; the flood had ${JSON.stringify(attack.dripped)}`
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`
}
