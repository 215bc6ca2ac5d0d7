// When each credential was last used, until it is written down: the newest moment of each, at most once a minute each,
// and never on the way of a request.

import type { Job } from './jobs.ts'

export interface LastUse {
  id: string
  /** Whose it is, where that is needed to write it down. */
  owner: string
  at: number
}

export interface LastUses {
  note(id: string, owner?: string): void
  /** Those that may be written now. One that was taken less than a minute ago waits for its minute. */
  take(options?: { isLast?: boolean }): LastUse[]
  /** They could not be written: they stay, unless there is newer. */
  giveBack(uses: LastUse[]): void
}

const EACH_MS = 60_000
/** Beyond it new ones are dropped until some were saved: a time of last use is not worth the memory. */
const NOTED_MAX = 100_000

export function createLastUses(nowMs: () => number = Date.now): LastUses {
  const noted = new Map<string, LastUse>()
  const takenAt = new Map<string, number>()
  return {
    note(id, owner = '') {
      const known = noted.get(id)
      if (known) known.at = nowMs()
      else if (noted.size < NOTED_MAX) noted.set(id, { id, owner, at: nowMs() })
    },
    take({ isLast = false } = {}) {
      const now = nowMs()
      for (const [id, at] of takenAt) if (now - at >= EACH_MS) takenAt.delete(id)
      const uses = [...noted.values()].filter(({ id }) => isLast || !takenAt.has(id))
      for (const { id } of uses) {
        noted.delete(id)
        takenAt.set(id, now)
      }
      return uses
    },
    giveBack(uses) {
      for (const use of uses) {
        takenAt.delete(use.id)
        if (!noted.has(use.id)) noted.set(use.id, use)
      }
    },
  }
}

export function lastUsesJob(uses: LastUses, write: (taken: LastUse[]) => Promise<void>): Job {
  return {
    name: 'last use',
    everyMs: 5_000,
    failure: 'last use of credentials not saved; retrying',
    run: () => writeLastUses(uses, write),
    last: () => writeLastUses(uses, write, { isLast: true }),
  }
}

/** Takes what is due and writes it; what could not be written is given back, and the failure goes on. */
export async function writeLastUses(
  uses: LastUses,
  write: (taken: LastUse[]) => Promise<void>,
  options?: { isLast?: boolean },
): Promise<void> {
  const taken = uses.take(options)
  if (taken.length === 0) return
  await write(taken).catch((error) => {
    uses.giveBack(taken)
    throw error
  })
}
