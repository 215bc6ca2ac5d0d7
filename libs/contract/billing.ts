// Specification, "Management: billing event (BillingEventSchema)", the only camelCase body of management; and stored
// events.

import { z } from 'zod'
import { idOf, pageQuery, queryInteger, timestamp } from './wire.ts'

export const plan = z.enum(['free', 'starter', 'pro', 'enterprise'])

const billingStatus = z.enum(['active', 'cancelled', 'past_due', 'unpaid'])

export const billingEvent = z
  .object({
    eventType: z.enum([
      'subscription.created',
      'subscription.updated',
      'subscription.cancelled',
      'subscription.deleted',
      'payment.succeeded',
      'payment.failed',
      'invoice.payment_succeeded',
      'invoice.payment_failed',
    ]),
    tenantId: z.string(),
    customerId: z.string().optional(),
    subscriptionId: z.string().optional(),
    plan,
    status: billingStatus,
    currentPeriodStart: z.string().optional(),
    currentPeriodEnd: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: 'BillingEvent' })

/** The event as received, byte for byte: the provider's signature covers it. */
export const billingDelivery = z.custom<Buffer>()

export type BillingEventBody = z.infer<typeof billingEvent>

export const billingReceived = z.object({ received: z.literal(true) }).meta({ id: 'BillingReceived' })

export const billingWebhookStatus = z
  .object({
    status: z.literal('active'),
    configured: z
      .boolean()
      .meta({ description: 'Whether a secret is set: while it is false, every event is answered 503.' }),
    webhook: z.string(),
    timestamp,
  })
  .meta({ id: 'BillingWebhookStatus' })

const storedEvent = {
  id: idOf('evt'),
  event_type: z.string(),
  customer_id: z.string().nullable(),
  subscription_id: z.string().nullable(),
  counts_for: z.string().nullable().meta({
    description:
      'The subscription that the event counts for: the one it names, else the open one when it arrived. Null: the unnamed one.',
  }),
  plan,
  status: billingStatus,
  effect: z.enum(['applied', 'superseded', 'unordered', 'parked', 'dead']).meta({
    description:
      'As of its arrival. applied: it decides its subscription. superseded: an event later in order decides, or its subscription is closed. unordered: it does not count, because others of its subscription have a sequence, or a time, and it has none. parked: its tenant is not known. dead: nor was it for 30 days.',
  }),
  sequence: z.int().nullable(),
  occurred_at: timestamp.nullable(),
  received_at: timestamp,
  current_period_start: z.string().nullable(),
  current_period_end: z.string().nullable(),
  metadata: z.record(z.string(), z.string()).nullable().meta({ description: 'As received.' }),
  warnings: z.array(z.string()).meta({ description: 'Parts of the event that were not understood and are ignored.' }),
}

export const billingEventList = z
  .object({ events: z.array(z.object(storedEvent)), next_cursor: z.string().nullable() })
  .meta({ id: 'BillingEventList' })

export const billingEventListQuery = z.object({
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .optional(),
  limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
})

export const parkedEventList = z
  .object({
    events: z.array(z.object({ ...storedEvent, tenant_id: z.string() })),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'ParkedEventList' })

export const parkedEventListQuery = pageQuery('evt')

const markName = z.enum(['sequence', 'occurred_at'])

export const orderingReset = z
  .object({
    subscription_id: z.string().meta({ description: 'Empty for the unnamed subscription.' }),
    ordering: markName,
  })
  .meta({ id: 'OrderingReset' })

export const orderingResetResult = z
  .object({
    subscription_id: z.string(),
    ordering: markName,
    events: z.int().meta({ description: 'How many stored events are no longer ordered by it.' }),
  })
  .meta({ id: 'OrderingResetResult' })

const limit = z.object({ limit: z.int() })

/** What a tenant is told about itself. */
export const tenantStatus = z
  .object({
    tenant_id: idOf('ten'),
    organization_id: idOf('org'),
    status: z.enum(['active', 'past_due', 'suspended']),
    status_reason: z.string().nullable(),
    plan: plan.meta({ description: 'As billed; free when nothing is, or when a cancelled subscription has ended.' }),
    covered_plan: plan.meta({
      description:
        'What the tenant is entitled to, and its limits follow. Less than `plan` while that was never paid for.',
    }),
    billing: z.object({
      status: billingStatus.nullable(),
      customer_id: z.string().nullable(),
      subscription_id: z.string().nullable(),
      current_period_start: timestamp.nullable(),
      current_period_end: timestamp.nullable(),
      grace_ends_at: timestamp.nullable(),
      suspended_since: timestamp
        .nullable()
        .meta({ description: 'Since when writes are refused for payment; null: they are not.' }),
      reads_end_at: timestamp.nullable().meta({
        description:
          'When reads are refused too, unless it is paid. Seven days after it was announced at the earliest.',
      }),
      deletion_at: timestamp
        .nullable()
        .meta({ description: 'When the services are deleted, unless it is paid. Announced as `reads_end_at` is.' }),
      last_event_at: timestamp.nullable(),
    }),
    limits: z.object({
      services: z.object({ limit: z.int(), used: z.int() }),
      databases: limit,
      records: limit,
      bytes: limit,
      bytes_written_per_day: limit
        .optional()
        .meta({ description: 'Of each instance in a day of UTC. Absent: no bound.' }),
      requests_per_second: limit,
    }),
    services: z.object({ total: z.int(), by_status: z.record(z.string(), z.int()) }),
    updated_at: timestamp,
  })
  .meta({ id: 'TenantStatus' })
