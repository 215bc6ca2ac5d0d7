// Capability and operator access: who calls, for which instance and database, and whether they may.
// A handler knows its caller from here alone, and everything here comes from the verified credential.

import { hash } from 'node:crypto'
import {
  type Capability,
  CapabilityError,
  type OpenedChain,
  requireInTime,
  verifyChildren,
  verifyRoot,
} from '@loci/capability/capability.ts'
import { type AddressSet, addressSet } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Failures } from '@loci/chassis/failures.ts'
import type { LastUses } from '@loci/chassis/last-uses.ts'
import { SUSPECTS } from '@loci/chassis/limiter.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import type { ErrorCode } from '@loci/contract/errors.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { type Domain, type Effect, OPERATIONS, type Operation, type OperationKind } from '@loci/contract/operations.ts'
import { storeTroubleOf } from '@loci/contract/store-trouble.ts'
import type { Activity } from './activity.ts'
import type { Authority, Instance } from './authority.ts'
import type { LegacyJwt } from './legacy-jwt.ts'
import { noCapability, otherCredential, withBearer } from './misplaced.ts'
import type { Rates } from './rates.ts'
import { addressOf, databaseOf, requireIdentity, requireOperations, requireServiceType } from './requirements.ts'
import { authorityUnread, instanceGone, keyRemoved, type RequireServed } from './served.ts'

/** On whose behalf a handler works. */
export interface Caller {
  instance: Instance
  /** The request's database; `default` where the route works on none. */
  database: string
  ops: ReadonlySet<string>
  ks: readonly string[]
  /** The scope of idempotency keys: the root's `sub` (or jti), and for a delegated chain the first child's jti too. */
  holder: string
  /** The root's `sub` (or jti): who was given the capability, also where a sub-agent uses a part of it. */
  rootHolder: string
  /** As the audit names the caller. */
  actor: string
  /** Throws unless the capability has the operation too: where the body decides that it is needed. */
  requireOperation(operation: Operation): void
  /** Throws when the instance's state, or the age of what the cell knows, forbids the effect now. */
  requireServed(effect: Effect): void
}

export interface CapabilityOptions {
  authority: Authority
  failures: Failures
  rates: Rates
  activity: Pick<Activity, 'answered'>
  uses: Pick<LastUses, 'note'>
  legacyJwt: LegacyJwt | undefined
  /** Default: none. */
  trustedProxies?: AddressSet
  requireServed: RequireServed
  /** Whether the last beat got no answer of PostgreSQL. */
  isStoreAway?(): boolean
  nowMs?: () => number
}

/** Counted in bytes of the credentials' text; in memory they take about twice that. */
const CREDENTIALS_BYTES_MAX = 12 * 2 ** 20
const LINKS_BYTES_MAX = 4 * 2 ** 20

const REFUSALS: ErrorCode[] = [
  'UNAUTHENTICATED',
  'CREDENTIAL_MISPLACED',
  'CAPABILITY_UNSEALED',
  'CAPABILITY_EXPIRED',
  'CAPABILITY_REVOKED',
  'PAYMENT_REQUIRED',
  'PLAN_NOT_COVERED',
  'FORBIDDEN',
  'IDENTITY_MISMATCH',
  'RATE_LIMITED',
  'AUTHORITY_STALE',
  'STORE_UNAVAILABLE',
]

export interface CapabilityAccess {
  capability(operation: Exclude<Operation, 'operator'>, options?: CapabilityDemand): Access<Caller>
  /**
   * `write` for a route that writes, which a suspended instance refuses; `operate` for one that reads or deletes. Of
   * the whole instance, or of one domain: an instance whose type does not have the domain does not have the route.
   */
  operator(effect: 'operate' | 'write', domain?: Domain): Access<Caller>
  /**
   * What an operator writes, for who goes by it: the operator, or the holder of that operation in the request's
   * database. Not a sub-agent of the holder, which is told what follows from it and not how it is made.
   */
  operatorOrReader(operation: Exclude<Operation, 'operator'>, domain: Domain): Access<Caller>
  /**
   * Whoever holds a valid capability, whatever it allows: each thing that it is used for is checked by its own route.
   * The capability may also stand in Authorization, where no legacy JWT has to.
   */
  holder(): Access<Caller>
  /**
   * Whether the credential in the headers of an admitted request still allows the operation: for answers that last.
   * Counts nothing and has no tolerance for its expiry. Throws when that cannot be found out.
   */
  isStillValid(headers: Arrival['headers'], operation: Operation): Promise<boolean>
}

interface CapabilityDemand {
  /** A second operation that the capability must have. */
  also?: Exclude<Operation, 'operator'>
  /** The handler must call requireServed() itself: the effect depends on the body, which is read later. */
  servedByHandler?: boolean
  /** Where no header names a database, the handler must ask itself whether the one that it works on is covered. */
  databaseInBody?: boolean
  /** In units of the plan's rate (rates.ts), where it is more than 1. */
  cost?: number
  /**
   * While PostgreSQL does not answer, what this replica last knew decides: for routes that tell how the replica is and
   * show nothing that is stored. A revocation of the time without PostgreSQL does not close them.
   */
  knownSuffices?: boolean
}

interface Cached {
  capability: Capability
  /** The authority's version at which the credential was last found not revoked. */
  checkedAt: number
}

/** What a route needs of a capability. */
interface Demand extends Omit<CapabilityDemand, 'also'> {
  operations: readonly Operation[]
  kind: OperationKind
  /** The domains in which it must cover the request's database. */
  covered: readonly Domain[]
  /** Admits its holder, as a reader of what it covers, where the operations above are not there. */
  orHolderOf?: Exclude<Operation, 'operator'>
}

/** Either cached; or its root is verified, and the rest will be once its instance's rate has room. */
type Presented = { capability: Capability } | { opened: OpenedChain; digest: string; bytes: number }

export function capabilityAccess({
  authority,
  failures,
  rates,
  activity,
  uses,
  legacyJwt,
  trustedProxies = addressSet([]),
  requireServed,
  isStoreAway = () => false,
  nowMs = Date.now,
}: CapabilityOptions): CapabilityAccess {
  const credentials = createCache<Cached>(CREDENTIALS_BYTES_MAX)
  const known = createCache<object>(LINKS_BYTES_MAX)

  /**
   * Whether the credential is valid at all, whatever it is used for. A new chain of several links costs one signature
   * here; the rest is verified when its instance has room in its rate. Otherwise new chains for every request would
   * cost their sender nothing.
   */
  function present(text: string): Presented {
    const now = nowMs()
    const digest = hash('sha256', text, 'base64')
    const cached = credentials.find(digest)
    if (cached) return { capability: requireValid(cached, now) }
    const opened = verifyRoot(text, { findKey: (kid) => findKey(kid, now), known })
    requireInTime({ expiresAt: opened.root.exp, notBefore: opened.root.nbf }, now / 1000)
    const presented = { opened, digest, bytes: text.length }
    return opened.links.length === 1 ? { capability: verifyRest(presented) } : presented
  }

  function verifyRest({ opened, digest, bytes }: Extract<Presented, { opened: OpenedChain }>): Capability {
    const now = nowMs()
    const fresh: Cached = { capability: verifyChildren(opened, { now: now / 1000, known }), checkedAt: -1 }
    const capability = requireValid(fresh, now)
    credentials.keep(digest, fresh, bytes)
    return capability
  }

  function requireValid(cached: Cached, now: number): Capability {
    const { capability } = cached
    requireInTime(capability, now / 1000)
    // A key retires by time alone, so it is looked up each time; revocations whenever authority has changed.
    if (!findKey(capability.kid, now)) throw keyRemoved()
    if (cached.checkedAt !== authority.version && authority.isRevoked(capability)) throw revoked()
    cached.checkedAt = authority.version
    return capability
  }

  /** A key that stale authority lacks may be new: then it is 503, not 401. */
  function findKey(kid: string, now: number) {
    const key = authority.findKey(kid, now)
    if (key || !authority.isStale()) return key
    throw authorityUnread()
  }

  /** With stale authority the database decides; if it does not answer, the request is refused with 503. */
  async function requireValidInDatabase(arrival: Arrival, capability: Capability): Promise<void> {
    const { isRevoked, isKeyGood, isRestored } = await authority.loadCredentialStatus(capability)
    if (isRestored) throw authorityUnread()
    if (isRevoked || !isKeyGood) throw refusalOf(arrival, isRevoked ? revoked() : keyRemoved())
  }

  /** A credential that fails is counted against its address. */
  function countFailure<Value>(arrival: Arrival, verify: () => Value): Value {
    try {
      return verify()
    } catch (error) {
      throw refusalOf(arrival, error)
    }
  }

  /** Verifies the rest of a chain if the instance's rate has room. A chain that fails takes nothing of that rate. */
  function capabilityOf(arrival: Arrival, presented: Presented, instance?: Instance): Capability {
    if ('capability' in presented) return presented.capability
    if (!instance) return countFailure(arrival, () => verifyRest(presented))
    return rates.verifying(instance, presented.opened.root.jti, () =>
      countFailure(arrival, () => verifyRest(presented)),
    )
  }

  function authenticate(arrival: Arrival): Presented {
    const text = arrival.headers[HEADER.capability]
    return countFailure(arrival, () => {
      if (typeof text !== 'string') throw noCapability(arrival.headers)
      const other = otherCredential(text)
      if (other) throw new ApiError('CREDENTIAL_MISPLACED', `${HEADER.capability} holds ${other}`)
      return present(text)
    })
  }

  /** A cached capability needs no database until its rate was taken. For others the instance may need a lookup. */
  function shareBefore(arrival: Arrival): string | undefined {
    if (!failures.areAnyOver()) return undefined
    const text = arrival.headers[HEADER.capability]
    if (typeof text === 'string' && credentials.find(hash('sha256', text, 'base64'))) return undefined
    return failures.isOver(addressOf(arrival, trustedProxies)) ? SUSPECTS : undefined
  }

  function refusalOf(arrival: Arrival, error: unknown): unknown {
    const refusal = error instanceof CapabilityError ? new ApiError(error.code, error.message) : error
    return refusal instanceof ApiError && refusal.status === 401
      ? failures.refuse(addressOf(arrival, trustedProxies), refusal)
      : refusal
  }

  function admit(
    arrival: Arrival,
    presented: Presented,
    instance: Instance | undefined,
    { operations, kind, covered, orHolderOf, servedByHandler = false, databaseInBody = false, cost }: Demand,
  ): Caller {
    if (!instance || instance.state === 'deleted')
      throw failures.refuse(addressOf(arrival, trustedProxies), instanceGone())
    const capability = capabilityOf(arrival, presented, instance)
    rates.take(instance, kind.effect === 'write', cost)
    uses.note(capability.root.jti)
    requireIdentity(arrival.headers, capability.root)
    const { sub, jti } = capability.root
    // Management seals its own tokens with a leaf that has the root's jti: no sub-agent, but the root's holder.
    const child = capability.firstChildJti === jti ? undefined : capability.firstChildJti
    const isReader =
      orHolderOf !== undefined &&
      child === undefined &&
      capability.ops.has(orHolderOf) &&
      !operations.every((operation) => capability.ops.has(operation))
    if (!isReader) requireOperations(capability, operations)
    requireServiceType(instance, kind)
    const database = databaseOf(arrival.headers, capability.ks, isReader ? kind.domains : covered, databaseInBody)
    if (!servedByHandler) requireServed(instance, isReader ? 'read' : kind.effect)
    return {
      ...{ instance, database },
      ops: capability.ops,
      ks: capability.ks,
      holder: `${sub ?? jti}${child ? `/${child}` : ''}`,
      rootHolder: sub ?? jti,
      actor: `${sub ?? 'capability'}:${capability.jtis.at(-1)}`,
      requireOperation: (operation) => requireOperations(capability, [operation]),
      requireServed: (effect) => requireServed(instance, effect),
    }
  }

  function access(accessClass: 'capability' | 'operator', errors: ErrorCode[], demand: Demand): Access<Caller> {
    const [operation, secondOperation] = demand.operations
    return {
      class: accessClass,
      ...(operation ? { operation } : {}),
      ...(secondOperation ? { secondOperation } : {}),
      ...(demand.kind.scope === 'database' ? { domains: demand.kind.domains } : {}),
      effect: demand.kind.effect,
      refusesConditions: true,
      shareOf: ({ instance }) => instance.organizationId,
      ...(demand.cost === undefined ? {} : { cost: demand.cost }),
      charge: ({ instance }, units, isDone, own) => rates.charge(instance, units, isDone, own),
      accountOf: ({ instance }) => instance.id,
      burstOf: ({ instance }) => instance.limits.burst,
      rateHeadersOf: ({ instance }) => rates.headersOf(instance),
      noteCost: ({ instance }, route, units) => rates.note(instance, route, units),
      noteAnswer: ({ instance }, status, ms) => activity.answered(instance.id, status, ms),
      schemes: [legacyJwt ? ['capability', 'legacyJwt'] : ['capability']],
      challenge: `Capability realm="loci", header="${HEADER.capability}"${legacyJwt ? ', Bearer realm="loci"' : ''}`,
      errors: [...REFUSALS, ...errors, ...(demand.covered.length > 0 ? (['DATABASE_MISMATCH'] as const) : [])],
      shareBefore,
      authorize(arrival) {
        if (!legacyJwt) return byCapability(arrival)
        return legacyJwt.requireValid(arrival.headers.authorization, nowMs()).then(
          () => byCapability(arrival),
          (error) => {
            throw refusalOf(arrival, error)
          },
        )
      },
    }

    function byCapability(arrival: Arrival): Caller | Promise<Caller> {
      const presented = authenticate(arrival)
      if (authority.isStale()) return byDatabase(arrival, presented)
      const { svc } = 'capability' in presented ? presented.capability.root : presented.opened.root
      const instance = authority.findInstance(svc)
      if (instance instanceof Promise) return instance.then((loaded) => admit(arrival, presented, loaded, demand))
      return admit(arrival, presented, instance, demand)
    }

    /** Every link is looked up in the database, so all of them are verified first. */
    async function byDatabase(arrival: Arrival, presented: Presented): Promise<Caller> {
      const capability = capabilityOf(arrival, presented)
      const known = demand.knownSuffices ? authority.knownInstance(capability.root.svc) : undefined
      if (known && isStoreAway()) return admit(arrival, { capability }, known, demand)
      try {
        await requireValidInDatabase(arrival, capability)
        return admit(arrival, { capability }, await authority.findInstance(capability.root.svc), demand)
      } catch (error) {
        if (!known || !storeTroubleOf(error)) throw error
        return admit(arrival, { capability }, known, demand)
      }
    }
  }

  async function isStillValid(headers: Arrival['headers'], operation: Operation): Promise<boolean> {
    try {
      await legacyJwt?.requireValid(headers.authorization, nowMs())
      const presented = present(headers[HEADER.capability] as string)
      const capability = 'capability' in presented ? presented.capability : verifyRest(presented)
      if (nowMs() >= capability.expiresAt * 1000) return false
      if (authority.isStale()) {
        const { isRevoked, isKeyGood, isRestored } = await authority.loadCredentialStatus(capability)
        if (isRestored) throw authorityUnread()
        if (isRevoked || !isKeyGood) return false
      }
      const instance = await authority.findInstance(capability.root.svc)
      if (!instance || instance.state === 'deleted') return false
      requireServed(instance, OPERATIONS[operation].effect)
      return true
    } catch (error) {
      if (error instanceof CapabilityError || (error instanceof ApiError && error.status < 500)) return false
      throw error
    }
  }

  return {
    isStillValid,
    capability(operation, { also, ...options } = {}) {
      const operations = also ? [operation, also] : [operation]
      const domains = [...new Set(operations.flatMap((one) => OPERATIONS[one].domains))]
      const kind = { ...OPERATIONS[operation], domains }
      const covered = kind.scope === 'database' ? domains : []
      return access('capability', ['OPERATION_NOT_ALLOWED'], { operations, kind, covered, ...options })
    },
    holder() {
      const kind: OperationKind = { domains: [], scope: 'instance', effect: 'read' }
      const held = access('capability', ['ORIGIN_NOT_ALLOWED'], { operations: [], kind, covered: [] })
      if (legacyJwt) return held
      const borne = (arrival: Arrival) => ({ ...arrival, headers: withBearer(arrival.headers) })
      return {
        ...held,
        shareBefore: (arrival) => held.shareBefore?.(borne(arrival)),
        authorize: (arrival) => held.authorize(borne(arrival)),
      }
    },
    operatorOrReader(operation, domain) {
      const kind: OperationKind = { domains: [domain], scope: 'database', effect: 'operate' }
      const demand = { operations: ['operator'], kind, covered: [], orHolderOf: operation } as const
      return access('operator', ['OPERATOR_REQUIRED', 'DATABASE_MISMATCH'], demand)
    },
    operator(effect, domain) {
      const kind: OperationKind = domain
        ? { domains: [domain], scope: 'database', effect }
        : { ...OPERATIONS.operator, effect }
      // Operator rights are of the whole instance: no keyspace is asked for.
      return access('operator', ['OPERATOR_REQUIRED'], { operations: ['operator'], kind, covered: [] })
    },
  }
}

function revoked(): ApiError {
  return new ApiError('CAPABILITY_REVOKED', 'The capability was revoked. Ask for a new one.')
}
