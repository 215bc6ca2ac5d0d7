// A session of the OpenAI Agents SDK: one entry for each item, numbered, so that the last ones are read without the
// others. Every change is a batch of the key-value store, all or nothing, over exactly what was read: of two writers
// one begins anew. Keys are those of the adapter for Python: both read one session.

import { createHash } from 'node:crypto'
import { LociError, type User } from '@locihq/sdk'
import type {
  AgentInputItem,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents'

type Operations = Parameters<User['kv']['batch']>[0]
type Kept = { key: string; value?: unknown; version: number }

const DIGITS = 12
const BATCH_MAX = 100
const PAGE = 1_000
/** Each lost race is one that another writer won. */
const RACES_MAX = 1_000
/** For as long a transaction may be repeated: a run that waits for a person's consent is resumed days later. */
const TRANSACTION_MS = 30 * 24 * 3_600_000

export class LociSession implements SessionHistoryTransactionAwareSession {
  readonly #id: string
  readonly #user: User
  readonly #items: string
  readonly #done: string

  /** A conversation of the user. Two users may have sessions of one name, and never see each other's. */
  constructor(id: string, user: User) {
    const name = id.replaceAll('%', '%25').replaceAll('/', '%2F')
    this.#id = id
    this.#user = user
    this.#items = `session/${name}/`
    this.#done = `session-done/${name}/`
  }

  async getSessionId(): Promise<string> {
    return this.#id
  }

  /** The latest, the oldest of them first. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return (await this.#latest(limit)).map(({ value }) => value as AgentInputItem)
  }

  /** A hundred at a time. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    for (let at = 0; at < items.length; at += BATCH_MAX)
      await this.#change(async () => this.#appended(await this.#latest(1), items.slice(at, at + BATCH_MAX)))
  }

  /** Nobody else gets it. */
  async popItem(): Promise<AgentInputItem | undefined> {
    let last: Kept | undefined
    await this.#change(async () => {
      last = (await this.#latest(1))[0]
      return last ? [{ op: 'delete', key: last.key, ifVersion: last.version }] : []
    })
    return last?.value as AgentInputItem | undefined
  }

  async clearSession(): Promise<void> {
    for (const prefix of [this.#items, this.#done]) {
      const entries = await this.#user.kv.list({ prefix, keysOnly: 'true', limit: PAGE }).all()
      for (let at = 0; at < entries.length; at += BATCH_MAX)
        await this.#user.kv.batch(entries.slice(at, at + BATCH_MAX).map(({ key }) => ({ op: 'delete', key })))
    }
  }

  /**
   * Atomic, and done once for each operationId. That is no Idempotency-Key, which the client makes for each call: a
   * repeat is another body where items came in between, and may come when the answer of a day is gone. So the operation
   * is an entry of the same batch. A transaction has at most 98 items.
   */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    const key = this.#done + digestOf(operationId)
    const value = digestOf(transaction)
    await this.#change(async () => {
      const done = await this.#user.kv.get(key)
      if (done?.value === value) return []
      if (done) throw refusal('The operationId was used for another transaction.')
      const written: Operations =
        transaction.type === 'append_items'
          ? this.#appended(await this.#latest(1), transaction.items)
          : this.#replaced(await this.#latest(transaction.expectedSuffix.length || 1), transaction)
      return [...written, { op: 'put', key, value, ifVersion: 0, ttlMs: TRANSACTION_MS }]
    })
  }

  async #latest(limit = Number.POSITIVE_INFINITY): Promise<Kept[]> {
    if (limit <= 0) return []
    const listed = this.#user.kv.list({ prefix: this.#items, order: 'desc', limit: Math.min(limit, PAGE) })
    return (await listed.all(limit)).reverse()
  }

  /** Version 0: there is none of this number yet. */
  #appended(latest: Kept[], items: AgentInputItem[]): Operations {
    const first = this.#numberOf(latest.at(-1)) + 1
    return items.map((value, at) => ({ op: 'put', key: this.#keyOf(first + at), value, ifVersion: 0 }))
  }

  #replaced(
    latest: Kept[],
    { expectedSuffix, replacement }: { expectedSuffix: AgentInputItem[]; replacement: AgentInputItem[] },
  ): Operations {
    if (expectedSuffix.length === 0) return this.#appended(latest, replacement)
    if (digestOf(latest.map(({ value }) => value)) !== digestOf(expectedSuffix))
      throw refusal('The session does not end with the items that are to be replaced.')
    const kept = latest
      .slice(0, replacement.length)
      .map(({ key, version }, at) => ({ op: 'put', key, ifVersion: version, value: replacement[at] }) as const)
    const gone = latest
      .slice(replacement.length)
      .map(({ key, version }) => ({ op: 'delete', key, ifVersion: version }) as const)
    const more = this.#appended(latest, replacement.slice(latest.length))
    // Nobody has added an item behind these.
    const end = { op: 'delete', key: this.#keyOf(this.#numberOf(latest.at(-1)) + 1), ifVersion: 0 } as const
    return [...kept, ...gone, ...(more.length > 0 ? more : [end])]
  }

  /** `read` says what to write over what it has read. */
  async #change(read: () => Promise<Operations>): Promise<void> {
    for (let races = 0; races < RACES_MAX; races += 1) {
      const operations = await read()
      if (operations.length === 0) return
      try {
        await this.#user.kv.batch(operations)
        return
      } catch (error) {
        if (!(error instanceof LociError && error.code === 'VERSION_CONFLICT')) throw error
      }
    }
    throw refusal(`Too many write to the session ${this.#id}; give each writer a session of its own.`)
  }

  #keyOf(number: number): string {
    return this.#items + String(number).padStart(DIGITS, '0')
  }

  #numberOf(kept: Kept | undefined): number {
    return kept ? Number(kept.key.slice(this.#items.length)) : 0
  }
}

function refusal(message: string): LociError {
  return new LociError('VERSION_CONFLICT', message, { status: 0 })
}

/** Of equal values, in whatever order their members stand. */
function digestOf(value: unknown): string {
  const sorted = (_: string, one: unknown) =>
    one instanceof Object && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).toSorted()) : one
  return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex')
}
