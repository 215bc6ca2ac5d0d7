// A payment provider, as the system test of billing plays it: it delivers, signed or not, and reads what became of a
// tenant.

import { createHmac, randomBytes } from 'node:crypto'
import { newId } from '@loci/contract/ids.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { WorldCaller } from '../world/callers.ts'
import { BILLING_SECRET, type World } from '../world/world.ts'
import type { BillingSet, Sent } from './billing-sets.ts'
import type { PlainClient } from './plain-client.ts'

export const HOOK = '/api/webhooks/billing'
export const SIGNING = randomBytes(32)

export interface Target {
  url: string
  /** Whether it wants a signature: then every delivery has an id. */
  isSigned: boolean
}

export interface Scene {
  world: World
  callers: WorldCaller[]
  sql: Pool
}

/**
 * The tenant as if nothing had been said yet. The same one for every order: ties are told apart by the body, which
 * names it.
 */
export async function forget(sql: Pool, tenantId: string): Promise<void> {
  await sql.query({ text: 'delete from loci.billing_events where tenant_id = $1', values: [tenantId] })
  await sql.query({ text: 'delete from loci.due_tenants where tenant_id = $1', values: [tenantId] })
  await sql.query({
    text: `update loci.tenants set plan = 'free', status = 'active', status_reason = null, access = 'full', billing_status = null,
        billed_plan = null, customer_id = null, subscription_id = null, current_period_start = null, current_period_end = null,
        grace_ends_at = null, last_event_at = null,
        arrivals = 0, notices = '{}' where id = $1`,
    values: [tenantId],
  })
}

export async function addTenant(sql: Pool, { organizationId }: WorldCaller): Promise<string> {
  const id = newId('ten')
  await sql.query({
    text: `insert into loci.tenants (id, organization_id, name, slug, plan, status) values ($1, $2, $1, $1, 'free', 'active')`,
    values: [id, organizationId],
  })
  return id
}

export async function deliver(client: PlainClient, target: Target, { body, id }: Sent): Promise<number> {
  const bytes = JSON.stringify(body)
  const headers = { authorization: `Bearer ${BILLING_SECRET}`, ...signatureOf(target, id, bytes, Date.now()) }
  const outcome = await client.send(target.url, { method: 'POST', path: HOOK, headers, body: bytes })
  return outcome.kind === 'answer' ? outcome.status : 0
}

export function signatureOf(
  { isSigned }: Target,
  id: string | undefined,
  bytes: string,
  atMs: number,
): Record<string, string> {
  if (id === undefined) return {}
  if (!isSigned) return { 'webhook-id': id }
  const at = Math.floor(atMs / 1000)
  const signature = createHmac('sha256', SIGNING).update(`${id}.${at}.${bytes}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` }
}

/** All of the record that may not depend on the delivery, as text. */
export async function recordOf(
  { sql }: Scene,
  client: PlainClient,
  url: string,
  { apiKey }: WorldCaller,
  tenantId: string,
  { isTimed }: BillingSet,
): Promise<string> {
  const request = { method: 'GET', path: `/api/v1/tenants/${tenantId}/status`, headers: { 'x-api-key': apiKey } }
  const outcome = await client.send(url, request)
  if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`no status: ${JSON.stringify(outcome)}`)
  const { plan, covered_plan, status, status_reason, limits, billing } = JSON.parse(outcome.body)
  const { last_event_at: _, grace_ends_at, ...facts } = billing
  const { rows } = await sql.query<{ access: string }>({
    text: 'select access from loci.tenants where id = $1',
    values: [tenantId],
  })
  const grace = isTimed ? { grace_ends_at } : {}
  const record = { ...facts, ...grace }
  return JSON.stringify({ plan, covered_plan, status, status_reason, limits, billing: record, access: rows[0]?.access })
}

export async function countAudit(sql: Pool, tenantId?: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    text: `select count(*)::int as count from loci.audit where action = 'billing.event' and ($1::text is null or subject = $1)`,
    values: [tenantId ?? null],
  })
  return rows[0]?.count ?? 0
}
