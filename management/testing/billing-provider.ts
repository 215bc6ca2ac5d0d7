// A payment provider of a test's own, and an organization whose tenants it bills.

import { createHmac, randomUUID } from 'node:crypto'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { BillingEventBody } from '@loci/contract/billing.ts'
import { newId } from '@loci/contract/ids.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { makeTenant } from '../tenants/tenants.ts'
import { ACTOR, type TestManagement, type TestParty, testManagement } from './management.ts'

export const SECRET = 'the secret of the provider, 0123456789'
export const SIGNING = Buffer.from('a signing key of the provider, 0123456789')
export const HOOK = 'POST /api/webhooks/billing'

export interface Status {
  plan: string
  covered_plan: string
  status: string
  status_reason: string | null
  billing: Record<string, string | null>
  limits: Record<string, { limit: number; used?: number }>
  services: { total: number; by_status: Record<string, number> }
}

export interface TestProvider extends AsyncDisposable {
  management: TestManagement
  party: TestParty
  /** A new tenant of the party, on the plan free. */
  tenant(): Promise<string>
  /** As it goes out; `headers` change what the provider would send. */
  deliver(
    body: unknown,
    headers?: Record<string, string>,
    options?: { messageId?: string; at?: number },
  ): Promise<TestAnswer>
  /** Delivers and throws unless it is received. */
  bill(tenantId: string, fields?: Partial<BillingEventBody>, headers?: Record<string, string>): Promise<void>
  statusOf(tenantId: string): Promise<Status>
  /** `[plan, billing.status]` of a new tenant after these. */
  after(...events: Partial<BillingEventBody>[]): Promise<[string, string | null]>
}

export const sequence = (value: number | string) => ({ metadata: { sequence: String(value) } })
export const occurred = (at: Date | string) => ({
  metadata: { occurred_at: typeof at === 'string' ? at : at.toISOString() },
})

export function event(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { eventType: 'subscription.updated', tenantId: newId('ten'), plan: 'pro', status: 'active', ...fields }
}

export async function testProvider({ isSigning = false } = {}): Promise<TestProvider> {
  const management = await testManagement({
    settings: { billingWebhookSecrets: [SECRET], billingSigningSecrets: isSigning ? [SIGNING] : [] },
  })
  const party = await management.organization()
  // The best plan of its tenants is how often it may ask.
  await management.sql(`update loci.tenants set plan = 'enterprise' where id = $1`, [party.tenantId])
  await management.sql(`update loci.organizations set plan = 'enterprise' where id = $1`, [party.organizationId])
  const provider: TestProvider = {
    management,
    party,
    async tenant() {
      const { organizationId } = party
      const made = await transaction(management.pool, async (sql) => {
        await useOrganization(sql, organizationId)
        return makeTenant(sql, { organizationId, name: `t-${randomUUID()}` }, { actor: ACTOR }, async () => {})
      })
      return made.id
    },
    deliver(body, headers = {}, { messageId = `msg_${randomUUID()}`, at = Math.floor(Date.now() / 1000) } = {}) {
      const bytes = typeof body === 'string' ? body : JSON.stringify(body)
      const signature = createHmac('sha256', SIGNING).update(`${messageId}.${at}.${bytes}`).digest('base64')
      const signed = isSigning
        ? { 'webhook-id': messageId, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` }
        : {}
      const given = { 'content-type': 'application/json', authorization: `Bearer ${SECRET}`, ...signed, ...headers }
      return management.ask(HOOK, { body: bytes, headers: given })
    },
    async bill(tenantId, fields = {}, headers = {}) {
      const answer = await provider.deliver(event({ subscriptionId: 's', ...fields, tenantId }), headers)
      if (answer.status !== 200 || answer.text !== '{"received":true}')
        throw new Error(`the event was answered ${answer.status}: ${answer.text}`)
    },
    async statusOf(tenantId) {
      const answer = await party.ask(`GET /api/v1/tenants/${tenantId}/status`)
      if (answer.status !== 200) throw new Error(`the status was answered ${answer.status}: ${answer.text}`)
      return answer.json<Status>()
    },
    async after(...events) {
      const tenantId = await provider.tenant()
      for (const fields of events) await provider.bill(tenantId, fields)
      const { plan, billing } = await provider.statusOf(tenantId)
      return [plan, billing.status ?? null]
    },
    [Symbol.asyncDispose]: () => management[Symbol.asyncDispose](),
  }
  return provider
}
