// One credential of every kind of the matrix (matrix-classes.ts), and the parties they are of.

import { createHmac } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { STAFF_SCOPE } from '@loci/contract/api-keys.ts'
import { cookieNames, HEADER } from '@loci/contract/headers.ts'
import { SCOPES, type Scope } from '@loci/contract/roles.ts'
import { digestOf } from '../access/session.ts'
import type { ManagementSettings } from '../settings.ts'
import type { IdentityProvider, TestPerson } from './identity-provider.ts'
import type { TestCell, TestManagement, TestParty } from './management.ts'
import type { Kind } from './matrix-classes.ts'
import { exchange, obtainCode } from './sign-in.ts'

const GATEWAY_SECRET = 'canary-gateway-secret-0123456789abcdef'
const WEBHOOK_SECRET = 'canary-webhook-secret-0123456789abcdef'
const STAFF_EMAIL = 'canary-staff@platform.example'

export const MATRIX_SETTINGS: Partial<ManagementSettings> = {
  staffEmails: [STAFF_EMAIL],
  trustedGateways: ['127.0.0.1'],
  gatewaySecrets: [GATEWAY_SECRET],
  billingWebhookSecrets: [WEBHOOK_SECRET],
  // In the second there is no cell: what is made there has no place.
  regions: ['us-east-1', 'nowhere', 'elsewhere'],
}

export interface Parties {
  /** Whose everything is that the rows name. */
  own: TestParty & { email: string; otherTenantId: string }
  other: TestParty & { email: string; serviceId: string }
  staff: TestParty & { email: string }
  ownCell: TestCell
  otherCell: TestCell
}

export async function addParties(management: TestManagement): Promise<Parties> {
  const party = async (name: string, email: string, scopes: string[] = [...SCOPES]) => ({
    ...(await management.organization({ name: `canary-${name}`, email, scopes })),
    email,
  })
  const own = await party('own', 'canary-own-owner@example.com')
  const other = await party('other', 'canary-other-owner@example.com')
  const staff = await party('staff', STAFF_EMAIL, [...SCOPES, STAFF_SCOPE])
  const made = await own.ask('POST /api/v1/tenants', { body: { name: 'the other tenant' } })
  const [ownCell, otherCell] = [await management.cell(), await management.cell()]
  await management.sql(`update loci.tenants set plan = 'enterprise'`)
  const { id: serviceId } = await management.instance(otherCell.id, {
    organization: other.organizationId,
    tenant: other.tenantId,
  })
  // It is full, so nothing of the first organization is ever in its feed.
  await management.sql('update loci.cells set capacity = 1 where id = $1', [otherCell.id])
  const { id: otherTenantId } = made.json<{ id: string }>()
  return { own: { ...own, otherTenantId }, other: { ...other, serviceId }, staff, ownCell, otherCell }
}

export interface Credentials {
  /** Made anew for each request: the token of a report is good once, and a gateway vouches for one request. */
  headersOf(kind: Kind, request: { line: string; operation: string | undefined }): Record<string, string>
  /** The address of the person behind it. */
  emailOf(kind: Kind): string | undefined
}

/** What the first organization was issued. */
export interface Issued {
  capability: string
  partnerCredential: string
}

export async function makeCredentials(
  management: TestManagement,
  parties: Parties,
  { capability, partnerCredential }: Issued,
  provider?: IdentityProvider,
): Promise<Credentials> {
  const { own, other, staff, ownCell, otherCell } = parties
  const ofOwner = (options: { scopes?: string[]; tenantIds?: string[]; expiresAt?: Date } = {}) =>
    management.member(own, 'owner', { email: own.email, ...options })
  const roles = {
    admin: await management.member(own, 'admin', { email: 'canary-own-admin@example.com' }),
    member: await management.member(own, 'member', { email: 'canary-own-member@example.com' }),
    viewer: await management.member(own, 'viewer', { email: 'canary-own-viewer@example.com' }),
  }
  const exact = new Map<string, TestParty>()
  const lacking = new Map<string, TestParty>()
  for (const scope of SCOPES) {
    exact.set(scope, await ofOwner({ scopes: [scope] }))
    lacking.set(scope, await ofOwner({ scopes: SCOPES.filter((one) => one !== scope) }))
  }
  const everyScope = await ofOwner()
  // For a route that asks for no scope: as little as there is.
  lacking.set('anyone', exact.get('usage:read' satisfies Scope) as TestParty)
  const limited = await ofOwner({ tenantIds: [own.otherTenantId] })
  const revoked = await ofOwner()
  const expired = await ofOwner({ expiresAt: new Date(Date.now() - 1_000) })
  const [rotated, rotatedLongAgo] = [await ofOwner(), await ofOwner()]
  await endKeys(management, { revoked, rotated, rotatedLongAgo })
  const gone = await management.member(own, 'owner', { email: 'canary-own-gone@example.com' })
  // Only the membership: that the keys are deleted with it is a second lock on the same door.
  await management.sql('delete from loci.members where user_id = $1', [gone.ownerId])
  const otherViewer = await management.member(other, 'viewer', { email: 'canary-other-viewer@example.com' })
  const pretender = await management.member(other, 'owner', {
    email: 'canary-other-pretender@example.com',
    scopes: [...SCOPES, STAFF_SCOPE],
  })

  const sessions = await makeSessions(management, parties, provider)

  const key = ({ apiKey }: TestParty) => ({ [HEADER.apiKey]: apiKey })
  const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
  const { access, refresh } = cookieNames(management.settings.publicUrl)

  return {
    headersOf(kind, { line, operation = '' }) {
      const now = Math.floor(Date.now() / 1000)
      const word = (given: Partial<Word> = {}) => wordFor({ line, organizationId: own.organizationId, ...given })
      const { 'x-consumer-proof': _, ...unproven } = word({ roles: 'owner,staff' })
      const headers: Record<Kind, () => Record<string, string>> = {
        none: () => ({}),
        'garbage cookie': () => ({ cookie: `${access}=garbage; ${refresh}=garbage; =;;` }),
        session: () => sessions.own(line),
        'expired session': () => sessions.expired,
        'session that was signed out': () => sessions.signedOut,
        'session of another organization': () => sessions.other(line),
        'session that names another organization': () => ({
          ...sessions.other(line),
          [HEADER.organization]: own.organizationId,
        }),
        'session of staff': () => sessions.staff(line),
        'cookie from another site': () => ({
          ...sessions.own(line),
          'sec-fetch-site': 'cross-site',
          origin: 'https://evil.example',
        }),
        'role owner': () => key(own),
        'role admin': () => key(roles.admin),
        'role member': () => key(roles.member),
        'role viewer': () => key(roles.viewer),
        'API key with the scope': () => key(exact.get(operation) ?? everyScope),
        'API key without the scope': () => key(lacking.get(operation) ?? everyScope),
        'API key of another organization': () => key(other),
        'API key limited to another tenant': () => key(limited),
        'API key that names another organization': () => ({
          ...key(other),
          [HEADER.organization]: own.organizationId,
          [HEADER.tenant]: own.tenantId,
        }),
        'revoked API key': () => key(revoked),
        'expired API key': () => key(expired),
        'rotated API key inside its overlap': () => key(rotated),
        'rotated API key after its overlap': () => key(rotatedLongAgo),
        'API key of a maker who left': () => key(gone),
        'API key in Authorization': () => bearer(own.apiKey),
        'gateway with proof': () => word(),
        'gateway of another organization': () => word({ organizationId: other.organizationId }),
        'gateway that names staff': () => word({ organizationId: other.organizationId, roles: 'owner,staff' }),
        'gateway without proof': () => unproven,
        'gateway with a proof for another path': () => word({ line: `${line}x` }),
        'gateway with an old timestamp': () => word({ at: now - 61 }),
        'gateway from another address': () => word(),
        'forged x-consumer-* beside an API key': () => ({ ...key(otherViewer), ...unproven, 'x-consumer-proof': '0' }),
        staff: () => key(staff),
        'staff scope without the address': () => key(pretender),
        'cell key': () => bearer(ownCell.token()),
        'cell key of another cell': () => bearer(otherCell.token()),
        'cell key that nobody registered': () => bearer(ownCell.token({ key: newKeyPair().privateJwk })),
        'cell token that has ended': () => bearer(ownCell.token({ claims: { iat: now - 100, exp: now - 40 } })),
        'cell token for another management': () => bearer(ownCell.token({ claims: { aud: 'https://other.example' } })),
        'webhook secret': () => bearer(WEBHOOK_SECRET),
        'wrong webhook secret': () => bearer(`${WEBHOOK_SECRET.slice(0, -1)}!`),
        capability: () => ({ [HEADER.capability]: capability }),
        'capability in Authorization': () => bearer(capability),
        'partner credential': () => bearer(partnerCredential),
        'admin token': () => ({ [HEADER.adminToken]: 'canary-admin-token-0123456789abcdef' }),
      }
      return headers[kind]()
    },
    emailOf(kind) {
      const emails: Partial<Record<Kind, string>> = {
        session: own.email,
        'cookie from another site': own.email,
        'session of another organization': other.email,
        'session of staff': staff.email,
        'role owner': own.email,
        'role admin': 'canary-own-admin@example.com',
        'role member': 'canary-own-member@example.com',
        'role viewer': 'canary-own-viewer@example.com',
        'API key with the scope': own.email,
        'API key without the scope': own.email,
        'API key of another organization': other.email,
        'API key limited to another tenant': own.email,
        'rotated API key inside its overlap': own.email,
        'forged x-consumer-* beside an API key': 'canary-other-viewer@example.com',
        staff: staff.email,
        'staff scope without the address': 'canary-other-pretender@example.com',
      }
      return emails[kind]
    },
  }
}

/** People at the provider: the owners of both organizations, and staff. */
export function matrixPeople(): TestPerson[] {
  return ['canary-own-owner@example.com', 'canary-other-owner@example.com', STAFF_EMAIL].map((email) => ({
    sub: email,
    email,
    email_verified: true,
    name: 'canary',
  }))
}

/** The organization is named: a person of the matrix joins another one by an invitation. */
async function makeSessions(
  management: TestManagement,
  { own, other, staff }: Parties,
  provider: IdentityProvider | undefined,
) {
  const cookieOf = async (login: string) => {
    if (!provider) return ''
    const { answer, browser } = await exchange(management, await obtainCode(provider, { login }))
    if (answer.status !== 200) throw new Error(`the exchange was answered ${answer.status}: ${answer.text}`)
    return `${cookieNames(management.settings.publicUrl).access}=${browser.access}`
  }
  const session = async ({ email, organizationId }: TestParty & { email: string }) => {
    const headers = { cookie: await cookieOf(email), [HEADER.organization]: organizationId }
    const spare = { ...headers, cookie: await cookieOf(email) }
    return (line: string): Record<string, string> => (/^POST .*(logout|sign-out)$/.test(line) ? spare : headers)
  }
  const [expired, signedOut] = [await cookieOf(own.email), await cookieOf(own.email)]
  await management.sql('update loci.session_tokens set expires_at = now() where digest = $1', [
    digestOf(expired.slice(expired.indexOf('=') + 1)),
  ])
  if (provider) await management.post('/api/auth/logout', {}, { cookie: signedOut })
  return {
    own: await session(own),
    other: await session(other),
    staff: await session(staff),
    expired: { cookie: expired },
    signedOut: { cookie: signedOut },
  }
}

async function endKeys(
  management: TestManagement,
  { revoked, rotated, rotatedLongAgo }: { revoked: TestParty; rotated: TestParty; rotatedLongAgo: TestParty },
): Promise<void> {
  const idOf = ({ apiKey }: TestParty) => `key_${apiKey.split('_')[2]}`
  const done = [
    await revoked.ask(`DELETE /api/v1/api-keys/${idOf(revoked)}`),
    ...(await Promise.all(
      [rotated, rotatedLongAgo].map((one) =>
        one.ask(`POST /api/v1/api-keys/${idOf(one)}/rotate`, { body: { overlap_seconds: 3_600 } }),
      ),
    )),
  ]
  for (const { status, text } of done) if (status !== 200) throw new Error(`a key was answered ${status}: ${text}`)
  await management.sql(`update loci.api_keys set previous_until = now() - interval '1 second' where id = $1`, [
    idOf(rotatedLongAgo),
  ])
}

interface Word {
  line: string
  organizationId: string
  roles?: string
  at?: number
}

/** The word of a gateway. */
function wordFor({ line, organizationId, roles = 'owner', at = Math.floor(Date.now() / 1000) }: Word) {
  const [method, target] = line.split(' ')
  const signed = [method, target, at, 'jane', organizationId, roles].join('\n')
  return {
    'x-consumer-id': 'jane',
    'x-consumer-organization': organizationId,
    'x-consumer-roles': roles,
    'x-consumer-timestamp': String(at),
    'x-consumer-proof': createHmac('sha256', GATEWAY_SECRET).update(signed).digest('hex'),
  }
}
