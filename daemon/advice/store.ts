// All SQL of advice: what was told since a number, snapshots, evidence and policies.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Projection } from '@loci/contract/projections.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { enteringLocks } from '../databases/locks.ts'
import { type Due, withDatabase } from '../databases/store.ts'
import { EVIDENCE_BYTES_MAX, type Shown, type ShownOutcome, type TailOutcome } from './evidence.ts'
import type { ToolRow } from './fold/snapshot.ts'

/** A projection as the database tells it to the fold. */
export type ToldRow = [
  seq: number,
  partner: string,
  taskClass: string | null,
  intent: string | null,
  scope: unknown,
  tools: [tool: string, outcome: string][],
  takesBack: number | null,
  isVoid: boolean,
  weights: WeightRow[] | null,
  /** null: its content is gone, or it is no outcome. */
  shown: Shown | null,
]
type WeightRow = [place: number, tool: string, outcome: string, t: number, u: number, attempt: number, expected: number]

export interface Tail {
  /** Of this database of that name: numbers are of one life. null: there is no such database. */
  life: string | null
  seq: number
  /** By the clock of the database, in milliseconds. */
  now: number
  erasedAt: number
  /** What the head says of all projections. isSame: what the caller knew, so nothing is told here. */
  head: string
  isSame: boolean
  /** Of the stored snapshot. */
  snapshotSeq: number | null
  snapshotErasedAt: number | null
  /** Of the projection `after`, by which another history is known; null: there is none. */
  mark: string | null
  told: ToldRow[]
  /** Of the last of `told`. */
  lastMark: string | null
  /** Projections up to `after` that one of `told` takes back. */
  taken: ToldRow[]
  isCut: boolean
  /** The stored policies, as JSON. */
  policy: string | null
  fallback: string | null
}

interface TailRow extends Omit<Tail, 'told' | 'taken'> {
  told: string | null
  taken: string | null
  weights: string | null
  isDamaged: boolean | null
}

/** Of what is read at once: 256 projections could have the memory of the replica. */
const TAIL_BYTES_MAX = 2 * 1024 * 1024

/** Of one moment. */
export async function readTail(
  sql: Sql,
  { instanceId, database }: Due,
  { after, limit, policy, head }: { after: number; limit: number; policy?: string | undefined; head: string | null },
): Promise<Tail> {
  const { rows } = await sql
    .query<TailRow>({
      name: 'advice_tail',
      text: `select life, seq, now, erased_at as "erasedAt", head, is_same as "isSame", snapshot_seq as "snapshotSeq", snapshot_erased_at as "snapshotErasedAt", mark,
          told, last_mark as "lastMark", taken, weights, is_cut as "isCut", policy, fallback, is_damaged as "isDamaged" from loci.advice_tail($1, $2, $3, $4, $5, $6, $7)`,
      values: [instanceId, database, after, limit, TAIL_BYTES_MAX, policy ?? null, head],
    })
    .catch(unreadable)
  const { told, taken, weights, isDamaged, ...row } = rows[0] as TailRow
  if (isDamaged) throw policyDamaged()
  const stored = Map.groupBy(JSON.parse(weights ?? '[]') as [seq: number, ...WeightRow][], ([seq]) => seq)
  const rowsOf = (text: string | null) =>
    (JSON.parse(text ?? '[]') as StoredRow[]).map((one) => toldRowOf(one, stored.get(one[0])))
  return { ...row, told: rowsOf(told), taken: rowsOf(taken) }
}

type StoredRow = [
  seq: number,
  partner: string,
  taskClass: string | null,
  body: string | null,
  takesBack: number | null,
  isVoid: boolean,
  id: string,
  toldAt: number,
  expiresAt: number | null,
]

function toldRowOf(
  [seq, partner, taskClass, body, takesBack, isVoid, projectionId, toldAt, expiresAt]: StoredRow,
  stored: [seq: number, ...WeightRow][] | undefined,
): ToldRow {
  const {
    task_intent = null,
    scope = null,
    tools = [],
    evidence_refs: refs = [],
  } = (body === null ? {} : JSON.parse(body)) as Partial<Projection>
  const told = tools.map(({ tool_id, outcome }): [string, string] => [tool_id, outcome])
  const weights = stored?.map(([, ...weight]) => weight) ?? null
  const shown = body === null ? null : { projectionId, refs, toldAt, expiresAt, bytes: Buffer.byteLength(body) }
  return [seq, partner, taskClass, task_intent, scope, told, takesBack, isVoid, weights, shown]
}

export interface StoredSnapshot {
  seq: number
  erasedAt: number
  head: Buffer
  tools: ToolRow[]
}

export async function readSnapshot(sql: Sql, { instanceId, database }: Due): Promise<StoredSnapshot | undefined> {
  const { rows } = await sql
    .query<{ seq: number; erasedAt: number; head: string; place: number | null; name: string; body: string }>({
      name: 'advice_snapshot',
      text: 'select seq, erased_at as "erasedAt", head, place, name, body from loci.advice_snapshot($1, $2)',
      values: [instanceId, database],
    })
    .catch(unreadable)
  const [first] = rows
  if (!first) return undefined
  const tools = rows.flatMap(({ place, name, body }) =>
    place === null ? [] : [{ place, name, bytes: Buffer.from(body, 'base64') }],
  )
  return { seq: first.seq, erasedAt: first.erasedAt, head: Buffer.from(first.head, 'base64'), tools }
}

/** What outcomes of a tool took whose projections have left: the numbers of the first and the last of them. */
export type PassedRow = [firstSeq: number, lastSeq: number, tool: string, t: number, u: number]

export async function readPassed(sql: Sql, { instanceId, database }: Due): Promise<PassedRow[]> {
  const { rows } = await sql
    .query<{ passed: string | null }>({
      name: 'advice_passed_of',
      text: 'select loci.advice_passed_of($1, $2) as passed',
      values: [instanceId, database],
    })
    .catch(unreadable)
  return JSON.parse(rows[0]?.passed ?? '[]') as PassedRow[]
}

/** What one outcome added, as it is stored. */
export type NewWeight = [
  seq: number,
  place: number,
  tool: string,
  taskClass: string | null,
  scope: string | null,
  outcome: string,
  t: number,
  u: number,
  attempt: number,
  expected: number,
]

export interface NewSnapshot {
  life: string
  /** The snapshot whose rows hold for the tools that are not given; with `isWhole` all are given. */
  base: number
  isWhole: boolean
  seq: number
  erasedAt: number
  head: Buffer
  tools: ToolRow[]
  /** Each as JSON: of many the list takes long, and whoever makes it serves others in between. */
  weights: string[]
}

/** moved: it does not fit what is stored by now. */
export async function saveSnapshot(
  pool: Pool,
  { instanceId, database }: Due,
  { life, base, isWhole, seq, erasedAt, head, tools, weights }: NewSnapshot,
): Promise<'done' | 'moved'> {
  const { rows } = await execute<{ outcome: 'done' | 'moved' }>(pool, {
    name: 'advice_save',
    text: 'select loci.advice_save($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as outcome',
    values: [
      ...[instanceId, database, life, base, isWhole, seq, erasedAt, head],
      // As bytes: 12 MB of them as base64 in JSON held the thread for 70 to 90 ms.
      JSON.stringify(tools.map(({ place, name, bytes }) => [place, name, bytes.length])),
      Buffer.concat(tools.map(({ bytes }) => bytes)),
      `[${weights.join(',')}]`,
    ],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0]?.outcome ?? 'moved'
}

export interface EvidenceQuery {
  taskClass: string
  scopeKey: string | null
  scope: unknown
  /** Those whose outcomes are to be read: the best first. */
  tools: string[]
  limit: number
  /** By tool: how many of its outcomes of the snapshot are looked at. */
  looks: number[]
  through: number
  /** Up to here outcomes are read from the snapshot's weights; behind it they are in the tail. */
  stored: number
  tail: TailOutcome[]
  /** The references are not to be read. */
  hasRefs: boolean
  refsMax: number
}

/** What was read. */
export interface EvidenceRead {
  /** By tool, newest first. */
  outcomes: Map<string, ShownOutcome[]>
  /** By tool, how many outcomes were looked at; only those that were read to their end. */
  looked: Map<string, number>
  refs: string[]
  isCut: boolean
  /** When the time of an event is over that is referred to; null: never. */
  overAt: number | null
  /** What the head says of its projections as this was read; null: the references were not. */
  head: string | null
  bytes: number
  /** Events that were read. */
  events: number
}

interface EvidenceRow extends Pick<EvidenceRead, 'isCut' | 'overAt' | 'head' | 'bytes' | 'events'> {
  outcomes: string | null
  looks: string | null
  refs: string | null
}

type OutcomeRow = [
  tool: string,
  seq: number,
  projectionId: string,
  outcome: string,
  refs: string[],
  toldAt: number,
  expiresAt: number | null,
  bytes: number,
]

export async function readEvidence(
  sql: Sql,
  { instanceId, database }: Due,
  query: EvidenceQuery,
): Promise<EvidenceRead> {
  const { taskClass, scopeKey, scope, tools, limit, looks, through, stored, tail, hasRefs, refsMax } = query
  const { rows } = await sql
    .query<EvidenceRow>({
      name: 'advice_evidence',
      text: `select outcomes, looks, refs, is_cut as "isCut", over_at as "overAt", head, bytes, events
        from loci.advice_evidence($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      values: [
        ...[instanceId, database, taskClass, scopeKey, scopeKey === null ? null : JSON.stringify(scope)],
        ...[tools, limit, looks, through, stored, byTool(tail), hasRefs, refsMax, EVIDENCE_BYTES_MAX],
      ],
    })
    .catch(unreadable)
  const { outcomes, looks: looked, refs, ...row } = rows[0] as EvidenceRow
  const shown = new Map<string, ShownOutcome[]>()
  for (const row of JSON.parse(outcomes ?? '[]') as OutcomeRow[]) {
    const [tool, seq, projectionId, outcome, shownRefs, toldAt, expiresAt, size] = row
    const list = shown.get(tool) ?? []
    list.push({ seq, projectionId, outcome, refs: shownRefs, toldAt, expiresAt, bytes: size })
    shown.set(tool, list)
  }
  return { outcomes: shown, looked: new Map(JSON.parse(looked ?? '[]')), refs: JSON.parse(refs ?? '[]'), ...row }
}

/** By tool, the outcomes of its newest in the class: newest first. */
export async function readRecent(
  sql: Sql,
  { instanceId, database }: Due,
  query: Pick<EvidenceQuery, 'taskClass' | 'tools' | 'limit' | 'looks' | 'through' | 'tail'>,
): Promise<{ tool: string; outcome: string }[]> {
  const { taskClass, tools, limit, looks, through, tail } = query
  const { rows } = await sql
    .query<{ tool: string; outcome: string }>({
      name: 'advice_recent',
      text: 'select tool, outcome from loci.advice_recent($1, $2, $3, $4, $5, $6, $7, $8)',
      values: [instanceId, database, taskClass, tools, limit, looks, through, byTool(tail)],
    })
    .catch(unreadable)
  return rows
}

/** As an object: in a list the outcomes of 4,000 tools were looked for 4,000 times, and no rank came to an end. */
function byTool(tail: readonly TailOutcome[]): string {
  const tools = Map.groupBy(tail, ([, , tool]) => tool)
  const rows = [...tools].map(([tool, own]) => [tool, own.map(([seq, place, , outcome]) => [seq, place, outcome])])
  return JSON.stringify(Object.fromEntries(rows))
}

const KIND = 'policy/'

export interface StoredPolicy {
  name: string
  version: number
  sent: string | null
  intact: boolean
}

export async function findPolicy(pool: Pool, { instanceId, database }: Due, name: string): Promise<StoredPolicy> {
  const found = await withDatabase(pool, { instanceId, database }, async (sql) => {
    const { rows } = await sql.query<Omit<StoredPolicy, 'name'>>({
      name: 'advice_policy',
      text: 'select sent, version, intact from loci.config_layers($1, $2, $3)',
      values: [instanceId, database, KIND + name],
    })
    return rows[0]
  })
  return { name, ...(found ?? { sent: null, version: 0, intact: true }) }
}

export async function listPolicies(pool: Pool, { instanceId, database }: Due) {
  const found = await withDatabase(pool, { instanceId, database }, async (sql) => {
    const { rows } = await sql.query<{ name: string; version: number }>({
      name: 'advice_policies',
      text: `select substr(kind, ${KIND.length + 1}) as name, version from loci.configs
        where instance_id = $1 and database = $2 and kind like '${KIND}%' order by 1`,
      values: [instanceId, database],
    })
    return rows
  })
  return found ?? []
}

type Written = { outcome: 'done' | 'conflict' | 'databases' | 'erasing' | 'gone'; version: number }

/** In the caller's transaction. */
export async function writePolicy(
  sql: Sql,
  { instanceId, database, databasesMax }: Due & { databasesMax: number },
  { name, sent, ifMatch }: { name: string; sent: string; ifMatch: number | null },
): Promise<Written> {
  const { rows } = await sql.query<Written>({
    name: 'advice_policy_write',
    text: 'select outcome, version from loci.config_write($1, $2, $3, $4, $5, $6)',
    values: [instanceId, databasesMax, database, KIND + name, sent, ifMatch],
    locks: () => enteringLocks(instanceId, [{ database }]),
  })
  return rows[0] as Written
}

/** Never an advice without the policy that it was to be under. */
export function policyDamaged(): ApiError {
  return new ApiError('DATA_DAMAGED', 'The stored policy is damaged. PUT it again; nothing is advised without it.')
}

function unreadable(cause: unknown): never {
  if (!isUnreadable(cause)) throw cause
  throw new ApiError(
    'DATA_DAMAGED',
    'What was told of tools in this database cannot be read. GET /v1/kv/consistency says more.',
    { cause },
  )
}
