// Clients of working memory that write what they can tell apart later, and record what they were told and when.

import type { Party } from './kv-writers.ts'
import { type Outcome, type PlainRequest, plainClient } from './plain-client.ts'
import { type Random, seeded } from './seeded.ts'
import type { Operation } from './slot-history.ts'

export interface SlotClients {
  /** Operations of each database, those that were not answered included. */
  histories: Map<string, Operation[]>
  /** 5xx that are neither a refusal nor an unknown outcome. */
  wrong: string[]
  count(): number
  stop(): Promise<void>
}

interface ClientOptions {
  party: Party
  /** The replicas of this moment. */
  urls(): string[]
  databases: string[]
  keys: string[]
  clients: number
  seed: number
}

interface WireSlot {
  key: string
  value: unknown
  version: number
}

type Planned = Pick<Operation, 'kind' | 'wants'> & {
  request: PlainRequest
  extra?: Partial<Operation>
  /** What a 200 says. */
  read(body: string): Partial<Operation>
}

const PAUSE_MS = 20

export function startSlotClients(options: ClientOptions): SlotClients {
  const histories = new Map<string, Operation[]>(options.databases.map((name) => [name, []]))
  const wrong: string[] = []
  const state = { isStopped: false, count: 0 }
  const running = Array.from({ length: options.clients }, (_, number) => run(options, number, histories, wrong, state))
  return {
    histories,
    wrong,
    count: () => state.count,
    async stop() {
      state.isStopped = true
      await Promise.all(running)
    },
  }
}

async function run(
  { party, urls, databases, keys, seed }: ClientOptions,
  number: number,
  histories: Map<string, Operation[]>,
  wrong: string[],
  state: { isStopped: boolean; count: number },
): Promise<void> {
  const random = seeded(seed + number)
  const client = plainClient()
  const makers = new Map(databases.map((name) => [name, operations({ party, random, number, database: name, keys })]))
  while (!state.isStopped) {
    const database = random.pick(databases)
    const maker = makers.get(database) as ReturnType<typeof operations>
    const { request, read, extra = {}, ...planned } = maker.next()
    const url = urls().length > 0 ? random.pick(urls()) : undefined
    const startedAt = performance.now()
    const answer: Outcome = url ? await client.send(url, request) : { kind: 'refused' }
    const endedAt = performance.now()
    state.count += 1
    const operation: Operation = {
      ...{ ...planned, ...extra, startedAt, endedAt, steps: [] },
      outcome: outcomeOf(answer),
      ...(answer.kind === 'answer' ? toldBy(planned, answer) : {}),
    }
    if (operation.outcome === 'open') operation.endedAt = Number.POSITIVE_INFINITY
    if (answer.kind === 'answer' && answer.status === 200) {
      Object.assign(operation, read(answer.body))
      maker.learn(operation, answer.body)
    }
    if (answer.kind === 'answer' && answer.status === 500 && operation.outcome !== 'open') wrong.push(answer.body)
    if (answer.kind === 'answer' && answer.status === 400)
      wrong.push(`${request.method} ${request.path}: ${answer.body}`)
    histories.get(database)?.push(operation)
    if (answer.kind === 'refused' || (answer.kind === 'answer' && answer.status === 503)) await sleep(PAUSE_MS)
  }
  client.close()
}

function outcomeOf(answer: Outcome): Operation['outcome'] {
  if (answer.kind === 'refused') return 'refused'
  if (answer.kind === 'silence') return 'open'
  if (answer.status === 200) return 'done'
  return answer.body.includes('"code":"OUTCOME_UNKNOWN"') ? 'open' : 'refused'
}

/** What a refusal says about the state. */
function toldBy(
  { kind, wants }: Pick<Operation, 'kind' | 'wants'>,
  { status, body }: Extract<Outcome, { kind: 'answer' }>,
): Partial<Operation> {
  const key = wants[0]?.key as string
  if (status === 412)
    return {
      told: {
        key,
        version: (JSON.parse(body) as { error: { details: { currentVersion: number | null } } }).error.details
          .currentVersion,
      },
    }
  if (status === 404 && kind !== 'restore') return { told: { key, version: null } }
  return {}
}

function operations({
  party,
  random,
  number,
  database,
  keys,
}: {
  party: Party
  random: Random
  number: number
  database: string
  keys: string[]
}) {
  const headers = { 'x-loci-capability': party.token, 'x-loci-database': database }
  const versions: { key: string; version: number }[] = []
  const tokens: string[] = []
  let count = 0
  const mark = () => {
    count += 1
    return `${number}.${count}`
  }
  const slot = (key: string) => `/v1/working-memory/slots/${key}`
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}): PlainRequest => ({
    ...{ method, path, headers: { ...headers, ...more } },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const oneStep = (text: string) => {
    const { key, version, value } = JSON.parse(text) as WireSlot
    return { steps: [{ key, version, value }] }
  }

  const put = (): Planned => {
    const [key, value] = [random.pick(keys), { put: mark() }]
    return { kind: 'put', wants: [{ key, value }], request: send('PUT', slot(key), { value }), read: oneStep }
  }
  const cas = (): Planned => {
    const { key, version } =
      versions.length > 0 ? random.pick(versions.slice(-3)) : { key: random.pick(keys), version: 1 }
    const value = { put: mark() }
    const request = send('PUT', slot(key), { value }, { 'if-match': `"${version}"` })
    return { kind: 'put', wants: [{ key, value }], request, extra: { ifMatch: version }, read: oneStep }
  }
  const patch = (): Planned => {
    const [key, change] = [random.pick(keys), { [`c${number}`]: mark() }]
    const request = send('PATCH', slot(key), { value: change })
    return { kind: 'patch', wants: [{ key }], request, extra: { patch: change }, read: oneStep }
  }
  const remove = (): Planned => {
    const key = random.pick(keys)
    const read = (text: string) => ({ steps: [{ key, version: (JSON.parse(text) as WireSlot).version }] })
    return { kind: 'delete', wants: [{ key }], request: send('DELETE', slot(key)), read }
  }
  const batch = (): Planned => {
    const [one, other, third] = [random.pick(keys), random.pick(keys), random.pick(keys)]
    const wants = [{ key: one, value: { put: mark() } }, { key: other, value: { put: mark() } }, { key: third }]
    const asked = wants.map(({ key, value }) => (value ? { op: 'put', key, value } : { op: 'delete', key }))
    const read = (text: string) => {
      const { results } = JSON.parse(text) as { results: { key: string; version: number; deleted?: boolean }[] }
      return {
        steps: results.flatMap(({ key, version, deleted }, at) =>
          deleted === false ? [] : [{ key, version, value: wants[at]?.value }],
        ),
      }
    }
    return {
      kind: 'batch',
      wants,
      request: send('POST', '/v1/working-memory/slots/batch', { operations: asked }),
      read,
    }
  }
  const clear = (): Planned => ({
    kind: 'clear',
    wants: [],
    request: send('POST', '/v1/working-memory/slots/clear'),
    read(text) {
      const { cleared, asOfSeq } = JSON.parse(text) as { cleared: number; asOfSeq: number }
      return { cleared, asOf: asOfSeq }
    },
  })
  const restored = (text: string) => ({
    steps: (JSON.parse(text) as { slots: WireSlot[] }).slots.map(({ key, version, value }) => ({
      key,
      version,
      value,
    })),
  })
  const restore = (): Planned => {
    const token = tokens.pop()
    const from = versions.length > 0 ? random.pick(versions) : { key: random.pick(keys), version: 1 }
    const path = '/v1/working-memory/slots/restore'
    const request = token ? send('POST', path, { undoToken: token }) : send('POST', path, from)
    return { kind: 'restore', wants: [], request, extra: token ? {} : { from }, read: restored }
  }
  const list = (): Planned => ({
    kind: 'list',
    wants: [],
    request: send('GET', '/v1/working-memory/slots'),
    read(text) {
      const {
        slots,
        count: length,
        asOfSeq,
      } = JSON.parse(text) as { slots: WireSlot[]; count: number; asOfSeq: number }
      if (length !== slots.length) return { asOf: -1 }
      return { asOf: asOfSeq, seen: new Map(slots.map(({ key, version, value }) => [key, { version, value }])) }
    },
  })
  const get = (): Planned => {
    const key = random.pick(keys)
    const read = (text: string) => {
      const { version, value } = JSON.parse(text) as WireSlot
      return { told: { key, version, value } }
    }
    return { kind: 'get', wants: [{ key }], request: send('GET', slot(key)), read }
  }
  return {
    next(): Planned {
      const dice = random()
      if (dice < 0.16) return put()
      if (dice < 0.3) return cas()
      if (dice < 0.5) return patch()
      if (dice < 0.58) return remove()
      if (dice < 0.68) return batch()
      if (dice < 0.71) return clear()
      if (dice < 0.77) return restore()
      return dice < 0.9 ? list() : get()
    },
    learn({ kind, steps }: Operation, body: string) {
      for (const { key, version, value } of steps) if (value !== undefined) versions.push({ key, version })
      if (versions.length > 200) versions.splice(0, 100)
      const token = kind === 'clear' ? (JSON.parse(body) as { undo: { token: string } | null }).undo?.token : undefined
      if (token) tokens.push(token)
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
