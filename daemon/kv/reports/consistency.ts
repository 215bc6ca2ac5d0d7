// Verifies an instance's entries: every row against its digest, every database's rows against the sums in its head. The
// work of one call is bounded; what is left is named by a cursor.
//
// A walk goes through the databases in order of their names and through each in order of its keys. One call sees one
// snapshot. A database that spans calls is compared with its head only when nothing was written to it meanwhile (same
// seq): the cursor carries the sums so far. When something was, each row is still verified, the sums are not, and the
// walk ends as `unknown`.
//
// `full` reads every database. `incremental` leaves out those whose seq is the one at which they were last read whole
// and found good: it finds what went wrong with what was written since. Rot in what nobody writes is found by `full`.

import { createHash } from 'node:crypto'
import { covers } from '@loci/capability/keyspaces.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/capability-access.ts'
import { checkBoundary } from '../../databases/store.ts'
import { type Chunk, type Head, listHeads, type Settled, settle, verifyChunk } from './store.ts'

export type Mode = 'incremental' | 'full'

/** Where a walk goes on, and what it has found so far in the database that it is in. */
export interface Position {
  database: string
  after: string | null
  sums: Sums
  /** Of the whole walk: a walk that found something does not end as consistent. */
  issues: number
  /** Something could not be known on the way. */
  isUnknown: boolean
}

export interface Sums {
  /** The database's seq when its walk began; null when it was written to since. */
  seq: string | null
  rows: number
  bytes: number
  a: string
  b: string
  damaged: number
  unreadable: number
  damagedA: string
  damagedB: string
  versionMax: string
}

export interface Issue {
  severity: 'error' | 'warning'
  type: string
  domain: 'kv'
  database: string
  ref: string | null
  detail: string
  repair: string
}

type CheckName =
  | 'digest'
  | 'cycle_chain'
  | 'counters'
  | 'expired_not_visible'
  | 'tombstones_honoured'
  | 'namespace_boundary'
type Checks = Record<CheckName, { checked: number; failed: number }>

const ROWS_MAX = 10_000
const WORK_MS = 500
const ISSUES_MAX = 500
const CHUNK = 1_000

export async function verifyEntries(pool: Pool, caller: Caller, mode: Mode, from: Position | undefined) {
  const startedAt = new Date()
  const since = performance.now()
  const walk = await transaction(pool, (sql) => walkDatabases(sql, caller, mode, from), {
    isolation: 'repeatable read',
    readOnly: true,
  })
  await remember(pool, caller.instance.id, walk.good)
  const issuesSoFar = (from?.issues ?? 0) + walk.issues.length
  const isUnknown = walk.isUnknown || (from?.isUnknown ?? false)
  const report = {
    status: issuesSoFar > 0 ? 'inconsistent' : isUnknown || walk.next ? 'unknown' : 'consistent',
    mode,
    summary: { rows: walk.rows - walk.expired, bytes: walk.bytes - walk.expiredBytes, issues: walk.issues.length },
    checks: Object.entries(walk.checks).map(([name, counts]) => ({ name, ...counts })),
    issues: walk.issues,
    rootDigest: walk.rootDigest,
    startedAt: startedAt.toISOString(),
    durationMs: Math.round(performance.now() - since),
  }
  return { report, next: walk.next && { ...walk.next, issues: issuesSoFar, isUnknown } }
}

interface Walk {
  /** Read and verified. What the owner is told leaves out the expired among them, which the sweep has yet to remove. */
  rows: number
  bytes: number
  expired: number
  expiredBytes: number
  checks: Checks
  issues: Issue[]
  rootDigest: string
  isUnknown: boolean
  good: Settled[]
  next: Pick<Position, 'database' | 'after' | 'sums'> | undefined
}

type NamedHead = Head & { name: string }

async function walkDatabases(
  sql: Sql,
  { instance, ks }: Caller,
  mode: Mode,
  from: Position | undefined,
): Promise<Walk> {
  const until = performance.now() + WORK_MS
  const listed = await listHeads(sql, instance.id, from === undefined)
  const heads = listed.filter((head): head is NamedHead => head.name !== null && covers(ks, 'kv', head.name))
  const walk: Walk = {
    rows: 0,
    bytes: 0,
    expired: 0,
    expiredBytes: 0,
    checks: noChecks(),
    issues: [],
    rootDigest: rootDigestOf(heads),
    isUnknown: false,
    good: [],
    next: undefined,
  }
  if (listed.some(({ state }) => state === 'unreadable'))
    walk.issues.push(
      issue('page_unreadable', '*', null, 'Not every database can be found: a page with their heads cannot be read.'),
    )
  walk.checks.namespace_boundary = await checkBoundary(sql, instance.id)
  if (walk.checks.namespace_boundary.failed > 0)
    walk.issues.push(issue('boundary_open', '*', null, 'Rows of this instance can be seen from another.'))
  for (const head of heads) {
    if (from && head.name < from.database) continue
    const isResumed = from?.database === head.name
    if (!isResumed && mode === 'incremental' && head.verifiedSeq === head.seq && !head.unsettled) continue
    const begun = isResumed
      ? { after: from.after, sums: { ...from.sums, seq: from.sums.seq === head.seq ? head.seq : null } }
      : { after: null, sums: noSums(head) }
    const { after, sums } = await walkDatabase(sql, instance.id, head.name, begun, walk, until)
    if (after !== null) {
      walk.next = { database: head.name, after, sums }
      return walk
    }
    compare(walk, head, sums)
    if (isSpent(walk, until) && head !== heads.at(-1)) {
      // Every key is behind the empty one: the next database from its beginning.
      const next = heads[heads.indexOf(head) + 1] as NamedHead
      walk.next = { database: next.name, after: '', sums: noSums(next) }
      return walk
    }
  }
  return walk
}

/** `after` is null when the database was read to its end. */
async function walkDatabase(
  sql: Sql,
  instanceId: string,
  database: string,
  begun: { after: string | null; sums: Sums },
  walk: Walk,
  until: number,
): Promise<{ after: string | null; sums: Sums }> {
  let { after, sums } = begun
  for (;;) {
    const chunk = await verifyChunk(sql, instanceId, database, { after, limit: CHUNK, ms: WORK_MS })
    sums = add(sums, chunk)
    count(walk, database, chunk)
    if (chunk.goOnAfter === null) return { after: null, sums }
    if (chunk.goOnAfter === after) {
      // Nothing but damaged rows whose keys lead nowhere: what lies behind them stays unknown.
      walk.isUnknown = true
      return { after: null, sums: { ...sums, seq: null } }
    }
    after = chunk.goOnAfter
    if (isSpent(walk, until)) return { after, sums }
  }
}

function isSpent({ rows, issues }: Walk, until: number): boolean {
  return rows >= ROWS_MAX || issues.length >= ISSUES_MAX || performance.now() > until
}

function count(walk: Walk, database: string, chunk: Chunk): void {
  const { digest, expired_not_visible: expired } = walk.checks
  const damaged = chunk.damagedKeys.length
  walk.rows += chunk.rows + damaged
  walk.bytes += chunk.bytes
  walk.expired += chunk.expired
  walk.expiredBytes += chunk.expiredBytes
  digest.checked += chunk.rows + damaged
  digest.failed += damaged
  expired.checked += chunk.expired
  expired.failed += chunk.expiredVisible
  for (const [at, key] of chunk.damagedKeys.entries()) {
    const detail =
      chunk.damagedStates[at] === 'page_unreadable'
        ? 'The entry is on a page that cannot be read.'
        : 'The entry does not fit its digest; its key may be part of the damage.'
    walk.issues.push(issue(chunk.damagedStates[at] ?? 'digest_mismatch', database, key, detail))
  }
  if (chunk.expiredVisible > 0)
    walk.issues.push(
      issue('expired_visible', database, null, `${chunk.expiredVisible} expired entries can still be read.`),
    )
}

function noSums({ seq }: Head): Sums {
  return {
    seq,
    rows: 0,
    bytes: 0,
    a: '0',
    b: '0',
    damaged: 0,
    unreadable: 0,
    damagedA: '0',
    damagedB: '0',
    versionMax: '0',
  }
}

function add(sums: Sums, chunk: Chunk): Sums {
  return {
    seq: sums.seq,
    rows: sums.rows + chunk.rows,
    bytes: sums.bytes + chunk.bytes,
    a: xor(sums.a, chunk.a),
    b: xor(sums.b, chunk.b),
    damaged: sums.damaged + chunk.damagedKeys.length,
    unreadable: sums.unreadable + chunk.damagedStates.filter((state) => state === 'page_unreadable').length,
    damagedA: xor(sums.damagedA, chunk.damagedA),
    damagedB: xor(sums.damagedB, chunk.damagedB),
    versionMax: BigInt(chunk.versionMax) > BigInt(sums.versionMax) ? chunk.versionMax : sums.versionMax,
  }
}

function xor(one: string, other: string): string {
  return (BigInt(one) ^ BigInt(other)).toString()
}

/**
 * What was read of a database against its head. A row that vanished leaves no trace but here. Damaged rows are counted
 * as being there; whether they account for the whole difference shows in the set: without them it must lack exactly
 * their digests, unless one of their digests is what rotted, or cannot be read.
 */
function compare(walk: Walk, head: NamedHead, sums: Sums): void {
  const found = head.state === 'headless' ? headless(head, sums) : sums.seq === null ? undefined : against(head, sums)
  if (found === undefined) {
    walk.isUnknown = true
    return
  }
  walk.checks.counters.checked += 1
  if (found.length > 0) walk.checks.counters.failed += 1
  walk.issues.push(...found)
  if (found.length === 0 && sums.damaged === 0)
    walk.good.push({ database: head.name, seq: head.seq, rows: sums.rows, bytes: sums.bytes, a: sums.a, b: sums.b })
}

function headless({ name }: NamedHead, sums: Sums): Issue[] {
  return [issue('surplus', name, null, `${sums.rows + sums.damaged} entries are in a database that does not exist.`)]
}

function against(head: NamedHead, sums: Sums): Issue[] {
  const difference = BigInt(head.keys) - BigInt(sums.rows + sums.damaged)
  if (difference > 0n)
    return [
      issue('missing', head.name, null, `${difference} entries that were written are not there, or not to be seen.`),
    ]
  if (difference < 0n)
    return [issue('surplus', head.name, null, `${-difference} more entries are there than were written.`)]
  if (BigInt(sums.versionMax) > BigInt(head.seq))
    return [issue('sequence', head.name, null, 'An entry has a higher version than the database has given out.')]
  if (head.unsettled || sums.unreadable > 0) return []
  const isWhole = xor(head.a, sums.a) === sums.damagedA && xor(head.b, sums.b) === sums.damagedB
  if (!isWhole && sums.damaged > 0)
    return [
      issue(
        'set_mismatch',
        head.name,
        null,
        'The damaged entries do not account for the whole difference: digests among them rotted, or others were exchanged.',
      ),
    ]
  if (!isWhole)
    return [
      issue(
        'set_mismatch',
        head.name,
        null,
        'The entries are not the set that was written: one was exchanged as a whole, or the head rotted.',
      ),
    ]
  if (sums.damaged === 0 && head.bytes !== String(sums.bytes))
    return [issue('bytes', head.name, null, `The head counts ${head.bytes} bytes, the entries have ${sums.bytes}.`)]
  return []
}

const REPAIRS: Record<string, string> = {
  digest_mismatch:
    'Write the entry again or delete it, without a version in If-Match. A backup has its last good version.',
  page_unreadable: 'The operator restores the page from a standby or a backup. Everything else is served meanwhile.',
  missing:
    'Compare with a backup or an export and write what is missing again; the operator restores the database’s head with it.',
  boundary_open: 'Tell the operator at once: row-level security is off.',
  expired_visible: 'Tell the operator: this is a fault of the program.',
}

function issue(type: string, database: string, ref: string | null, detail: string): Issue {
  const repair = REPAIRS[type] ?? 'Compare with a backup or an export; the operator restores the database’s head.'
  return {
    severity: type === 'set_mismatch' || type === 'bytes' ? 'warning' : 'error',
    type,
    domain: 'kv',
    database,
    ref,
    detail,
    repair,
  }
}

/** Cycles and memories do not exist yet: their checks say that nothing was looked at. */
function noChecks(): Checks {
  const none = () => ({ checked: 0, failed: 0 })
  return {
    digest: none(),
    cycle_chain: none(),
    counters: none(),
    expired_not_visible: none(),
    tombstones_honoured: none(),
    namespace_boundary: none(),
  }
}

/** Over the sets of all databases that the caller may see: equal while none of them has changed. */
function rootDigestOf(heads: NamedHead[]): string {
  const hash = createHash('sha256')
  for (const { name, seq, keys, a, b } of heads) hash.update(`${name}\n${seq}\n${keys}\n${a}\n${b}\n`)
  return hash.digest('base64url')
}

async function remember(pool: Pool, instanceId: string, good: Settled[]): Promise<void> {
  for (const one of good) {
    try {
      await settle(pool, instanceId, one)
    } catch (error) {
      // The report stands without it: a read-only store remembers nothing, and the next incremental check reads more.
      if (!isRefusal(error)) throw error
      return
    }
  }
}

/** Read-only, or a row that somebody else holds. */
function isRefusal(error: unknown): boolean {
  return ['25006', '55P03', '40001', '40P01'].includes(sqlState(error) ?? '')
}
