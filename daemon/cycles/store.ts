// SQL of cycles, beside what one is computed on (reads/store.ts). Reads and writes are calls of one function each,
// which sets the row-level security context itself.

import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { textArray } from '@loci/postgres/text-array.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { enteringLocks } from '../databases/locks.ts'
import type { Macs } from '../databases/macs.ts'
import type { Due } from '../databases/store.ts'
import { wakeEvents } from '../events/store.ts'
import { claimLocks, claimValues, dropExpired, inClaimOrder } from '../idempotency/store.ts'
import { type NewRecord, unreadable } from '../memory/store.ts'
import type { Presentations } from '../working-memory/activation.ts'
import type { Step } from '../working-memory/document.ts'
import { stepColumns } from '../working-memory/store.ts'
import type { CycleState } from './reads/store.ts'
import type { CycleHead, CyclePage, CycleRow, LinkRow } from './rows.ts'

/** A cycle that was computed, as it is committed. */
export interface NewCycle {
  database: string
  databasesMax: number
  /** What it was computed on. */
  read: Pick<CycleState, 'seq' | 'version' | 'erasedAt' | 'number' | 'settings'>
  id: string
  startedAt: number
  /** Of the instance. */
  macs: Macs
  focus: string | null
  /** HMAC in hex. */
  focusMac: string | null
  metadata: string | null
  /** 32 bytes in hex: for focus and metadata. */
  salt: string
  body: string
  decisions: string
  intervalMs: number | null
  history: number
  steps: Step[]
  records: (Omit<NewRecord, 'isOverride'> & { presented: Presentations | null })[]
  presented: { id: string; seen: Presentations }[]
  /** Events that are taken in, by their number, and the record that says what each said. */
  events: { seq: number; record: string | null }[]
  claim?: Claim | undefined
}

/** `moved`: something came first, compute again. Nothing was done where the outcome is not `done`. */
export type CommitOutcome =
  | { outcome: 'done'; made: CycleRow }
  | { outcome: 'moved' | 'databases' | 'erasing' | 'gone' | 'known' | 'answers' }
  | { outcome: 'refused'; record: string; why: string }

const MADE = `(made).seq, (made).id, (made).started_at as "startedAt", (made).completed_at as "completedAt",
  (made).duration_ms as "durationMs", (made).focus, (made).focus_hash is not null as "hasFocus", (made).metadata,
  (made).metadata_hash is not null as "hasMetadata", (made).after_digest as "afterDigest", (made).decisions_hash as "decisionsHash",
  (made).body, (made).prev_hash as "prevHash", (made).hash`

/** In one transaction, with its events: durable when this returns. At most one of a database. */
export async function commitCycles(pool: Pool, instanceId: string, cycles: NewCycle[]): Promise<CommitOutcome[]> {
  try {
    const done = await commitAll(pool, instanceId, cycles)
    wakeEvents(pool, instanceId)
    return done
  } catch (error) {
    const refused = cycles.length === 1 ? refusedOf(error) : undefined
    if (refused) return [refused]
    throw isUnreadable(error) ? unreadable(error) : error
  }
}

async function commitAll(pool: Pool, instanceId: string, cycles: NewCycle[]): Promise<CommitOutcome[]> {
  const claiming = inClaimOrder(cycles)
  const claims = claiming.map(({ claim }) => claim)
  const numbered = <Item>(items: (cycle: NewCycle) => readonly Item[]) =>
    cycles.flatMap((cycle, at) => items(cycle).map((item) => ({ item, ord: at + 1 })))
  const steps = numbered((cycle) => cycle.steps)
  const records = numbered((cycle) => cycle.records)
  const presented = numbered((cycle) => cycle.presented)
  const events = numbered((cycle) => cycle.events)
  const column = <Value>(of: (cycle: NewCycle) => Value) => cycles.map(of)
  const recordColumn = <Value>(of: (record: NewCycle['records'][number]) => Value) =>
    records.map(({ item }) => of(item))
  const values = [
    instanceId,
    cycles[0]?.databasesMax,
    column(({ database }) => database),
    column(({ read }) => read.seq),
    column(({ read }) => read.version),
    column(({ read }) => read.erasedAt),
    column(({ read }) => read.number),
    column(({ read }) => read.settings),
    column(({ startedAt }) => new Date(startedAt)),
    column(({ id }) => id),
    column(({ focus }) => focus),
    column(({ focusMac }) => focusMac),
    column(({ metadata }) => metadata),
    column(({ salt }) => salt),
    textArray(column(({ body }) => body)),
    textArray(column(({ decisions }) => decisions)),
    column(({ intervalMs }) => intervalMs),
    column(({ history }) => history),
    steps.map(({ ord }) => ord),
    ...stepColumns(
      steps.map(({ item }) => item),
      cycles[0]?.macs as Macs,
    ),
    records.map(({ ord }) => ord),
    recordColumn(({ id }) => id),
    recordColumn(({ key }) => key),
    recordColumn(({ sourceEventId }) => sourceEventId),
    recordColumn(({ context }) => context),
    recordColumn(({ value }) => value),
    recordColumn(({ supersedes }) => supersedes),
    textArray(recordColumn(({ body }) => body)),
    recordColumn(({ occurredAt }) => occurredAt),
    recordColumn(({ ttlMs }) => ttlMs),
    recordColumn(({ presented: seen }) => seen && JSON.stringify(seen)),
    presented.map(({ ord }) => ord),
    presented.map(({ item }) => item.id),
    presented.map(({ item }) => JSON.stringify(item.seen)),
    events.map(({ ord }) => ord),
    events.map(({ item }) => item.seq),
    events.map(({ item }) => item.record),
    ...[claims[0]?.scope[2] ?? null, claims[0]?.sealedWith ?? null],
    claiming.map((cycle) => cycles.indexOf(cycle) + 1),
    ...claimValues(claims),
  ]
  const { rows } = await execute<CycleRow & { claim: number | null; ord: number; outcome: string }>(pool, {
    name: 'cycle_commit',
    text: `select claim, ord, outcome, ${MADE} from loci.cycle_commit(${values.map((_, at) => `$${at + 1}`).join(', ')})`,
    values,
    locks: () => [...claimLocks(claims), ...enteringLocks(instanceId, cycles, 'due row', 'event head')],
  })
  const stopped = rows.filter(({ claim }) => claim !== null)
  if (stopped.length > 0) return commitRest(pool, instanceId, cycles, claiming, stopped)
  const byOrd = new Map(rows.map(({ claim, ord, outcome, ...made }) => [ord, { outcome, made } as CommitOutcome]))
  return cycles.map((_, at) => byOrd.get(at + 1) as CommitOutcome)
}

/** Nothing was done yet: those whose claim stops them are told, the others are done without them. */
async function commitRest(
  pool: Pool,
  instanceId: string,
  cycles: NewCycle[],
  claiming: (NewCycle & { claim: Claim })[],
  stopped: { claim: number | null; outcome: string }[],
): Promise<CommitOutcome[]> {
  const told = new Map<NewCycle | undefined, CommitOutcome>()
  for (const { claim, outcome } of stopped)
    if (outcome !== 'expired') told.set(claiming[Number(claim) - 1], { outcome } as CommitOutcome)
  await dropExpired(pool, claiming, stopped)
  const rest = cycles.filter((cycle) => !told.has(cycle))
  const done = rest.length > 0 ? await commitCycles(pool, instanceId, rest) : []
  return cycles.map((cycle) => told.get(cycle) ?? (done.shift() as CommitOutcome))
}

/** Of a cycle that was alone in its call; of several nobody is told, and each is tried alone. */
function refusedOf(error: unknown): CommitOutcome | undefined {
  const { detail = '' } = error as { detail?: string }
  const [, record, why] = /^\d+ (\S+) (\w+)$/.exec(detail) ?? []
  if (sqlState(error) !== 'LC002' || record === undefined || why === undefined) return undefined
  return { outcome: 'refused', record, why }
}

/** An attempt that failed; a database that does not exist counts none. */
export async function countFailure(pool: Pool, { instanceId, database }: Due, code: string): Promise<void> {
  await execute(pool, {
    name: 'cycle_failed',
    text: 'select loci.cycle_failed($1, $2, $3)',
    values: [instanceId, database, code],
    locks: () => enteringLocks(instanceId, [{ database }]),
  })
}

const HEAD = `coalesce(total, 0) as total, coalesce(total_ms, 0) as "totalMs", last_at as "lastAt", h.hash as "headHash",
  coalesce(pruned_through, 0) as "prunedThrough", pruned_hash as "prunedHash", coalesce(failed, 0) as failed,
  coalesce(failed_row, 0) as "failedRow", failed_at as "failedAt", failed_code as "failedCode", checked_seq as "checkedSeq",
  checked_at as "checkedAt", damaged, interval_ms as "intervalMs", due_at as "dueAt", due_since as "dueSince", coalesce(pending, 0) as pending,
  pending_since as "pendingSince", h.at`

type HeadRow = Omit<CycleHead, 'hash'> & { headHash: Buffer | null }

export async function readHead(sql: Sql, { instanceId, database }: Due): Promise<CycleHead> {
  const { rows } = await sql.query<HeadRow>({
    name: 'cycle_head',
    text: `select ${HEAD} from loci.cycle_head($1, $2) h`,
    values: [instanceId, database],
  })
  const { headHash: hash, ...head } = rows[0] as HeadRow
  return { ...head, hash }
}

/** Of one page of cycles: as a page of entries or records has. */
const PAGE_BYTES_MAX = 1024 * 1024

/**
 * Head and rows of one moment, newest first, numbered below `below`. `offset 0`: the bounds are found once; as a part
 * of the whole query they would be for every row.
 */
export async function listCycles(
  sql: Sql,
  { instanceId, database }: Due,
  { below, limit, since, until }: { below: number; limit: number; since: Date | null; until: Date | null },
): Promise<CyclePage> {
  const { rows } = await sql.query<HeadRow & CyclePage & LinkRow & Partial<CycleRow> & { walked: number | null }>({
    name: 'cycle_list',
    text: `select ${HEAD}, b.lower, b.upper, f.first, w.seq as walked, w.state, ${MADE}
      from loci.cycle_head($1, $2) h
      cross join lateral (select greatest(h.pruned_through + 1, case when $5::timestamptz is null then 1
            else loci.cycle_before($1, $2, h.pruned_through + 1, h.total, $5) + 1 end) as lower,
          least($3::bigint - 1, coalesce(h.total, 0), case when $6::timestamptz is null then h.total
            else loci.cycle_before($1, $2, h.pruned_through + 1, h.total, $6) end) as upper offset 0) b
      cross join lateral loci.cycle_page($1, $2, greatest(b.lower, b.upper - $4::bigint + 1), b.upper, $7) as f(first)
      left join lateral loci.cycle_walk($1, $2, greatest(h.pruned_through + 1, f.first - 1), least(b.upper + 1, h.total)) w
        on b.upper >= b.lower
      order by w.seq desc`,
    values: [instanceId, database, below, limit, since, until, PAGE_BYTES_MAX],
  })
  const { headHash: hash, lower, upper, first, ...head } = rows[0] as (typeof rows)[number]
  const walked = rows.flatMap(({ walked: seq, ...row }) => (seq === null ? [] : [{ ...row, seq }]))
  return { head: { ...head, hash }, lower: lower ?? 1, upper: upper ?? 0, first: first ?? 1, rows: walked }
}

/** Undefined when there is none; `damaged` when it does not fit its hash. */
export async function findCycle(
  sql: Sql,
  { instanceId, database }: Due,
  id: string,
): Promise<CycleRow | 'damaged' | undefined> {
  const { rows } = await sql.query<CycleRow & { intact: boolean | null }>({
    name: 'cycle_get',
    text: `select intact, ${MADE} from loci.cycle_get($1, $2, $3)`,
    values: [instanceId, database, id],
  })
  const { intact, ...made } = rows[0] as CycleRow & { intact: boolean | null }
  return intact === null ? undefined : intact ? made : 'damaged'
}

/** The JSON text; `over` when they have left by their age; undefined when they are lost or not what the hash says. */
export async function findDecisions(
  sql: Sql,
  { instanceId, database }: Due,
  { seq, startedAt, decisionsHash }: Pick<CycleRow, 'seq' | 'startedAt' | 'decisionsHash'>,
): Promise<string | undefined> {
  const { rows } = await sql.query<{ body: string | null; isOver: boolean }>({
    name: 'cycle_decisions_of',
    text: 'select body, is_over as "isOver" from loci.cycle_decisions_of($1, $2, $3, $4, $5)',
    values: [instanceId, database, seq, startedAt, decisionsHash],
  })
  return rows[0]?.isOver ? 'over' : (rows[0]?.body ?? undefined)
}
