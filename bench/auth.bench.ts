// npm run bench -- auth: what a credential costs the daemon, in processor time of its own thread. A cached one is
// looked up at every request; a cold one is verified once per replica and again when it has fallen out of the cache.

import {
  attenuate,
  type Delegation,
  mintRoot,
  type RootClaims,
  seal,
  verifyCapability,
} from '@loci/capability/capability.ts'
import { newKeyPair, privateKeyOf, publicKeyOf } from '@loci/capability/jws.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { createAuthority } from '@loci/daemon/access/authority.ts'
import { capabilityAccess } from '@loci/daemon/access/capability-access.ts'
import { createRates } from '@loci/daemon/access/rates.ts'
import { servedBy } from '@loci/daemon/access/served.ts'
import { AGELESS } from '@loci/daemon/testing/ageless.ts'

const CACHED_US_MAX = 5
const COLD_US_MAX = 200

const now = Math.floor(Date.now() / 1000)
const issuer = newKeyPair()
const holder = newKeyPair()
const issuerKey = publicKeyOf(issuer.publicJwk)
const ROOT: RootClaims = {
  iss: 'https://loci.example',
  aud: 'svc_a',
  org: 'org_a',
  ten: 'ten_a',
  svc: 'svc_a',
  ops: ['system:read', 'kv:read', 'kv:write', 'kv:delete'],
  ks: ['kv/*', 'memory/*'],
  iat: now,
  nbf: now,
  exp: now + 3_600,
  jti: 'cap_root',
  del_max: 0,
}
const signer = { kid: 'k1', privateKey: privateKeyOf(issuer.privateJwk) }
const bare = mintRoot(ROOT, signer)
let link: Delegation = {
  chain: mintRoot({ ...ROOT, del_max: 4, cnf: { jwk: holder.publicJwk } }, signer),
  key: holder.privateJwk,
}
const chains = new Map<number, string>([
  [1, bare],
  [2, seal(link)],
])
for (let links = 3; links <= 5; links += 1) {
  link = attenuate(link)
  chains.set(links, seal(link))
}

const instance = {
  id: 'svc_a',
  organizationId: 'org_a',
  tenantId: 'ten_a',
  serviceType: 'memory',
  plan: 'enterprise',
  state: 'active' as const,
  stateReason: null,
  limits: { databases: 10, records: 10, bytes: 10, requests_per_second: 1e9, burst: 2e9, streams: 1 },
}
const authority = createAuthority({
  loadInstance: async () => instance,
  loadPartnerCredential: async () => undefined,
  ...AGELESS,
})
authority.accept({
  changeSeq: 1,
  feedAgeS: 0,
  isRestored: false,
  keys: [{ kid: 'k1', x: issuer.publicJwk.x, state: 'active', retireAt: null }],
  revocations: [],
  instances: [],
  partnerCredentials: [],
})
const access = capabilityAccess({
  authority,
  failures: createFailures(1_000),
  rates: createRates(),
  uses: createLastUses(),
  legacyJwt: undefined,
  requireServed: servedBy(authority, 86_400),
}).capability('kv:read')

let failed = 0
for (const [links, token] of chains) {
  const arrival = {
    method: 'GET',
    target: '/',
    answer: { header() {}, append() {} },
    headers: { 'x-loci-capability': token, 'x-loci-database': 'default' },
    peer: '127.0.0.1',
    requestId: 'req_x',
  }
  await access.authorize(arrival)
  const cached = microsecondsOf(200_000, () => access.authorize(arrival))
  const cold = microsecondsOf(2_000, () => verifyCapability(token, { now, findKey: () => issuerKey })) / links
  const isGood = cached <= CACHED_US_MAX && cold <= COLD_US_MAX
  if (!isGood) failed += 1
  console.log(
    `${isGood ? 'ok    ' : 'FAILED'} ${links} link${links > 1 ? 's' : ''} (${token.length} bytes): cached ${cached.toFixed(2)} µs, cold ${cold.toFixed(0)} µs per link`,
  )
}
console.log(
  `cached ≤ ${CACHED_US_MAX} µs, cold ≤ ${COLD_US_MAX} µs per link: ${chains.size - failed} passed, ${failed} failed`,
)
process.exitCode = failed === 0 ? 0 : 1

/** Processor time of this thread per call, after a warm-up. */
function microsecondsOf(times: number, work: () => unknown): number {
  for (let i = 0; i < times / 10; i += 1) work()
  const before = process.threadCpuUsage()
  for (let i = 0; i < times; i += 1) work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / times
}
