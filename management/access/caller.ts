// Access of callers of management: an API key in x-api-key, the session of a browser, or the word of a trusted gateway.
// Which organization is asked about follows from the credential alone; x-loci-organization selects among the caller's
// own and never grants. In the order of the specification: who is it, may it do this, has it asked too often.

import { REPEAT_ERRORS } from '@loci/acts/idempotency/idempotency.ts'
import { type AddressSet, clientAddress } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createKnownCredentials, type Failures } from '@loci/chassis/failures.ts'
import type { LastUses } from '@loci/chassis/last-uses.ts'
import { SUSPECTS } from '@loci/chassis/limiter.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { type Role, SCOPES_OF, type Scope } from '@loci/contract/roles.ts'
import { readSecretToken } from '@loci/contract/secret-token.ts'
import type { PlanName } from '../plans.ts'
import { isApiKey } from './api-key.ts'
import { consumerOf } from './gateway.ts'
import { createOver } from './over.ts'
import type { RateClass, Rates } from './rates.ts'
import { isStaffAddress } from './roles.ts'
import type { Session, SessionAccess } from './session.ts'

export interface Caller {
  kind: 'key' | 'session' | 'gateway'
  /** `key_…`, `usr_…` or `gateway:…`: whose idempotency keys and rate limits these are, and who the audit names. */
  id: string
  /** Who stands behind it, where that is a person that we know. */
  userId: string | null
  organizationId: string
  role: Role
  scopes: ReadonlySet<Scope>
  /** Null = every tenant of the organization. */
  tenantIds: readonly string[] | null
  /** Of the API key; null = never. Nothing that it makes may last longer. */
  expiresAt: Date | null
  isStaff: boolean
  /** Of the organization: how much may be asked of management. */
  plan: PlanName
  /** Of a session: its id, when the person last signed in, and every organization of the person. */
  sessionId?: string
  signedInAt?: Date
  organizations?: Session['organizations']
}

export interface StoredKey {
  id: string
  organizationId: string
  userId: string
  scopes: string[]
  tenantIds: string[] | null
  digest: string
  pepper: string
  previousDigest: string | null
  previousPepper: string | null
  previousUntil: Date | null
  expiresAt: Date | null
  revokedAt: Date | null
  /** Of its maker, today; null when the maker is no longer a member. */
  role: Role | null
  email: string
  plan: PlanName
}

export interface CallerAccessOptions {
  session: Pick<SessionAccess, 'find' | 'requireSameSite' | 'textOf'>
  findApiKey(id: string): Promise<StoredKey | undefined>
  /** Undefined when there is no such organization. */
  findOrganizationPlan(id: string): Promise<PlanName | undefined>
  sealingKeys: SealingKey[]
  gateways: AddressSet
  gatewaySecrets: string[]
  staffEmails: string[]
  /** Without billing every organization has the rates of the plan enterprise. */
  isBilled: boolean
  rates: Rates
  failures: Failures
  uses: Pick<LastUses, 'note'>
  trustedProxies: AddressSet
  nowMs?: () => number
}

type Limited = 'by the route' | 'alone' | 'revocations'

interface Rules {
  limited?: Limited | undefined
  /** Not by way of another site, although it is a GET: what it answers goes on for as long as somebody listens. */
  isSameSite?: boolean
  /** A session may come without an organization: what it asks for is of the person. */
  isOfPerson?: boolean
}

export interface CallerAccess {
  /**
   * Needs the scope. `limited: 'by the route'` on the services routes, where the specification orders something before
   * the rate limit; `alone` and `revocations` on those that end a credential (RatedRoutes).
   */
  scope(scope: Scope, kind: RateClass, limited?: Limited): Access<Caller>
  /** The same for a stream. */
  stream(scope: Scope): Access<Caller>
  /** Any caller, whatever its scopes: what is one's own. */
  anyone(kind: RateClass): Access<Caller>
  /** The same, also for somebody who has no organization yet or does not say which: then it is the person's own id. */
  person(kind: RateClass): Access<Caller>
  /** A session alone, whatever its role, and not by way of another site. */
  session(kind: RateClass): Access<Caller>
  /** People who run the platform; an organization's owner is not staff. */
  staff(kind: RateClass): Access<Caller>
  /** Whether the credential of these headers still grants the same: for streams, which outlive their request. */
  isStillValid(caller: Caller, headers: Arrival['headers']): Promise<boolean>
}

export function callerAccess(options: CallerAccessOptions): CallerAccess {
  const known = createKnownCredentials()
  const cookieOf = (headers: Arrival['headers']) => {
    try {
      return options.session.textOf(headers)
    } catch {
      // A cookie that came twice: authenticate() refuses it.
      return undefined
    }
  }
  const over = createOver(options.nowMs ?? Date.now)
  const access = (
    operation: string,
    kind: RateClass,
    mayCall: (caller: Caller) => void,
    { limited, isSameSite = false, isOfPerson = false }: Rules = {},
  ): Access<Caller> => ({
    class: 'caller',
    operation,
    schemes: [['apiKey'], ['session']],
    shareOf: ({ organizationId }: Caller) => organizationId,
    challenge: `ApiKey realm="loci", header="${HEADER.apiKey}"`,
    errors: [
      'UNAUTHENTICATED',
      'CREDENTIAL_MISPLACED',
      'FORBIDDEN',
      'ORGANIZATION_REQUIRED',
      ...(kind === 'write' || isSameSite ? (['ORIGIN_NOT_ALLOWED'] as const) : []),
      'RATE_LIMITED',
      'STORE_UNAVAILABLE',
      // Every write of a customer is an act.
      ...(kind === 'write' ? REPEAT_ERRORS : []),
    ],
    // Each well-formed key costs two lookups in the database, also when it is refused: a caller with many requests
    // waits for its own share.
    shareBefore({ headers, peer }) {
      const text = headers[HEADER.apiKey] ?? cookieOf(headers)
      if (text === undefined) return undefined
      const share = known.shareOf(String(text))
      if (share !== undefined || !options.failures.areAnyOver()) return share
      return options.failures.isOver(clientAddress(peer, headers, options.trustedProxies) ?? peer)
        ? SUSPECTS
        : undefined
    },
    async authorize(arrival) {
      const text = String(arrival.headers[HEADER.apiKey] ?? cookieOf(arrival.headers))
      const asked = [text, arrival.headers[HEADER.organization], operation, kind, limited].join('\n')
      over.requireNot(asked)
      const caller = await authenticate(arrival, options, isOfPerson).catch((error) => {
        if (isUnauthenticated(error)) known.drop(text)
        throw slowed(error, arrival, options)
      })
      if (caller.kind !== 'gateway') known.keep(text, caller.organizationId)
      if (caller.kind === 'key') options.uses.note(caller.id, caller.organizationId)
      if (caller.kind === 'session' && (arrival.method !== 'GET' || isSameSite))
        options.session.requireSameSite(arrival)
      mayCall(caller)
      // There a refusal of the body or the query comes before the limit; its answer has the rate headers all the same.
      if (limited === 'by the route') {
        await options.rates.show(caller, kind, arrival.answer, 'services')
        if (kind === 'write') options.rates.requireUnrefused(caller)
        return caller
      }
      await options.rates.take(caller, kind, arrival.answer, limited).catch((error) => {
        if (caller.kind === 'key') over.note(asked, error)
        throw error
      })
      if (caller.kind === 'key') over.forget(asked)
      return caller
    },
  })
  return {
    scope: (scope, kind, limited) => access(scope, kind, (caller) => requireScope(caller, scope), { limited }),
    stream: (scope) => access(scope, 'read', (caller) => requireScope(caller, scope), { isSameSite: true }),
    anyone: (kind) => access('anyone', kind, () => {}, { limited: 'alone' }),
    person: (kind) => access('anyone', kind, () => {}, { limited: 'alone', isOfPerson: true }),
    session: (kind) =>
      access(
        'session',
        kind,
        (caller) => {
          if (caller.kind !== 'session')
            throw new ApiError('FORBIDDEN', 'This is for people who are signed in, not for API keys and gateways.')
        },
        { isSameSite: true },
      ),
    staff: (kind) =>
      access('staff', kind, (caller) => {
        if (!caller.isStaff)
          throw new ApiError('FORBIDDEN', 'Platform administration only. Ask the operator of this installation.')
      }),
    async isStillValid(caller, headers) {
      // A gateway's proof is about one request and cannot be checked again.
      if (caller.kind === 'gateway') return (await options.findOrganizationPlan(caller.organizationId)) !== undefined
      if (caller.kind === 'session') {
        const session = await options.session.find(headers)
        const membership = session?.organizations.find(({ id }) => id === caller.organizationId)
        return membership?.role === caller.role
      }
      const now = await keyCaller(String(headers[HEADER.apiKey]), options)
      return now !== undefined && now.role === caller.role && isSameReach(now, caller)
    },
  }
}

/** But for keys:write, which the secret loses by a rotation: what it reads goes on through the overlap. */
function isSameReach(one: Caller, other: Caller): boolean {
  const reachOf = ({ scopes, tenantIds }: Caller) =>
    JSON.stringify([[...scopes].filter((scope) => scope !== 'keys:write').sort(), tenantIds?.toSorted() ?? null])
  return reachOf(one) === reachOf(other)
}

export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.has(scope))
    throw new ApiError(
      'FORBIDDEN',
      `This request needs the scope ${scope}. The credential, or the role of its maker, lacks it.`,
    )
}

/** A credential that fails counts against its address; what a valid one may not do does not. */
export function slowed(
  error: unknown,
  { peer, headers }: Pick<Arrival, 'peer' | 'headers'>,
  { failures, trustedProxies }: Pick<CallerAccessOptions, 'failures' | 'trustedProxies'>,
): unknown {
  if (!isUnauthenticated(error)) return error
  return failures.refuse(clientAddress(peer, headers, trustedProxies) ?? peer, error)
}

function isUnauthenticated(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 401
}

async function authenticate(arrival: Arrival, options: CallerAccessOptions, isOfPerson: boolean): Promise<Caller> {
  const text = arrival.headers[HEADER.apiKey]
  if (text !== undefined) {
    const caller = typeof text === 'string' ? await keyCaller(text, options) : undefined
    if (!caller)
      throw new ApiError(
        'UNAUTHENTICATED',
        `The API key in ${HEADER.apiKey} is not valid: unknown, mistyped, expired or deleted.`,
      )
    return withOrganization(caller, arrival)
  }
  const session = await options.session.find(arrival.headers)
  if (session) return sessionCaller(session, arrival, options, isOfPerson)
  const consumer = consumerOf(arrival, {
    gateways: options.gateways,
    secrets: options.gatewaySecrets,
    nowMs: (options.nowMs ?? Date.now)(),
  })
  const known = consumer && (await options.findOrganizationPlan(consumer.organizationId))
  const plan = known && (options.isBilled ? known : 'enterprise')
  if (consumer && plan) {
    const { id, organizationId, role } = consumer
    const scopes = new Set(SCOPES_OF[role])
    return withOrganization(
      {
        kind: 'gateway',
        id: `gateway:${id}`,
        userId: null,
        organizationId,
        role,
        scopes,
        tenantIds: null,
        expiresAt: null,
        isStaff: false,
        plan,
      },
      arrival,
    )
  }
  if (/^Bearer\s+loci_sk_/i.test(String(arrival.headers.authorization ?? '')))
    throw new ApiError('CREDENTIAL_MISPLACED', `Send the API key in the header ${HEADER.apiKey}, not in Authorization.`)
  throw new ApiError(
    'UNAUTHENTICATED',
    `This request needs a session, or an API key in the header ${HEADER.apiKey}. An owner or admin of your organization can make one.`,
  )
}

/** In the organization that the request names, or in the person's only one. */
function sessionCaller(
  { id: sessionId, userId, email, signedInAt, organizations }: Session,
  { headers }: Arrival,
  { staffEmails, isBilled }: CallerAccessOptions,
  isOfPerson: boolean,
): Caller {
  const person = {
    kind: 'session' as const,
    id: userId,
    userId,
    tenantIds: null,
    expiresAt: null,
    isStaff: isStaffAddress(email, staffEmails),
    sessionId,
    signedInAt,
    organizations,
  }
  const named = headers[HEADER.organization]
  const [only, another] = organizations
  const chosen = named === undefined ? (another ? undefined : only) : organizations.find(({ id }) => id === named)
  if (chosen) {
    const { id: organizationId, role, plan } = chosen
    return { ...person, organizationId, role, scopes: new Set(SCOPES_OF[role]), plan: isBilled ? plan : 'enterprise' }
  }
  if (named !== undefined)
    throw new ApiError('FORBIDDEN', `You do not belong to the organization that ${HEADER.organization} names.`)
  // A person without an organization has no role and no scopes: what is asked for must need none.
  if (isOfPerson) return { ...person, organizationId: userId, role: 'viewer', scopes: new Set(), plan: 'free' }
  const names = organizations.map(({ id }) => id)
  throw new ApiError(
    'ORGANIZATION_REQUIRED',
    another
      ? `You belong to several organizations: name one in the header ${HEADER.organization}.`
      : 'You belong to no organization yet. Make one, or accept an invitation.',
    { details: { organizations: names } },
  )
}

async function keyCaller(text: string, options: CallerAccessOptions): Promise<Caller | undefined> {
  const id = readSecretToken('sk', text)
  const key = id === undefined ? undefined : await options.findApiKey(`key_${id}`)
  if (!key || key.role === null) return undefined
  const now = (options.nowMs ?? Date.now)()
  if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt.getTime() <= now)) return undefined
  const isCurrent = isApiKey(text, key, options.sealingKeys)
  if (!isCurrent && !isPrevious(text, key, options.sealingKeys, now)) return undefined
  const { role } = key
  // A key may be rotated because its secret leaked: during the overlap the old secret must not make a new one.
  const isKept = (scope: Scope) => isCurrent || scope !== 'keys:write'
  return {
    kind: 'key',
    id: key.id,
    userId: key.userId,
    organizationId: key.organizationId,
    role,
    // A key never does more than its maker may do today.
    scopes: new Set(SCOPES_OF[role].filter((scope) => key.scopes.includes(scope) && isKept(scope))),
    tenantIds: key.tenantIds,
    expiresAt: key.expiresAt,
    isStaff: key.scopes.includes('staff') && isStaffAddress(key.email, options.staffEmails),
    plan: options.isBilled ? key.plan : 'enterprise',
  }
}

function isPrevious(text: string, key: StoredKey, sealingKeys: SealingKey[], now: number): boolean {
  const { previousDigest: digest, previousPepper: pepper, previousUntil } = key
  if (digest === null || pepper === null || previousUntil === null || previousUntil.getTime() <= now) return false
  return isApiKey(text, { digest, pepper }, sealingKeys)
}

/** The header selects one of the caller's organizations; an API key and a gateway's caller have one. */
function withOrganization(caller: Caller, { headers }: Arrival): Caller {
  const named = headers[HEADER.organization]
  if (named !== undefined && named !== caller.organizationId)
    throw new ApiError('FORBIDDEN', `The credential belongs to another organization than ${HEADER.organization} names.`)
  return caller
}
