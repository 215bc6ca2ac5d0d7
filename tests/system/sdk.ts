// The client by verbs, against real processes: a service from nothing, people kept apart, each verb with its refusal,
// capabilities that are minted, kept and minted again, and events that go on behind a broken connection.

import { attenuate } from '@loci/sdk/attenuate.ts'
import { LociError } from '@loci/sdk/error.ts'
import type { ServiceEvent } from '@loci/sdk/events.ts'
import { Loci } from '@loci/sdk/loci.ts'
import type { Progress, Service } from '@loci/sdk/services.ts'
import type { User } from '@loci/sdk/user.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 1 })
  try {
    const { apiKey } = await addOrganization(world, 'acme')
    const url = world.management?.url as string
    const sent = counted()
    const loci = new Loci({ url, apiKey, fetch: sent.fetch })
    const service = await fromNothing(report, loci)
    await minting(report, service, sent)
    await memory(report, service)
    await mind(report, service.user('ada'))
    await store(report, service.user('ada'))
    await advice(report, service.user('ada'))
    await credentials(report, world, service)
    await people(report, service)
    await following(report, service)
    await ending(report, loci, service)
  } finally {
    await world.stop()
  }
})

/** A fetch that notes what was asked, and breaks streams when it is told. */
function counted() {
  const lines: string[] = []
  const fetchCounted: typeof fetch = (input, init) => {
    lines.push(`${init?.method} ${new URL(String(input)).pathname}`)
    return fetch(input, init)
  }
  return { lines, fetch: fetchCounted }
}

async function fromNothing(report: Report, loci: Loci): Promise<Service> {
  const seen: Progress[] = []
  const service = await loci.services
    .create({ name: 'Support agent', plan: 'pro' })
    .ready({ onProgress: (progress) => seen.push(progress) })
  const steps = seen.at(-1)?.steps.map(({ name }) => name) ?? []
  report.promise(
    'services.create().ready() resolves when the service serves, and tells its steps',
    service.info?.status === 'active' && seen.at(-1)?.percent === 100 && steps.length > 0,
    `${seen.length} progress, steps ${steps.join(' ')}`,
  )
  const listed = await loci.services.list({ status: 'active' }).all()
  const bySlug = await loci.services.get(service.info?.slug as string)
  const unknown = await refusal(loci.services.get('nobody-has-this'))
  report.promise(
    'a service is listed, found by its slug, and one that is not there is NOT_FOUND with a hint',
    listed.some(({ id }) => id === service.id) && bySlug.id === service.id && unknown?.code === 'NOT_FOUND',
    `${listed.length} listed, ${unknown?.code}: ${unknown?.hint}`,
  )
  return service
}

async function minting(report: Report, service: Service, { lines }: { lines: string[] }): Promise<void> {
  const users = ['ada', 'bob', 'eve'].map((name) => service.user(name))
  await Promise.all(users.map((user) => user.kv.put('who', user.name)))
  const minted = () => lines.filter((line) => /^POST .*\/tokens$/.test(line)).length
  const before = minted()
  const [token] = await service.tokens().all(1)
  await service.revokeToken(token?.token_id as string)
  // Until the daemon has heard of it, the old one is good.
  for (let tries = 0; minted() === before && tries < 600; tries += 1) {
    await users[0]?.kv.put('again', tries)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  report.promise(
    'one capability serves every user, and one that was revoked is minted again without an error',
    before === 1 && minted() === 2,
    `${before} for ${users.length} users, ${minted()} after a revocation`,
  )
}

async function memory(report: Report, service: Service): Promise<void> {
  const [ada, bob] = [service.user('ada'), service.user('bob')]
  const stored = await ada.remember('Ada prefers replies in Dutch', { tags: ['preference'], sourceEventId: 'evt-1' })
  const again = await ada.remember('Ada prefers replies in Dutch', { tags: ['preference'], sourceEventId: 'evt-1' })
  const hits = await ada.recall('which language does Ada prefer for replies?')
  const [best] = hits
  report.promise(
    'what was remembered is recalled, with its relevance and why; the same source is one memory',
    best?.id === stored.id && again.id === stored.id && best.relevance > 0 && best.why.length > 0,
    `${best?.relevance.toFixed(2)} "${best?.content}", why: ${best?.why}`,
  )
  const others = await bob.recall('which language does Ada prefer for replies?')
  report.promise(
    'another user has nothing of it, and is told why nothing came',
    others.length === 0 && others.abstained && (others.reason ?? '') !== '',
    `${others.length} hits, ${others.reason}`,
  )
  await ada.rememberAll(['Order 4411 is delayed until Monday', { content: 'Ada lives in Utrecht', kind: 'fact' }])
  const listed = await ada.memories().all()
  const receipt = await ada.forget(stored)
  const gone = [await ada.memory(stored.id), await ada.recall('replies in Dutch')] as const
  const twice = await refusal(ada.forget(stored.id))
  report.promise(
    'what was forgotten is gone, with a receipt; forgetting it again is NOT_FOUND with a request id',
    listed.length === 3 && receipt.deleted && gone[0] === undefined && !gone[1].some(({ id }) => id === stored.id),
    `${listed.length} listed, receipt ${receipt.receipt.slice(0, 8)}…, then ${twice?.code} ${twice?.requestId?.slice(0, 6)}…`,
  )
}

async function mind(report: Report, ada: User): Promise<void> {
  await ada.slots.put('goal', 'refund order 4411', { pinned: true })
  const [slot, none] = [await ada.slots.get('goal'), await ada.slots.get('nothing')]
  const conflict = await refusal(ada.slots.put('goal', 'other', { ifVersion: 99 }))
  const changed = await ada.slots.patch('goal', { value: 'refund it today', ifVersion: slot?.version })
  const versions = await ada.slots.history('goal').all()
  report.promise(
    'a slot is put, read, changed under its version and not under another',
    slot?.value === 'refund order 4411' && none === undefined && conflict?.code === 'VERSION_CONFLICT',
    `version ${changed.version}, ${versions.length} versions, ${conflict?.code}`,
  )
  const ran = await ada.cycle({ focus: 'refund', observations: ['The customer of order 4411 waits for a refund'] })
  const [cycles, decisions] = [await ada.cycles().all(), await ada.decisions(ran.id).all()]
  report.promise(
    'a cycle runs, is listed, and says what it decided and why',
    cycles[0]?.id === ran.id && decisions.length > 0 && decisions.every(({ reason }) => reason !== ''),
    `${decisions.length} decisions, the first: ${decisions[0]?.action} because ${decisions[0]?.reason}`,
  )
  const cleared = await ada.slots.clear({ includePinned: true })
  const restored = await ada.slots.restore({ undoToken: cleared.undo?.token as string })
  report.promise(
    'a clear is taken back by its token',
    cleared.cleared === restored.restored && (await ada.slots.get('goal')) !== undefined,
    `${cleared.cleared} cleared, ${restored.restored} restored`,
  )
}

async function store(report: Report, ada: User): Promise<void> {
  const count = 250
  for (let from = 0; from < count; from += 50)
    await ada.kv.batch(
      Array.from({ length: 50 }, (_, at) => ({
        op: 'put' as const,
        key: `n/${String(from + at).padStart(3, '0')}`,
        value: at,
      })),
    )
  const keys: string[] = []
  for await (const { key } of ada.kv.list({ prefix: 'n/' })) keys.push(key)
  const page = await ada.kv.list({ prefix: 'n/' }).page()
  report.promise(
    'a list goes over all its pages, in order, and one page can be asked for',
    keys.length === count && keys.every((key, at) => at === 0 || key > (keys[at - 1] as string)),
    `${keys.length} entries, the first page ${page.items.length}`,
  )
}

async function advice(report: Report, ada: User): Promise<void> {
  // What is explored depends on the event that asks, so it is always the same one.
  const asked = {
    taskClass: 'support',
    taskIntent: 'refund an order',
    sourceEventId: 'asked-1',
    candidateTools: ['refund_api', 'email_human'],
  }
  const ranked = async () => (await ada.rankTools(asked)).rankedTools.map(({ toolId }) => toolId)
  const before = await ranked()
  // Whichever came first fails from now on.
  const [first, second] = before as [string, string]
  const sourceEventId = 'run-1'
  const told = await ada.reportOutcome({ taskClass: 'support', tool: first, outcome: 'failure', sourceEventId })
  const again = await ada.reportOutcome({ taskClass: 'support', tool: first, outcome: 'failure', sourceEventId })
  for (let times = 0; times < 5; times += 1)
    await ada.reportOutcome({
      taskClass: 'support',
      taskIntent: 'refund an order',
      tools: [
        { toolId: first, outcome: 'failure', errorCode: 'timeout' },
        { toolId: second, outcome: 'success', latencyMs: 120 },
      ],
    })
  const after = await ranked()
  report.promise(
    'tools are ranked by what was told of them; the same event counts once',
    after[0] === second && told.accepted && !told.duplicate && again.duplicate,
    `${before.join(' before ')}, then ${after.join(' before ')}; told twice: duplicate ${again.duplicate}`,
  )
}

async function credentials(report: Report, world: World, service: Service): Promise<void> {
  const made = await service.createToken({ databases: ['*'], depth: 1, ttlSeconds: 600 })
  if (!made.delegation) throw new Error('a token with a depth came without a delegation')
  const token = await attenuate(made.delegation, { ops: ['memory:read', 'kv:read'], databases: ['ada'] })
  const reader = new Loci({ url: world.daemons[0]?.url, token })
  const ada = reader.service().user('ada')
  const hits = await ada.recall('where does Ada live?')
  const [write, other] = [
    await refusal(ada.remember('x')),
    await refusal(reader.service().user('bob').recall('where does Ada live?')),
  ]
  report.promise(
    'a token that was narrowed offline reads what it was narrowed to, and nothing else',
    hits[0]?.content === 'Ada lives in Utrecht' &&
      write?.code === 'OPERATION_NOT_ALLOWED' &&
      other?.code === 'DATABASE_MISMATCH',
    `"${hits[0]?.content}", write ${write?.code}, another user ${other?.code}`,
  )
}

async function people(report: Report, service: Service): Promise<void> {
  await service.user('eve').remember('Eve collects stamps')
  const names = async () => (await service.users().all()).map(({ name }) => name)
  const before = await names()
  const gone = await service.forgetUser('eve')
  const [left, hits] = [await names(), await service.user('eve').recall('who collects stamps?')]
  const stranger = await refusal(service.forgetUser('nobody'))
  report.promise(
    'users are listed, one is forgotten whole with a receipt, and one that is not there is NOT_FOUND',
    ['ada', 'bob', 'eve'].every((name) => before.includes(name)) &&
      !left.includes('eve') &&
      left.includes('ada') &&
      hits.length === 0 &&
      stranger?.code === 'NOT_FOUND',
    `${before.join(' ')}, then ${left.join(' ')}; receipt ${gone.receipt?.slice(0, 8)}…, ${stranger?.code}`,
  )
}

async function following(report: Report, service: Service): Promise<void> {
  const [ada, bob] = [service.user('ada'), service.user('bob')]
  const stop = new AbortController()
  const seen: ServiceEvent[] = []
  let opened = 0
  const standing = Promise.withResolvers<void>()
  const all = Promise.withResolvers<void>()
  const wanted = ['one', 'two', 'three', 'four']
  const following = (async () => {
    let after: string | undefined
    // Left after the second, as a program that is started again does it.
    while (!stop.signal.aborted) {
      const onOpen = () => {
        opened += 1
        standing.resolve()
      }
      const options = { after, signal: stop.signal, onOpen }
      for await (const event of ada.events(options)) {
        if (event.type !== 'slot.written') continue
        seen.push(event)
        after = event.id
        if (seen.length === wanted.length) all.resolve()
        if (seen.length === 2) break
      }
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) all.reject(error)
  })
  await standing.promise
  for (const key of wanted) {
    await ada.slots.put(key, 1)
    await bob.slots.put(`of-bob-${key}`, 1)
  }
  await all.promise
  stop.abort()
  await following
  const keys = seen.map(({ data }) => data.key)
  report.promise(
    'events of a user come in order, each once, also behind a break, and none of another user',
    JSON.stringify(keys) === JSON.stringify(wanted),
    `${keys.join(' ')} over ${opened} connections`,
  )
}

async function ending(report: Report, loci: Loci, service: Service): Promise<void> {
  const operation = await loci.services.delete(service)
  const coming = await refusal(service.ready({ timeoutMs: 60_000 }))
  report.promise(
    'a service that is being deleted is not waited for as if it came',
    operation.kind === 'delete' && ['INVALID_STATE', 'NOT_FOUND'].includes(String(coming?.code)),
    `${operation.kind}, then ${coming?.code}`,
  )
}

async function refusal(call: Promise<unknown>): Promise<LociError | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof LociError) return error
    throw error
  }
}
