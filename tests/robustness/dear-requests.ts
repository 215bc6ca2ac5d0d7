// H5: one tenant of the free plan sends the dearest requests that we know of, each kind at the plan's full rate; what a
// quiet tenant and the live probe feel of it. Requests differ 300-fold in cost, so a rate that counts requests alone
// lets one tenant take a replica away.
//
// The plan's rate bounds how often a dear request is let in, not how long one holds the thread: that is bounded by what
// a page or an array may have, and by doing the rest in turns (libs/chassis/turn.ts). On a quiet machine, where p99 is
// 3 ms, a list of 4 MiB was 5.5 ×, a cycle that held the thread for 68 ms 9.2 ×.

import { attenuate, seal } from '@loci/capability/capability.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { setLimits, setRate } from './cell-limits.ts'
import { type CostlyKind, dearCosts, type Measured, unpaid } from './dear-costs.ts'
import { dearMinds } from './dear-minds.ts'
import { COUNTING, type Edit, mutantBeside, NO_ORGANIZATION } from './dear-mutants.ts'
import { type Kind, LIVE_P99_MS_MAX, measure, verdictOf } from './dear-windows.ts'
import { type PlainRequest, plainClient } from './plain-client.ts'

/** Of the free plan (management/plans.json). */
const PLAN_PER_SECOND = 20
const FILL_PER_SECOND = 1_000_000
/** One below the bound of libs/chassis/json.ts, with room for the members around them. */
const MEMBERS = 19_900
const LISTS = 'lists of 1 MiB'
const VALUE_BYTES_MAX = 256 * 1024
const ENTRY_BODY_BYTES_MAX = 800 * 1024
const BODY_BYTES_MAX = 1_048_576

/** `--kind=lists`: only the kinds whose name has that in it. */
const CHOSEN = process.argv.find((given) => given.startsWith('--kind='))?.slice('--kind='.length) ?? ''

export async function dearRequests(
  report: Report,
  world: World,
  daemon: LociProcess,
  quiet: WorldTenant,
  isShort: boolean,
): Promise<void> {
  const lengths = isShort
    ? { rounds: 3, roundsMax: 7, seconds: 2, records: 2_000 }
    : { rounds: 5, roundsMax: 11, seconds: 4, records: 9_900 }
  await setRate(world, [quiet], FILL_PER_SECOND)
  await fill(daemon, quiet, 1_000, 100)
  const alone = await makeKinds(world, daemon, { records: lengths.records, services: 1, isChosen: () => true })
  const charged = alone.filter(({ isOpen }) => !isOpen)
  const measured = await dearCosts(report, world, daemon, charged, PLAN_PER_SECOND)
  const list = measured.find(({ kind }) => kind.name === LISTS)
  if (process.argv.includes('--costs')) return list && costMutant(report, world, list)
  // To make ten services takes as long as to measure them, so a short run has few such kinds.
  const isChosen = (name: string) => !isShort || CHOSEN !== '' || SHORT_OF_TEN.some((part) => name.startsWith(part))
  const ofTen = await makeKinds(world, daemon, { records: TEN_RECORDS, services: SERVICES_MAX, isChosen })
  const kinds = [...alone, ...ofTen]
  const windows = await measure(report, daemon, quiet, kinds, lengths)
  const live = await report.within(LIVE_P99_MS_MAX)
  for (const kind of kinds) {
    const own = windows.filter((window) => window.kind === kind)
    const { isKept, figure } = verdictOf(own, live)
    report.promise(`a quiet tenant beside ${kind.name}`, isKept, figure)
  }
  const mutantOf = (name: string, edit: Edit, of: Kind[]) =>
    mutantBeside(report, world, quiet, { name, edit, of, lengths, usual: windows })
  await mutantOf(
    'the rate counts requests',
    COUNTING,
    kinds.filter(({ name }) => name === LISTS),
  )
  await mutantOf(
    'no bucket of the organization',
    NO_ORGANIZATION,
    ofTen.filter(({ name }) => name.startsWith(LISTS)),
  )
}

/** As many services as an organization of the free plan may have. */
const SERVICES_MAX = 10

/** Records of each of ten services. */
const TEN_RECORDS = 1_000
const SHORT_OF_TEN = ['MCP batches', LISTS, 'plain reads']

/**
 * Each kind has a service of its own, or ten of one organization: the debt of one would keep the next from being sent.
 */
async function makeKinds(
  world: World,
  daemon: LociProcess,
  { records, services: count, isChosen }: { records: number; services: number; isChosen(name: string): boolean },
): Promise<Kind[]> {
  const kinds: Kind[] = []
  const isWanted = ({ name }: { name: string }) => name.includes(CHOSEN) && isChosen(name)
  let made = 0
  let owner: WorldTenant | undefined
  const addServices = async () => {
    const services: WorldTenant[] = []
    while (services.length < count) {
      const isFirst = made % SERVICES_MAX === 0
      const name = `greedy${count}-${Math.floor(made / SERVICES_MAX)}`
      const service = await addTenant(world, { name, plan: 'free', ...(isFirst || !owner ? {} : { of: owner }) })
      if (isFirst) owner = service
      services.push(service)
      made += 1
    }
    return services as [WorldTenant, ...WorldTenant[]]
  }
  const ready = (wanted: Omit<CostlyKind, 'tokens' | 'service'>, services: [WorldTenant, ...WorldTenant[]]) => ({
    ...wanted,
    name: count === 1 ? wanted.name : `${wanted.name}, ${count} services of one organization`,
    service: services[0],
    tokens: services.map(({ partner, capability }) => (wanted.isPartner ? partner.token : capability.token)),
    perSecond: PLAN_PER_SECOND * count,
  })
  for (const wanted of wantedKinds().filter(isWanted)) {
    // Of strangers and of chains one service is as good as ten.
    if (count > 1 && (wanted.isOpen || wanted.isChained)) continue
    const services = await addServices()
    if (wanted.method === 'GET' && !wanted.isOpen) {
      await setRate(world, services, FILL_PER_SECOND)
      for (const service of services) await fill(daemon, service, wanted.isLarge ? records : 1_000, 9_000)
      await setRate(world, services, PLAN_PER_SECOND)
    }
    const kind = ready(wanted, services)
    const { delegation } = services[0].capability
    const chain = () => seal(attenuate(attenuate(attenuate(delegation))))
    kinds.push(wanted.isChained ? { ...kind, tokens: Array.from({ length: 500 }, chain) } : kind)
  }
  for (const { fill: prepare, ...wanted } of dearMinds(records).filter(isWanted)) {
    const services = await addServices()
    // More records than its plan has, or what writes would be refused before it was measured.
    const room = { records: 10_000_000, bytes: 100_000_000_000 }
    await setLimits(world, services, { ...room, requests_per_second: FILL_PER_SECOND, burst: FILL_PER_SECOND })
    for (const service of services) await prepare(daemon.url, service)
    await setRate(world, services, PLAN_PER_SECOND)
    kinds.push(ready(wanted, services))
  }
  return kinds
}

interface WantedKind extends Omit<CostlyKind, 'tokens' | 'service'> {
  isLarge?: boolean
  isChained?: boolean
}

function wantedKinds(): WantedKind[] {
  const put = (name: string, body: string): WantedKind => ({ name, method: 'PUT', path: '/v1/kv/entries/dear', body })
  const batch = (name: string, bytes: number): WantedKind => ({
    name,
    method: 'POST',
    path: '/v1/kv/entries/batch',
    body: JSON.stringify({
      operations: Array.from({ length: 100 }, (_, n) => ({ op: 'put', key: `k${n}`, value: 'x'.repeat(bytes) })),
    }),
  })
  const get = (name: string, path: string): WantedKind => ({ name, method: 'GET', path })
  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const mcp: WantedKind = {
    ...{ name: 'MCP batches of twenty messages', method: 'POST', path: '/mcp' },
    body: JSON.stringify(Array.from({ length: 20 }, (_, n) => ({ ...listing, id: n + 1 }))),
  }
  const members = Array.from({ length: MEMBERS }, (_, n) => `"k${n}":0`).join()
  const ignored = `{"value":1,${members}}`
  const value = `{${members}}`
  if (value.length > VALUE_BYTES_MAX) throw new Error('the value of many members is larger than an entry may be')
  return [
    get('plain reads', '/v1/kv/entries/k1'),
    put('plain writes', '{"value":1}'),
    get('reads of all slots', '/v1/working-memory/slots'),
    mcp,
    { ...get('/docs', '/docs'), isOpen: true },
    put(`${MEMBERS} ignored members`, ignored),
    put(`${MEMBERS} ignored members in 800 KiB`, ignored + ' '.repeat(ENTRY_BODY_BYTES_MAX - ignored.length)),
    put(
      `${MEMBERS} empty arrays that are ignored`,
      `{"value":1,"a":[${Array(MEMBERS / 2)
        .fill('[]')
        .join()}]}`,
    ),
    put(`a value of ${MEMBERS} members`, `{"value":${value}}`),
    batch('batches of 100 puts, 1 MiB', Math.floor(BODY_BYTES_MAX / 100) - 60),
    batch('batches of 100 small puts', 1),
    get(LISTS, '/v1/kv/entries?limit=1000'),
    { ...get('full consistency walks', '/v1/kv/consistency?mode=full'), isLarge: true, isTold: true },
    { ...get('new chains of five links', '/v1/kv/entries/k1'), isChained: true },
  ]
}

/** Entries k0, k1, … of so many bytes each. */
async function fill({ url }: LociProcess, tenant: WorldTenant, records: number, bytes: number): Promise<void> {
  const client = plainClient()
  for (let at = 0; at < records; at += 100) {
    const operations = Array.from({ length: 100 }, (_, n) => ({
      op: 'put',
      key: `k${at + n}`,
      value: 'x'.repeat(bytes),
    }))
    const request: PlainRequest = {
      method: 'POST',
      path: '/v1/kv/entries/batch',
      headers: { 'x-loci-capability': tenant.capability.token },
      body: JSON.stringify({ operations }),
    }
    const outcome = await client.send(url, request)
    if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`filling: ${JSON.stringify(outcome)}`)
  }
  client.close()
}

async function costMutant(report: Report, world: World, list: Measured): Promise<void> {
  await using mutant = await plantMutant([COUNTING])
  const lax = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(lax.url)
  report.mutant('the rate counts requests', await unpaid(world, lax, list))
  await lax.stop()
}
