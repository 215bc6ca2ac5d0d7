// Reads the document, or takes what is remembered of it, plans on it, commits the plan if the document is still the one
// that was planned on, and else begins again. No lock is held while a plan is made. A plan that is overtaken was
// overtaken by a commit, so there is progress whatever the number of replicas
// (docs/decisions/2026-11-15-slots-planned-outside.md).

import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { againAfterConflict } from '@loci/postgres/transaction.ts'
import { type ConfigLayers, layersOf } from '../databases/config/store.ts'
import { entryRefusal } from '../databases/quota.ts'
import { dropExpired, inClaimOrder } from '../idempotency/store.ts'
import { resolveConfig, type SlotConfig } from './config.ts'
import {
  type Applied,
  createPlan,
  type Evicted,
  type Plan,
  PlannedConflict,
  versionConflict,
  type Write,
} from './document.ts'
import { keptWrites } from './kept-batch.ts'
import type { KnownDocuments } from './known-documents.ts'
import { prefixOf } from './slots.ts'
import { type Committed, commitSteps, readDocuments, type Snapshot, type Writer, writeSteps } from './store.ts'

export interface SlotWritten {
  /** Of the write itself; undefined when there was nothing to delete. */
  version: number | undefined
  /** The slot as it is sent; undefined for a delete. */
  text: string | undefined
  digest: Buffer | undefined
  expiresAt: number | null
  evicted: Evicted[]
}

/** Writes of one database that are done all or none, with a claim on an Idempotency-Key or without. */
export interface SlotAct {
  database: string
  databasesMax: number
  writes: Write[]
  claim?: Claim | undefined
}

type WritingInstance = Pick<Writer, 'instanceId' | 'macs'>

/** `known`: the Idempotency-Key is; `answers`: the instance keeps as many as it may. Nothing was done then. */
export type ActResult = SlotWritten[] | 'known' | 'answers' | Error

/** Below the statement timeout of the pool and the patience of a caller. */
const OVERTAKEN_MS_MAX = 1_500

/**
 * Writes of one instance that arrived together, each with its own outcome: an error is thrown to its caller.
 * Once a part of them is committed, a failure is the outcome of the others alone: thrown, it would stand for all.
 */
export async function commitWrites(
  pool: Pool,
  known: KnownDocuments,
  instance: WritingInstance,
  batch: SlotAct[],
): Promise<ActResult[]> {
  const results = new Map<SlotAct, ActResult>()
  const until = performance.now() + OVERTAKEN_MS_MAX
  for (let open = batch; open.length > 0; open = batch.filter((item) => !results.has(item))) {
    try {
      await againAfterConflict(() =>
        commitRound(pool, known, instance, firstOfKeys(open), { results, isLast: performance.now() > until }),
      )
    } catch (error) {
      if (open === batch) throw error
      for (const item of open) if (!results.has(item)) results.set(item, error as Error)
    }
  }
  return batch.map((act) => results.get(act) as ActResult)
}

/** Without the repeats of a key that is claimed by the same call: in the next one it is known. */
function firstOfKeys(acts: SlotAct[]): SlotAct[] {
  if (acts.every(({ claim }) => claim === undefined)) return acts
  const scopes = new Set<string>()
  return acts.filter(({ claim }) => {
    const scope = claim?.scope.join('\n')
    if (scope === undefined) return true
    const isFirst = !scopes.has(scope)
    scopes.add(scope)
    return isFirst
  })
}

/** Sets the results of what was done or refused; what was overtaken has none, unless this is the last round. */
async function commitRound(
  pool: Pool,
  known: KnownDocuments,
  { instanceId, macs }: WritingInstance,
  open: SlotAct[],
  { results, isLast }: { results: Map<SlotAct, ActResult>; isLast: boolean },
): Promise<void> {
  const databasesMax = open[0]?.databasesMax ?? 0
  const now = known.now()
  const planned = [...Map.groupBy(open, ({ database }) => database)].map(([database, acts]) => {
    const wanted = wantedOf(acts.flatMap(({ writes }) => writes))
    const remembered = isLast || wanted.length > 0 ? undefined : known.find(instanceId, database)
    const plan = remembered && planOf({ database, acts, isRemembered: true }, remembered, now)
    // Only a commit proves what is remembered. Where there is none, refusals and empty deletes are planned on what is
    // read.
    return { database, acts, wanted, plan: plan?.plan.hasWrites() ? plan : undefined }
  })
  const unknown = planned.filter(({ plan }) => !plan)
  const read = unknown.length > 0 ? await readDocuments(pool, instanceId, unknown) : []
  if (read[0]) known.heard(read[0].document.now)
  const plans = planned.map(({ plan, ...group }) => {
    if (plan) return plan
    const snapshot = read.shift() as Snapshot
    return planOf({ ...group, isRemembered: false }, snapshot, snapshot.document.now)
  })
  const claiming = inClaimOrder(plans.flatMap(claimingOf))
  const writing = plans.filter(({ plan, items }) => plan.hasWrites() || items.some(({ act }) => act.claim))
  const steps = writing.map(({ plan, ...rest }) => ({ ...rest, steps: plan.steps }))
  const committed =
    writing.length === 0 ? [] : await commitSteps(pool, { instanceId, databasesMax, macs }, steps, claiming)
  const stopped = committed.filter(({ claim }) => typeof claim === 'number')
  for (const { claim, outcome } of stopped)
    if (outcome === 'known' || outcome === 'answers') results.set(claiming[Number(claim) - 1]?.act as SlotAct, outcome)
  if (stopped.length > 0) return dropExpired(pool, claiming, stopped)
  const byDatabase = new Map(committed.map((one) => [one.database, one]))
  for (const { database, plan, items, snapshot, isRemembered } of plans) {
    const outcome = byDatabase.get(database)
    if (outcome?.outcome === 'done' && outcome.versions.length > 0) {
      const { cycle } = snapshot.document
      const document = { version: outcome.versions.at(-1) as number, now, cycle, slots: plan.after(outcome.versions) }
      known.keep(instanceId, database, { ...snapshot, digest: outcome.digest, document })
    } else if (outcome?.outcome === 'moved' || (outcome && isRemembered)) {
      known.moved(instanceId, database)
      if (!isLast) continue
    }
    for (const { act, applied } of items) results.set(act, resultOf(applied, plan, outcome, databasesMax))
  }
}

interface Planned {
  database: string
  version: number
  now: number
  snapshot: Snapshot
  isRemembered: boolean
  plan: Plan
  items: { act: SlotAct; applied: Applied[] | Error; from: number; to: number }[]
}

/** Those that are not refused. */
function claimingOf({ items, plan }: Planned) {
  return items.flatMap(({ act, applied, from, to }) => {
    const { claim } = act
    if (!claim || applied instanceof Error) return []
    return [{ act, claim, from: from + 1, to, writes: keptWrites(applied, plan.steps, from) }]
  })
}

function planOf(
  { database, acts, isRemembered }: { database: string; acts: SlotAct[]; isRemembered: boolean },
  snapshot: Snapshot,
  now: number,
): Planned {
  const { version, cycle, slots } = snapshot.document
  const plan = createPlan({ version, now, cycle, slots }, configOf(snapshot))
  const items = acts.map((act) => {
    const from = plan.steps.length
    const applied = appliedOf(act, plan, snapshot)
    return { act, applied, from, to: plan.steps.length }
  })
  return { database, version, now, snapshot, isRemembered, plan, items }
}

function appliedOf({ writes }: SlotAct, plan: Plan, { configIntact }: Snapshot): Applied[] | Error {
  if (!configIntact && writes.some(({ op }) => op !== 'delete')) return configDamaged()
  try {
    return plan.applyAll(writes)
  } catch (error) {
    // Refused; anything else is a bug of this one act and must not take its neighbours with it.
    return error as Error
  }
}

function resultOf(
  applied: Applied[] | Error,
  { steps }: Plan,
  committed: Committed | undefined,
  databasesMax: number,
): SlotWritten[] | Error {
  if (applied instanceof PlannedConflict && committed?.outcome === 'done')
    return versionConflict(committed.versions[applied.step] as number)
  if (applied instanceof Error && !(applied instanceof PlannedConflict)) return applied
  if (committed && committed.outcome !== 'done') return refusalOf(committed, databasesMax)
  return (applied as Applied[]).map((one) => writtenOf(one, steps, committed))
}

/** The answer to a write that was done. */
export function writtenOf({ step, evicted }: Applied, steps: Plan['steps'], committed?: Committed): SlotWritten {
  const done = step === null ? undefined : steps[step]
  const version = step === null ? undefined : committed?.versions[step]
  if (step === null || done?.op !== 'put')
    return { version, text: undefined, digest: undefined, expiresAt: null, evicted }
  const digest = committed?.digests[step] as Buffer
  return { version, text: prefixOf(version as number, digest) + done.rest, digest, expiresAt: done.expiresAt, evicted }
}

function refusalOf({ outcome }: Committed, databasesMax: number): ApiError {
  const overtaken =
    'Concurrent writes changed this working memory each time before this one. Nothing was done; try again.'
  return entryRefusal(outcome, databasesMax) ?? new ApiError('OVERLOADED', overtaken, { retryAfterMs: 200 })
}

interface Done<Result> {
  result: Result
  plan: Plan
  now: number
  /** Of the document that was planned on. */
  version: number
  /** Undefined when there was nothing to write. */
  committed: Committed | undefined
  events: object[]
}

/**
 * Plans and writes one database in the caller's transaction. `work` may run several times, each time on a plan of its
 * own; what it throws is thrown, and nothing is done.
 */
export async function writePlanned<Result>(
  sql: Sql,
  { database, ...writer }: Writer & { database: string },
  wanted: string[],
  work: (plan: Plan, snapshot: Snapshot) => Result,
  { isDryRun = false } = {},
): Promise<Done<Result>> {
  const until = performance.now() + OVERTAKEN_MS_MAX
  for (;;) {
    const [snapshot] = await readDocuments(sql, writer.instanceId, [{ database, wanted }])
    const { document, ...layers } = snapshot as Snapshot
    const plan = createPlan(document, configOf(layers))
    const result = work(plan, snapshot as Snapshot)
    const { version, now } = document
    if (isDryRun || !plan.hasWrites()) return { result, plan, now, version, committed: undefined, events: [] }
    const planned = { database, version, now, steps: plan.steps, snapshot: snapshot as Snapshot, isRemembered: false }
    const written = await writeSteps(sql, writer, planned)
    if (written.outcome === 'done') return { result, plan, now, version, committed: written, events: written.events }
    if (written.outcome !== 'moved' || performance.now() > until) throw refusalOf(written, writer.databasesMax)
  }
}

/** Only a patch needs the stored text. */
function wantedOf(writes: Write[]): string[] {
  return [...new Set(writes.flatMap(({ op, key }) => (op === 'patch' ? [key] : [])))]
}

const DEFAULTS = resolveConfig([])

export function configOf(layers: ConfigLayers): SlotConfig {
  return layers.service === null && layers.sent === null ? DEFAULTS : resolveConfig(layersOf(layers))
}

export function configDamaged(): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The stored configuration of this working memory is damaged, so its capacity is unknown. An operator can PUT it again.',
    { details: { ref: 'config' } },
  )
}
