// Things by key with versions, as the key-value store and the slots of a database have them. A version is the number of
// the write in its database.

import { missing, Refusal, requireKey } from './answers.ts'

export interface Versioned {
  key: string
  version: number
  expiresAt: string | null
}

/** What the headers of a request demand. */
export interface Demand {
  ifMatch?: string | null
  ifNoneMatch?: string | null
}

export interface Numbers {
  next(): number
}

export class Versions<Item extends Versioned> {
  items = new Map<string, Item>()
  readonly #what: string

  constructor(what: string) {
    this.#what = what
  }

  get(key: string): Item {
    requireKey(key)
    return this.find(key) ?? fail(missing(this.#what))
  }

  find(key: string): Item | undefined {
    const item = this.items.get(key)
    if (!item || item.expiresAt === null || Date.parse(item.expiresAt) > Date.now()) return item
    this.items.delete(key)
    return undefined
  }

  all(): Item[] {
    return [...this.items.keys()].flatMap((key) => this.find(key) ?? [])
  }

  /** The item there is, if the demand holds. */
  require(key: string, { ifMatch, ifNoneMatch }: Demand = {}): Item | undefined {
    requireKey(key)
    const item = this.find(key)
    const held = ifMatch == null || (ifMatch === '*' ? item !== undefined : ifMatch === `"${item?.version}"`)
    if (!held || (ifNoneMatch === '*' && item))
      throw new Refusal(412, 'VERSION_CONFLICT', `The current version is ${item?.version ?? 'none'}.`)
    return item
  }

  delete(key: string, numbers: Numbers, demand: Demand = {}): { deleted: true; key: string; version: number } {
    const item = this.require(key, demand)
    if (!item) throw missing(this.#what)
    this.items.delete(key)
    return { deleted: true, key, version: numbers.next() }
  }

  /** All of it, or what was there before and the refusal. */
  together<T>(work: () => T): T {
    const before = new Map(this.items)
    try {
      return work()
    } catch (error) {
      this.items = before
      throw error
    }
  }
}

export function endOf(ttlMs: number | null | undefined): string | null {
  return ttlMs == null ? null : new Date(Date.now() + ttlMs).toISOString()
}

function fail(error: Error): never {
  throw error
}
