// Runs a cycle: reads everything it needs of one moment, computes without a lock, and commits by one call, which
// refuses when the document of working memory or the configuration moved, another cycle came first or something was
// erased since. Then it begins again, until its time in the queue is over.
//
// Cycles of one database wait for each other here, so that those of one replica do not overtake each other; cycles of
// one instance that are ready together share a commit. A cycle commits whole or leaves nothing.

import { randomBytes } from 'node:crypto'
import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createTurn, inTurns } from '@loci/chassis/turn.ts'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import { newId } from '@loci/contract/ids.ts'
import { current, resume } from '@loci/meter/meter.ts'
import { createShare } from '@loci/meter/share.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Activity } from '../access/activity.ts'
import type { Instance } from '../access/authority.ts'
import { layersOf } from '../databases/config/store.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { type Macs, macsOf } from '../databases/macs.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import type { Due } from '../databases/store.ts'
import type { RecallIndex } from '../memory/index/recall-index.ts'
import type { Parts } from '../memory/parts/parts.ts'
import { bodyOf, type Source } from '../memory/records.ts'
import type { Tails } from '../memory/tails.ts'
import { rounded } from '../working-memory/activation.ts'
import { cycleConfig, RULES, type RunConfig } from './config.ts'
import { decide, perceive, poolSize, recordsFor } from './cycle.ts'
import {
  eventsOf,
  type Incoming,
  incomingOf,
  inputOf,
  knownRecord,
  presentedOf,
  recordsOf,
  roomOf,
  stepsOf,
  type WaitingEvent,
} from './plan.ts'
import { type CycleState, readRecords } from './reads/store.ts'
import { createReads } from './reads/together.ts'
import { recallFor } from './recall.ts'
import { type CycleBody, countsOf, cycleOf, decisionOf, decisionsUrl, digestText } from './records.ts'
import type { CycleConfig, CycleInput, CycleResult, Phase } from './shapes.ts'
import { type CommitOutcome, commitCycles, countFailure, type NewCycle } from './store.ts'
import { summaryOf } from './words.ts'

interface CyclesOptions {
  pool: Pool
  index: RecallIndex
  parts: Parts
  tails: Tails
  keys: InstanceKeys
  quota: Quota
  activity: Pick<Activity, 'cycled'>
  /** The events of a database that no cycle has taken in, the oldest first. */
  listEvents(pool: Pool, place: Due, macs: Macs, limit: number): Promise<WaitingEvent[]>
}

/** Who asks for a cycle, and for what. */
export interface RunRequest {
  instance: Instance
  database: string
  trigger: Cycle['trigger']
  requestedBy: string | null
  source: Source
  run: CycleRun
  claim?: Claim | undefined
}

/** `known`: its Idempotency-Key is; `answers`: the instance keeps as many as it may. Nothing was done then. */
export type Ran = Cycle | 'known' | 'answers'

export interface Cycles {
  run(request: RunRequest): Promise<Ran>
  /**
   * As the next one after the cycle of that number. Where another came first, because a claim took longer than it
   * holds, that one has taken in what there was, and none is run.
   */
  runAfter(number: number, request: RunRequest): Promise<void>
}

const PHASES: readonly Phase[] = ['perceive', 'cue', 'recall', 'compete', 'broadcast', 'learn']
const QUEUE_MS = 2_000
/** Cycles, steps and records in one statement. */
const BATCH_MAX = 256
/** While one commit of an instance is written to disk, the next is on its way. */
const COMMIT_LANES = 2
const ENGINE = 'cycle-2'
const METADATA_BYTES_MAX = 16 * 1024

export function createCycles({ pool, index, parts, tails, keys, quota, activity, listEvents }: CyclesOptions): Cycles {
  /** Of a database one at a time. */
  const turns = createShare({ each: () => 1, waitMs: QUEUE_MS, refusal: () => new Error('the wait is over') })
  const read = createReads(pool)
  const commits = createBatches<NewCycle, CommitOutcome>({
    run: (instanceId, batch) => commitCycles(pool, instanceId, batch),
    runningMax: 1,
    lanes: COMMIT_LANES,
    batchMax: BATCH_MAX,
    sizeOf: ({ steps, records }) => 1 + steps.length + records.length,
    groupOf: ({ database }) => database,
  })

  async function attempt(request: RunRequest, macs: Macs, unstorable: ReadonlySet<string>): Promise<Attempt> {
    const place = { instanceId: request.instance.id, database: request.database }
    const startedAt = performance.now()
    const { state, texts, config, input, ...taken } = await stateOf(request, macs, unstorable, place)
    const phases = createPhases(startedAt)
    const perceived = perceive(input, phases.end)
    phases.end('cue')
    const answer = await recallFor({ index, parts }, place, { state, texts }, perceived.ask)
    const seqs = recordsFor(perceived, answer)
    const { rows } = await readRecords(pool, place, { seq: state.seq, at: state.at, seqs })
    const records = new Map(rows.map((row) => [row.seq, knownRecord(row)]))
    const result = await inTurns(decide(perceived, answer, records, phases.end))
    return { request, state, config, input, result, rows, macs, startedAt, phases: phases.of(result), ...taken }
  }

  /**
   * The state, with due records by the window that is in force, and what it has about the events that wait: read again
   * where the window is not the default, or events wait. What waits, and how much of it is taken in, it says itself.
   */
  async function stateOf(request: RunRequest, macs: Macs, unstorable: ReadonlySet<string>, place: Due) {
    const { run, source } = request
    let events: WaitingEvent[] | undefined
    let incoming = await incomingOf([], run.observations ?? [], source, macs)
    let config = cycleConfig([], [])
    for (;;) {
      const window = { ...config.cycle.due, max: poolSize(config.cycle) }
      const { state, tail: texts } = await tails.readWith(place, ({ have }) =>
        read(place, { have, lookups: incoming.map(({ lookup }) => lookup), due: window }),
      )
      if (!state.configIntact || !state.slotConfig.configIntact) throw configDamaged()
      const before = config.cycle
      config = cycleConfig(layersOf(state.slotConfig), layersOf(state))
      const isSame = before.due.leadMs === config.cycle.due.leadMs && before.due.graceMs === config.cycle.due.graceMs
      if (!events) {
        const eventsMax = run.limits?.maxEvents ?? config.run.maxEvents
        events = state.pending > 0 && eventsMax > 0 ? await listEvents(pool, place, macs, eventsMax) : []
        if (events.length > 0) incoming = await incomingOf(events, run.observations ?? [], source, macs)
        if (events.length > 0) continue
      }
      if (!isSame) continue
      const seed = randomBytes(16).toString('base64url')
      const input = inputOf(state, config.cycle, incoming, { seed, focus: run.focus ?? null, unstorable })
      return { state, texts, config, input, events, incoming }
    }
  }

  async function runOnce(request: RunRequest, macs: Macs, until: number, after?: number): Promise<Ran | 'passed'> {
    const { instance, database, run, claim } = request
    const unstorable = new Set<string>()
    let isPaid = false
    for (;;) {
      const attempted = await attempt(request, macs, unstorable)
      if (after !== undefined && attempted.state.number !== after) return 'passed'
      const limitMs = run.limits?.maxDurationMs ?? attempted.config.run.maxDurationMs
      if (performance.now() - attempted.startedAt > limitMs) throw tooLong(limitMs)
      if (run.dryRun) return dryRecord(attempted)
      const cycle = newCycle(attempted, claim)
      if (!isPaid) await quota.requireRoom(instance, roomOf(cycle), pool)
      isPaid = true
      const committed = await commits.add(instance.id, cycle)
      if (committed.outcome === 'done') return counted(attempted, committed.made)
      if (committed.outcome === 'known' || committed.outcome === 'answers') return committed.outcome
      const refused = entryRefusal(committed.outcome, instance.limits.databases)
      if (refused) throw refused
      // A slot whose content is under a tombstone is not made a record of.
      if (committed.outcome === 'refused' && committed.why === 'forgotten') {
        const slot = attempted.result.rows.consolidate.find(({ id }) => id === committed.record)
        if (slot) unstorable.add(slot.slot.key)
      }
      if (performance.now() > until) throw busy(database)
    }
  }

  function counted({ request, result }: Attempt, made: Parameters<typeof cycleOf>[0]): Cycle {
    const left = result.decisions.flatMap(({ action, reasonCode }) => (action === 'evicted' ? [reasonCode] : []))
    activity.cycled(request.instance.id, left)
    return cycleOf(made)
  }

  async function runInTurn(request: RunRequest, after?: number): Promise<Ran | 'passed'> {
    const { instance, database, run } = request
    const turn = createTurn()
    for (const write of run.observations ?? []) {
      bodyOf(write, request.source)
      await turn()
    }
    if (run.metadata && Buffer.byteLength(JSON.stringify(run.metadata)) > METADATA_BYTES_MAX)
      throw new ApiError('PAYLOAD_TOO_LARGE', `The metadata of a cycle may have at most ${METADATA_BYTES_MAX} bytes.`)
    const until = performance.now() + (run.limits?.queueMs ?? QUEUE_MS)
    const name = `${instance.id}/${database}`
    const macs = macsOf(await keys.of(instance.id))
    try {
      await turns.enter(name, until)?.catch(() => {
        throw busy(database)
      })
      try {
        resume()
        // Those that had their turn before it may have used up what there is.
        current()?.payer?.requireRoom()
        return await runOnce(request, macs, until, after)
      } finally {
        turns.leave(name)
      }
    } catch (error) {
      // Counted where it can be; what is told is why the cycle failed.
      const isRefused = error instanceof ApiError && error.code === 'RATE_LIMITED'
      if (!run.dryRun && !isRefused)
        await countFailure(pool, { instanceId: instance.id, database }, codeOf(error)).catch(() => {})
      throw error
    }
  }

  return {
    run: (request) => runInTurn(request) as Promise<Ran>,
    async runAfter(number, request) {
      await runInTurn(request, number)
    },
  }
}

interface Attempt {
  request: RunRequest
  state: CycleState
  config: { cycle: CycleConfig; run: RunConfig }
  input: CycleInput
  result: CycleResult
  rows: Awaited<ReturnType<typeof readRecords>>['rows']
  macs: Macs
  startedAt: number
  phases: Cycle['phases']
  /** What is taken in: events, and with them what was handed over. */
  events: WaitingEvent[]
  incoming: Incoming[]
}

function bodyOfCycle({ request, state, input, result, phases }: Attempt): CycleBody {
  return {
    status: 'completed',
    trigger: request.trigger,
    database: request.database,
    requestedBy: request.requestedBy,
    phases,
    decisions: countsOf(result.decisions),
    threshold: result.threshold && { best: rounded(result.threshold.best), bar: rounded(result.threshold.bar) },
    summary: summaryOf(result.decisions, result.slots.length),
    broadcast: result.broadcast.map(({ key, score }) => ({ kind: 'slot', ref: key, score })),
    configVersion: state.configVersion,
    engine: { version: ENGINE, deterministic: true, seed: input.seed },
    warnings: [...RULES.warningsOf(layersOf(state)), ...focusWarnings(state, input, result)],
    before: { slotCount: state.slots.length, digest: digestText(state.documentDigest) },
    slotsAfter: result.slots.length,
  }
}

/** A focus that clears the mind is seldom meant so. */
function focusWarnings(state: CycleState, { config }: CycleInput, { decisions }: CycleResult): Cycle['warnings'] {
  const left = decisions.filter(({ reasonCode, action }) => action === 'evicted' && reasonCode === 'below_threshold')
  if (2 * left.length <= state.slots.length) return []
  const problem = `The focus removed ${left.length} of the ${state.slots.length} slots in mind. What must stay is put as a slot; a higher threshold keeps more.`
  return [{ key: 'relativeThreshold', problem, using: config.relativeThreshold }]
}

function newCycle(attempted: Attempt, claim: Claim | undefined): NewCycle {
  const { request, state, config, input, result, macs, incoming } = attempted
  const { focus = null, metadata } = request.run
  const id = newId('cyc', input.now)
  const rows = new Map([...attempted.rows, ...state.due].map((row) => [row.seq, row]))
  const written = { input, result, state, rows, macs, incoming, source: request.source, cycleId: id }
  return {
    database: request.database,
    databasesMax: request.instance.limits.databases,
    read: state,
    id,
    startedAt: input.now,
    macs,
    focus,
    focusMac: focus === null ? null : macs.value(focus),
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    salt: randomBytes(32).toString('hex'),
    body: JSON.stringify(bodyOfCycle(attempted)),
    decisions: JSON.stringify(result.decisions),
    intervalMs: config.run.intervalMs,
    // As loci.cycle_history has it.
    history: Math.min(config.run.cycleHistory, Math.max(request.instance.limits.records, 10)),
    steps: stepsOf(written),
    records: recordsOf(written),
    presented: presentedOf(result),
    events: eventsOf(attempted.events, written),
    claim,
  }
}

/** The record that the run would have made, with its decisions; it has no hash, because it is in no chain. */
function dryRecord(attempted: Attempt): Cycle {
  const { request, input, result, startedAt } = attempted
  const { before, slotsAfter, ...body } = bodyOfCycle(attempted)
  const durationMs = Math.floor(performance.now() - startedAt)
  const id = newId('cyc', input.now)
  return {
    ...{ id, seq: input.number, ...body, focus: request.run.focus ?? null },
    ledger: result.decisions.map((decision) => decisionOf(decision, null)),
    startedAt: new Date(input.now).toISOString(),
    completedAt: new Date(input.now + durationMs).toISOString(),
    durationMs,
    decisionsUrl: decisionsUrl(id),
    workingMemory: { before, after: { slotCount: slotsAfter, digest: '' } },
    dryRun: true,
    prevHash: null,
    hash: '',
    metadata: request.run.metadata ?? null,
  }
}

/** Times of the phases as they are shown. What they decide does not depend on them. */
function createPhases(startedAt: number) {
  const ends = new Map<Phase, { startMs: number; durationMs: number }>()
  let last = 0
  return {
    end(name: Phase) {
      const at = Math.round((performance.now() - startedAt) * 1_000) / 1_000
      ends.set(name, { startMs: last, durationMs: Math.round((at - last) * 1_000) / 1_000 })
      last = at
    },
    of({ phases }: CycleResult): Cycle['phases'] {
      let end = 0
      return PHASES.map((name) => {
        const times = ends.get(name) ?? { startMs: end, durationMs: 0 }
        end = times.startMs + times.durationMs
        const counted = phases.find((phase) => phase.name === name)
        return { name, ...times, in: counted?.in ?? 0, out: counted?.out ?? 0 }
      })
    },
  }
}

function busy(database: string): ApiError {
  return new ApiError(
    'CYCLE_BUSY',
    `Other cycles or writes of the database ${database} came first for as long as this one could wait. Nothing was done; try again, or raise limits.queueMs.`,
    { retryAfterMs: 200 },
  )
}

function tooLong(limitMs: number): ApiError {
  return new ApiError(
    'OVERLOADED',
    `The cycle took longer than its ${limitMs} ms. Nothing was done; try again, or raise limits.maxDurationMs.`,
    { retryAfterMs: 1_000 },
  )
}

function configDamaged(): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The stored configuration of this database is damaged, so what a cycle would do is unknown. An operator can PUT it again.',
    { details: { ref: 'config' } },
  )
}

function codeOf(error: unknown): string {
  return error instanceof ApiError ? error.code : 'INTERNAL_ERROR'
}
