// The cell's side of CONTRACT 8. Every replica runs this loop; the one with the lease pulls management's feed into the cell's
// Postgres and sends reports up. No transaction is open while it waits for management, and nothing waits for it: when management
// is away, what the cell knows stays in force.
//
//   without the lease: ask for it every second.
//   with it: pull (long poll) → apply behind the fence → pull …; a lost fence means another took over: begin again.
//   every ten minutes a full resync; an error backs off up to 10 s and is logged once per change of reason.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import type { Log } from '@loci/chassis/log.ts'
import { feedResponse } from '@loci/contract/feed.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { applyPage, finishReport, type Lease, leaveLease, type ReportRows, readReport, takeLease } from './store.ts'

export interface ApplierOptions {
  pool: Pool
  managementUrl: string
  cellId: string
  cellKey: PrivateJwk
  replica: string
  log: Log
  /** After a page was applied: this replica need not wait for its next beat. */
  onApplied(): Promise<void>
}

const LEASE_MS = 10_000
const RENEW_MS = 3_000
const WAIT_S = 20
const RESYNC_MS = 600_000
const REPORT_MS = 5_000
const BACKOFF_MS_MAX = 10_000
const OUTBOUND_MS = 3_000

export interface Applier {
  stop(): Promise<void>
}

export function startApplier(options: ApplierOptions): Applier {
  const stopping = new AbortController()
  const running = run(options, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
      await leaveLease(options.pool, options.replica).catch(() => undefined)
    },
  }
}

async function run(options: ApplierOptions, signal: AbortSignal): Promise<void> {
  let backoffMs = 250
  let told = ''
  while (!signal.aborted) {
    try {
      const lease = await takeLease(options.pool, options.replica, LEASE_MS)
      if (lease) await lead(options, lease, signal)
      else await sleep(1_000, undefined, { signal })
      backoffMs = 250
      told = ''
    } catch (error) {
      if (signal.aborted) return
      const reason = (error as Error).message
      if (reason !== told)
        options.log.warn(
          { component: 'feed', reason },
          'management or the database does not answer; the cell goes on with what it knows',
        )
      told = reason
      await sleep(backoffMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
      backoffMs = Math.min(BACKOFF_MS_MAX, backoffMs * 2)
    }
  }
}

/** Until the lease is lost or something fails. */
async function lead(options: ApplierOptions, lease: Lease, signal: AbortSignal): Promise<void> {
  const { pool, replica } = options
  const leading = new AbortController()
  const either = AbortSignal.any([signal, leading.signal])
  const renewer = setInterval(() => {
    takeLease(pool, replica, LEASE_MS).then(
      (renewed) => renewed?.fence !== lease.fence && leading.abort(),
      () => undefined,
    )
  }, RENEW_MS)
  const reporting = report(options, either)
  try {
    let { epoch, after } = lease
    let resyncAt = performance.now() + RESYNC_MS
    let wait = 0
    while (!either.aborted) {
      if (performance.now() >= resyncAt) {
        epoch = null
        resyncAt = performance.now() + RESYNC_MS
      }
      const query = new URLSearchParams({
        after: String(epoch === null ? 0 : after),
        wait: String(wait),
        ...(epoch === null ? {} : { epoch }),
      })
      const page = feedResponse.parse(
        await call(options, 'GET', `/cell/v1/feed?${query}`, undefined, either, wait * 1000 + OUTBOUND_MS),
      )
      if (!(await applyPage(pool, { fence: lease.fence, epoch: page.epoch, next: page.next, items: page.items })))
        return
      if (page.items.length > 0) await options.onApplied()
      epoch = page.epoch
      after = page.next
      wait = page.more ? 0 : WAIT_S
    }
  } finally {
    clearInterval(renewer)
    leading.abort()
    await reporting
  }
}

/**
 * What the cell observes, counted and revoked by itself goes up every few seconds; what was not taken is told again. A report that
 * fails never holds up the feed: what comes down is worth more than what goes up.
 */
async function report(options: ApplierOptions, signal: AbortSignal): Promise<void> {
  let observedSince = 0
  let told = ''
  // Instances that management does not know (any more): it takes a report whole or not at all, so they are left out.
  const unknown = new Set<string>()
  while (!signal.aborted) {
    try {
      const rows = await readReport(options.pool, observedSince)
      if (rows.observed.length + rows.usage.length + rows.revocations.length > 0) {
        await call(options, 'POST', '/cell/v1/reports', reportOf(rows, unknown), signal, OUTBOUND_MS)
        await finishReport(options.pool, rows)
        observedSince = rows.observed.at(-1)?.changeSeq ?? observedSince
      }
      told = ''
      if (rows.more) continue
    } catch (error) {
      if (signal.aborted) return
      const reason = (error as Error).message
      if (reason !== told)
        options.log.warn({ component: 'reports', reason }, 'a report was not taken; it is sent again')
      told = reason
      const named = error instanceof RefusedByManagement ? error.instances.filter((svc) => !unknown.has(svc)) : []
      for (const svc of named) unknown.add(svc)
      if (named.length > 0) continue
    }
    await sleep(REPORT_MS, undefined, { signal }).catch(() => undefined)
  }
}

function reportOf({ observed, usage, revocations }: ReportRows, unknown: ReadonlySet<string>): object {
  return {
    report_id: randomUUID(),
    observed: observed
      .filter(({ svc }) => !unknown.has(svc))
      .map(({ svc, generation, state }) => ({ svc, generation, state })),
    usage: usage
      .filter(({ svc }) => !unknown.has(svc))
      .map(({ svc, minute, replica, requests, writes }) => ({
        svc,
        minute: minute.toISOString(),
        dedup: `${replica}:${minute.toISOString()}`,
        requests,
        writes,
        records: 0,
        bytes: 0,
      })),
    revocations: revocations.map(({ kind, value, not_before, expires_at, audit_id }) => ({
      kind,
      value,
      not_before: not_before?.toISOString() ?? null,
      expires_at: expires_at.toISOString(),
      audit_id,
    })),
    deletions: [],
    last_used: [],
  }
}

class RefusedByManagement extends Error {
  /** Those that a report named and management does not place in this cell. */
  readonly instances: string[]

  constructor(message: string, instances: string[]) {
    super(message)
    this.name = 'RefusedByManagement'
    this.instances = instances
  }
}

async function call(
  { managementUrl, cellId, cellKey }: ApplierOptions,
  method: string,
  path: string,
  body: object | undefined,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<unknown> {
  const now = Math.floor(Date.now() / 1000)
  const token = signJws(
    { alg: 'EdDSA', typ: 'loci-cell+jwt' },
    { iss: cellId, aud: managementUrl, iat: now, exp: now + 60, jti: randomUUID() },
    privateKeyOf(cellKey),
  )
  const answer = await fetch(`${managementUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
  if (!answer.ok) {
    const refusal = (await answer.json().catch(() => undefined)) as
      | { error?: { details?: { instances?: string[] } } }
      | undefined
    const instances = refusal?.error?.details?.instances ?? []
    throw new RefusedByManagement(`management answered ${answer.status} to ${method} ${path.split('?')[0]}`, instances)
  }
  return answer.json()
}
