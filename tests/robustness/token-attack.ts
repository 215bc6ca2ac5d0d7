// Hostile tokens against the verifier and the access of the daemon in this process: the bulk, without a socket between.

import { setImmediate as breathe } from 'node:timers/promises'
import { CapabilityError, type Delegation, mintRoot, type verifyCapability } from '@loci/capability/capability.ts'
import { newKeyPair, privateKeyOf, publicKeyOf } from '@loci/capability/jws.ts'
import { covers } from '@loci/capability/keyspaces.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Operation } from '@loci/contract/operations.ts'
import { createActivity } from '@loci/daemon/access/activity.ts'
import { createAuthority, type Instance } from '@loci/daemon/access/authority.ts'
import { type Caller, capabilityAccess } from '@loci/daemon/access/capability-access.ts'
import { createRates } from '@loci/daemon/access/rates.ts'
import { servedBy } from '@loci/daemon/access/served.ts'
import { AGELESS } from '@loci/daemon/testing/ageless.ts'
import { NARROW, type Origin, planAttack } from './hostile-tokens.ts'
import { seeded } from './seeded.ts'

const ASKED: Exclude<Operation, 'operator'>[] = ['kv:read', 'kv:write', 'kv:delete', 'system:read']
const DATABASES = [undefined, 'own', 'vault', 'default']

export interface Trial {
  tried: number
  /** With exactly what the attacker held before. */
  accepted: number
  gains: string[]
  kinds: Map<string, number>
}

export interface Ground {
  origin: Origin
  instances: Map<string, Instance>
}

/** A victim and the attacker's own tenant, with an issuer of their own. */
export function ownGround(): Ground {
  const issuer = newKeyPair().privateJwk
  const signer = { kid: 'k_issuer', privateKey: privateKeyOf(issuer) }
  const now = Math.floor(Date.now() / 1000)
  const instances = new Map<string, Instance>()
  const claims = (svc: string) => ({
    iss: 'https://loci.example',
    aud: svc,
    org: `org_of_${svc}`,
    ten: `ten_of_${svc}`,
    svc,
    ops: ['system:read', 'kv:read', 'kv:write', 'kv:delete', 'memory:read'],
    ks: ['kv/*', 'memory/*'],
    iat: now,
    nbf: now,
    exp: now + 3_600,
    jti: newId('cap'),
    del_max: 4,
  })
  const delegation = (svc: string): Delegation => {
    const { publicJwk, privateJwk } = newKeyPair()
    return { chain: mintRoot({ ...claims(svc), cnf: { jwk: publicJwk } }, signer), key: privateJwk }
  }
  const [own, foreign] = [newId('svc'), newId('svc')]
  const limits = { databases: 9, records: 9, bytes: 9, requests_per_second: 1e9, burst: 1e9, streams: 9 }
  for (const id of [own, foreign]) {
    const owner = { id, organizationId: `org_of_${id}`, tenantId: `ten_of_${id}`, serviceType: 'memory', plan: 'pro' }
    instances.set(id, { ...owner, state: 'active', stateReason: null, heldUntilMs: null, limits })
  }
  const narrowRoot = mintRoot({ ...claims(own), ...NARROW, del_max: 0 }, signer)
  const keys = [{ kid: 'k_issuer', x: issuer.x }]
  return { origin: { wide: delegation(own), narrowRoot, foreign: delegation(foreign), keys }, instances }
}

export async function attack(
  { origin, instances }: Ground,
  verify: typeof verifyCapability,
  count: number,
  seed: number,
): Promise<Trial> {
  const random = seeded(seed)
  const keys = new Map(origin.keys.map(({ kid, x }) => [kid, publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })]))
  const options = { now: Date.now() / 1000, findKey: (kid: string) => keys.get(kid) }
  const plan = planAttack(origin, random, verify, options)
  const authority = createAuthority({
    loadInstance: async (id) => instances.get(id),
    loadPartnerCredential: async () => undefined,
    ...AGELESS,
  })
  authority.accept({
    changeSeq: 1,
    feedAgeS: null,
    isRestored: false,
    life: '',
    keys: origin.keys.map(({ kid, x }) => ({ kid, x, state: 'active' as const, retireAt: null })),
    revocations: [],
    instances: [],
    partnerCredentials: [],
  })
  const access = capabilityAccess({
    authority,
    failures: createFailures(Number.POSITIVE_INFINITY),
    rates: createRates(),
    activity: createActivity(),
    uses: createLastUses(),
    legacyJwt: undefined,
    requireServed: servedBy(authority, 86_400),
  })
  const routes = [...ASKED.map((op) => access.capability(op)), access.operator('operate')]
  const trial: Trial = { tried: 0, accepted: 0, gains: [], kinds: new Map() }
  for (; trial.tried < count; trial.tried += 1) {
    const { kind, text } = plan.next()
    trial.kinds.set(kind, (trial.kinds.get(kind) ?? 0) + 1)
    const capability = verified(verify, text, options)
    const gain = capability && plan.gainOf(capability)
    if (gain) trial.gains.push(`${kind}: ${gain}`)
    else if (capability) trial.accepted += 1
    if (trial.tried % 100 === 0) await breathe()
    // Whoever the verifier accepts gets past access only where he may; of those it refuses, who must not get past it at
    // all, access sees a quarter: it verifies all over again, which costs as much as everything else here.
    if (!capability && trial.tried % 4 !== 0) continue
    const route = random.pick(routes)
    const database = random.pick(DATABASES)
    const headers = { 'x-loci-capability': text, ...(database ? { 'x-loci-database': database } : {}) }
    const caller = await admitted(() =>
      route.authorize({
        method: 'GET',
        target: '/',
        headers,
        peer: '127.0.0.1',
        requestId: 'r',
        answer: { header() {}, append() {} },
      }),
    )
    if (caller && !isWithin(caller, capability, route.operation as string))
      trial.gains.push(`${kind}: admitted to ${route.operation} in ${caller.database} of ${caller.instance.id}`)
  }
  return trial
}

function verified(verify: typeof verifyCapability, text: string, options: Parameters<typeof verifyCapability>[1]) {
  try {
    return verify(text, options)
  } catch (error) {
    if ((error as Error).name === CapabilityError.name) return undefined
    throw error
  }
}

/** Anything but a refusal that the contract knows is a bug, and flies. */
async function admitted(authorize: () => Caller | Promise<Caller>): Promise<Caller | undefined> {
  try {
    return await authorize()
  } catch (error) {
    const { status } = error as { status?: number }
    if (status === 400 || status === 401 || status === 403) return undefined
    throw error
  }
}

function isWithin(caller: Caller, capability: ReturnType<typeof verified>, operation: string): boolean {
  if (!capability || caller.instance.id !== capability.root.svc || !capability.ops.has(operation)) return false
  return operation === 'system:read' || covers(capability.ks, 'kv', caller.database)
}
