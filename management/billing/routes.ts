import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { page } from '@loci/chassis/page.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { PLATFORM } from '@loci/contract/audit.ts'
import {
  billingDelivery,
  billingEvent,
  billingEventList,
  billingEventListQuery,
  billingReceived,
  billingWebhookStatus,
  orderingReset,
  orderingResetResult,
  parkedEventList,
  parkedEventListQuery,
  tenantStatus,
} from '@loci/contract/billing.ts'
import { tenantParams } from '@loci/contract/tenants.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { notYourTenant, readForCaller, requireOwnTenant } from '../access/own.ts'
import { useOrganization } from '../access/store.ts'
import { unauthentic } from '../access/webhook.ts'
import { appendEvents, findTenantOwner, readSuspension, receiveEvent, settleAfterReset } from './billing.ts'
import { eventJson, statusJson } from './status.ts'
import {
  type BilledTenant,
  clearOrdering,
  countServices,
  findTenant,
  lockBilledTenant,
  pageEvents,
  pageParked,
  readNow,
} from './store.ts'
import { isSigned } from './verification.ts'
import { readEvent } from './webhook.ts'

interface BillingOptions {
  caller: CallerAccess
  webhook: Access<undefined>
  act: RunAct<Caller>
  pool: Pool
  signingSecrets: readonly Buffer[]
  provider: string
  /** Whether there is a webhook at all; without one no plan is enforced. */
  isBilled: boolean
  metrics: Metrics
  lifecycle: Lifecycle
}

const HOOK = { path: '/api/webhooks/billing', tag: 'billing', flatErrors: true, inEveryState: true } as const
const BODY_BYTES_MAX = 256 * 1024
/** Above every id of ours. */
const LAST_ID = 'evt_~'

export function billingRoutes(options: BillingOptions): Route[] {
  return [...webhookRoutes(options), ...tenantBillingRoutes(options), ...staffRoutes(options)]
}

function webhookRoutes(options: BillingOptions): Route[] {
  const { webhook, pool, signingSecrets, provider, isBilled, metrics, lifecycle } = options
  const unordered = metrics.counter(
    'loci_billing_unordered_total',
    'Billing events that do not count, because others of their subscription have a sequence or a time and they have none.',
    [],
  )
  return [
    route(
      {
        ...HOOK,
        method: 'GET',
        access: open,
        summary: 'Check that the billing webhook is there, and for which provider.',
        answers: { 200: billingWebhookStatus },
      },
      () => ({ status: 'active', configured: isBilled, webhook: provider, timestamp: new Date().toISOString() }),
    ),

    route(
      {
        ...HOOK,
        method: 'POST',
        access: webhook,
        summary: 'Deliver a billing event of the payment provider.',
        details:
          'Give metadata.sequence or metadata.occurred_at: with either, no order of delivery and no repetition changes the outcome.',
        body: billingDelivery,
        documentedBody: billingEvent,
        bodyRaw: true,
        bodyBytesMax: BODY_BYTES_MAX,
        answers: { 200: billingReceived },
        errors: ['INTERNAL_ERROR'],
        failureMessage: 'Failed to process billing event',
        failsWith500: true,
      },
      async ({ body: bytes, headers, requestId, log }) => {
        if (!isSigned({ signingSecrets, headers, bytes, nowMs: Date.now() })) throw unauthentic()
        const sent = headers['webhook-id']
        const delivery = { body: readEvent(bytes), bytes, webhookId: sent?.toString(), requestId }
        const refusal = lifecycle.refusal()
        if (refusal) throw refusal
        const received = await transaction(pool, async (sql) => receiveEvent(sql, delivery, await readNow(sql)))
        if (received.effect === 'unordered') {
          unordered.inc()
          log.warn(
            { requestId, component: 'billing', reason: received.tenantId },
            'a billing event does not count: it has no metadata.sequence or occurred_at and others of its subscription have. Ask the sender to add it, or reset the ordering (docs/operations/billing.md)',
          )
        }
        return { received: true }
      },
    ),
  ]
}

function tenantBillingRoutes({ caller: access, pool, isBilled }: BillingOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/tenants/{id}/status',
        access: access.scope('tenants:read', 'read'),
        tag: 'tenants',
        summary: 'Read the status of a tenant.',
        details: 'Its plan, its billing, what it may use and what it uses.',
        params: tenantParams,
        answers: { 200: tenantStatus },
        failureMessage: 'Failed to read the status of the tenant',
      },
      ({ caller, params: { id } }) =>
        readForCaller(pool, caller, async (sql) => {
          await requireOwnTenant(sql, caller, id)
          const tenant = await findTenant(sql, caller.organizationId, id)
          const suspension = await readSuspension(sql, tenant as BilledTenant, await readNow(sql))
          const services = await countServices(sql, caller.organizationId, id)
          return statusJson(tenant as BilledTenant, services, isBilled, suspension)
        }),
    ),

    route(
      {
        method: 'GET',
        path: '/api/v1/tenants/{id}/billing/events',
        access: access.scope('billing:read', 'read'),
        tag: 'billing',
        summary: 'List the billing events of the tenant with their effects, newest first.',
        params: tenantParams,
        query: billingEventListQuery,
        answers: { 200: billingEventList },
        failureMessage: 'Failed to list billing events',
      },
      async ({ caller, params: { id }, query }) => {
        const read = await readForCaller(pool, caller, async (sql) => {
          await requireOwnTenant(sql, caller, id)
          const before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(query.cursor)
          const asked = { organizationId: caller.organizationId, tenantId: id, before, limit: query.limit + 1 }
          return pageEvents(sql, asked)
        })
        const { rows, next } = page(read, query.limit, ({ arrival }) => arrival)
        return { events: rows.map(eventJson), next_cursor: next }
      },
    ),
  ]
}

/** Whatever staff read or do here is audited. */
function staffRoutes({ caller: access, act, pool }: BillingOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/parked-events',
        access: access.staff('read'),
        tag: 'billing',
        summary: 'List billing events whose tenant is not known, newest first.',
        details: 'They are dead after 30 days.',
        query: parkedEventListQuery,
        answers: { 200: parkedEventList },
        failureMessage: 'Failed to list parked events',
      },
      async ({ caller, query, requestId }) => {
        const read = await transaction(pool, async (sql) => {
          await useOrganization(sql, PLATFORM)
          const found = await pageParked(sql, query.cursor ?? LAST_ID, query.limit + 1)
          const entry = { chain: PLATFORM_CHAIN, actor: caller.id, action: 'billing.read_parked', subject: PLATFORM }
          await appendAudit(sql, { ...entry, requestId, detail: { user_id: caller.userId } })
          return found
        })
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return {
          events: rows.map((event) => ({ ...eventJson(event), tenant_id: event.tenantId })),
          next_cursor: next,
        }
      },
    ),

    route(
      {
        method: 'POST',
        path: '/api/v1/tenants/{id}/billing/ordering/reset',
        access: access.staff('write'),
        tag: 'billing',
        summary: 'Reset the ordering of the billing events of a subscription.',
        details: 'The sequences, or the times: for a provider that began to count anew.',
        params: tenantParams,
        body: orderingReset,
        answers: { 200: orderingResetResult },
        failureMessage: 'Failed to reset the ordering',
      },
      async (call) => {
        const { caller, body } = call
        const { id } = call.params
        return act(call, async (sql, by) => {
          const owner = await findTenantOwner(sql, id)
          if (!owner) throw notYourTenant()
          const { organizationId } = owner
          await useOrganization(sql, organizationId)
          const tenant = (await lockBilledTenant(sql, organizationId, id)) as BilledTenant
          const { subscription_id, ordering } = body
          const cleared = await clearOrdering(sql, organizationId, id, subscription_id, ordering)
          const { events } = await settleAfterReset(sql, tenant, await readNow(sql))
          await appendAudit(sql, {
            ...by,
            chain: organizationId,
            action: 'billing.reset_ordering',
            subject: id,
            detail: { subscription_id, ordering, events: cleared },
          })
          await appendEvents(sql, events)
          // The stored answer is the caller's own.
          await useOrganization(sql, caller.organizationId)
          return { status: 200, body: { subscription_id, ordering, events: cleared } }
        })
      },
    ),
  ]
}
