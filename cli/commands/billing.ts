// What a tenant is billed for, and the webhook of the payment provider.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandFailure } from '../failure.ts'
import { withLoci } from '../profiles/connection.ts'
import type { Call, Result } from '../tree/command.ts'
import { requireYes } from './given.ts'
import { onlyTenant } from './services.ts'
import { columns, fields } from './shown.ts'

const STATUS_OF: Readonly<Record<string, string>> = {
  'payment.failed': 'past_due',
  'subscription.cancelled': 'cancelled',
}

export async function show(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const id = call.arguments[0] ?? (await onlyTenant(loci))
    const { body } = await loci.management.call('GET /api/v1/tenants/{id}/status', { path: { id } })
    const { plan, covered_plan, status, billing } = body
    const { status: subscription, ...rest } = billing
    const shown = { tenant_id: id, plan, covered_plan, status, subscription, ...rest }
    return { data: shown, lines: fields(shown) }
  })
}

export async function events(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const id = call.arguments[0] ?? (await onlyTenant(loci))
    const { body } = await loci.management.call('GET /api/v1/tenants/{id}/billing/events', { path: { id } })
    const rows = body.events.map(({ received_at, event_type, plan, status, effect }) => [
      received_at,
      event_type,
      plan,
      status,
      effect,
    ])
    return { data: body, lines: rows.length > 0 ? columns(rows) : ['no event of billing yet'] }
  })
}

export async function webhookStatus(call: Call): Promise<Result> {
  return withLoci(
    call,
    async ({ management }) => {
      const { body } = await management.call('GET /api/webhooks/billing')
      const hint = body.configured ? [] : ['no secret is set: loci billing webhook secret makes one']
      return { data: body, lines: [...fields(body), ...hint] }
    },
    { needsKey: false },
  )
}

export async function webhookSecret(call: Call): Promise<Result> {
  const secret = randomBytes(32).toString('base64url')
  call.say('Give it to the payment provider, and to management in LOCI_BILLING_WEBHOOK_SECRET_FILE:')
  return { data: { secret }, lines: [secret] }
}

/** It is a real event: it changes what the tenant is entitled to. */
export async function webhookTest(call: Call): Promise<Result> {
  return withLoci(call, async (loci, { url }) => {
    const tenantId = call.arguments[0] ?? (await onlyTenant(loci))
    const eventType = call.text('event') ?? 'payment.succeeded'
    const { body: tenant } = await loci.management.call('GET /api/v1/tenants/{id}/status', { path: { id: tenantId } })
    const plan = call.text('plan') ?? tenant.plan
    const event = { eventType, tenantId, plan, status: STATUS_OF[eventType] ?? 'active' }
    if (call.has('dry-run')) return { data: { dry_run: true, event }, lines: [`would send ${JSON.stringify(event)}`] }
    const secret = secretOf(call)
    await requireYes(call, `Tell management ${eventType} of ${tenantId}, plan ${plan}`)
    const answer = await fetch(new URL('/api/webhooks/billing', url.value), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify(event),
    })
    const text = await answer.text()
    if (answer.ok)
      return { data: { sent: event, answer: JSON.parse(text) }, lines: [`management took ${eventType} of ${tenantId}`] }
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    throw new CommandFailure(answer.status === 401 ? 'credential' : 'server', error.code, error.message)
  })
}

function secretOf(call: Call): string {
  const file = call.text('secret-file') ?? call.host.env.LOCI_BILLING_WEBHOOK_SECRET_FILE
  if (file === undefined)
    throw new CommandFailure('credential', 'NOT_SIGNED_IN', 'This needs the secret of the webhook.', {
      hint: '--secret-file <file> (LOCI_BILLING_WEBHOOK_SECRET_FILE)',
    })
  try {
    return readFileSync(resolve(call.host.cwd, file), 'utf8').trim()
  } catch (error) {
    throw new CommandFailure(
      'config',
      'BAD_CONFIG',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
}
