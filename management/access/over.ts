// Requests that were refused for the rate of their API key a moment ago are refused again without asking. To find the
// key and its bucket takes two connections of the database in turn, and a caller with its share of the slots held all
// of them: beside 900 connections of one key everybody else's p99 was six times that of a quiet hour. When the moment
// is over one of them asks again, and the others hear what it was told: all at once, they held the connections again.

import { hash } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'

/** `asked`: the credential, with all else that access decides by. */
export interface Over {
  /** Throws the refusal that this was answered with. */
  requireNot(asked: string): void
  note(asked: string, error: unknown): void
  /** It was let in. */
  forget(asked: string): void
}

/** A key that is deleted while it is over its rate is 401 so much later. */
const REMEMBERED_MS = 250
const REMEMBERED_MAX = 1_000
/** So long after its moment is over a refusal lets one through at a time. */
const DOUBTED_MS = 5_000

export function createOver(nowMs: () => number): Over {
  const refused = createCache<{ refusal: ApiError; until: number }>(REMEMBERED_MAX)
  const digestOf = (asked: string) => hash('sha256', asked, 'base64')
  let lastUntil = 0
  return {
    requireNot(asked) {
      const now = nowMs()
      if (now >= lastUntil + DOUBTED_MS) return
      const last = refused.find(digestOf(asked))
      if (!last || now >= last.until + DOUBTED_MS) return
      if (now < last.until) throw last.refusal
      last.until = now + REMEMBERED_MS
      lastUntil = Math.max(lastUntil, last.until)
    },
    note(asked, error) {
      if (!(error instanceof ApiError && error.code === 'RATE_LIMITED')) return
      lastUntil = nowMs() + Math.min(REMEMBERED_MS, error.retryAfterMs ?? REMEMBERED_MS)
      refused.keep(digestOf(asked), { refusal: error, until: lastUntil })
    },
    forget(asked) {
      if (nowMs() < lastUntil + DOUBTED_MS) refused.drop(digestOf(asked))
    },
  }
}
