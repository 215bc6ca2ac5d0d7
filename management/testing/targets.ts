// What the rows of the matrix (matrix.ts) are about: real things of the first organization, each under a name that
// begins with `~`. What a request has used up is made anew for the next.

import { createHash, randomUUID } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { newId } from '@loci/contract/ids.ts'
import { SUBSERVICE_NAMES } from '@loci/contract/subservices.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { putInvitation } from '../organizations/store.ts'
import { saveQuarantined } from '../provisioning/quarantine/store.ts'
import type { Issued, Parties } from './credentials.ts'
import type { TestCell, TestManagement, TestParty } from './management.ts'

export interface Targets {
  issued: Issued
  /** With real values for the names; `email` is of whoever asks. */
  fill<Value>(value: Value, email?: string): Promise<Value>
  /** After a request that was admitted. */
  spend(): void
}

type Makers = Record<string, (email: string) => Promise<string> | string>

const NAME = /~(\w+)/g
const CANARY = 'canary-own'

export async function makeTargets(management: TestManagement, parties: Parties): Promise<Targets> {
  const { own, ownCell } = parties
  const { organizationId, tenantId } = own
  // With a key of its own: what it makes must not be counted against the limits of the kinds.
  const maker = await management.member(own, 'owner', { email: 'canary-own-maker@example.com' })
  const make = (line: string, body: object) => made(maker, line, body)
  const instance = async () => {
    const { id } = await management.instance(ownCell.id, { organization: organizationId, tenant: tenantId })
    await management.sql('update loci.services set name = $2, slug = $3 where id = $1', [id, CANARY, `${CANARY}-${id}`])
    return id
  }
  const service = await instance()
  const token = (body: object) => make(`/api/v1/tenants/${tenantId}/tokens`, { service_id: service, ...body })
  const credential = () =>
    make(`/api/v1/services/${service}/partner-credentials`, { name: CANARY, database: 'default' })
  const unplaced = async () =>
    (await make('/api/v1/services', { service_type: 'kv', name: CANARY, tenant_id: tenantId, region: 'nowhere' }))
      .service_id
  const ownKey = async () => {
    const { apiKey } = await management.member(own, 'owner', { email: own.email, scopes: ['keys:write'] })
    return `key_${apiKey.split('_')[2]}`
  }
  const member = async () =>
    (await management.member(own, 'viewer', { email: `${CANARY}-${randomUUID()}@example.com` })).ownerId
  const invitations = `/api/v1/organizations/${organizationId}/invitations`
  const { organizationId: inviting } = await management.organization({ name: 'Initech' })

  const lasting: Makers = {
    organization: () => organizationId,
    tenant: () => tenantId,
    service: () => service,
    otherService: instance,
    operation: async () => (await maker.ask(`GET /api/v1/services/${service}`)).json<Made>().operation_id,
    token: async () => (await token({ name: CANARY, ops: ['kv:read'], max_delegation_depth: 1 })).token_id,
    credential: async () => (await credential()).id,
    key: ownKey,
    member,
    cell: () => withSwitches(ownCell),
  }
  const used: Makers = {
    doomedService: unplaced,
    failedService: async () => {
      const id = await unplaced()
      await management.sql(`update loci.services set status = 'failed', deadline_at = null where id = $1`, [id])
      return id
    },
    doomedTenant: async () => (await make('/api/v1/tenants', { name: CANARY })).id,
    doomedToken: async () => (await token({ name: CANARY, ops: ['kv:read'] })).token_id,
    doomedCredential: async () => (await credential()).id,
    doomedKey: ownKey,
    doomedMember: member,
    doomedInvitation: async () =>
      (await make(invitations, { email: `${CANARY}-${randomUUID()}@example.com`, role: 'viewer' })).id,
    doomedInstance: () => quarantine(management, parties),
    cellRevocation: () => revokedBy(management, parties),
    lostInstance: () => quarantine(management, parties, parties.own.tenantId),
  }
  const passing: Makers = {
    uuid: () => randomUUID(),
    unknownTenant: () => newId('ten'),
    publicKey: () => newKeyPair().publicJwk.x,
    invitationToken: (email) => inviteTo(management, inviting, email),
  }

  const kept = new Map<string, string>()
  async function targetOf(name: string, email: string): Promise<string> {
    const now = passing[name]
    if (now) return now(email)
    const found = kept.get(name) ?? (await (lasting[name] ?? used[name])?.(email))
    if (found === undefined) throw new Error(`nothing is called ~${name}: give it a maker in testing/targets.ts`)
    kept.set(name, found)
    return found
  }
  let last: string[] = []

  return {
    issued: {
      capability: (await token({ ops: ['operator'], databases: ['*'] })).token,
      partnerCredential: (await credential()).token,
    },
    async fill(value, email = 'nobody@example.com') {
      let text = JSON.stringify(value ?? null)
      last = [...new Set(text.matchAll(NAME).map(([, name]) => name as string))]
      for (const name of last) text = text.replaceAll(`~${name}`, await targetOf(name, email))
      return value === undefined ? value : JSON.parse(text)
    },
    spend() {
      for (const name of last) if (name in used) kept.delete(name)
    },
  }
}

type Made = Record<'id' | 'service_id' | 'operation_id' | 'token_id' | 'token', string>

async function made(maker: TestParty, path: string, body: object): Promise<Made> {
  const answer = await maker.ask(`POST ${path}`, { body })
  if (answer.status >= 300) throw new Error(`POST ${path} was answered ${answer.status}: ${answer.text}`)
  return answer.json<Made>()
}

/** A cell can be asked for a switch once it has said which ones it has. */
async function withSwitches(cell: TestCell): Promise<string> {
  const asIs = { enabled: true, since: '2026-01-01T00:00:00.000Z', changed_by: null, reason: null }
  const unasked = { auto_revert_at: null, told_at: null, outcome: null }
  const { status, body } = await cell.report({
    switches: SUBSERVICE_NAMES.map((name) => ({ name, ...asIs, ...unasked })),
  })
  if (status !== 200) throw new Error(`the report was answered ${status}: ${JSON.stringify(body)}`)
  return cell.id
}

async function quarantine(management: TestManagement, { own, ownCell }: Parties, ten = newId('ten')): Promise<string> {
  const svc = newId('svc')
  const ids = { svc, org: own.organizationId, ten }
  const rest = { service_type: 'kv', plan: 'free', state: 'active', generation: 1 }
  await transaction(management.pool, (sql) => saveQuarantined(sql, ownCell.id, { ...ids, ...rest }))
  return svc
}

/** Past the rule that a member is not invited again: the same person asks with several kinds. */
function inviteTo(management: TestManagement, organizationId: string, email: string): Promise<string> {
  const token = randomUUID()
  const [createdAt, expiresAt] = [new Date(), new Date(Date.now() + 60_000)]
  return transaction(management.pool, async (sql) => {
    await useOrganization(sql, organizationId)
    const invitation = { id: newId('inv'), organizationId, email, role: 'viewer' as const, invitedBy: 'test' }
    const digest = createHash('sha256').update(token).digest('hex')
    await putInvitation(sql, { ...invitation, createdAt, expiresAt }, digest)
    return token
  })
}

/** A revocation by the administration of the cell; its id. */
async function revokedBy(management: TestManagement, { own, ownCell }: Parties): Promise<string> {
  const id = newId('rev')
  await management.sql(
    `insert into loci.revocations (id, cell_id, kind, svc, value, expires_at, origin, organization_id)
      values ($1, $2, 'jti', '*', $3, now() + interval '1 day', 'cell', $4)`,
    [id, ownCell.id, newId('cap'), own.organizationId],
  )
  return id
}
