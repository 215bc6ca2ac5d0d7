// What this replica knows of authority: keys, revocations, instances, partner credentials. All of it comes from the cell's own
// Postgres, so a replica that starts while management is down knows as much as the others. The picture is brought up to date
// at every beat; what is not in it (an instance never asked for) is loaded on first use.
//
// A picture that is older than PICTURE_MS_MAX decides nothing: each credential is then asked for in the database, or refused with
// 503. So a revocation holds after that time whatever keeps a replica from its beat.
//
// A revocation is never keyed on the text of a credential: the text of an Ed25519 signature has several spellings.

import type { KeyObject } from 'node:crypto'
import type { Capability } from '@loci/capability/capability.ts'
import { publicKeyOf } from '@loci/capability/jws.ts'
import type { InstanceState } from '@loci/contract/states.ts'

export interface Instance {
  id: string
  organizationId: string
  tenantId: string
  serviceType: string
  plan: string
  state: InstanceState
  /** Any text: a newer management, or a newer replica of this cell, may know more reasons. See knownReason(). */
  stateReason: string | null
  limits: {
    databases: number
    records: number
    bytes: number
    requests_per_second: number
    burst: number
    streams: number
  }
}

export interface PartnerCredential {
  id: string
  instanceId: string
  organizationId: string
  tenantId: string
  partner: string
  database: string
  projectionClasses: string[]
  routes: string[]
  digest: Buffer
  state: 'active' | 'revoked'
  expiresAt: Date | null
}

export interface SigningKey {
  kid: string
  x: string
  state: 'active' | 'retiring' | 'removed'
  retireAt: Date | null
}

export interface Revocation {
  kind: 'jti' | 'org' | 'ten' | 'svc' | 'sub'
  /** '*' = made by the administration of the cell: hits the jti in any instance. */
  svc: string
  value: string
  notBefore: Date | null
  expiresAt: Date
  /** When management took a jti back, by its own clock. */
  revokedAt: Date | null
}

/** Everything that changed since the picture was last brought up to date. */
export interface AuthorityChanges {
  changeSeq: number
  /** Seconds since management was last heard; null when it never was. */
  feedAgeS: number | null
  /** The database is a restored copy, and nobody has brought it up to date yet. */
  isRestored: boolean
  keys: SigningKey[]
  revocations: Revocation[]
  /** Only those that are in the picture need to be brought up to date. */
  instances: Instance[]
  partnerCredentials: PartnerCredential[]
}

/** What the database says of one capability at this moment. */
export interface Standing {
  isRevoked: boolean
  isKeyGood: boolean
  /** The database is of an earlier time, and can not say. */
  isRestored: boolean
}

export interface Authority {
  /** Rises with every change: whoever remembers the number need not ask again until it differs. */
  readonly version: number
  readonly changeSeq: number
  /** `readAt`: when the reading of them began, by performance.now(); now, unless given. */
  accept(changes: AuthorityChanges, readAt?: number): void
  /** Seconds since the picture was true. */
  ageS(): number
  /** Too old to decide: see loadStanding(). */
  isStale(): boolean
  /** Past the picture: asks the database. */
  loadStanding(capability: Pick<Capability, 'root' | 'jtis' | 'kid'>): Promise<Standing>
  findKey(kid: string, nowMs: number): KeyObject | undefined
  isRevoked(capability: Pick<Capability, 'root' | 'jtis'>): boolean
  /** At once when it is in the picture, unless that is stale. */
  findInstance(id: string): Instance | undefined | Promise<Instance | undefined>
  findPartnerCredential(id: string): PartnerCredential | undefined | Promise<PartnerCredential | undefined>
  /** Seconds since management was last heard, by now; null when the cell has no management. */
  feedAgeS(): number | null
  /** What is known here is of an earlier time: nothing may be served by it. */
  readonly isRestored: boolean
}

interface AuthorityOptions extends Pick<Authority, 'loadStanding'> {
  loadInstance(id: string): Promise<Instance | undefined>
  loadPartnerCredential(id: string): Promise<PartnerCredential | undefined>
  /** Older than this the picture decides nothing. */
  pictureMsMax?: number
}

/** Below the number of a cell in which nothing has changed yet: that one is a picture too, an empty one. */
export const NOTHING_READ = -1

/** Of instances and partner credentials; at about 500 bytes each this stays below 20 MB. */
const REMEMBERED_MAX = 20_000
/** Ten missed beats. A revocation must hold 5 s after it was made, and has a way to go before it is in the database. */
const PICTURE_MS_MAX = 3_000
const PRUNE_ABOVE = 10_000
/** That there is no such instance is known for so long: a token of another cell must not ask the database with each request. */
const MISS_MS = 1_000
const MISSES_MAX = 10_000
const HOUR_MS = 3_600_000
/** Clocks of management and its database may differ by less than this. */
const COVERED_S = 60

/** What an epoch may name to end a capability, in the picture as in the database. */
export function scopesOf({ org, ten, svc, sub }: Capability['root']): [Revocation['kind'], string][] {
  return [
    ['org', org],
    ['ten', ten],
    ['svc', svc],
    // Who asked is somebody only within an organization: the same person goes on in another.
    ['sub', `${org}/${sub}`],
  ]
}

export function createAuthority({
  loadInstance,
  loadPartnerCredential,
  loadStanding,
  pictureMsMax = PICTURE_MS_MAX,
}: AuthorityOptions): Authority {
  const keys = new Map<string, { key: KeyObject; retireAt: number }>()
  /** With the moment, in milliseconds, after which no token that it could hit can still be valid. */
  const revokedJtis = new Map<string, { expiresAt: number; revokedAt: number }>()
  const notBefore = new Map<string, number>()
  const instances = new Map<string, Instance>()
  const partners = new Map<string, PartnerCredential>()
  /** Until when nobody need ask for them again. */
  const misses = new Map<string, number>()
  let version = 0
  let changeSeq = NOTHING_READ
  let readAt = Number.NEGATIVE_INFINITY
  let heard: { ageS: number; at: number } | undefined
  let isRestored = false

  function acceptKey({ kid, x, state, retireAt }: SigningKey): void {
    const key = state === 'removed' ? undefined : publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })
    if (key) keys.set(kid, { key, retireAt: retireAt?.getTime() ?? Number.POSITIVE_INFINITY })
    else keys.delete(kid)
  }

  function acceptRevocation({ kind, svc, value, notBefore: before, expiresAt, revokedAt }: Revocation): void {
    if (kind === 'jti')
      revokedJtis.set(`${svc}:${value}`, {
        expiresAt: expiresAt.getTime(),
        revokedAt: revokedAt?.getTime() ?? Number.POSITIVE_INFINITY,
      })
    // A later word may come with an earlier time (a restored control database): what was revoked stays revoked.
    else
      notBefore.set(
        `${kind}:${value}`,
        Math.max(notBefore.get(`${kind}:${value}`) ?? 0, (before?.getTime() ?? 0) / 1000),
      )
  }

  /** An instance that was deleted and is made again has lost its credentials, and a row that is gone tells nobody. They load again. */
  function forgetPartnersOf(changed: Instance[]): void {
    if (changed.length === 0) return
    const ids = new Set(changed.map(({ id }) => id))
    for (const { id, instanceId } of partners.values()) if (ids.has(instanceId)) partners.delete(id)
  }

  function forgetExpired(): void {
    if (revokedJtis.size < PRUNE_ABOVE) return
    for (const [jti, { expiresAt }] of revokedJtis) if (expiresAt < Date.now() - HOUR_MS) revokedJtis.delete(jti)
  }

  /** As the feed's applier does in the database (dropCovered), whose rows are gone and tell nobody. */
  function forgetCovered(changed: Revocation[]): void {
    const services = new Set(changed.flatMap(({ kind, value }) => (kind === 'svc' ? [value] : [])))
    if (services.size === 0) return
    for (const [jti, { revokedAt }] of revokedJtis) {
      const svc = jti.slice(0, jti.indexOf(':'))
      if (!services.has(svc)) continue
      if (revokedAt / 1000 + COVERED_S <= (notBefore.get(`svc:${svc}`) ?? 0)) revokedJtis.delete(jti)
    }
  }

  return {
    get version() {
      return version
    },
    get changeSeq() {
      return changeSeq
    },
    ageS: () => (performance.now() - readAt) / 1000,
    isStale,
    loadStanding,
    accept(changes, at = performance.now()) {
      for (const key of changes.keys) acceptKey(key)
      for (const revocation of changes.revocations) acceptRevocation(revocation)
      // What is new may be one of them.
      if (changes.changeSeq !== changeSeq) misses.clear()
      for (const instance of changes.instances) if (instances.has(instance.id)) instances.set(instance.id, instance)
      forgetPartnersOf(changes.instances)
      for (const credential of changes.partnerCredentials)
        if (partners.has(credential.id)) partners.set(credential.id, credential)
      if (changes.revocations.length > 0) forgetExpired()
      forgetCovered(changes.revocations)
      if (changes.changeSeq !== changeSeq) version += 1
      changeSeq = changes.changeSeq
      isRestored = changes.isRestored
      readAt = at
      heard = changes.feedAgeS === null ? undefined : { ageS: changes.feedAgeS, at: performance.now() }
    },
    findKey(kid, nowMs) {
      const known = keys.get(kid)
      return known && nowMs < known.retireAt ? known.key : undefined
    },
    isRevoked({ root, jtis }) {
      if (jtis.some((jti) => revokedJtis.has(`${root.svc}:${jti}`) || revokedJtis.has(`*:${jti}`))) return true
      // The root's iat, never a child's: a child is signed by its holder, who may write any time into it.
      return scopesOf(root).some(([kind, value]) => root.iat <= (notBefore.get(`${kind}:${value}`) ?? -1))
    },
    findInstance: (id) => find(instances, id, loadInstance),
    findPartnerCredential: (id) => find(partners, id, loadPartnerCredential),
    get isRestored() {
      return isRestored
    },
    feedAgeS: () => (heard ? heard.ageS + (performance.now() - heard.at) / 1000 : null),
  }

  function isStale(): boolean {
    return performance.now() - readAt > pictureMsMax
  }

  function find<Value>(map: Map<string, Value>, id: string, load: (id: string) => Promise<Value | undefined>) {
    if (isStale()) return load(id)
    return map.get(id) ?? (isMissed(id) ? undefined : remember(map, id, load))
  }

  function isMissed(id: string): boolean {
    const until = misses.get(id)
    return until !== undefined && performance.now() < until
  }

  async function remember<Value>(
    map: Map<string, Value>,
    id: string,
    load: (id: string) => Promise<Value | undefined>,
  ): Promise<Value | undefined> {
    const seqBefore = changeSeq
    const value = await load(id)
    // A change that was read while we loaded may be newer than what we loaded: then the next request loads again.
    if (changeSeq !== seqBefore) return value
    if (value === undefined) {
      if (misses.size >= MISSES_MAX) misses.clear()
      misses.set(id, performance.now() + MISS_MS)
      return undefined
    }
    if (map.size >= REMEMBERED_MAX) map.delete(map.keys().next().value as string)
    map.set(id, value)
    return value
  }
}
