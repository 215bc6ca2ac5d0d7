// All SQL of entries. Reads and writes are calls of one function each, which sets the row-level security context
// itself.

import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import type { KnownDamage } from '../databases/known-damage.ts'
import { enteringLocks } from '../databases/locks.ts'
import type { Due } from '../databases/store.ts'
import type { IfMatch } from '../databases/versions.ts'
import { claimLocks, claimValues, dropExpired, inClaimOrder } from '../idempotency/store.ts'

export interface EntryRow {
  key: string
  value: string
  version: number
  createdAt: Date
  updatedAt: Date
  expiresAt: Date | null
  digest: Buffer
  intact: true
}

/** A row that does not fit its digest: nothing of it is handed out, and its key may be what rotted. */
export interface DamagedRow {
  key: string | null
  intact: false
}

export interface Write {
  database: string
  op: 'put' | 'delete'
  key: string
  value: string | null
  ttlMs: number | null
  ifMatch: IfMatch
}

export interface WriteOutcome {
  /** `gone`: the instance was deleted while the write was on its way. */
  outcome: 'done' | 'conflict' | 'missing' | 'databases' | 'damaged' | 'erasing' | 'gone'
  version: number
  createdAt: Date
  updatedAt: Date
  expiresAt: Date | null
  digest: Buffer
}

const COLUMNS = `value, version, created_at as "createdAt", updated_at as "updatedAt", expires_at as "expiresAt", digest, intact`

/** Each of them, undefined where there is none, in one call; throws when one of them can not be read. */
export async function findEach(
  sql: Sql,
  instanceId: string,
  wanted: { database: string; key: string }[],
): Promise<(EntryRow | DamagedRow | undefined)[]> {
  const { rows } = await sql.query<Omit<EntryRow, 'key' | 'intact'> & { intact: boolean | null }>({
    name: 'kv_get_each',
    text: `select ${COLUMNS} from loci.kv_get_each($1, $2, $3)`,
    values: [instanceId, wanted.map(({ database }) => database), wanted.map(({ key }) => key)],
  })
  return rows.map((row, at) => {
    const { key } = wanted[at] as { key: string }
    if (row.intact === null) return undefined
    return row.intact ? { key, ...row, intact: true } : { key, intact: false }
  })
}

/** A page ends with the entry that goes over it. */
export const PAGE_BYTES_MAX = 1024 * 1024

interface Range {
  from: string
  below: string | null
  /** Backwards: the key before which it begins. */
  after: string | null
  limit: number
  isBack: boolean
  /** Without values. */
  isBare: boolean
}

export async function listEntries(
  sql: Sql,
  instanceId: string,
  database: string,
  { from, below, after, limit, isBack, isBare }: Range,
): Promise<(EntryRow | DamagedRow)[]> {
  if (isBack || isBare) {
    const { rows } = await sql.query<EntryRow | DamagedRow>({
      name: 'kv_list_as',
      text: `select key, ${COLUMNS} from loci.kv_list_as($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [instanceId, database, from, below, after, isBack, isBare, limit, PAGE_BYTES_MAX],
    })
    return rows
  }
  const { rows } = await sql.query<EntryRow | DamagedRow>({
    name: 'kv_list',
    text: `select key, ${COLUMNS} from loci.kv_list($1, $2, $3, $4, $5, $6, $7)`,
    values: [instanceId, database, from, below, after, limit, PAGE_BYTES_MAX],
  })
  return rows
}

/** Those of the keys that are there, in their order. */
export async function findEntries(
  sql: Sql,
  instanceId: string,
  database: string,
  keys: string[],
): Promise<(EntryRow | DamagedRow)[]> {
  const { rows } = await sql.query<EntryRow | DamagedRow>({
    name: 'kv_get_many',
    text: `select key, ${COLUMNS} from loci.kv_get_many($1, $2, $3)`,
    values: [instanceId, database, keys],
  })
  return rows
}

export interface Walked {
  key: string | null
  /** `stopped`: the time was over; the walk goes on after this key. */
  state: 'ok' | 'digest_mismatch' | 'page_unreadable' | 'stopped'
  isExpired: boolean
}

/** Keys and their state, read around whatever can not be read. */
export async function walkEntries(
  sql: Sql,
  damage: KnownDamage,
  instanceId: string,
  database: string,
  walk: { prefix: string; after: string | null; limit: number; ms: number },
): Promise<Walked[]> {
  const known = damage.find(placeOf(instanceId, database), walk.prefix, walk.after)
  const { rows } = await sql.query<Walked>({
    name: 'kv_walk',
    text: `select key, state, is_expired as "isExpired" from loci.kv_walk($1, $2, $3, $4, $5, $6, $7)`,
    values: [instanceId, database, walk.prefix, walk.after, walk.limit, walk.ms, known],
  })
  const unreadable = rows.flatMap(({ key, state }) => (state === 'page_unreadable' && key !== null ? [key] : []))
  damage.remember(placeOf(instanceId, database), unreadable)
  return rows
}

/** Of what is known to be damaged. */
export function placeOf(instanceId: string, database: string): string {
  return `entries/${instanceId}/${database}`
}

/** Writes that are done all or none, with a claim on an Idempotency-Key or without; or one write on its own. */
export interface WriteAct {
  writes: Write[]
  isWhole: boolean
  claim?: Claim | undefined
  databasesMax: number
}

/** Nothing was done where the outcome is not `written`. */
export type ActOutcome =
  | { outcome: 'written'; writes: WriteOutcome[] }
  /** `known`: the Idempotency-Key is; `answers`: the instance keeps as many as it may. */
  | { outcome: 'known' }
  | { outcome: 'answers' }
  | { outcome: 'refused'; at: number; write: Pick<WriteOutcome, 'outcome' | 'version'> }

const COLUMNS_WRITTEN = `outcome, version, created_at as "createdAt", updated_at as "updatedAt", expires_at as "expiresAt", digest`

/** In one transaction: durable when this returns. Outcomes in the order of the acts. */
export async function commitActs(pool: Pool, instanceId: string, acts: WriteAct[]): Promise<ActOutcome[]> {
  try {
    return acts.some(({ isWhole }) => isWhole)
      ? await writeActs(pool, instanceId, acts)
      : await writeEach(pool, instanceId, acts)
  } catch (error) {
    const refused = acts.length === 1 ? refusedOf(error) : undefined
    if (refused) return [refused]
    // The server met damage and said so: it has taken the statement back, whatever it did to the connection.
    if (isUnreadable(error))
      throw new ApiError(
        'DATA_DAMAGED',
        'The stored data under this write cannot be read. Nothing was done; GET /v1/kv/consistency says more.',
        { cause: error },
      )
    throw error
  }
}

async function writeEach(pool: Pool, instanceId: string, acts: WriteAct[]): Promise<ActOutcome[]> {
  const { rows } = await execute<WriteOutcome>(pool, {
    name: 'kv_write',
    text: `select ${COLUMNS_WRITTEN} from loci.kv_write($1, $2, $3, $4, $5, $6, $7, $8) order by ord`,
    values: [instanceId, acts[0]?.databasesMax, ...writeValues(acts)],
    locks: () =>
      enteringLocks(
        instanceId,
        acts.flatMap(({ writes }) => writes),
        'due row',
      ),
  })
  return rows.map((row) => ({ outcome: 'written', writes: [row] }))
}

async function writeActs(pool: Pool, instanceId: string, acts: WriteAct[]): Promise<ActOutcome[]> {
  const claiming = inClaimOrder(acts)
  const claims = claiming.map(({ claim }) => claim)
  const { rows } = await execute<WriteOutcome & { claim: number | null }>(pool, {
    name: 'kv_write_acts',
    text: `select claim, ${COLUMNS_WRITTEN}
      from loci.kv_write_acts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) order by ord`,
    values: [
      instanceId,
      acts[0]?.databasesMax,
      acts.flatMap(({ writes, isWhole }, at) => writes.map(() => (isWhole ? at + 1 : null))),
      ...writeValues(acts),
      claims[0]?.scope[2],
      claims[0]?.sealedWith,
      claiming.map((act) => acts.indexOf(act) + 1),
      ...claimValues(claims),
    ],
    locks: () => [
      ...claimLocks(claims),
      ...enteringLocks(
        instanceId,
        acts.flatMap(({ writes }) => writes),
        'due row',
      ),
    ],
  })
  const stopped = rows.filter(({ claim }) => claim !== null)
  if (stopped.length > 0) return writeRest(pool, instanceId, acts, claiming, stopped)
  let at = 0
  return acts.map(({ writes: { length } }) => {
    at += length
    return { outcome: 'written', writes: rows.slice(at - length, at) }
  })
}

/** Nothing was done yet: those whose claim stops them are told, the others are done without them. */
async function writeRest(
  pool: Pool,
  instanceId: string,
  acts: WriteAct[],
  claiming: (WriteAct & { claim: Claim })[],
  stopped: { claim: number | null; outcome: string }[],
): Promise<ActOutcome[]> {
  const told = new Map<WriteAct | undefined, ActOutcome>()
  for (const { claim, outcome } of stopped)
    if (outcome !== 'expired') told.set(claiming[Number(claim) - 1], { outcome } as ActOutcome)
  await dropExpired(pool, claiming, stopped)
  const rest = acts.filter((act) => !told.has(act))
  const done = rest.length > 0 ? await commitActs(pool, instanceId, rest) : []
  return acts.map((act) => told.get(act) ?? (done.shift() as ActOutcome))
}

/** Only a batch of one act reports its refusal; the acts of a larger batch are retried one at a time. */
function refusedOf(error: unknown): ActOutcome | undefined {
  const { detail = '' } = error as { detail?: string }
  const [, ord, outcome, version] = /^(\d+) (\w+) (\d+)$/.exec(detail) ?? []
  if (sqlState(error) !== 'LC001' || outcome === undefined) return undefined
  const write = { outcome: outcome as WriteOutcome['outcome'], version: Number(version) }
  return { outcome: 'refused', at: Number(ord) - 1, write }
}

function writeValues(acts: WriteAct[]): unknown[] {
  const writes = acts.flatMap((act) => act.writes)
  return [
    writes.map(({ database }) => database),
    writes.map(({ op }) => op),
    writes.map(({ key }) => key),
    writes.map(({ value }) => value),
    writes.map(({ ttlMs }) => ttlMs),
    writes.map(({ ifMatch }) => ifMatch),
  ]
}

/** Of what was put, as the server computed them then. */
export async function digestsOf(
  sql: Sql,
  instanceId: string,
  writes: Write[],
  outcomes: Omit<WriteOutcome, 'digest'>[],
): Promise<Buffer[]> {
  const { rows } = await sql.query<{ digest: Buffer }>({
    name: 'kv_digests',
    text: `select case when w.value is null then ''::bytea
        else loci.entry_digest($1, w.database, w.key, w.value, w.version, w.created, w.updated, w.expires) end as digest
      from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[])
        with ordinality as w(database, key, value, version, created, updated, expires, n) order by w.n`,
    values: [
      instanceId,
      writes.map(({ database }) => database),
      writes.map(({ key }) => key),
      writes.map(({ value }) => value),
      outcomes.map(({ version }) => version),
      outcomes.map(({ createdAt }) => createdAt),
      outcomes.map(({ updatedAt }) => updatedAt),
      outcomes.map(({ expiresAt }) => expiresAt),
    ],
  })
  return rows.map(({ digest }) => digest)
}

/** A commit each; a database with more is due again at once. */
const EXPIRED_MAX = 500

/** Removes what has expired in a database: the handler of due work `expiry`. */
export async function expireEntries(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'kv_expire',
    text: 'select loci.kv_expire($1, $2, $3)',
    values: [instanceId, database, EXPIRED_MAX],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}
