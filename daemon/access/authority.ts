// Authority: this replica's cache of keys, revocations, instances and partner credentials. All of it comes from the
// cell's own Postgres, so a replica that starts while management is down knows as much as the others. Changes are
// polled (feed/catch-up.ts); instances and partner credentials are loaded on first use.
//
// A cache older than CACHE_MS_MAX decides nothing: each credential is then looked up in the database, or refused with
// 503. So a revocation takes effect within that time, whatever keeps a replica from polling.
//
// Revocations are keyed by jti, never by the text of a credential: one Ed25519 signature has several encodings.

import type { KeyObject } from 'node:crypto'
import type { Capability } from '@loci/capability/capability.ts'
import { publicKeyOf } from '@loci/capability/jws.ts'
import { type Cache, createCache } from '@loci/chassis/cache.ts'
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
  /** Until then it is being put back from a backup, and answers nothing; Infinity: until the ledger was replayed. */
  heldUntilMs: number | null
  limits: {
    databases: number
    records: number
    bytes: number
    /** Absent: no bound. */
    bytes_written_per_day?: number | undefined
    /** Of former slots, evictions and decisions. Absent: 30. */
    history_days?: number | undefined
    requests_per_second: number
    burst: number
    streams: number
    /** How many times the rate of one service all of the organization have together; undefined = no bound. */
    organization_rate?: number
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
  /** '*': made by an administrator of the cell, for the jti in any instance. */
  svc: string
  value: string
  notBefore: Date | null
  expiresAt: Date
  /** When management revoked the jti, by its own clock. */
  revokedAt: Date | null
  /** It refuses nothing any more. */
  isWithdrawn: boolean
  /** The time was moved back: what the administration of the cell had added was withdrawn. */
  isRestated: boolean
}

/** Everything that changed since the last poll. */
export interface AuthorityChanges {
  changeSeq: number
  /** Seconds since the last contact with management; null = never. */
  feedAgeS: number | null
  /** The database is a restored copy that has not been resynced yet. */
  isRestored: boolean
  /** Names the database that was read (libs/postgres/life.ts). */
  life: string
  keys: SigningKey[]
  revocations: Revocation[]
  /** Only cached ones are updated; the others load on first use. */
  instances: Instance[]
  partnerCredentials: PartnerCredential[]
}

/** The status of one capability, read from the database. */
export interface CredentialStatus {
  isRevoked: boolean
  isKeyGood: boolean
  /** The database is a restored copy, so the rest means nothing. */
  isRestored: boolean
}

export interface Authority {
  /** Rises with every change: a result derived at the same version is still right. */
  readonly version: number
  readonly changeSeq: number
  /** `readAt`: when the poll began, by performance.now(); default now. */
  accept(changes: AuthorityChanges, readAt?: number): void
  /** Seconds since the cache was up to date. */
  ageS(): number
  /** Too old to decide by; see loadCredentialStatus(). */
  isStale(): boolean
  /** Reads the database, not the cache. */
  loadCredentialStatus(capability: Pick<Capability, 'root' | 'jtis' | 'kid'>): Promise<CredentialStatus>
  findKey(kid: string, nowMs: number): KeyObject | undefined
  isRevoked(capability: Pick<Capability, 'root' | 'jtis'>): boolean
  /** Synchronous if it is cached and the cache is not stale. */
  findInstance(id: string): Instance | undefined | Promise<Instance | undefined>
  /** The cached one, however old the cache is. */
  knownInstance(id: string): Instance | undefined
  /** The cached one if it is good; else what the database has by now, so a 401 is never older than the request. */
  findPartnerCredential(
    id: string,
    isGood: (credential: PartnerCredential) => boolean,
  ): PartnerCredential | undefined | Promise<PartnerCredential | undefined>
  /** Seconds since the cell's last contact with management; null = it has none. */
  feedAgeS(): number | null
  /** The database is a restored copy that has not been resynced: nothing may be served. */
  readonly isRestored: boolean
  /** Names the database that was polled last: what was read of another one may be of its future. */
  readonly life: string
}

interface AuthorityOptions extends Pick<Authority, 'loadCredentialStatus'> {
  loadInstance(id: string): Promise<Instance | undefined>
  loadPartnerCredential(id: string): Promise<PartnerCredential | undefined>
  /** Beyond this age the cache decides nothing. */
  cacheMsMax?: number
}

/** Below the change_seq of a new cell, which is 0. */
export const NOTHING_READ = -1

/** Instances, and as many partner credentials; at about 500 bytes each this stays below 20 MB. */
const CACHED_MAX = 20_000
/** Ten missed polls. A revocation must take effect within 5 s, and part of that passes before it is in the cell. */
const CACHE_MS_MAX = 3_000
const PRUNE_ABOVE = 10_000
/** How long an unknown instance is remembered, so that tokens of another cell do not cost a query each. */
const MISS_MS = 1_000
const MISSES_MAX = 10_000
const HOUR_MS = 3_600_000
/** More than the clocks of management and its database may differ. */
const COVERED_S = 60

/** The cutoffs that can revoke a capability. */
export function scopesOf({ org, ten, svc, sub }: Capability['root']): [Revocation['kind'], string][] {
  return [
    ['org', org],
    ['ten', ten],
    ['svc', svc],
    // Only within one organization: the same person may keep tokens of another.
    ['sub', `${org}/${sub}`],
  ]
}

export function createAuthority({
  loadInstance,
  loadPartnerCredential,
  loadCredentialStatus,
  cacheMsMax = CACHE_MS_MAX,
}: AuthorityOptions): Authority {
  const keys = new Map<string, { key: KeyObject; retireAt: number }>()
  /** By `<svc>:<jti>`, in milliseconds. After `expiresAt` no token that it names can still be valid. */
  const revokedJtis = new Map<string, { expiresAt: number; revokedAt: number }>()
  const notBefore = new Map<string, number>()
  const instances = createCache<Instance>(CACHED_MAX)
  const partners = createCache<PartnerCredential>(CACHED_MAX)
  /** Ids that do not exist, and until when not to look again. */
  const misses = new Map<string, number>()
  let version = 0
  let changeSeq = NOTHING_READ
  let readAt = Number.NEGATIVE_INFINITY
  let contact: { ageS: number; at: number } | undefined
  let isRestored = false
  let life = ''

  function acceptKey({ kid, x, state, retireAt }: SigningKey): void {
    const key = state === 'removed' ? undefined : publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })
    if (key) keys.set(kid, { key, retireAt: retireAt?.getTime() ?? Number.POSITIVE_INFINITY })
    else keys.delete(kid)
  }

  function acceptRevocation(revocation: Revocation): void {
    const { kind, svc, value, notBefore: before, expiresAt, revokedAt, isWithdrawn, isRestated } = revocation
    const cutoff = cutoffOf(kind, value, svc === '*')
    if (isWithdrawn) {
      if (kind === 'jti') revokedJtis.delete(`${svc}:${value}`)
      else notBefore.delete(cutoff)
    } else if (kind === 'jti')
      revokedJtis.set(`${svc}:${value}`, {
        expiresAt: expiresAt.getTime(),
        revokedAt: revokedAt?.getTime() ?? Number.POSITIVE_INFINITY,
      })
    // A restored control database may send an earlier time: what was revoked stays revoked, but by a withdrawal.
    else notBefore.set(cutoff, Math.max(isRestated ? 0 : (notBefore.get(cutoff) ?? 0), (before?.getTime() ?? 0) / 1000))
  }

  /** A recreated instance has lost its credentials, and a deleted row shows no change: drop them, they load on use. */
  function dropPartnersOf(changed: Instance[]): void {
    if (changed.length === 0) return
    const ids = new Set(changed.map(({ id }) => id))
    for (const { id, instanceId } of partners.values()) if (ids.has(instanceId)) partners.drop(id)
  }

  function dropExpired(): void {
    if (revokedJtis.size < PRUNE_ABOVE) return
    for (const [jti, { expiresAt }] of revokedJtis) if (expiresAt < Date.now() - HOUR_MS) revokedJtis.delete(jti)
  }

  /** As dropCovered() of the feed does in the database: a deleted row shows no change. */
  function dropCovered(changed: Revocation[]): void {
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
    loadCredentialStatus,
    accept(changes, at = performance.now()) {
      for (const key of changes.keys) acceptKey(key)
      for (const revocation of changes.revocations) acceptRevocation(revocation)
      // A new row may be one of the missing ids.
      if (changes.changeSeq !== changeSeq) misses.clear()
      for (const instance of changes.instances) if (instances.has(instance.id)) instances.keep(instance.id, instance)
      dropPartnersOf(changes.instances)
      for (const credential of changes.partnerCredentials)
        if (partners.has(credential.id)) partners.keep(credential.id, credential)
      if (changes.revocations.length > 0) dropExpired()
      dropCovered(changes.revocations)
      if (changes.changeSeq !== changeSeq) version += 1
      changeSeq = changes.changeSeq
      isRestored = changes.isRestored
      life = changes.life
      readAt = at
      contact = changes.feedAgeS === null ? undefined : { ageS: changes.feedAgeS, at: performance.now() }
    },
    findKey(kid, nowMs) {
      const known = keys.get(kid)
      return known && nowMs < known.retireAt ? known.key : undefined
    },
    isRevoked({ root, jtis }) {
      if (jtis.some((jti) => revokedJtis.has(`${root.svc}:${jti}`) || revokedJtis.has(`*:${jti}`))) return true
      // The root's iat, never a child's: a holder signs the child and can put any time into it.
      return scopesOf(root).some(([kind, value]) =>
        [false, true].some((isOfCell) => root.iat <= (notBefore.get(cutoffOf(kind, value, isOfCell)) ?? -1)),
      )
    },
    findInstance(id) {
      if (isStale()) return loadInstance(id)
      return instances.find(id) ?? (isMissed(id) ? undefined : rememberInstance(id))
    },
    knownInstance: (id) => instances.find(id),
    findPartnerCredential(id, isGood) {
      const cached = isStale() ? undefined : partners.find(id)
      return cached && isGood(cached) ? cached : loadPartner(id)
    },
    get isRestored() {
      return isRestored
    },
    get life() {
      return life
    },
    feedAgeS: () => (contact ? contact.ageS + (performance.now() - contact.at) / 1000 : null),
  }

  function isStale(): boolean {
    return performance.now() - readAt > cacheMsMax
  }

  function isMissed(id: string): boolean {
    const until = misses.get(id)
    return until !== undefined && performance.now() < until
  }

  async function rememberInstance(id: string): Promise<Instance | undefined> {
    const seqBefore = changeSeq
    const instance = await remember(instances, id, loadInstance)
    if (instance || changeSeq !== seqBefore) return instance
    if (misses.size >= MISSES_MAX) misses.clear()
    misses.set(id, performance.now() + MISS_MS)
    return undefined
  }

  /**
   * No miss is remembered here: until its poll a replica would refuse a credential, new or with a new secret, that
   * another takes already, and 401 tells the partner not to try again. A flood of unknown ones is held by its address.
   */
  async function loadPartner(id: string): Promise<PartnerCredential | undefined> {
    const credential = await remember(partners, id, loadPartnerCredential)
    // Its row came after that of its instance.
    if (credential) misses.delete(credential.instanceId)
    return credential
  }

  async function remember<Value>(
    cache: Cache<Value>,
    id: string,
    load: (id: string) => Promise<Value | undefined>,
  ): Promise<Value | undefined> {
    const seqBefore = changeSeq
    const value = await load(id)
    // If a poll came in between, it may be newer than this row: do not cache it, the next request loads it again.
    if (value !== undefined && changeSeq === seqBefore) cache.keep(id, value)
    return value
  }
}

/** Apart by who made it: one that the administration of the cell made can be withdrawn, and management's stays. */
function cutoffOf(kind: Revocation['kind'], value: string, isOfCell: boolean): string {
  return isOfCell ? `*${kind}:${value}` : `${kind}:${value}`
}
