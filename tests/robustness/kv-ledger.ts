// What the clients of a cell know about their writes, and what the tables must therefore hold.
//
//   ack        a 2xx whose body was read whole: holds for ever
//   ambiguous  500 OUTCOME_UNKNOWN, or no whole answer because a process or the network died: may hold or not, and may
//   be repeated
//   definite   any other answer, or nobody listened: did nothing
//
// Each key belongs to one writer, so the order of its writes is known. After an ambiguous write a key is only ever
// written with the same value again: a statement whose sender died may still take effect later.

export interface Change {
  /** `<instance> <database> <key>` */
  id: string
  /** JSON text; null = deleted. */
  value: string | null
}

export interface Ledger {
  acked: number
  definite: number
  ambiguous: number
  /** Ambiguous writes that were sent again until they were answered. */
  resolved: number
  /** Acknowledged batches that were sent again and answered from the store. */
  replayed: number
  /** What an answer said that cannot be. */
  contradictions: string[]
  ack(changes: Change[]): void
  fail(changes: Change[]): void
  doubt(changes: Change[]): void
  resolve(changes: Change[]): void
}

export interface Verdict {
  keys: number
  lost: string[]
  /** A definite failure that took effect all the same. */
  tookEffect: string[]
  strangers: string[]
  /** Writes of unknown outcome of which a part took effect. */
  half: string[]
}

export interface KeptLedger extends Ledger {
  /** `rows` = everything that is stored, by id. */
  verify(rows: Map<string, string>): Verdict
}

interface Known {
  possible: Set<string | null>
  refused: Set<string | null>
}

export function openLedger(): KeptLedger {
  const known = new Map<string, Known>()
  const of = (id: string): Known => {
    const found = known.get(id) ?? { possible: new Set([null]), refused: new Set() }
    known.set(id, found)
    return found
  }
  const doubted = new Set<Change[]>()
  const ledger: KeptLedger = {
    acked: 0,
    definite: 0,
    ambiguous: 0,
    resolved: 0,
    replayed: 0,
    contradictions: [],
    ack(changes) {
      ledger.acked += changes.length
      for (const { id, value } of changes) of(id).possible = new Set([value])
    },
    fail(changes) {
      ledger.definite += changes.length
      for (const { id, value } of changes) of(id).refused.add(value)
    },
    doubt(changes) {
      ledger.ambiguous += changes.length
      doubted.add(changes)
      for (const { id, value } of changes) of(id).possible.add(value)
    },
    resolve(changes) {
      ledger.resolved += changes.length
      doubted.delete(changes)
      ledger.ack(changes)
    },
    verify(rows) {
      const verdict: Verdict = { keys: known.size, lost: [], tookEffect: [], strangers: [], half: [] }
      for (const [id, { possible, refused }] of known) {
        const stored = rows.get(id) ?? null
        if (possible.has(stored)) continue
        const line = `${id}: stored ${stored}, possible ${[...possible].join(' or ')}`
        if (refused.has(stored)) verdict.tookEffect.push(line)
        else verdict.lost.push(line)
      }
      // Nothing of a write in doubt is written again but by its own repeat: what it has done still stands.
      for (const changes of doubted) {
        const done = changes.filter(({ id, value }) => (rows.get(id) ?? null) === value)
        if (done.length > 0 && done.length < changes.length)
          verdict.half.push(`${done.length} of ${changes.length}: ${changes.map(({ id }) => id).join(', ')}`)
      }
      for (const id of rows.keys()) if (!known.has(id)) verdict.strangers.push(id)
      return verdict
    },
  }
  return ledger
}
