// The states that this replica has folded, one for each database that was asked about lately. Each rank reads what was
// told since and folds it, so every replica answers from the same outcomes; where a state begins (nothing, a snapshot,
// another snapshot) makes no difference. A state is given up and begun again when the database was made anew or went
// back to an earlier moment (a restore), when content of an outcome was erased, or when what a retraction takes back is
// known neither here nor in the snapshot.

import { ApiError } from '@loci/chassis/api-error.ts'
import { createTurn, inTurns } from '@loci/chassis/turn.ts'
import { createShare } from '@loci/meter/share.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import { KeptEvidence, type Shown } from './evidence.ts'
import { type Candidate, Catalogue } from './fold/catalogue.ts'
import { apply, type Ledger, type Told } from './fold/fold.ts'
import { openSnapshot, takeSnapshot } from './fold/snapshot.ts'
import { type AdviceState, emptyState } from './fold/state.ts'
import { type Words, wordsOf } from './fold/words.ts'
import { listPassed, type Passed, passUntil } from './passed.ts'
import { scopeKeyOf } from './scope.ts'
import { type NewWeight, readSnapshot, readTail, saveSnapshot, type Tail, type ToldRow } from './store.ts'

/** Projections that are read and folded at once: others are served in between. */
const PAGE = 256
/** What the states may take together, of the 256 MB of a process. The one in use stays, however large it is. */
const BYTES_MAX = 32 * 1024 * 1024
/** Restarts of a fold before it gives up: writes outpace it. */
const BEGINNINGS_MAX = 3
const CATALOGUES_MAX = 4
/** At the same time; measured with 16: 680 MB. */
const OPENINGS_MAX = 2
/** Well below the deadline of a request; whoever it is for is told to come again. */
const OPENING_WAIT_MS = 8_000
/** They share the memory of the process, whoever asks. */
const ALL = 'all'

export interface Known {
  life: string
  /** The last projection in the state: not the number of the head, under which a restore may put another one. */
  seq: number
  /** Of that projection; null: not read yet. */
  mark: string | null
  /** The number of the head when it was last read: what is shown as evidence goes up to it. */
  through: number
  /** What the head said of its projections then; null: not read yet. */
  head: string | null
  erasedAt: number
  state: AdviceState
  /** By seq: what was told behind the stored snapshot. */
  ledger: Ledger
  /** What is left of outcomes whose projections have left, by their numbers; none where a snapshot has it. */
  passed: Passed[]
  /** What the ledger has let go of, because a snapshot had it: up to this number. */
  stored: number
  /** The snapshot whose rows hold for the tools that have not changed; null: none. */
  base: number | null
  catalogues: Map<string, Catalogue>
  evidence: KeptEvidence
  /** As it was counted last. */
  bytes: number
  /** While somebody folds: who would read or fold on waits for it. */
  folding: Promise<unknown> | null
  /** By this process's clock, when it first had everything since it was begun; until then Infinity. */
  completeAt: number
}

type Read = Pick<Tail, 'policy' | 'fallback' | 'now' | 'head'> & { known: Known }

export function createAdviceStates({ bytesMax = BYTES_MAX } = {}) {
  /** The least recently used first. */
  const states = new Map<string, Known>()
  const opened = new Map<string, Promise<Known>>()
  const openings = createShare({ each: () => OPENINGS_MAX, waitMs: OPENING_WAIT_MS, refusal: crowded })
  let bytes = 0

  return { read, save }

  /** The state of a database that has all that was told when this was asked, and the policies of that moment. */
  async function read(sql: Sql, place: Due, policy?: string): Promise<Read> {
    const name = `${place.instanceId}/${place.database}`
    const askedAt = performance.now()
    for (let beginnings = 0; ; ) {
      const known = states.get(name)
      if (known?.folding) {
        await known.folding
        continue
      }
      // As it is now: others fold on meanwhile, and what is read is no older than this.
      const before = known && { ...known }
      const { seq: after = 0, head = null } = known ?? {}
      const tail = await readTail(sql, place, { after, limit: known ? PAGE : 0, policy, head })
      if (tail.life === null) {
        drop(name)
        return { ...tail, known: unknown() }
      }
      // Another request may have folded on meanwhile; what it has folded is left out. One that had to make room for
      // others is still good.
      const isHeld = () => (states.get(name) ?? known) === known
      if (known && isHeld() && before && isContinued(before, tail, askedAt) && (await folded(known, tail))) {
        // Somebody has begun it again meanwhile.
        if (!isHeld()) continue
        if (known.seq === before.seq && !tail.isSame) known.mark = tail.mark
        if (tail.isCut) continue
        known.head = tail.head
        known.through = Math.max(known.through, tail.seq)
        known.completeAt = Math.min(known.completeAt, performance.now())
        keep(name, known)
        return { ...tail, known }
      }
      if (states.get(name) !== known) continue
      drop(name)
      if (beginnings++ === BEGINNINGS_MAX) throw new Error('a state of advice could not be continued as it was begun')
      const begun = await beginOnce(sql, place, { life: tail.life, erasedAt: tail.erasedAt })
      // Who waited for the same may have folded on by now.
      if (!states.has(name)) keep(name, begun)
    }
  }

  /** A snapshot is opened once, however many ask at the same time. */
  function beginOnce(sql: Sql, place: Due, moment: { life: string; erasedAt: number }): Promise<Known> {
    const name = JSON.stringify([place, moment])
    const opening = opened.get(name) ?? inLane(() => begin(sql, place, moment)).finally(() => opened.delete(name))
    opened.set(name, opening)
    return opening
  }

  /** What is being opened counts nowhere, and takes a multiple of its state: few at a time. */
  async function inLane(work: () => Promise<Known>): Promise<Known> {
    await openings.enter(ALL)
    try {
      return await work()
    } finally {
      openings.leave(ALL)
    }
  }

  function keep(name: string, known: Known): void {
    drop(name)
    known.bytes = bytesOf(known)
    bytes += known.bytes
    states.set(name, known)
    for (const oldest of states.keys()) {
      if (bytes <= bytesMax || oldest === name) break
      drop(oldest)
    }
  }

  function drop(name: string): void {
    bytes -= states.get(name)?.bytes ?? 0
    states.delete(name)
  }

  /** For due work `advice`. */
  async function save(pool: Pool, due: Due): Promise<void> {
    for (let attempts = 0; attempts < BEGINNINGS_MAX; attempts++) {
      const { known } = await read(pool, due)
      const snapshot = await alone(known, async () => {
        const taken = await inTurns(snapshotOf(known))
        // Until it is known to be stored, nothing is known of what is: the next one is written whole. Said before
        // others come in: a second snapshot of the same state has none of the tools that this one has.
        known.base = null
        return taken
      })
      if ((await saveSnapshot(pool, due, snapshot)) === 'moved') continue
      known.base = snapshot.seq
      return
    }
    throw new Error('writes of the database overtook the snapshot of its advice; it is due again')
  }
}

export type AdviceStates = ReturnType<typeof createAdviceStates>

function crowded(): ApiError {
  return new ApiError('OVERLOADED', 'Advice of other databases is being read first. Nothing was done; try again.', {
    retryAfterMs: 1_000,
  })
}

/** Of a database that does not exist. */
function unknown(): Known {
  const empty = { life: '', seq: 0, mark: null, through: 0, head: null, erasedAt: 0, stored: 0, base: null }
  const idle = { bytes: 0, folding: null, completeAt: Number.POSITIVE_INFINITY }
  const made = {
    state: emptyState(),
    ledger: new Map(),
    catalogues: new Map(),
    evidence: new KeptEvidence(),
    passed: [],
  }
  return { ...empty, ...idle, ...made }
}

async function begin(sql: Sql, place: Due, { life, erasedAt }: { life: string; erasedAt: number }): Promise<Known> {
  const stored = await readSnapshot(sql, place)
  // Of another moment: what an erased outcome had added is still in it.
  const state = stored?.erasedAt === erasedAt ? await inTurns(openSnapshot(stored.head, stored.tools)) : null
  if (!stored || !state) return { ...unknown(), life, erasedAt, passed: await listPassed(sql, place) }
  return { ...unknown(), life, erasedAt, state, seq: stored.seq, stored: stored.seq, base: stored.seq }
}

/**
 * Is what was read the continuation of what was known? After a restore there is no projection under the number of the
 * last, or another one; and where the last is still there, perhaps an older snapshot, without the weights that the
 * ledger has let go of. An erasure during the first fold is applied by the next read:
 * otherwise a database whose content is erased faster than it is folded would never get an answer.
 */
function isContinued(known: Known, { life, erasedAt, isSame, mark, snapshotSeq }: Tail, askedAt: number): boolean {
  return (
    known.life === life &&
    (known.erasedAt === erasedAt || askedAt < known.completeAt) &&
    (isSame || known.mark === null || known.mark === mark) &&
    known.stored <= (snapshotSeq ?? 0)
  )
}

/** One after the other: between two projections others are served, and the state is of no moment that was read. */
async function folded(known: Known, tail: Tail): Promise<boolean> {
  return alone(known, () => foldInTurns(known, tail))
}

async function alone<Value>(known: Known, work: () => Promise<Value>): Promise<Value> {
  while (known.folding) await known.folding
  const working = work()
  known.folding = working.catch(() => {})
  return working.finally(() => {
    known.folding = null
  })
}

/** Returns false if a retraction names an outcome whose weights are unknown; the caller then rebuilds the state. */
async function foldInTurns(known: Known, tail: Tail): Promise<boolean> {
  const { told, taken, snapshotSeq, snapshotErasedAt, erasedAt } = tail
  const { ledger, state } = known
  // Also of what is told here and known already: the ledger may have let go of it since this was asked.
  const before = new Map([...taken, ...told].map((row) => [row[0], row]))
  const turn = createTurn()
  for (const row of told) {
    await turn()
    const [seq, , , , , tools, takesBack, isVoid, weights, shown] = row
    if (seq <= known.seq) continue
    passUntil(state, known.passed, seq)
    const target = String(takesBack)
    if (takesBack !== null && !ledger.has(target)) {
      const entry = before.get(takesBack)
      if (entry && !entry[8] && takesBack > (snapshotSeq ?? 0)) return false
      if (entry) ledger.set(target, entryOf(entry))
    }
    const isErased = tools.length === 0 && weights !== null
    if (isVoid || isErased) ledger.set(String(seq), { told: null, weights: [], isTakenBack: true })
    if (takesBack !== null) hide(known, target)
    const told = toldOf(row)
    apply(state, told, ledger)
    show(known, seq, told, shown)
    known.seq = seq
    known.through = Math.max(known.through, seq)
  }
  if (!tail.isCut) passUntil(state, known.passed, Number.POSITIVE_INFINITY)
  if (known.seq === told.at(-1)?.[0]) known.mark = tail.lastMark
  // What a snapshot of this lineage has is stored with it.
  const isOwn = snapshotErasedAt === erasedAt && erasedAt === known.erasedAt
  const stored = isOwn ? Math.min(snapshotSeq ?? 0, known.seq) : 0
  for (const id of ledger.keys()) if (Number(id) <= stored) ledger.delete(id)
  known.stored = Math.max(known.stored, stored)
  return true
}

/** What is taken back is evidence no longer. */
function hide({ ledger, evidence }: Known, id: string): void {
  const told = ledger.get(id)?.told
  if (told)
    evidence.takeBack(
      told.taskClass,
      told.tools.map(({ tool }) => tool),
    )
}

function show({ ledger, evidence }: Known, seq: number, told: Told, shown: Shown | null): void {
  const { weights = [], isTakenBack = true } = ledger.get(told.id) ?? {}
  const { taskClass, scope, tools } = told
  const outcomeAt = (place: number) => tools[place]?.outcome ?? ''
  evidence.add({ seq, taskClass, scope, isTakenBack, weights, outcomeAt, shown })
}

function toldOf([seq, partner, taskClass, text, scope, tools, takesBack, , weights]: ToldRow): Told {
  const erased = tools.length === 0 ? (weights ?? []) : []
  let words: Words | null = null
  return {
    id: String(seq),
    partner,
    taskClass,
    scope: scopeKeyOf(scope),
    /** Analysed when the fold asks for it: most outcomes of a large database teach nothing. */
    get intent() {
      if (text === null || words !== null) return words
      words = wordsOf(text)
      return words
    },
    // An outcome whose content is gone passes as time: the tool and its numbers are those that were stored.
    tools:
      erased.length > 0
        ? Array.from({ length: Math.max(...erased.map(([place]) => place)) + 1 }, (_, at) => {
            const weight = erased.find(([place]) => place === at)
            return { tool: weight?.[1] ?? '', outcome: weight?.[2] ?? 'denied' }
          })
        : tools.map(([tool, outcome]) => ({ tool, outcome })),
    takesBack: takesBack === null ? null : String(takesBack),
    ...(weights && { weights: weights.map(weightsOf) }),
  }
}

/** Of what a snapshot has. What was erased, or was void, has nothing left to be taken back. */
function entryOf(row: ToldRow) {
  const [, , , , , tools, , isVoid, weights] = row
  return { told: toldOf(row), weights: (weights ?? []).map(weightsOf), isTakenBack: isVoid || tools.length === 0 }
}

function weightsOf([place, tool, , t, u, attempt, expected]: NonNullable<ToldRow[8]>[number]) {
  return { place, tool, t, u, attempt, expected }
}

function* snapshotOf({ life, seq, erasedAt, state, ledger, base }: Known) {
  const isWhole = base === null
  if (isWhole) for (const k of state.tools.keys()) state.changed.add(k)
  const weights: string[] = []
  for (const [id, entry] of ledger) {
    const { taskClass = null, scope = null, tools = [] } = entry.told ?? {}
    for (const { place, tool, t, u, attempt, expected } of entry.weights) {
      const outcome = tools[place]?.outcome ?? ''
      const weight: NewWeight = [Number(id), place, tool, taskClass, scope, outcome, t, u, attempt, expected]
      weights.push(JSON.stringify(weight))
    }
    yield
  }
  return { life, base: base ?? 0, isWhole, seq, erasedAt, weights, ...(yield* takeSnapshot(state)) }
}

/** What a request says of tools, kept while the same is said of the same tools. */
export function catalogueOf(known: Known, candidates: readonly Candidate[] | null): Catalogue {
  const key = `${known.state.tools.length} ${JSON.stringify(candidates)}`
  const kept = known.catalogues.get(key)
  if (kept) return kept
  const made = new Catalogue(known.state, candidates)
  if (known.catalogues.size >= CATALOGUES_MAX) known.catalogues.clear()
  known.catalogues.set(key, made)
  return made
}

/**
 * What a state takes at most. Counts of words are counted as they are once they are changed: those of a snapshot take a
 * third of that (200 tools, 10^5 outcomes: 13 MB opened of 21).
 */
function bytesOf({ state: { tools, tallies, terms, pairs }, ledger, catalogues, evidence }: Known): number {
  const candidates = catalogues.keys().reduce((sum, key) => sum + key.length, 0)
  return (
    tools.length * 1_300 +
    tallies * 350 +
    terms.bytes +
    pairs.bytes +
    (terms.entries + pairs.entries) * 16 +
    ledger.size * 2_000 +
    candidates * 30 +
    evidence.bytes
  )
}
