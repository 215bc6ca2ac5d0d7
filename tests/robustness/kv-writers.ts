// Writers of entries, or of what else is named, that never pause but when they are refused, each with a ledger of what
// it was told.

import type { Change, Ledger } from './kv-ledger.ts'
import { type Outcome, type PlainRequest, plainClient } from './plain-client.ts'
import { type Random, seeded } from './seeded.ts'

export interface Party {
  instanceId: string
  token: string
}

export interface WritersOptions {
  parties: Party[]
  /** The replicas of this moment. */
  urls(): string[]
  ledger: Ledger
  writers: number
  seed: number
  /** Of databases and values: two runs on one cell must not meet. */
  name: string
  /** What a writer does; entries unless another is given. */
  make?: (writer: Writer) => Maker
}

/** One of several, which has keys of its own. */
export interface Writer {
  party: Party
  random: Random
  number: number
  name: string
}

export interface Maker {
  next(): Operation
  /** Acknowledged: may be changed later. Whatever failed or is in doubt never comes back here. */
  hold(changes: Change[], body: string): void
}

export interface Writers {
  /** When the last write was acknowledged, by performance.now(). */
  lastAckAt(): number
  slowestMs(): number
  stop(): Promise<void>
}

export interface Operation {
  changes: Change[]
  request: PlainRequest
  /** Answers besides 2xx that say that what was asked for holds. */
  alsoDone?: number[]
  /** The answer that says that it was refused by what is stored; 412 unless it is another. */
  refusal?: number
  /** It has nothing that would make a repeat the same act: what is in doubt stays so. */
  isOnce?: boolean
  /** Of a read: what its answer says that cannot be. */
  wrongIn?(body: string): string | undefined
}

const BATCH_PUTS = 16
const REFUSED_PAUSE_MS = 25
/** How long an ambiguous write is repeated before the test says that it cannot be. */
const REPEAT_MS_MAX = 120_000

export function startWriters(options: WritersOptions): Writers {
  const state = { isStopped: false, lastAckAt: 0, slowestMs: 0 }
  const running = Array.from({ length: options.writers }, (_, number) => run(options, number, state))
  return {
    lastAckAt: () => state.lastAckAt,
    slowestMs: () => Math.round(state.slowestMs),
    async stop() {
      state.isStopped = true
      await Promise.all(running)
    },
  }
}

async function run(
  { parties, urls, ledger, seed, name, make: maker = operations }: WritersOptions,
  number: number,
  state: { isStopped: boolean; lastAckAt: number; slowestMs: number },
): Promise<void> {
  const random = seeded(seed + number)
  const client = plainClient()
  const party = parties[number % parties.length] as Party
  const make = maker({ party, random, number, name })
  const ask = async (request: PlainRequest): Promise<Outcome> => {
    const known = urls()
    if (known.length === 0) return { kind: 'refused' }
    const startedAt = performance.now()
    const outcome = await client.send(random.pick(known), request)
    state.slowestMs = Math.max(state.slowestMs, performance.now() - startedAt)
    return outcome
  }
  while (!state.isStopped) {
    const operation = make.next()
    const outcome = await ask(operation.request)
    if (isDone(outcome, operation)) {
      ledger.ack(operation.changes)
      const body = outcome.kind === 'answer' ? outcome.body : ''
      make.hold(operation.changes, body)
      const wrong = operation.wrongIn?.(body)
      if (wrong !== undefined) ledger.contradictions.push(wrong)
      state.lastAckAt = performance.now()
      if (operation.request.headers?.['idempotency-key'] && random.chance(0.1))
        await replay(ask, operation, outcome, ledger)
    } else if (outcome.kind === 'silence' || isUnknown(outcome)) {
      ledger.doubt(operation.changes)
      if (!operation.isOnce && random.chance(0.5)) await repeat(ask, operation, ledger)
    } else {
      ledger.fail(operation.changes)
      if (outcome.kind === 'answer' && outcome.status === 500) ledger.contradictions.push(shown(outcome))
      else if (outcome.kind === 'refused' || outcome.status >= 429) await sleep(REFUSED_PAUSE_MS)
      // Its claim met a lock that was not given in time: nothing was done, and it says when to come again.
      else if (isInProgress(outcome)) await sleep(REFUSED_PAUSE_MS)
      else if (outcome.status !== (operation.refusal ?? 412))
        ledger.contradictions.push(`${operation.request.method}: ${shown(outcome)}`)
    }
  }
  client.close()
}

type Ask = (request: PlainRequest) => Promise<Outcome>

/** Until it is done. A refusal of a repeat says that the repeat did nothing; of the first one nothing is known yet. */
async function repeat(ask: Ask, operation: Operation, ledger: Ledger): Promise<void> {
  const until = performance.now() + REPEAT_MS_MAX
  for (;;) {
    const outcome = await ask(operation.request)
    if (isDone(outcome, operation)) return ledger.resolve(operation.changes)
    // Refused by its If-Match, as the first was or would have been: neither has done anything.
    if (outcome.kind === 'answer' && outcome.status === 412 && operation.request.headers?.['if-match']) return
    const isWorthTrying = outcome.kind !== 'answer' || outcome.status >= 429 || outcome.status === 409
    if (!isWorthTrying || performance.now() > until) {
      ledger.contradictions.push(`an ambiguous ${operation.request.method} could not be repeated: ${shown(outcome)}`)
      return
    }
    await sleep(REFUSED_PAUSE_MS)
  }
}

/** An acknowledged batch once more: the same answer, and marked. */
async function replay(ask: Ask, { request }: Operation, first: Outcome, ledger: Ledger): Promise<void> {
  const second = await ask(request)
  if (second.kind !== 'answer' || second.status >= 429 || second.status === 409) return
  ledger.replayed += 1
  const isSame = first.kind === 'answer' && second.status === 200 && second.body === first.body
  if (!isSame || second.headers['idempotent-replayed'] !== 'true')
    ledger.contradictions.push(`a replay differs from the first answer: ${shown(second)}`)
}

function isDone(outcome: Outcome, { alsoDone }: Operation): boolean {
  if (outcome.kind !== 'answer') return false
  return (outcome.status >= 200 && outcome.status < 300) || (alsoDone?.includes(outcome.status) ?? false)
}

function isUnknown(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && outcome.status === 500 && outcome.body.includes('"code":"OUTCOME_UNKNOWN"')
}

function isInProgress(outcome: Outcome): boolean {
  return (
    outcome.kind === 'answer' && outcome.status === 409 && outcome.body.includes('"code":"IDEMPOTENCY_IN_PROGRESS"')
  )
}

function shown(outcome: Outcome): string {
  return outcome.kind === 'answer' ? `${outcome.status} ${outcome.body.slice(0, 200)}` : outcome.kind
}

function operations({ party, random, number, name }: Writer): Maker {
  const database = `${name}-${number % 4}`
  const headers = { 'x-loci-capability': party.token, 'x-loci-database': database }
  const live: string[] = []
  let count = 0
  const idOf = (key: string) => `${party.instanceId} ${database} ${key}`
  const nextCount = () => {
    count += 1
    return count
  }
  const newKey = () => `w${number}:${nextCount()}`
  const newValue = () => `${name}.${number}.${nextCount()}.${random.text(16)}`
  const takeLive = () => live.splice(random.below(live.length), 1)[0] as string
  const path = (key: string) => `/v1/kv/entries/${encodeURIComponent(key)}`

  const put = (key: string, extra: Record<string, string> = {}): Operation => {
    const value = newValue()
    return {
      changes: [{ id: idOf(key), value: JSON.stringify(value) }],
      request: { method: 'PUT', path: path(key), headers: { ...headers, ...extra }, body: JSON.stringify({ value }) },
    }
  }
  const remove = (key: string): Operation => ({
    changes: [{ id: idOf(key), value: null }],
    request: { method: 'DELETE', path: path(key), headers },
    // The key was there and is nobody else's: a repeat that does not find it was done before.
    alsoDone: [404],
  })
  const batch = (): Operation => {
    const puts = Array.from({ length: BATCH_PUTS }, () => ({ op: 'put', key: newKey(), value: newValue() }))
    const deletes = live.length > 20 && random.chance(0.5) ? [{ op: 'delete', key: takeLive() }] : []
    const all: { op: string; key: string; value?: string }[] = [...puts, ...deletes]
    return {
      changes: all.map(({ key, value }) => ({
        id: idOf(key),
        value: value === undefined ? null : JSON.stringify(value),
      })),
      request: {
        method: 'POST',
        path: '/v1/kv/entries/batch',
        headers: { ...headers, 'idempotency-key': `${name}-${number}-${nextCount()}` },
        body: JSON.stringify({ operations: all }),
      },
    }
  }
  return {
    next(): Operation {
      const dice = random()
      if (dice < 0.25) return batch()
      if (live.length > 20 && dice < 0.4) return put(takeLive())
      if (live.length > 20 && dice < 0.5) return remove(takeLive())
      // No entry ever has this version: refused, and without effect.
      if (dice < 0.55) return put(newKey(), { 'if-match': '"999999999999"' })
      return put(newKey())
    },
    hold(changes) {
      for (const { id, value } of changes) if (value !== null) live.push(id.slice(idOf('').length))
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
