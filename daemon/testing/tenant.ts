// A tenant of a daemon under test: its instance and a signing key put into the cell as the feed would, and credentials
// of any shape.

import { randomBytes } from 'node:crypto'
import { mintRoot } from '@loci/capability/capability.ts'
import { newKeyPair, privateKeyOf } from '@loci/capability/jws.ts'
import { type AskOptions, eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Instance } from '../access/authority.ts'

export interface TestTenant {
  instanceId: string
  mint(grant?: Grant): string
  /** `call('PUT /v1/kv/entries/a', { value: 1 }, { db: 'notes' })`, with every right unless a token is given. */
  call(line: string, body?: unknown, options?: CallOptions): Promise<TestAnswer>
}

interface Grant {
  ops?: string[]
  ks?: string[]
  sub?: string
}

interface CallOptions {
  db?: string
  token?: string
  headers?: Record<string, string>
}

const EVERYTHING = ['system:read', 'kv:read', 'kv:write', 'kv:delete']
const LIMITS: Instance['limits'] = {
  databases: 100,
  records: 100_000,
  bytes: 2 ** 30,
  requests_per_second: 5_000,
  burst: 10_000,
  streams: 10,
}

/** A test daemon, or anything that can ask a daemon and its database. */
interface Cell {
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
  /** As superuser. */
  sql(text: string, values?: unknown[]): Promise<unknown>
}

export async function addTenant(daemon: Cell, limits: Partial<Instance['limits']> = {}): Promise<TestTenant> {
  const { publicJwk, privateJwk } = newKeyPair()
  const privateKey = privateKeyOf(privateJwk)
  const kid = randomBytes(8).toString('hex')
  const [org, ten, svc] = [newId('org'), newId('ten'), newId('svc')]
  await daemon.sql(
    `with raised as (update loci.cell set change_seq = change_seq + 1 returning change_seq),
       key as (insert into loci.signing_keys (kid, x, state, change_seq) select $1, $2, 'active', change_seq from raised)
     insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq)
     select $3, $4, $5, 'memory', 'pro', 'active', 1, $6, '{}', change_seq from raised`,
    [kid, publicJwk.x, svc, org, ten, JSON.stringify({ ...LIMITS, ...limits })],
  )
  const mint = ({ ops = EVERYTHING, ks = ['kv/*'], sub = 'usr_test' }: Grant = {}) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: 'loci',
      aud: svc,
      org,
      ten,
      svc,
      ops,
      ks,
      iat: now,
      nbf: now,
      exp: now + 3_600,
      jti: newId('cap'),
      del_max: 0,
      sub,
    }
    return mintRoot(claims, { kid, privateKey })
  }
  const root = mint()
  const tenant: TestTenant = {
    instanceId: svc,
    mint,
    call: (line, body, { db, token = root, headers = {} } = {}) =>
      daemon.ask(line, {
        body,
        headers: { 'x-loci-capability': token, ...(db ? { 'x-loci-database': db } : {}), ...headers },
      }),
  }
  await untilKnown(tenant)
  return tenant
}

/** The daemon reads its authority at every beat. */
async function untilKnown(tenant: TestTenant): Promise<void> {
  await eventually(async () => (await tenant.call('GET /v1/kv/entries')).status === 200)
}

export const path = (key: string) => `/v1/kv/entries/${encodeURIComponent(key)}`

export async function putAll(tenant: TestTenant, db: string, entries: Record<string, unknown>): Promise<void> {
  const operations = Object.entries(entries).map(([key, value]) => ({ op: 'put', key, value }))
  for (let at = 0; at < operations.length; at += 100) {
    const { status, text } = await tenant.call(
      'POST /v1/kv/entries/batch',
      { operations: operations.slice(at, at + 100) },
      { db },
    )
    if (status !== 200) throw new Error(text)
  }
}

export interface ListAnswer {
  entries: { key: string; value: unknown }[]
  nextCursor: string | null
  damaged?: { ref: string | null; reason: string }[]
}

/** Every page of a list, one after the other. */
export async function listAll(
  tenant: TestTenant,
  db: string,
  query = 'limit=1000',
): Promise<Omit<ListAnswer, 'nextCursor'> & { pages: number }> {
  const all = { entries: [] as ListAnswer['entries'], damaged: [] as NonNullable<ListAnswer['damaged']>, pages: 0 }
  for (let cursor = ''; ; ) {
    const answer = await tenant.call(`GET /v1/kv/entries?${query}${cursor}`, undefined, { db })
    if (answer.status !== 200) throw new Error(answer.text)
    const { entries, nextCursor, damaged } = answer.json<ListAnswer>()
    all.entries.push(...entries)
    all.damaged.push(...(damaged ?? []))
    all.pages += 1
    if (nextCursor === null) return all
    cursor = `&cursor=${nextCursor}`
  }
}
