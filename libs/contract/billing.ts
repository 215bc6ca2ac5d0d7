// Seed, "Management: billing event (BillingEventSchema)". The one camelCase body of management.

import { z } from 'zod'

export const plan = z.enum(['free', 'starter', 'pro', 'enterprise'])

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
    status: z.enum(['active', 'cancelled', 'past_due', 'unpaid']),
    currentPeriodStart: z.string().optional(),
    currentPeriodEnd: z.string().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: 'BillingEvent' })

export const billingReceived = z.object({ received: z.literal(true) }).meta({ id: 'BillingReceived' })
