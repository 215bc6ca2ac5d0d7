import type { Argument, Command, Option } from './command.ts'
import { DRY_RUN, YES } from './memory.ts'

const NAMED: Argument = { name: 'service', completes: 'service' }
const MAYBE: Argument = { ...NAMED, optional: true }
const LIMIT: Option = { name: 'limit', value: 'count', summary: 'at most so many' }
const PLANS = ['free', 'starter', 'pro', 'enterprise']
const BILLING_EVENTS = [
  'payment.succeeded',
  'payment.failed',
  'subscription.created',
  'subscription.updated',
  'subscription.cancelled',
]
const STATUSES = ['provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting', 'deleted']

export const SERVICES: readonly Command[] = [
  {
    path: 'services list',
    summary: 'services, newest first',
    options: [
      { name: 'status', value: 'status', choices: STATUSES, summary: 'only those' },
      { name: 'type', value: 'type', summary: 'only those of a type' },
      LIMIT,
      { name: 'all', summary: 'every one' },
    ],
    run: async (call) => (await import('../commands/services.ts')).list(call),
  },
  {
    path: 'services get',
    summary: 'one service',
    arguments: [MAYBE],
    run: async (call) => (await import('../commands/services.ts')).get(call),
  },
  {
    path: 'services create',
    summary: 'make a service and wait until it serves, step by step',
    arguments: [{ name: 'name' }],
    options: [
      { name: 'type', value: 'type', summary: 'memory unless told' },
      { name: 'plan', value: 'plan', choices: PLANS, summary: 'its plan' },
      { name: 'region', value: 'region', summary: 'where' },
      { name: 'slug', value: 'slug', summary: 'its short name' },
      { name: 'config', value: 'name=value', many: true, summary: 'a setting' },
      { name: 'wait', summary: 'wait until it serves (so it does anyway)' },
      { name: 'no-wait', summary: 'return when it is accepted' },
    ],
    run: async (call) => (await import('../commands/services.ts')).create(call),
  },
  {
    path: 'services wait',
    summary: 'wait until a service serves',
    arguments: [MAYBE],
    run: async (call) => (await import('../commands/services.ts')).wait(call),
  },
  {
    path: 'services delete',
    summary: 'delete a service with everything in it',
    arguments: [NAMED],
    options: [DRY_RUN, YES],
    run: async (call) => (await import('../commands/services.ts')).remove(call),
  },
  {
    path: 'services health',
    summary: 'how the parts of its daemon are',
    arguments: [MAYBE],
    run: async (call) => (await import('../commands/services.ts')).health(call),
  },
  {
    path: 'services metrics',
    summary: 'the metrics of its daemon, for Prometheus',
    arguments: [MAYBE],
    run: async (call) => (await import('../commands/services.ts')).metrics(call),
  },
  {
    path: 'services usage',
    summary: 'requests, writes, records and bytes',
    arguments: [MAYBE],
    run: async (call) => (await import('../commands/services.ts')).usageOf(call),
  },
  {
    path: 'services open',
    summary: 'the page of management in a browser',
    run: async (call) => (await import('../commands/services.ts')).open(call),
  },
  {
    path: 'env',
    summary: 'what a program needs to use a service: its address and a token of its own',
    arguments: [MAYBE],
    options: [
      { name: 'format', value: 'format', choices: ['dotenv', 'shell', 'json'], summary: 'dotenv unless told' },
      { name: 'days', value: 'days', summary: 'how long the token is good (30)' },
    ],
    run: async (call) => (await import('../commands/services.ts')).env(call),
  },
  {
    path: 'tenants list',
    summary: 'the tenants of the organization',
    run: async (call) => (await import('../commands/services.ts')).tenants(call),
  },
  {
    path: 'tenants status',
    summary: 'plan, limits and what is used of them',
    arguments: [{ name: 'tenant', optional: true }],
    run: async (call) => (await import('../commands/services.ts')).tenantStatus(call),
  },
  {
    path: 'billing show',
    summary: 'plan, subscription and period of a tenant',
    arguments: [{ name: 'tenant', optional: true }],
    run: async (call) => (await import('../commands/billing.ts')).show(call),
  },
  {
    path: 'billing webhook status',
    summary: 'whether management takes events of a payment provider',
    run: async (call) => (await import('../commands/billing.ts')).webhookStatus(call),
  },
  {
    path: 'billing webhook secret',
    summary: 'a new secret, for management and for the payment provider; nothing is changed',
    run: async (call) => (await import('../commands/billing.ts')).webhookSecret(call),
  },
  {
    path: 'billing webhook test',
    summary: 'send management an event as the payment provider would; it counts',
    arguments: [{ name: 'tenant', optional: true }],
    options: [
      { name: 'event', value: 'event', choices: BILLING_EVENTS, summary: 'payment.succeeded unless told' },
      { name: 'plan', value: 'plan', choices: PLANS, summary: 'that of the tenant unless told' },
      { name: 'secret-file', value: 'file', summary: 'a file with the secret (LOCI_BILLING_WEBHOOK_SECRET_FILE)' },
      DRY_RUN,
      YES,
    ],
    run: async (call) => (await import('../commands/billing.ts')).webhookTest(call),
  },
  {
    path: 'billing events',
    summary: 'what the payment provider told, and its effect',
    arguments: [{ name: 'tenant', optional: true }],
    run: async (call) => (await import('../commands/billing.ts')).events(call),
  },
]
