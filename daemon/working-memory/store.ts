// All SQL of working memory. Reads and writes of slots are calls of one function each, which sets the row-level
// security context itself.

import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { textArray } from '@loci/postgres/text-array.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { instanceGone } from '../access/served.ts'
import type { ConfigLayers } from '../databases/config/store.ts'
import { enteringLocks } from '../databases/locks.ts'
import type { Macs } from '../databases/macs.ts'
import { type Due, withDatabase } from '../databases/store.ts'
import { wakeEvents } from '../events/store.ts'
import { claimLocks, claimValues } from '../idempotency/store.ts'
import type { Document, Resident, Step } from './document.ts'
import type { Meta } from './slots.ts'

export interface ListRow extends ConfigLayers {
  version: number
  count: number
  /** Texts of slots with commas between them. */
  slots: string
  damaged: (string | null)[] | null
}

/** One row for each of the databases, in their order. */
export async function listSlots(sql: Sql, instanceId: string, databases: string[]): Promise<ListRow[]> {
  const { rows } = await sql.query<ListRow>({
    name: 'wm_list_each',
    text: `select version, count, slots, damaged, service, sent, config_intact as "configIntact" from loci.wm_list_each($1, $2)`,
    values: [instanceId, databases],
  })
  return rows
}

/** `intact` null: there is none. */
export interface SlotRow {
  text: string | null
  intact: boolean | null
}

export async function findSlots(
  sql: Sql,
  instanceId: string,
  wanted: { database: string; key: string }[],
): Promise<SlotRow[]> {
  const { rows } = await sql.query<SlotRow>({
    name: 'wm_get_each',
    text: 'select text, intact from loci.wm_get_each($1, $2, $3)',
    values: [instanceId, wanted.map(({ database }) => database), wanted.map(({ key }) => key)],
  })
  return rows
}

export interface Snapshot extends ConfigLayers {
  document: Document
  /** Of the whole document; of another length while a slot is damaged. */
  digest: Buffer
  /** As the head says; 0: none was sent. */
  configVersion: number
  evictions: number
}

interface SnapshotRow extends ConfigLayers {
  version: number
  now: Date
  cycle: number
  evictions: number
  keys: (string | null)[]
  versions: number[]
  expires: (Date | null)[]
  metas: (string | null)[]
  texts: (string | null)[]
  intact: boolean[] | null
  digest: Buffer
  configVersion: number
}

/** What writes are planned on, with the texts of the wanted keys, in the order of the databases. */
export async function readDocuments(
  sql: Sql,
  instanceId: string,
  databases: { database: string; wanted: string[] }[],
): Promise<Snapshot[]> {
  const { rows } = await sql.query<SnapshotRow>({
    name: 'wm_snapshot',
    text: `select version, now, evictions, keys, versions, expires, metas, texts, intact, digest, service, sent,
        config_version as "configVersion", config_intact as "configIntact", cycle
      from loci.wm_snapshot($1, $2, $3, $4)`,
    values: [
      instanceId,
      databases.map(({ database }) => database),
      databases.flatMap(({ wanted }, at) => wanted.map(() => at + 1)),
      databases.flatMap(({ wanted }) => wanted),
    ],
  })
  return rows.map(({ version, now, cycle, service, sent, configVersion, configIntact, evictions, digest, ...row }) => ({
    ...{ service, sent, configVersion, configIntact, evictions, digest },
    document: { version, now: now.getTime(), cycle, slots: row.keys.map((_, at) => residentOf(row, at)) },
  }))
}

function residentOf(
  row: Pick<SnapshotRow, 'keys' | 'versions' | 'expires' | 'metas' | 'texts' | 'intact'>,
  at: number,
): Resident {
  const isIntact = row.intact === null || row.intact[at] === true
  return {
    key: row.keys[at] ?? '',
    version: row.versions[at] ?? 0,
    expiresAt: row.expires[at]?.getTime() ?? null,
    meta: isIntact ? (JSON.parse(row.metas[at] as string) as Meta) : undefined,
    text: isIntact ? (row.texts[at] ?? null) : null,
  }
}

/** The instance that writes; its key makes the HMACs that an erasure finds versions by. */
export interface Writer {
  instanceId: string
  databasesMax: number
  macs: Macs
}

/** The steps of one database, planned on a version of its document. */
export interface PlannedSteps {
  database: string
  version: number
  now: number
  steps: readonly Step[]
  snapshot: Pick<Snapshot, 'digest' | 'service' | 'configVersion'>
  /** Whether the snapshot was remembered; else it was read for this. */
  isRemembered: boolean
}

/** The claim of an act, which is the steps `from` to `to` of its database, and what is kept of its answer. */
export interface ClaimedSteps {
  claim: Claim
  from: number
  to: number
  writes: object[]
}

export interface Committed {
  /** Its number, where one of the claims stopped the call: nothing was done. */
  claim?: number | null
  database: string
  /**
   * `moved`: the document is another by now. `none` never comes: it has moved. Of a claim: `known`, `answers` (the
   * instance keeps as many as it may), `expired` (its answer was removed: ask again).
   */
  outcome: 'done' | 'moved' | 'databases' | 'erasing' | 'gone' | 'known' | 'answers' | 'expired'
  /** One for each step. */
  versions: number[]
  digests: Buffer[]
  /** Of the document. */
  digest: Buffer
}

/** In a transaction of its own, with its events: durable when this returns. */
export async function commitSteps(
  pool: Pool,
  writer: Writer,
  plans: PlannedSteps[],
  claimed: ClaimedSteps[],
): Promise<Committed[]> {
  const values = stepValues(writer, plans)
  const claims = claimed.map(({ claim }) => claim)
  try {
    const { rows } = await execute<Committed>(
      pool,
      claims.length === 0
        ? {
            name: 'wm_commit',
            text: `select database, outcome, versions, digests, digest
              from loci.wm_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
            values,
            locks: () => enteringLocks(writer.instanceId, plans, 'due row', 'event head'),
          }
        : {
            name: 'wm_commit_acts',
            text: `select claim, database, outcome, versions, digests, digest
              from loci.wm_commit_acts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                $19, $20, $21, $22, $23, $24, $25)`,
            values: [
              ...values,
              ...[claims[0]?.scope[2], claims[0]?.sealedWith],
              ...claimValues(claims),
              claimed.map(({ from }) => from),
              claimed.map(({ to }) => to),
              claimed.map(({ writes }) => JSON.stringify(writes)),
            ],
            locks: () => [...claimLocks(claims), ...enteringLocks(writer.instanceId, plans, 'due row', 'event head')],
          },
    )
    wakeEvents(pool, writer.instanceId)
    return rows
  } catch (error) {
    throw isUnreadable(error) ? unreadable(error) : sqlState(error) === 'LC001' ? instanceGone() : error
  }
}

/** In the caller's transaction. The caller appends the events, after everything else. */
export async function writeSteps(
  sql: Sql,
  writer: Writer,
  plan: PlannedSteps,
): Promise<Committed & { events: object[] }> {
  const { rows } = await sql.query<Committed & { events: object[] }>({
    name: 'wm_write',
    text: `select database, outcome, versions, digests, digest, to_json(events) as events
      from loci.wm_write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    values: stepValues(writer, [plan]),
    locks: () => enteringLocks(writer.instanceId, [plan], 'due row'),
  })
  return rows[0] as Committed & { events: object[] }
}

function stepValues({ instanceId, databasesMax, macs }: Writer, plans: PlannedSteps[]): unknown[] {
  const steps = plans.flatMap(({ steps: own }, at) => own.map((step) => ({ step, database: at + 1 })))
  return [
    instanceId,
    databasesMax,
    plans.map(({ database }) => database),
    plans.map(({ version }) => version),
    plans.map(({ snapshot, isRemembered }) => (isRemembered ? snapshot.digest : null)),
    plans.map(({ snapshot }) => snapshot.service),
    plans.map(({ snapshot }) => snapshot.configVersion),
    plans.map(({ now }) => new Date(now)),
    steps.map(({ database }) => database),
    ...stepColumns(
      steps.map(({ step }) => step),
      macs,
    ),
  ]
}

/** As the functions take steps: operations, keys, texts behind the version, metas, expiries, whys, HMACs of values. */
export function stepColumns(steps: readonly Step[], macs: Macs): unknown[] {
  const puts = steps.map((step) => (step.op === 'remove' ? undefined : step))
  return [
    steps.map(({ op }) => op),
    steps.map(({ key }) => key),
    textArray(puts.map((put) => put?.rest ?? null)),
    textArray(puts.map((put) => (put ? JSON.stringify(put.meta) : null))),
    puts.map((put) => (put && put.expiresAt !== null ? new Date(put.expiresAt) : null)),
    textArray(steps.map((step) => (step.op === 'remove' ? JSON.stringify(step.why) : null))),
    steps.map((step) => (step.op === 'put' ? macs.value(step.content) : null)),
  ]
}

export function unreadable(cause: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The stored slots of this database cannot be read. Nothing was done; GET /v1/kv/consistency says more.',
    { cause },
  )
}

export interface VersionRow {
  key: string
  version: number
  text: string
  intact: boolean
}

/** Versions of a slot, newest first, below `before`. */
export async function listVersions(
  pool: Pool,
  { instanceId, database, key }: { instanceId: string; database: string; key: string },
  { before, limit }: { before: number | null; limit: number },
): Promise<VersionRow[]> {
  const rows = await withDatabase(pool, { instanceId, database }, async (sql) => {
    const found = await sql.query<VersionRow>({
      name: 'slot_versions_list',
      text: `select key, case when intact then version else 0 end as version, case when intact then text else '' end as text, intact
        from (select v.*, loci.slot_is_intact($1, $2, v.key, v.text, v.version, v.expires, v.meta, v.digest) as intact
          from loci.slot_versions v where v.instance_id = $1 and v.database = $2 and v.key = $3
            and v.version < coalesce($4::bigint, 9007199254740991)
          order by v.version desc limit $5) x order by x.version desc`,
      values: [instanceId, database, key, before, limit],
    })
    return found.rows
  })
  return rows ?? []
}

/** Of the pairs those that are still kept. In a transaction that has entered the instance. */
export async function findVersions(
  sql: Sql,
  { instanceId, database }: { instanceId: string; database: string },
  pairs: { key: string; version: number }[],
): Promise<VersionRow[]> {
  const { rows } = await sql.query<VersionRow>({
    name: 'slot_versions_find',
    text: `select v.key, v.version, v.text, loci.slot_is_intact($1, $2, v.key, v.text, v.version, v.expires, v.meta, v.digest) as intact
      from unnest($3::text[], $4::bigint[]) with ordinality as w(key, version, n)
      join loci.slot_versions v on v.instance_id = $1 and v.database = $2 and v.key = w.key and v.version = w.version
      order by w.n`,
    values: [instanceId, database, pairs.map(({ key }) => key), pairs.map(({ version }) => version)],
  })
  return rows
}

/** As findVersions(), in a transaction of its own. */
export async function readVersions(
  pool: Pool,
  place: Due,
  pairs: { key: string; version: number }[],
): Promise<VersionRow[]> {
  return (await withDatabase(pool, place, (sql) => findVersions(sql, place, pairs))) ?? []
}

export interface EvictionRow {
  seq: number
  key: string
  version: number
  at: Date
  why: string
  intact: boolean
}

/** Newest first, below `before`. */
export async function listEvictions(
  pool: Pool,
  { instanceId, database }: { instanceId: string; database: string },
  { before, limit }: { before: number | null; limit: number },
): Promise<EvictionRow[]> {
  const rows = await withDatabase(pool, { instanceId, database }, async (sql) => {
    const found = await sql.query<EvictionRow>({
      name: 'evictions_list',
      text: `select e.seq, e.key, e.version, e.at, e.why,
          coalesce(e.digest = loci.eviction_digest($1, $2, e.seq, e.at, e.key, e.version, e.why), false) as intact
        from loci.evictions e where e.instance_id = $1 and e.database = $2 and e.seq < coalesce($3::bigint, 9007199254740991)
        order by e.seq desc limit $4`,
      values: [instanceId, database, before, limit],
    })
    return found.rows
  })
  return rows ?? []
}

export interface Clear {
  id: string
  pairs: { key: string; version: number }[]
}

/** In the transaction of the clear. */
export async function insertClear(
  sql: Sql,
  { instanceId, database, now }: { instanceId: string; database: string; now: number },
  { id, pairs }: Clear,
): Promise<void> {
  await sql.query({
    name: 'clear_insert',
    text: `insert into loci.clears (instance_id, database, id, at, keys, versions) values ($1, $2, $3, $4, $5, $6)`,
    values: [
      ...[instanceId, database, id, new Date(now)],
      pairs.map(({ key }) => key),
      pairs.map(({ version }) => version),
    ],
  })
}

/** Marks a clear as undone and returns what it took away; undefined when it is used, too old, or none. */
export async function useClear(
  sql: Sql,
  { instanceId, database, id }: { instanceId: string; database: string; id: string },
): Promise<{ key: string; version: number }[] | undefined> {
  const { rows } = await sql.query<{ keys: string[]; versions: number[] }>({
    name: 'clear_use',
    text: `update loci.clears c set used_at = clock_timestamp()
      where c.instance_id = $1 and c.database = $2 and c.id = $3 and c.used_at is null and c.at > now() - interval '24 hours'
      returning keys, versions`,
    values: [instanceId, database, id],
  })
  const [clear] = rows
  return clear?.keys.map((key, at) => ({ key, version: clear.versions[at] as number }))
}

/** Removes the slots of a database whose time is over: the handler of due work `slots`. */
export async function expireSlots(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'wm_expire',
    text: 'select loci.wm_expire($1, $2)',
    values: [instanceId, database],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row', 'event head'),
  })
  wakeEvents(sql, instanceId)
}

export async function keepSlotPartitions(sql: Sql): Promise<void> {
  await sql.query({ text: 'select loci.keep_slot_partitions()' })
}
