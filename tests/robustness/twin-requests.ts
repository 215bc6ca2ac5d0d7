// Requests of one twin that try everything to come by what is another's: by id, key, database, cursor, idempotency key,
// prefix, header, namespace, another's narrowed token, and by provoking errors. A twin writes only its own canaries,
// under names of its own or names that every twin uses; with another's names it only asks.

import type { PlainRequest } from './plain-client.ts'
import type { Random } from './seeded.ts'
import { adviceRequests } from './twin-advice.ts'
import type { Credential, Twin, TwinDatabase } from './twins.ts'

export interface TwinRequest extends PlainRequest {
  credential: Credential | undefined
  /** Where it goes. */
  program: 'daemon' | 'management'
}

export interface Routes {
  daemon: { method: string; path: string }[]
  management: { method: string; path: string }[]
}

export interface RequestMaker {
  next(): TwinRequest
  /** Cursors and ids of memories in answers, to be tried by the others. */
  learn(twin: Twin, body: string): void
  turn: Twin
}

const SLOTS = '/v1/working-memory/slots'
const MEMORY = '/v1/memory/records'
const SHARED_KEYS = 30
const SHARED_REPEATS = 50

export function requestMaker(twins: Twin[], routes: Routes, adminToken: string, random: Random): RequestMaker {
  const cursors = new Map<Twin, string[]>(twins.map((twin) => [twin, []]))
  const memories = new Map<Twin, string[]>(twins.map((twin) => [twin, []]))
  let count = 0
  const { advise, tell } = adviceRequests(random, { ownDatabase, anyDatabase })
  const maker: RequestMaker = {
    turn: twins[0] as Twin,
    learn(twin, body) {
      const cursor = /"next_?[cC]ursor":"([^"]+)"/.exec(body)?.[1]
      const known = cursors.get(twin) as string[]
      if (cursor) known[random.below(20)] = cursor
      const memory = /"id":"(mem_[0-9a-z]{26})"/.exec(body)?.[1]
      if (memory) (memories.get(twin) as string[])[random.below(20)] = memory
    },
    next() {
      const self = random.pick(twins)
      const other = random.pick(twins.filter((twin) => twin !== self))
      maker.turn = self
      // Mostly its own; now and then a token that another one has narrowed and given away.
      const credential = random.chance(0.8)
        ? random.chance(0.75)
          ? (self.credentials[0] as Credential)
          : random.pick(self.credentials)
        : random.chance(0.6)
          ? random.pick(other.credentials.slice(2))
          : undefined
      const holder = credential && other.credentials.includes(credential) ? other : self
      const make = random.pick([
        ...[put, put, get, get, list, list],
        ...[remove, batch, report, slot, slot, look],
        ...[remember, recall, project, advise, tell, tool, cycle, anyRoute, broken],
      ])
      const request = make(self, other, holder, credential)
      return {
        ...request,
        credential: request.headers?.['x-loci-admin-token'] === adminToken ? undefined : credential,
        headers: { ...credential?.headers, ...tricks(self, other), ...request.headers },
      }
    },
  }
  return maker

  function tricks(self: Twin, other: Twin): Record<string, string> {
    if (random.chance(0.6)) return {}
    return random.pick([
      { 'x-loci-service': other.tenant.serviceId },
      { 'x-loci-organization': other.tenant.organizationId },
      { 'x-loci-tenant': other.tenant.tenantId, 'x-loci-service': self.tenant.serviceId },
      { 'x-loci-service': self.tenant.serviceId },
      { 'x-loci-namespace': other.tenant.serviceId, 'x-loci-instance': other.tenant.serviceId },
      { 'x-consumer-id': other.tenant.organizationId, 'x-consumer-organization': other.tenant.organizationId },
      { 'x-forwarded-for': '10.0.0.1', forwarded: `for="${other.tenant.serviceId}"` },
      { cookie: `loci_access_token=${other.credentials[0]?.headers['x-loci-capability']}` },
      { 'x-api-key': `loci_sk_${self.repeatMark}_${'k'.repeat(43)}000000` },
      { 'user-agent': self.credentials[1]?.headers['x-loci-capability'] as string },
      { 'x-request-id': self.tenant.partner.token },
      { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: `loci=${self.repeatMark}` },
    ])
  }

  /** A database to write to: of the holder, so that what is written there bears its canary. */
  function ownDatabase(holder: Twin): TwinDatabase {
    return random.pick(holder.databases)
  }

  function anyDatabase(self: Twin, other: Twin): Record<string, string> {
    const { name } = random.pick(random.chance(0.3) ? other.databases : self.databases)
    return random.chance(0.2) ? {} : { 'x-loci-database': name }
  }

  function ownKey({ keyMark }: TwinDatabase): string {
    return random.chance(0.5) ? `shared:${random.below(SHARED_KEYS)}` : `${keyMark}:${random.below(60)}`
  }

  function anyKey(self: Twin, other: Twin): string {
    return ownKey(random.pick(random.chance(0.5) ? other.databases : self.databases))
  }

  function value({ valueMark }: TwinDatabase, other: Twin): Record<string, unknown> {
    count += 1
    return {
      value: { secret: valueMark, n: count, deep: [{ [valueMark]: null }] },
      ...(random.chance(0.2) ? { ttlMs: 500 + random.below(100_000) } : {}),
      ...foreign(other),
    }
  }

  /** Names that could lead to another's: routes of agents refuse them, so most requests have none and do something. */
  function foreign(other: Twin): object {
    return random.chance(0.2) ? { namespace: other.tenant.serviceId, instance_id: other.tenant.serviceId } : {}
  }

  function put(_self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    const isOwn = credential?.canWrite ?? false
    return {
      program: 'daemon',
      method: 'PUT',
      path: entry(ownKey(database)),
      headers: {
        'x-loci-database': database.name,
        ...(random.chance(0.1) ? { 'if-match': random.pick(['"1"', '*', '"x', '"99"']) } : {}),
      },
      body: JSON.stringify(isOwn ? value(database, other) : { value: 'nothing' }),
    }
  }

  function get(self: Twin, other: Twin): Base {
    return { program: 'daemon', method: 'GET', path: entry(anyKey(self, other)), headers: anyDatabase(self, other) }
  }

  function remove(self: Twin, other: Twin): Base {
    return { program: 'daemon', method: 'DELETE', path: entry(anyKey(self, other)), headers: anyDatabase(self, other) }
  }

  function list(self: Twin, other: Twin): Base {
    const prefix = random.pick([
      '',
      'shared:',
      random.pick(other.databases).keyMark,
      random.pick(self.databases).keyMark.slice(0, 3),
    ])
    const query = [
      `prefix=${prefix}`,
      `limit=${random.pick([1, 3, 50, 1000])}`,
      ...(random.chance(0.4) ? [`cursor=${anyCursor(self, other)}`] : []),
    ]
    return {
      program: 'daemon',
      method: 'GET',
      path: `/v1/kv/entries?${query.join('&')}`,
      headers: anyDatabase(self, other),
    }
  }

  function anyCursor(self: Twin, other: Twin): string {
    const known = (cursors.get(random.chance(0.6) ? other : self) ?? []).filter(Boolean)
    return known.length > 0 && random.chance(0.8)
      ? random.pick(known)
      : Buffer.from(`k:${random.pick(other.databases).keyMark}`).toString('base64url')
  }

  function batch(_self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    const isOwn = credential?.canWrite ?? false
    const operations = Array.from({ length: 1 + random.below(4) }, () =>
      random.chance(0.8)
        ? { op: 'put', key: ownKey(database), ...(isOwn ? value(database, other) : { value: 'nothing' }) }
        : { op: 'delete', key: ownKey(database) },
    )
    // The same words by several tenants: each has its own meaning of them.
    const repeat = random.chance(0.7)
      ? `shared-${random.below(SHARED_REPEATS)}`
      : `${holder.repeatMark}-${random.below(50)}`
    return {
      program: 'daemon',
      method: 'POST',
      path: '/v1/kv/entries/batch',
      headers: {
        'x-loci-database': database.name,
        ...(random.chance(0.8) && isOwn ? { 'idempotency-key': repeat } : {}),
      },
      body: JSON.stringify({ operations, ...foreign(other) }),
    }
  }

  /** Slots are written as entries are: own canaries under own or shared names. */
  function slot(_self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    const body = credential?.canWrite ? value(database, other) : { value: 'nothing' }
    const key = encodeURIComponent(ownKey(database))
    const headers = { 'x-loci-database': database.name }
    return random.pick<Base>([
      { program: 'daemon', method: 'PUT', path: `${SLOTS}/${key}`, headers, body: JSON.stringify(body) },
      { program: 'daemon', method: 'PATCH', path: `${SLOTS}/${key}`, headers, body: JSON.stringify(body) },
      {
        ...{ program: 'daemon', method: 'POST', path: `${SLOTS}/batch`, headers },
        body: JSON.stringify({ operations: [{ op: 'put', key: ownKey(database), ...body }] }),
      },
      { program: 'daemon', method: 'POST', path: `${SLOTS}/clear${random.chance(0.8) ? '?dryRun=true' : ''}`, headers },
    ])
  }

  /** Memory is written as entries are: own canaries, in own or shared contexts and keys. */
  function remember(_self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    count += 1
    const content = credential?.canWrite ? `the launch code ${database.valueMark} ${count}` : 'nothing'
    const record = { content, contextId: 'shared', key: ownKey(database), ...foreign(other) }
    const headers = { 'x-loci-database': database.name }
    return random.pick<Base>([
      { program: 'daemon', method: 'POST', path: MEMORY, headers, body: JSON.stringify(record) },
      {
        ...{ program: 'daemon', method: 'POST', path: `${MEMORY}/batch`, headers },
        body: JSON.stringify({ records: [record, record] }),
      },
    ])
  }

  function recall(self: Twin, other: Twin): Base {
    const headers = anyDatabase(self, other)
    const query = { query: `the launch code ${random.pick(other.databases).valueMark}`, limit: 50 }
    const ids = ['mem_00000000000000000000000000', ...(memories.get(other) ?? []).filter(Boolean)]
    const naming = { ...query, recordIds: ids.slice(0, 16) }
    return random.pick<Base>([
      { program: 'daemon', method: 'GET', path: `${MEMORY}?limit=5`, headers },
      { program: 'daemon', method: 'GET', path: `${MEMORY}/${random.pick(ids)}/trace`, headers },
      { program: 'daemon', method: 'POST', path: '/v1/memory/recall', headers, body: JSON.stringify(query) },
      { program: 'daemon', method: 'POST', path: '/v1/memory/recall', headers, body: JSON.stringify(naming) },
      { program: 'daemon', method: 'POST', path: `${MEMORY}/read`, headers, body: JSON.stringify({ ids }) },
    ])
  }

  /** Tools, with whatever arguments; what is written are own canaries. */
  function tool(_self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    count += 1
    const text = credential?.canWrite ? `the launch code ${database.valueMark} ${count}` : 'nothing'
    const named = random.chance(0.2) ? { database: random.pick(other.databases).name, ...foreign(other) } : {}
    const params = random.pick<object>([
      { name: 'remember', arguments: { text, ...named } },
      { name: 'recall', arguments: { query: `the launch code ${random.pick(other.databases).valueMark}`, ...named } },
      { name: 'focus', arguments: { text, ...named } },
      { name: 'working_memory', arguments: { include_evicted: true, ...named } },
    ])
    const headers = { 'x-loci-database': database.name }
    const body = JSON.stringify({ jsonrpc: '2.0', id: count, method: 'tools/call', params })
    return { program: 'daemon', method: 'POST', path: '/mcp', headers, body }
  }

  function cycle(self: Twin, other: Twin, holder: Twin): Base {
    const { name, valueMark: mark } = random.pick(holder.databases)
    const body = JSON.stringify({ focus: mark, observations: [{ content: mark }], ...foreign(other) })
    const cycles = { program: 'daemon', path: '/v1/cognitive/cycles' } as const
    if (random.chance(0.5)) return { ...cycles, method: 'POST', headers: { 'x-loci-database': name }, body }
    const timeline = `/v1/cognitive/timeline?content=true&limit=2${random.chance(0.4) ? `&cursor=${anyCursor(self, other)}` : ''}`
    const path = random.pick(['/v1/cognitive/cycles', '/v1/cognitive/settings', timeline])
    return { ...cycles, path, method: 'GET', headers: anyDatabase(self, other) }
  }

  /** A partner tells of the database `default` of its instance, whatever else it says. */
  function project(_self: Twin, other: Twin, holder: Twin): Base {
    count += 1
    const [{ valueMark, keyMark }] = holder.databases as [TwinDatabase]
    const projection = {
      ...{ projection_class: random.pick(['event', 'fact', 'tool_outcome', 'retraction']), supersedes: 'shared-1' },
      ...{ source_event_id: random.chance(0.5) ? `shared-${random.below(20)}` : `${keyMark}-${count}` },
      ...{ projection_id: random.chance(0.3) ? `shared-${random.below(20)}` : undefined, payload: valueMark },
      namespace: other.tenant.serviceId,
    }
    const body = JSON.stringify(random.chance(0.3) ? [projection, projection] : projection)
    return { program: 'daemon', method: 'POST', path: '/v1/partner/projections', body }
  }

  function look(self: Twin, other: Twin): Base {
    const key = encodeURIComponent(anyKey(self, other))
    const headers = anyDatabase(self, other)
    const restore = { key: anyKey(self, other), version: 1 + random.below(50) }
    return random.pick<Base>([
      { program: 'daemon', method: 'GET', path: SLOTS, headers },
      { program: 'daemon', method: 'GET', path: `${SLOTS}/${key}`, headers },
      { program: 'daemon', method: 'GET', path: `${SLOTS}/${key}/history?cursor=${1 + random.below(99)}`, headers },
      { program: 'daemon', method: 'GET', path: '/v1/working-memory/evictions?limit=3&content=true', headers },
      { program: 'daemon', method: 'GET', path: '/v1/working-memory/stats', headers },
      { program: 'daemon', method: 'GET', path: '/v1/working-memory/config', headers },
      { program: 'daemon', method: 'GET', path: '/v1/working-memory/settings', headers },
      { program: 'daemon', method: 'POST', path: `${SLOTS}/restore`, headers, body: JSON.stringify(restore) },
    ])
  }

  function report(self: Twin, other: Twin): Base {
    const path = random.pick([
      '/v1/kv/health',
      '/v1/kv/consistency',
      '/v1/kv/consistency?mode=full',
      `/v1/kv/consistency?mode=full&cursor=${anyCursor(self, other)}`,
      '/v1/audit',
      '/v1/databases',
      `/v1/databases?cursor=${random.pick(other.databases).name}`,
      `/v1/audit?limit=5&cursor=${anyCursor(self, other)}`,
      '/v1/system/info',
    ])
    return { program: 'daemon', method: 'GET', path, headers: anyDatabase(self, other) }
  }

  /** Every registered route, its parameters filled with another's names; changes go to own databases. */
  function anyRoute(self: Twin, other: Twin, holder: Twin): Base {
    const program = random.chance(0.8) ? 'daemon' : 'management'
    const { method, path } = random.pick(routes[program])
    const isChange = method !== 'GET' && method !== 'DELETE'
    // A clear is in the audit with the database that its caller named: with another's name a twin only asks for one.
    const isClear = path.endsWith('/clear')
    const filled = path.replaceAll(/\{[^}]+\}/g, () => random.pick([anyKey(self, other), other.tenant.serviceId]))
    // Made under another's name, a database is its maker's own and shows that name (seed 552770224: by a cycle).
    const database = isChange && !isClear ? { 'x-loci-database': ownDatabase(holder).name } : anyDatabase(self, other)
    const isAdmin = path.startsWith('/admin') && (method === 'GET' || path.includes('/services/')) && random.chance(0.5)
    const names = { namespace: other.tenant.serviceId, service_id: other.tenant.serviceId }
    // A configuration is any object and is shown as it was put: what a twin writes there itself is no leak.
    const body = path.endsWith('/config')
      ? {}
      : path.includes('/services/')
        ? { services: ['mcp'], dry_run: true }
        : names
    return {
      program,
      method,
      path: isClear ? `${filled}?dryRun=true` : filled,
      headers: { ...database, ...(isAdmin ? { 'x-loci-admin-token': adminToken } : {}) },
      ...(isChange ? { body: JSON.stringify(body) } : {}),
    }
  }

  function broken(self: Twin, other: Twin): Base {
    const token = self.credentials[0]?.headers['x-loci-capability'] as string
    const base = { program: 'daemon' as const, headers: { 'x-loci-database': self.databases[0]?.name as string } }
    return random.pick<Base>([
      { ...base, method: 'PUT', path: entry('shared:1'), body: `{"value": "${token}", "x": ${self.repeatMark}` },
      { ...base, method: 'PUT', path: entry('shared:1'), body: `["${token}"]` },
      { ...base, method: 'PUT', path: entry('shared:1'), body: `{"value": 1, "ttlMs": "${token}"}` },
      {
        ...base,
        method: 'PUT',
        path: entry('shared:1'),
        body: `{"__proto__": {"a": "${self.repeatMark}"}, "value": 1}`,
      },
      { ...base, method: 'PUT', path: `/v1/kv/entries/${'k'.repeat(300)}`, body: '{"value":1}' },
      { ...base, method: 'POST', path: '/v1/kv/entries/batch', body: `{"operations":[{"op":"${token}","key":"a"}]}` },
      { ...base, method: 'GET', path: `/v1/kv/entries/${token.slice(0, 200)}` },
      { ...base, method: 'GET', path: `/v1/kv/entries?cursor=${token.slice(0, 400)}` },
      { ...base, method: 'GET', path: `/v1/kv/entries?limit=${token.slice(0, 100)}` },
      { ...base, method: 'GET', path: `/v1/system/info?x-loci-capability=${token}` },
      { ...base, method: 'GET', path: `/nowhere/${token.slice(0, 300)}/${other.databases[2]?.name}` },
      { ...base, method: 'PATCH', path: entry(random.pick(other.databases).keyMark) },
      { ...base, method: 'GET', path: '/v1/kv/entries/%00%ff' },
      {
        ...base,
        method: 'GET',
        path: entry('shared:1'),
        headers: { 'x-loci-database': `${other.databases[2]?.name}/..` },
      },
      {
        ...base,
        method: 'GET',
        path: entry('shared:1'),
        headers: { 'x-loci-capability': `${token.slice(0, -4)}AAAA` },
      },
      { ...base, method: 'GET', path: entry('shared:1'), headers: { 'x-loci-capability': `${token}~${token}` } },
      { ...base, method: 'GET', path: '/admin/audit', headers: { 'x-loci-admin-token': `${adminToken}x` } },
      {
        ...base,
        program: 'management',
        method: 'GET',
        path: '/cell/v1/feed?after=0',
        headers: { authorization: `Bearer ${token}` },
      },
    ])
  }
}

type Base = Omit<TwinRequest, 'credential'>

function entry(key: string): string {
  return `/v1/kv/entries/${encodeURIComponent(key)}`
}
