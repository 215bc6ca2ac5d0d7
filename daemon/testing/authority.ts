// What management would tell the cell of a daemon under test, applied through the feed's own functions: a signing key,
// instances and revocations; and credentials of any shape, signed with that key.

import { randomUUID } from 'node:crypto'
import { type Delegation, mintRoot, type RootClaims } from '@loci/capability/capability.ts'
import { newKeyPair, type PrivateJwk, privateKeyOf } from '@loci/capability/jws.ts'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { FeedItem } from '@loci/contract/feed.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { applyPage, takeLease } from '../feed/store.ts'
import type { TestDaemon } from './daemon.ts'
import type { Body, NewItem, TestFeed } from './feed.ts'

export interface TestAuthority {
  kid: string
  key: PrivateJwk
  /** With the rights of the daemon's own role. */
  pool: Pool
  /** Resolves when the daemon has read it. */
  publish(...items: NewItem[]): Promise<void>
  /** Resolves when the daemon has read everything that is committed by now. */
  settle(): Promise<void>
  addInstance(given?: Partial<Body<'instance'>>): Promise<TestInstance>
  [Symbol.asyncDispose](): Promise<void>
}

export interface TestInstance {
  org: string
  ten: string
  svc: string
  limits: Body<'instance'>['limits']
  change(changes: Partial<Body<'instance'>>): Promise<void>
  /** A bare root for everything of kv in the database `default`, unless changed. */
  root(changes?: Partial<RootClaims>, signedBy?: { kid?: string; key?: PrivateJwk }): string
  /** The same with a key, three links deep. */
  delegation(changes?: Partial<RootClaims>): Delegation
  call(token: string, line: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<TestAnswer>
}

const EVERYTHING_OF_KV = ['system:read', 'kv:read', 'kv:write', 'kv:delete']
const LIMITS = {
  databases: 100,
  records: 100_000,
  bytes: 2 ** 30,
  requests_per_second: 5_000,
  burst: 10_000,
  streams: 10,
}

export function nowS(): number {
  return Math.floor(Date.now() / 1000)
}

/** With a feed the daemon hears it from there, by its own loops; otherwise it is put into the cell as they would. */
export async function testAuthority(daemon: TestDaemon, feed?: TestFeed): Promise<TestAuthority> {
  const pool = openPool({
    ...PATIENT,
    url: daemon.database.appUrl,
    applicationName: 'loci-test-feed',
    connectionsMax: 2,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  const { privateJwk: key } = newKeyPair()
  const kid = `k_${key.x.slice(0, 16)}`
  let next = 0

  const settle = async () => {
    // The daemon reads what changed before it answers this; the jti is nobody's.
    const { status, text } = await daemon.admin('POST /admin/revocations', { jti: 'cap_of_nobody' })
    if (status !== 200) throw new Error(text)
  }
  const authority: TestAuthority = {
    kid,
    key,
    pool,
    settle,
    async publish(...published) {
      if (feed) {
        feed.publish(...published)
        await feed.applied()
        return settle()
      }
      const lease = await takeLease(pool, 'test', 60_000)
      if (!lease) throw new Error('another replica holds the lease of the cell')
      next += 1
      const items = published.map((one) => ({ ...one, seq: next, key: randomUUID() })) as FeedItem[]
      await applyPage(pool, { fence: lease.fence, epoch: 'test', next, items })
      await settle()
    },
    async addInstance(given = {}) {
      const body: Body<'instance'> = {
        org: newId('org'),
        ten: newId('ten'),
        svc: newId('svc'),
        service_type: 'memory',
        plan: 'pro',
        state: 'active',
        state_reason: null,
        generation: 1,
        config: {},
        ...given,
        limits: { ...LIMITS, ...given.limits },
      }
      await authority.publish({ kind: 'instance', body })
      return testInstance(daemon, authority, body)
    },
    async [Symbol.asyncDispose]() {
      await pool.close()
    },
  }
  await authority.publish({ kind: 'key', body: { kid, x: key.x, state: 'active', retire_at: null } })
  return authority
}

function testInstance(daemon: TestDaemon, authority: TestAuthority, body: Body<'instance'>): TestInstance {
  const { org, ten, svc, limits } = body
  const claims = (changes: Partial<RootClaims>): RootClaims => ({
    iss: 'https://loci.example',
    aud: svc,
    org,
    ten,
    svc,
    ops: EVERYTHING_OF_KV,
    ks: ['kv/default'],
    iat: nowS(),
    nbf: nowS(),
    exp: nowS() + 3_600,
    jti: newId('cap'),
    del_max: 0,
    ...changes,
  })
  return {
    org,
    ten,
    svc,
    limits,
    async change(changes) {
      Object.assign(body, changes, { generation: body.generation + 1 })
      await authority.publish({ kind: 'instance', body })
    },
    root: (changes = {}, { kid = authority.kid, key = authority.key } = {}) =>
      mintRoot(claims(changes), { kid, privateKey: privateKeyOf(key) }),
    delegation(changes = {}) {
      const { publicJwk, privateJwk } = newKeyPair()
      const root = claims({ del_max: 3, cnf: { jwk: publicJwk }, ...changes })
      return { chain: mintRoot(root, { kid: authority.kid, privateKey: privateKeyOf(authority.key) }), key: privateJwk }
    },
    call: (token, line, { body: sent, headers = {} } = {}) =>
      ask(daemon.url, line, { body: sent, headers: { [HEADER.capability]: token, ...headers } }),
  }
}
