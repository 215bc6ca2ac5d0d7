// The billing record is a function of the set of authentic events that carry a sequence or a time; without either the
// last arrival shows; a second equal payment is never swallowed; what was never paid for gives nothing; every stored
// event has exactly one audit entry. Over HTTP, against real processes: random sets of events, each in several orders
// with duplicates and replays, and between them what a stranger would send. Then the same with kill -9 in the middle.

import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { openPool } from '@loci/postgres/pool.ts'
import {
  addTenant,
  countAudit,
  deliver,
  forget,
  HOOK,
  recordOf,
  type Scene,
  signatureOf,
  type Target,
} from '../robustness/billing-provider.ts'
import { type BillingSet, type Body, countNew, expectedStatus, makeSet, orderOf } from '../robustness/billing-sets.ts'
import { startPlain, startSigned } from '../robustness/billing-targets.ts'
import { type PlainClient, plainClient } from '../robustness/plain-client.ts'
import { type Random, seeded, seedOfRun } from '../robustness/seeded.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import type { LociProcess } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { BILLING_SECRET, startWorld } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const SETS = isShort ? 60 : 320
const KILLED_SETS = isShort ? 8 : 24
const MUTANT_SETS = 24
const ORDERS = 4
const WIDTH = 8
const ANCHORS = 4

interface Findings {
  sets: number
  deliveries: number
  refusals: number
  orders: number
  differing: string[]
  /** Strangers that were let in, events that were not received. */
  failures: string[]
}

const MUTANTS: Record<string, Edit[]> = {
  'last arrival wins': [
    {
      file: 'management/billing/ordering.ts',
      from: `if (sequence !== null) return 'sequence'\n  return occurredAt ? 'occurred_at' : 'arrival'`,
      to: `return 'arrival'`,
    },
    {
      file: 'management/billing/ordering.ts',
      from: 'return sequence ?? occurredAt?.getTime() ?? arrival',
      to: 'return arrival',
    },
  ],
  'a deleted subscription is closed for ever': [
    {
      file: 'management/billing/fold.ts',
      from: `const isReopening = closed && position.some(isCreating)`,
      to: 'const isReopening = false as boolean',
    },
  ],
  'who has never paid is believed': [
    {
      file: 'management/billing/fold.ts',
      from: `return all.every((event) => statusOf(event) === 'cancelled') ? decider.plan : null`,
      to: 'return decider.plan',
    },
  ],
  'an equal body is swallowed': [
    {
      file: 'management/billing/billing.ts',
      from: 'inboxKeyOf(tenantId, webhookId, body.metadata?.event_id)',
      to: 'inboxKeyOf(tenantId, webhookId, body.metadata?.event_id ?? digestOf(bytes))',
    },
  ],
  'a replay counts again': [
    {
      file: 'management/billing/billing.ts',
      from: 'return key.length <= INBOX_KEY_LENGTH_MAX',
      to: 'if (key) return null\n  return key.length <= INBOX_KEY_LENGTH_MAX',
    },
  ],
  'the signature is not looked at': [
    {
      file: 'management/billing/routes.ts',
      from: 'if (!isSigned(',
      to: 'if (false && !isSigned(',
    },
  ],
}

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- billing --seed=${SEED}`)
  const world = await startWorld({ replicas: 0, isBilled: true })
  const sql = openPool({
    url: world.postgres.adminUrl('loci_control'),
    applicationName: 'loci-test',
    connectionsMax: WIDTH,
    connectMs: 10_000,
    onError: () => {},
  })
  try {
    const callers = await addCallers(world, { organizations: ANCHORS, each: 1, name: 'billing' })
    // The plan of an organization is the best of its tenants: this one keeps its reads from being limited.
    await sql.query({ text: `update loci.tenants set plan = 'enterprise' where is_default` })
    const scene = { world, callers, sql }
    await anyOrder(report, scene)
    await secondPayment(report, scene)
    await reopened(report, scene)
    await neverPaid(report, scene)
    await killed(report, scene)
    await mutants(report, scene)
  } finally {
    await sql.close()
    await world.stop()
  }
})

/** Both kinds of provider: one that signs, and one that has nothing but its secret. */
async function anyOrder(report: Report, scene: Scene): Promise<void> {
  const signed = await startSigned(scene.world)
  try {
    for (const target of [{ url: (scene.world.management as LociProcess).url, isSigned: false }, signed]) {
      const before = await countAudit(scene.sql)
      const startedAt = performance.now()
      const found = await run(scene, target, SETS / 2, SEED + (target.isSigned ? 1 : 0))
      for (const line of [...found.differing, ...found.failures].slice(0, 5)) report.note(line)
      const name = target.isSigned ? 'signed' : 'with the secret alone'
      report.promise(
        `${name}: no order, duplicate, replay or stranger changes the record`,
        found.differing.length === 0 && found.failures.length === 0 && found.orders === (SETS / 2) * ORDERS,
        `${found.differing.length} differing of ${found.sets} sets in ${found.orders} orders; ${found.deliveries} deliveries received, ${found.refusals} of strangers refused, ${found.failures.length} wrong answers, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
      )
      const entries = (await countAudit(scene.sql)) - before
      report.promise(
        `${name}: one audit entry for each event that was stored`,
        entries === found.deliveries,
        `${entries} entries, ${found.deliveries} events`,
      )
    }
  } finally {
    await signed.process.stop()
  }
}

async function run(scene: Scene, target: Target, sets: number, seed: number): Promise<Findings> {
  const found: Findings = { sets: 0, deliveries: 0, refusals: 0, orders: 0, differing: [], failures: [] }
  await mapWidth(Array.from({ length: sets }), WIDTH, async (_, at) => {
    const random = seeded(seed * 10_007 + at)
    const caller = scene.callers[at % scene.callers.length] as WorldCaller
    const tenantId = await addTenant(scene.sql, caller)
    const set = makeSet(random, tenantId)
    const client = plainClient()
    const records = new Set<string>()
    for (let number = 0; number < ORDERS; number += 1) {
      await forget(scene.sql, tenantId)
      const order = orderOf(random, set, target.isSigned)
      for (const sent of order) {
        if (random.chance(0.3)) await strangers(client, target, set, random, found)
        const status = await deliver(client, target, sent)
        if (status !== 200) found.failures.push(`an event was answered ${status}`)
      }
      found.deliveries += countNew(order)
      found.orders += 1
      const record = await recordOf(scene, client, target.url, caller, tenantId, set)
      if (set.isMarked) records.add(record)
      const expected = expectedStatus(set, order)
      const { billing } = JSON.parse(record) as { billing: { status: string } }
      if (expected !== undefined && billing.status !== expected)
        found.differing.push(`seed ${seed}, set ${at}: ${billing.status} instead of ${expected} (${set.isMarked})`)
    }
    client.close()
    found.sets += 1
    if (records.size > 1) found.differing.push(`seed ${seed}, set ${at}: ${[...records].join(' or ')}`)
  })
  return found
}

/** What would change the record if it were believed. */
async function strangers(
  client: PlainClient,
  target: Target,
  { bodies }: BillingSet,
  random: Random,
  found: Findings,
): Promise<void> {
  const forged = { ...random.pick(bodies), plan: 'enterprise', status: random.pick(['active', 'unpaid']) }
  const bytes = JSON.stringify({ ...forged, metadata: { sequence: '999', occurred_at: new Date().toISOString() } })
  const good = { authorization: `Bearer ${BILLING_SECRET}` }
  const id = newId('evt')
  const signed = signatureOf(target, id, bytes, Date.now())
  const attempts: Record<string, string>[] = [
    { ...signed },
    { ...signed, authorization: `Bearer ${BILLING_SECRET.slice(0, -1)}` },
    ...(target.isSigned
      ? [
          good,
          { ...good, ...signatureOf(target, id, bytes, Date.now() - 330_000) },
          { ...good, ...signatureOf(target, id, `${bytes} `, Date.now()) },
          { ...good, ...signed, 'webhook-id': newId('evt') },
        ]
      : []),
  ]
  const outcome = await client.send(target.url, {
    method: 'POST',
    path: HOOK,
    headers: random.pick(attempts),
    body: bytes,
  })
  if (outcome.kind === 'answer' && outcome.status === 401) found.refusals += 1
  else found.failures.push(`a stranger was answered ${JSON.stringify(outcome)}`)
}

async function secondPayment(report: Report, scene: Scene): Promise<void> {
  const swallowed = await countSwallowed(scene, (scene.world.management as LociProcess).url)
  report.promise(
    'active, past_due and the very same active again is active',
    swallowed === 0,
    `${swallowed} swallowed of ${MUTANT_SETS}`,
  )
}

async function countSwallowed(scene: Scene, url: string): Promise<number> {
  const ended = await mapWidth(Array.from({ length: MUTANT_SETS }), WIDTH, async (_, at) => {
    const caller = scene.callers[at % scene.callers.length] as WorldCaller
    const tenantId = await addTenant(scene.sql, caller)
    const client = plainClient()
    const paid = { eventType: 'payment.succeeded', tenantId, subscriptionId: 's', plan: 'pro', status: 'active' }
    const failed = { ...paid, eventType: 'payment.failed', status: 'past_due' }
    for (const body of [paid, failed, paid]) await deliver(client, { url, isSigned: false }, { body, id: undefined })
    const set = { isMarked: false, isTimed: false, bodies: [paid, failed, paid] }
    const record = await recordOf(scene, client, url, caller, tenantId, set)
    client.close()
    return JSON.parse(record).status as string
  })
  return ended.filter((status) => status !== 'active').length
}

async function reopened(report: Report, scene: Scene): Promise<void> {
  const shut = await countShut(scene, (scene.world.management as LociProcess).url)
  report.promise(
    'a deleted subscription that is created later in order is open again, and no other event opens it',
    shut === 0,
    `${shut} wrong of ${MUTANT_SETS}`,
  )
}

/**
 * Tenants whose subscription was deleted and then created, by arrival or by sequence in either order, and is not open;
 * or is too early.
 */
async function countShut(scene: Scene, url: string): Promise<number> {
  const ended = await mapWidth(Array.from({ length: MUTANT_SETS }), WIDTH, async (_, at) => {
    const caller = scene.callers[at % scene.callers.length] as WorldCaller
    const tenantId = await addTenant(scene.sql, caller)
    const client = plainClient()
    const event = (eventType: string, sequence: number): Body => {
      const metadata = at % 3 === 0 ? {} : { metadata: { sequence: String(sequence) } }
      return { eventType, tenantId, subscriptionId: 's', plan: 'pro', status: 'active', ...metadata }
    }
    const deleted = event('subscription.deleted', 1)
    const paid = event('payment.succeeded', 2)
    const created = event('subscription.created', 3)
    const say = (body: Body) => deliver(client, { url, isSigned: false }, { body, id: undefined })
    const statusNow = async (bodies: Body[]) => {
      for (const body of bodies) await say(body)
      const set = { isMarked: false, isTimed: false, bodies }
      return JSON.parse(await recordOf(scene, client, url, caller, tenantId, set)).billing.status as string
    }
    const isShut = at % 3 === 2 || (await statusNow([deleted, paid])) === 'cancelled'
    // The third kind hears of the creation first.
    const after = await statusNow(at % 3 === 2 ? [created, paid, deleted] : [created])
    client.close()
    return isShut && after === 'active'
  })
  return ended.filter((isRight) => !isRight).length
}

async function neverPaid(report: Report, scene: Scene): Promise<void> {
  const given = await countGiven(scene, (scene.world.management as LociProcess).url)
  report.promise(
    'subscriptions that were never paid, one after the other, give no plan and end no suspension',
    given === 0,
    `${given} of ${2 * MUTANT_SETS} tenants were given something`,
  )
}

/**
 * Tenants that got more by four subscriptions whose first payment failed: of a free one a plan, of a suspended one its
 * access.
 */
async function countGiven(scene: Scene, url: string): Promise<number> {
  const ended = await mapWidth(Array.from({ length: 2 * MUTANT_SETS }), WIDTH, async (_, at) => {
    const caller = scene.callers[at % scene.callers.length] as WorldCaller
    const tenantId = await addTenant(scene.sql, caller)
    const [client, isSuspended, isMarked] = [plainClient(), at % 2 === 1, at % 4 > 1]
    const say = (subscriptionId: string, plan: string, status: string, sequence: number) => {
      const metadata = isMarked ? { metadata: { sequence: String(sequence) } } : {}
      const body = { eventType: 'subscription.created', tenantId, subscriptionId, plan, status, ...metadata }
      return deliver(client, { url, isSigned: false }, { body, id: undefined })
    }
    if (isSuspended) for (const [at, status] of ['active', 'unpaid'].entries()) await say('old', 'pro', status, at)
    for (const name of ['a', 'b', 'c', 'd']) await say(name, 'enterprise', 'past_due', 1)
    const set = { isMarked, isTimed: false, bodies: [] }
    const { covered_plan, status } = JSON.parse(await recordOf(scene, client, url, caller, tenantId, set))
    client.close()
    return isSuspended ? covered_plan === 'pro' && status === 'suspended' : covered_plan === 'free'
  })
  return ended.filter((isRight) => !isRight).length
}

/**
 * kill -9 in the middle of a set; whatever was not answered is delivered again, and so is everything else, as providers
 * do.
 */
async function killed(report: Report, scene: Scene): Promise<void> {
  const differing: string[] = []
  let [kills, unanswered, doubled] = [0, 0, 0]
  for (let round = 0; round < KILLED_SETS / WIDTH; round += 1) {
    const victim = await startSigned(scene.world)
    const random = seeded(SEED * 31 + round)
    const sets = await mapWidth(Array.from({ length: WIDTH }), WIDTH, async (_, at) => {
      const caller = scene.callers[at % scene.callers.length] as WorldCaller
      const set = { ...makeSet(random, await addTenant(scene.sql, caller)) }
      while (!set.isMarked) Object.assign(set, makeSet(random, set.bodies[0]?.tenantId as string))
      return { caller, set, order: orderOf(random, set, true) }
    })
    const deliverAll = (target: Target) =>
      mapWidth(sets, WIDTH, async ({ order }) => {
        const client = plainClient()
        for (const sent of order) if ((await deliver(client, target, sent)) !== 200) unanswered += 1
        client.close()
      })
    await Promise.all([sleep(20 + random.below(60)).then(() => victim.process.kill()), deliverAll(victim)])
    kills += 1
    const healed = await startSigned(scene.world)
    await deliverAll(healed)
    for (const { caller, set, order } of sets) {
      const tenantId = set.bodies[0]?.tenantId as string
      const client = plainClient()
      const record = await recordOf(scene, client, healed.url, caller, tenantId, set)
      const ids = new Set(order.map(({ id }) => id)).size
      if ((await countAudit(scene.sql, tenantId)) !== ids) doubled += 1
      await forget(scene.sql, tenantId)
      for (const sent of order) await deliver(client, healed, sent)
      const clean = await recordOf(scene, client, healed.url, caller, tenantId, set)
      if (record !== clean) differing.push(`${record} after a kill, ${clean} without`)
      client.close()
    }
    await healed.process.stop()
  }
  for (const line of differing.slice(0, 5)) report.note(line)
  report.promise(
    'kill -9 between deliveries and a redelivery of everything: the same record, each event once',
    differing.length === 0 && doubled === 0 && unanswered > 0,
    `${differing.length} differing and ${doubled} with another number of audit entries of ${kills * WIDTH} sets; ${kills} kills, ${unanswered} deliveries without an answer`,
  )
}

async function mutants(report: Report, scene: Scene): Promise<void> {
  for (const [name, edits] of Object.entries(MUTANTS)) {
    await using mutant = await plantMutant(edits)
    const isSigned = name === 'the signature is not looked at'
    const target = isSigned
      ? await startSigned(scene.world, mutant.startProgram)
      : await startPlain(scene.world, mutant.startProgram)
    try {
      const before = await countAudit(scene.sql)
      const { differing, failures, sets, deliveries } = await run(scene, target, MUTANT_SETS, SEED + 2)
      const entries = (await countAudit(scene.sql)) - before
      const swallowed = isSigned ? 0 : await countSwallowed(scene, target.url)
      const shut = isSigned ? 0 : await countShut(scene, target.url)
      const given = isSigned ? 0 : await countGiven(scene, target.url)
      const how = [
        differing.length > 0 ? `${differing.length} findings in ${sets} sets` : '',
        failures.length > 0 ? `${failures.length} wrong answers, e.g. to strangers` : '',
        entries !== deliveries ? `${entries} audit entries for ${deliveries} events` : '',
        swallowed > 0 ? `${swallowed} of ${MUTANT_SETS} second payments swallowed` : '',
        shut > 0 ? `${shut} of ${MUTANT_SETS} created anew and not open` : '',
        given > 0 ? `${given} tenants given what they never paid for` : '',
      ].filter(Boolean)
      report.mutant(name, how.length > 0 ? how.join(', ') : undefined)
    } finally {
      await target.process.stop()
    }
  }
}
