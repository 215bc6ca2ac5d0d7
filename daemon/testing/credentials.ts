// A credential of every kind of the authorization matrix, made for the operations that a route needs. Six instances
// take part: ours, a second one of the same tenant, one that its owner suspended, one of type kv, one of another
// tenant, one of another organization.

import { createHash, createHmac, randomBytes } from 'node:crypto'
import { attenuate, type Delegation, mintRoot, type RootClaims, seal } from '@loci/capability/capability.ts'
import { newKeyPair, privateKeyOf, publicKeyOf, signJws } from '@loci/capability/jws.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { OPERATION_NAMES, OPERATIONS, type Operation } from '@loci/contract/operations.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { nowS, type TestAuthority, type TestInstance } from './authority.ts'
import type { Kind } from './matrix.ts'

export interface Parties {
  own: TestInstance
  sibling: TestInstance
  neighbour: TestInstance
  stranger: TestInstance
  /** Of the tenant; the test suspends it when its data is there. */
  suspended: TestInstance
  /** Of the tenant, and of type kv. */
  plain: TestInstance
}

export async function addParties(authority: TestAuthority): Promise<Parties> {
  const own = await authority.addInstance()
  return {
    own,
    sibling: await authority.addInstance({ org: own.org, ten: own.ten }),
    neighbour: await authority.addInstance({ org: own.org }),
    stranger: await authority.addInstance(),
    suspended: await authority.addInstance({ org: own.org, ten: own.ten }),
    plain: await authority.addInstance({ org: own.org, ten: own.ten, service_type: 'kv' }),
  }
}

type Headers = Record<string, string>
export type Credentials = (kind: Kind, operation?: string, secondOperation?: string) => Headers

const HOUR_S = 3_600
const REVOKED_JTI = newId('cap')

/** Revokes what the kinds need revoked, issues partner credentials, and answers the headers of each kind. */
export async function makeCredentials(
  authority: TestAuthority,
  parties: Parties,
  adminToken: string,
): Promise<Credentials> {
  const { own, sibling, neighbour, stranger, suspended, plain } = parties
  const epoch = nowS() - 2 * HOUR_S
  const until = new Date(Date.now() + 24 * HOUR_S * 1000).toISOString()
  await authority.publish(
    { kind: 'revocation', body: { svc: own.svc, jti: REVOKED_JTI, expires_at: until } },
    {
      kind: 'revocation',
      body: { kind: 'svc', id: own.svc, not_before: new Date(epoch * 1000).toISOString(), expires_at: until },
    },
  )
  const partner = await partnerToken(authority, own, ['event'])
  const partnerElsewhere = await partnerToken(authority, stranger, ['event'])
  const partnerWithoutClass = await partnerToken(authority, own, [])

  const capability = (token: string): Headers => ({ [HEADER.capability]: token })
  const grant = (op: Operation, second?: string): Partial<RootClaims> => ({
    ops: second === undefined ? [op] : [op, second],
    ks: keyspaces(op),
  })
  const identity = {
    [HEADER.organization]: stranger.org,
    [HEADER.tenant]: stranger.ten,
    [HEADER.service]: stranger.svc,
    'x-loci-operations': 'operator',
    'x-consumer-id': 'operator',
  }

  const headersOf: Record<Kind, (op: Operation, second?: string) => Headers> = {
    none: () => ({}),
    garbage: () => ({ ...capability('garbage~~..'), [HEADER.adminToken]: 'garbage', authorization: 'garbage' }),
    'exact op and database': (op, second) => capability(own.root(grant(op, second))),
    'every op but this one': (op) => capability(own.root({ ops: allBut(op), ks: ['*/*'] })),
    'other database': (op, second) => ({
      ...capability(own.root({ ...grant(op, second), ks: ['kv/elsewhere'] })),
      [HEADER.database]: 'default',
    }),
    'other instance of the tenant': (op, second) => capability(sibling.root(grant(op, second))),
    'other tenant': (op, second) => capability(neighbour.root(grant(op, second))),
    'other organization': (op, second) => capability(stranger.root(grant(op, second))),
    expired: (op) => capability(own.root({ ...grant(op), exp: nowS() - 31 })),
    'not yet valid': (op) => capability(own.root({ ...grant(op), nbf: nowS() + 60 })),
    'revoked by jti': (op) => capability(own.root({ ...grant(op), jti: REVOKED_JTI })),
    'revoked by epoch': (op) => capability(own.root({ ...grant(op), iat: epoch, nbf: epoch })),
    'suspended instance': (op, second) => capability(suspended.root(grant(op, second))),
    'service type kv': (op, second) => capability(plain.root(grant(op, second))),
    'unknown key': (op) => capability(own.root(grant(op), { kid: 'k_unknown', key: newKeyPair().privateJwk })),
    'alg none': (op) => capability(unsigned(own.root(grant(op)))),
    'HS256 with the public key': (op) => capability(confused(own.root(grant(op)), authority)),
    'other aud': (op) => capability(own.root({ ...grant(op), aud: stranger.svc })),
    'sealed narrower child': (op, second) =>
      capability(
        seal(own.delegation({ ops: delegable(op), ks: ['*/*'] }), {
          ops: narrowed(op, second),
          ks: op === 'operator' ? ['kv/default'] : keyspaces(op),
        }),
      ),
    'child with wider ops': (op) =>
      capability(forged(own.delegation({ ops: delegable().filter((one) => one !== op) }), { ops: [op] })),
    'child with a wider keyspace': (op) =>
      capability(forged(own.delegation({ ops: delegable(op), ks: ['kv/elsewhere'] }), { ks: ['kv/default'] })),
    'child with a later expiry': (op) =>
      capability(forged(own.delegation({ ops: delegable(op), exp: nowS() + 60 }), { exp: nowS() + HOUR_S })),
    'too deep': (op) => capability(tooDeep(own, delegable(op))),
    'cut chain': (op) => capability(own.delegation({ ops: delegable(op) }).chain),
    'swapped parent': (op) => capability(swappedParent(own, authority, delegable(op))),
    'operator root': () => capability(own.root({ ops: ['operator'], ks: ['*/*'] })),
    'operator delegated': () => {
      const parent = own.delegation({ ops: OPERATION_NAMES, ks: ['*/*'], del_max: 1 })
      return capability(forged(parent, { ops: ['operator'] }))
    },
    'foreign identity headers': (op, second) => ({ ...capability(own.root(grant(op, second))), ...identity }),
    'foreign body namespace': (op, second) => capability(own.root(grant(op, second))),
    'partner key': () => ({ authorization: `Bearer ${partner}` }),
    'partner key of another instance': () => ({ authorization: `Bearer ${partnerElsewhere}` }),
    'partner key without the class': () => ({ authorization: `Bearer ${partnerWithoutClass}` }),
    'admin token from an allowed address': () => ({ [HEADER.adminToken]: adminToken }),
    'admin token from another address': () => ({ [HEADER.adminToken]: adminToken }),
    'wrong admin token': () => ({ [HEADER.adminToken]: `${adminToken.slice(0, -1)}!` }),
    'forged X-Forwarded-For': () => ({ [HEADER.adminToken]: adminToken, 'x-forwarded-for': '127.0.0.1' }),
    'capability in Authorization': (op) => ({ authorization: `Bearer ${own.root(grant(op))}` }),
    'API key': () => {
      const secret = randomBytes(32).toString('base64url')
      return { [HEADER.apiKey]: formatSecretToken('sk', newId('key'), secret) }
    },
    'legacy JWT alone': () => ({ authorization: `Bearer ${legacyJwt()}` }),
    'identity headers alone': () => identity,
    'every op but the second one': (op, second) => capability(own.root({ ops: allBut(second), ks: keyspaces(op) })),
    'all keyspaces but the last domain': (op, second) =>
      capability(own.root({ ...grant(op, second), ks: OPERATIONS[op].domains.slice(0, -1).map((one) => `${one}/*`) })),
  }
  return (kind, operation = 'kv:read', second) => headersOf[kind](nearest(operation), second)
}

/** For a route of a partner, the operation with which a capability does the same elsewhere. */
function nearest(operation: string): Operation {
  return OPERATION_NAMES.find((one) => one === operation) ?? 'advice:read'
}

/** What is of the whole instance shows what it can of kv; an operator has everything. */
function keyspaces(operation: Operation): string[] {
  const { domains, scope } = OPERATIONS[operation]
  if (scope === 'database') return domains.map((domain) => `${domain}/default`)
  return operation === 'operator' ? ['*/*'] : ['kv/default']
}

function allBut(operation: string | undefined): string[] {
  return OPERATION_NAMES.filter((one) => one !== operation)
}

/**
 * A root with operator rights cannot be delegated: it would be refused for that, not for the reason under test.
 */
function delegable(operation?: string): string[] {
  return operation === 'operator' ? ['kv:read'] : OPERATION_NAMES.filter((one) => one !== 'operator')
}

function narrowed(operation: Operation, second?: string): string[] {
  if (operation === 'operator') return ['kv:read']
  return second === undefined ? [operation] : [operation, second]
}

/** A last link that its holder signed with whatever it likes in it: the library's own `seal` would refuse to. */
function forged(parent: Delegation, changes: Record<string, unknown>): string {
  const last = parent.chain.split('~').at(-1) as string
  const from = JSON.parse(Buffer.from(last.split('.')[1] as string, 'base64url').toString('utf8'))
  const claims = {
    par: createHash('sha256').update(last).digest('base64url'),
    ops: from.ops,
    ks: from.ks,
    exp: from.exp,
    jti: newId('cap'),
    ...changes,
  }
  return `${parent.chain}~${signJws({ alg: 'EdDSA', typ: 'loci-cap-att+jwt' }, claims, privateKeyOf(parent.key))}`
}

function tooDeep(own: TestInstance, ops: string[]): string {
  return forged(attenuate(own.delegation({ ops, del_max: 1 })), {})
}

/** Two roots with the same key: the leaf of one is signed rightly for the other, and still names its own parent. */
function swappedParent(own: TestInstance, authority: TestAuthority, ops: string[]): string {
  const narrow = own.delegation({ ops: ['advice:read'] })
  const [, payload] = narrow.chain.split('.') as [string, string]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as RootClaims
  const signer = { kid: authority.kid, privateKey: privateKeyOf(authority.key) }
  const wide = mintRoot({ ...claims, ops, jti: newId('cap') }, signer)
  return `${wide}~${seal(narrow).split('~')[1]}`
}

function unsigned(token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'loci-cap+jwt' })).toString('base64url')
  return `${header}.${token.split('.')[1]}.`
}

function confused(token: string, { kid, key }: TestAuthority): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'loci-cap+jwt', kid })).toString('base64url')
  const input = `${header}.${token.split('.')[1]}`
  const pem = publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: key.x })?.export({ type: 'spki', format: 'pem' }) as string
  return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
}

function legacyJwt(): string {
  const claims = { iss: 'https://issuer.example', aud: 'loci', sub: 'somebody', exp: nowS() + HOUR_S }
  return signJws({ alg: 'EdDSA', typ: 'JWT' }, claims, privateKeyOf(newKeyPair().privateJwk))
}

export async function partnerToken(
  authority: TestAuthority,
  { org, ten, svc }: Pick<TestInstance, 'org' | 'ten' | 'svc'>,
  classes: string[],
  { partner = 'partner', database = 'default' } = {},
): Promise<string> {
  const id = newId('ptr')
  const token = formatSecretToken('ptr', id, randomBytes(32).toString('base64url'))
  await authority.publish({
    kind: 'partner_credential',
    body: {
      id,
      partner,
      svc,
      org,
      ten,
      database,
      projection_classes: classes,
      routes: ['projections', 'advice'],
      digest: createHash('sha256').update(token).digest('hex'),
      state: 'active',
      expires_at: null,
    },
  })
  return token
}
