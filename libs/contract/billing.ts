// Seed, "Management: billing event (BillingEventSchema)", the one camelCase body of management; and what became of it, in snake_case.

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

/** The bytes of an event as they came: the provider's signature covers them. */
export const billingDelivery = z.custom<Buffer>()

export type BillingEventBody = z.infer<typeof billingEvent>

export const billingReceived = z.object({ received: z.literal(true) }).meta({ id: 'BillingReceived' })

export const billingWebhookStatus = z
  .object({ status: z.literal('active'), webhook: z.string(), timestamp })
  .meta({ id: 'BillingWebhookStatus' })

const storedEvent = {
  id: idOf('evt'),
  event_type: z.string(),
  subscription_id: z.string().nullable(),
  plan,
  status: billingStatus,
  effect: z.enum(['applied', 'superseded', 'shadowed', 'parked', 'dead']).meta({
    description:
      'applied: its facts are the record. superseded: a later one speaks. shadowed: it has no sequence, or no time, and those that have one speak. parked: its tenant is not known. dead: nor was it for 30 days.',
  }),
  sequence: z.int().nullable(),
  occurred_at: timestamp.nullable(),
  received_at: timestamp,
  current_period_start: z.string().nullable(),
  current_period_end: z.string().nullable(),
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

export const registerReset = z
  .object({
    subscription_id: z.string().meta({ description: 'Empty for the events that name no subscription.' }),
    register: z.enum(['sequence', 'occurred_at']),
  })
  .meta({ id: 'RegisterReset' })

export const registerResetResult = z
  .object({
    subscription_id: z.string(),
    register: z.enum(['sequence', 'occurred_at']),
    events: z.int().meta({ description: 'How many stored events no longer speak by it.' }),
  })
  .meta({ id: 'RegisterResetResult' })

const limit = z.object({ limit: z.int() })

/** CONTRACT 4.3. */
export const tenantStatus = z
  .object({
    tenant_id: idOf('ten'),
    organization_id: idOf('org'),
    status: z.enum(['active', 'past_due', 'suspended']),
    status_reason: z.string().nullable(),
    plan,
    billing: z.object({
      status: billingStatus.nullable(),
      subscription_id: z.string().nullable(),
      current_period_start: timestamp.nullable(),
      current_period_end: timestamp.nullable(),
      grace_ends_at: timestamp.nullable(),
      last_event_at: timestamp.nullable(),
    }),
    limits: z.object({
      services: z.object({ limit: z.int(), used: z.int() }),
      databases: limit,
      records: limit,
      bytes: limit,
      requests_per_second: limit,
    }),
    services: z.object({ total: z.int(), by_status: z.record(z.string(), z.int()) }),
    updated_at: timestamp,
  })
  .meta({ id: 'TenantStatus' })
