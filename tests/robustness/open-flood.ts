// A stranger without a credential asks the open routes of every replica from thousands of connections, and a revocation
// must be felt all the same: within 5 s it is used in vain, or nothing is served at all. From the commit in the cell's
// own database on that holds on any machine, however slow; the way from management to there is a promise about time.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { attenuate, inspectCapability, seal } from '@loci/capability/capability.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { manage, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import type { FloodTarget } from './flood-client.ts'
import { NARROW } from './hostile-tokens.ts'
import { ask, revokeByAdmin, sleep } from './token-use.ts'

const OPEN_ROUTES = {
  daemon: ['/v1/health/all', '/v1/health/all', '/metrics', '/v1/lifecycle/status', '/health/ready'],
  management: ['/.well-known/loci-capability-keys.json', '/metrics', '/health/lifecycle'],
}

/**
 * Thousands of connections of a stranger on the open routes of every replica, and of management: a revocation is felt
 * all the same.
 */
export async function revokesUnderFlood(
  report: Report,
  world: World,
  tenant: WorldTenant,
  connections: number,
): Promise<void> {
  const daemons = world.daemons.slice(0, 2)
  const flood = await startFlood([
    ...daemons.map(({ url }) => ({ url, paths: OPEN_ROUTES.daemon, connections })),
    { url: world.management?.url as string, paths: OPEN_ROUTES.management, connections: connections / 5 },
  ])
  let transitMs = Number.NaN
  const felt = [
    await feelRevocation(daemons, tenant, (jti) =>
      insist(() => revokeByAdmin(world, daemons[0] as LociProcess, { jti })),
    ),
    await feelRevocation(daemons, tenant, async (jti) => {
      await manage(world, ['tokens', 'revoke', '--service', tenant.serviceId, '--jti', jti])
      const startedAt = performance.now()
      await untilInCell(world, jti)
      transitMs = Math.round(performance.now() - startedAt)
    }),
  ]
  const answered = await flood.stop()
  const bound = await report.within(HOLDS_AFTER_MS)
  const sum = (of: (one: Felt) => number) => felt.reduce((total, one) => total + of(one), 0)
  report.promise(
    `with ${connections} connections on the open routes of every replica a revocation in the cell holds within 5 s`,
    felt.every(({ refusedAfterMs }) => refusedAfterMs.every((ms) => ms !== null)) &&
      sum(({ servedLate }) => servedLate) === 0,
    `${answered} answers to the stranger; ${sum(({ used }) => used)} uses, ${sum(({ servedLate }) => servedLate)} served later than that; first refused after ${felt.map(({ refusedAfterMs }) => refusedAfterMs.join(' and ')).join(', ')} ms; ${felt.map(({ statuses }) => JSON.stringify(statuses)).join(' ')}`,
  )
  report.promise(
    'and one of management is in the cell in time',
    transitMs <= bound.ms,
    `${transitMs} ms from the end of its command, with ${connections / 5} connections on management's open routes (${bound.text})`,
  )
  await sharedPool(report, world, tenant, connections)
}

async function untilInCell({ postgres }: World, jti: string): Promise<void> {
  const look = () =>
    runSql(postgres.adminUrl('loci_cell'), `select from loci.revocations where kind = 'jti' and value = $1`, [jti])
  const until = performance.now() + GIVE_UP_MS
  while ((await look()).length === 0 && performance.now() < until) await sleep(20)
}

/**
 * As it was: probes, beat and the administration's revocations on one pool of two, each probe a statement, stale
 * authority served. Its probes take 50 ms, as with a database that is busy or far away: on an idle machine it took
 * 2,500 connections to starve the beat with fast ones, and 1,000 did not always do.
 */
async function sharedPool(report: Report, world: World, tenant: WorldTenant, connections: number): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'daemon/app.ts',
      from: "open('loci-daemon-authority', 2)",
      to: "open('loci-daemon-authority', 2)\n  Object.assign(beat, background)",
    },
    { file: 'libs/chassis/cached.ts', from: 'performance.now() - known.at < ms', to: 'false' },
    { file: 'libs/chassis/cached.ts', from: 'making ??= renew()', to: 'making = renew()' },
    { file: 'libs/chassis/cached.ts', from: 'waiting >= WAITING_MAX', to: 'false' },
    { file: 'daemon/access/authority.ts', from: 'performance.now() - readAt > cacheMsMax', to: 'false' },
    { file: 'libs/postgres/watch.ts', from: "text: 'select 1'", to: "text: 'select pg_sleep(0.05)'" },
  ])
  const old = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(old.url)
  // How many it takes depends on how fast PostgreSQL answers: more come until it gives way.
  const floods: { stop(): Promise<number> }[] = []
  try {
    for (let more = 0; more < 3; more += 1) {
      floods.push(await startFlood([{ url: old.url, paths: ['/v1/health/all'], connections }]))
      const { servedLate } = await feelRevocation(
        [old],
        tenant,
        (jti) => revokeByAdmin(world, world.daemons[1] as LociProcess, { jti }),
        2 * WATCHED_MS,
      )
      if (servedLate === 0) continue
      report.mutant('one pool for all, stale authority served', `${servedLate} uses served later than 5 s`)
      return
    }
    report.mutant('one pool for all, stale authority served', undefined)
  } finally {
    for (const flood of floods) await flood.stop()
    await old.kill()
  }
}

/** Somebody who must revoke tries again. */
async function insist(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const error = await work().then(
      () => undefined,
      (reason: Error) => reason,
    )
    if (!error) return
    if (tries === 10) throw error
    await sleep(200)
  }
}

/** Resolves when every connection was begun. */
export async function startFlood(targets: FloodTarget[]): Promise<{ stop(): Promise<number> }> {
  const client = fileURLToPath(import.meta.resolve('./flood-client.ts'))
  const child = spawn(process.execPath, [client, JSON.stringify({ targets })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    async stop() {
      child.kill('SIGTERM')
      const { value } = await lines.next()
      return Number(value)
    },
  }
}

interface Felt {
  /** Uses that were sent later than the promise allows and served all the same: each is a breach. */
  servedLate: number
  used: number
  /**
   * From the moment it was in the cell to the first use after it that was refused, for each replica; null when none
   * was.
   */
  refusedAfterMs: (number | null)[]
  statuses: Record<string, number>
}

const HOLDS_AFTER_MS = 5_000
const WATCHED_MS = 9_000
const GIVE_UP_MS = 90_000

/**
 * A child of its own is used on every replica while and after it is revoked. What counts is when a use was sent, not
 * when its answer came: on a machine that is slow the answers are late, and a breach is one all the same.
 */
async function feelRevocation(
  daemons: LociProcess[],
  tenant: WorldTenant,
  revoke: (jti: string) => Promise<unknown>,
  giveUpMs = GIVE_UP_MS,
): Promise<Felt> {
  const token = seal(attenuate(tenant.capability.delegation), NARROW)
  const jti = inspectCapability(token)[1]?.claims.jti as string
  const uses: { replica: number; sentAt: number; status: number }[] = []
  let isOver = false
  const users = daemons.map(async ({ url }, replica) => {
    while (!isOver) {
      const sentAt = performance.now()
      const { status } = await ask(url, 'GET', '/v1/kv/entries', token).catch(() => ({ status: 0 }))
      uses.push({ replica, sentAt, status })
      await sleep(25)
    }
  })
  await revoke(jti)
  const revokedAt = performance.now()
  const isRefusal = (status: number) => status === 401 || status === 503
  const firstRefused = (at: number) =>
    uses.find(({ replica, sentAt, status }) => replica === at && sentAt > revokedAt && isRefusal(status))
  // At least until uses were sent that may not be served any more; where answers are slow, until one was refused.
  const isEnough = () => performance.now() > revokedAt + WATCHED_MS && daemons.every((_, at) => firstRefused(at))
  while (!isEnough() && performance.now() < revokedAt + giveUpMs) await sleep(50)
  isOver = true
  await Promise.all(users)
  const statuses: Record<string, number> = {}
  for (const { status } of uses) statuses[status] = (statuses[status] ?? 0) + 1
  return {
    servedLate: uses.filter(({ sentAt, status }) => sentAt > revokedAt + HOLDS_AFTER_MS && status === 200).length,
    used: uses.length,
    refusedAfterMs: daemons.map((_, at) => {
      const refused = firstRefused(at)
      return refused ? Math.round(refused.sentAt - revokedAt) : null
    }),
    statuses,
  }
}
