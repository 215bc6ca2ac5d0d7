// Verifies the rows of an instance: every row against its digest, every database's rows against the sums in its head.
// The work of one call is bounded; what is left is named by a cursor.
//
// A walk goes through the domains, through the databases of each in order of their names, and through each in order of
// its keys. One call sees one snapshot. A database that spans calls is compared with its head only when nothing was
// written to it meanwhile (same seq): the cursor carries the sums so far. When something was, each row is still
// verified, the sums are not, and the walk ends as `unknown`.
//
// `full` reads every database. `incremental` leaves out those whose seq is the one at which they were last read whole
// and found good: it finds what went wrong with what was written since. Rot in what nobody writes is found by `full`.

import { createHash } from 'node:crypto'
import { covers } from '@loci/capability/keyspaces.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/capability-access.ts'
import { checkBoundary } from '../store.ts'
import { against, type Issue, issueOf, type NamedHead } from './issue.ts'
import { add, noSums, type Sums } from './sums.ts'
import type { Chunk, Found, Head, Settled, Walker } from './walker.ts'

export type Mode = 'incremental' | 'full'

/** Where a walk goes on, and what it has found so far in the database that it is in. */
export interface Position {
  domain: string
  /** Empty: the first. */
  database: string
  after: string | null
  sums: Sums
  /** Of the whole walk: a walk that found something does not end as consistent. */
  issues: number
  /** Something could not be known on the way. */
  isUnknown: boolean
  /** What the whole walk had to read when it began; undefined in a position of an earlier release. */
  rowsTotal?: number
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

export async function verifyInstance(
  pool: Pool,
  walkers: Walker[],
  caller: Caller,
  mode: Mode,
  from: Position | undefined,
) {
  const startedAt = new Date()
  const since = performance.now()
  const walk = await transaction(pool, (sql) => walkDomains(sql, walkers, caller, mode, from), {
    isolation: 'repeatable read',
    readOnly: true,
  })
  await remember(pool, caller.instance.id, walk)
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
  const { rowsTotal } = walk
  return { report, rowsTotal, next: walk.next && { ...walk.next, issues: issuesSoFar, isUnknown, rowsTotal } }
}

interface Walk {
  /** Read and verified. What the owner is told leaves out the expired among them, which the sweep has yet to remove. */
  rows: number
  bytes: number
  expired: number
  expiredBytes: number
  rowsTotal: number
  checks: Checks
  issues: Issue[]
  rootDigest: string
  isUnknown: boolean
  good: { walker: Walker; settled: Settled }[]
  bad: { walker: Walker; database: string; found: Found[] }[]
  next: Pick<Position, 'domain' | 'database' | 'after' | 'sums'> | undefined
}

async function walkDomains(
  sql: Sql,
  walkers: Walker[],
  { instance, ks }: Caller,
  mode: Mode,
  from: Position | undefined,
): Promise<Walk> {
  const until = performance.now() + WORK_MS
  const walk: Walk = {
    rows: 0,
    bytes: 0,
    expired: 0,
    expiredBytes: 0,
    rowsTotal: 0,
    checks: noChecks(),
    issues: [],
    rootDigest: '',
    isUnknown: false,
    good: [],
    bad: [],
    next: undefined,
  }
  const root = createHash('sha256')
  const domains: { walker: Walker; heads: NamedHead[] }[] = []
  for (const walker of walkers) {
    const listed = await walker.listHeads(sql, instance.id, from === undefined)
    const heads = listed.filter((head): head is NamedHead => head.name !== null && covers(ks, walker.domain, head.name))
    domains.push({ walker, heads })
    for (const { name, seq, keys, a, b } of heads)
      root.update(`${walker.domain}\n${name}\n${seq}\n${keys}\n${a}\n${b}\n`)
    if (listed.some(({ state }) => state === 'unreadable'))
      walk.issues.push(
        issueOf(
          walker,
          'page_unreadable',
          '*',
          null,
          'Not every database can be found: a page with their heads cannot be read.',
        ),
      )
  }
  // While a walk goes on what it has found good is no more to be read: its first page knows the whole.
  walk.rowsTotal = from?.rowsTotal ?? rowsIn(domains, mode)
  // Over the sets of all databases that the caller may see: equal while none of them has changed.
  walk.rootDigest = root.digest('base64url')
  walk.checks.namespace_boundary = await checkBoundary(sql, instance.id)
  if (walk.checks.namespace_boundary.failed > 0)
    walk.issues.push(
      issueOf(walkers[0] as Walker, 'boundary_open', '*', null, 'Rows of this instance can be seen from another.'),
    )
  const first = from ? domains.findIndex(({ walker }) => walker.domain === from.domain) : 0
  for (const [at, { walker, heads }] of domains.entries()) {
    if (at < first) continue
    const resumed = at === first ? from : undefined
    walk.next = await walkDatabases(sql, { walker, instanceId: instance.id, heads, mode, walk, until }, resumed)
    const following = domains[at + 1]?.walker
    if (walk.next === undefined && following && isSpent(walk, until))
      walk.next = { domain: following.domain, database: '', after: null, sums: noSums('0') }
    if (walk.next !== undefined) return walk
  }
  return walk
}

interface DomainWalk {
  walker: Walker
  instanceId: string
  heads: NamedHead[]
  mode: Mode
  walk: Walk
  until: number
}

/** Where it goes on; undefined when every database of the domain was read to its end. */
async function walkDatabases(sql: Sql, domain: DomainWalk, from: Position | undefined): Promise<Walk['next']> {
  const { walker, heads, mode, walk, until } = domain
  for (const head of heads) {
    if (from && head.name < from.database) continue
    const isResumed = from?.database === head.name
    if (!isResumed && isPassedOver(head, mode)) continue
    const begun = isResumed
      ? { after: from.after, sums: { ...from.sums, seq: from.sums.seq === head.seq ? head.seq : null } }
      : { after: null, sums: noSums(head.seq) }
    const { after, sums } = await walkDatabase(sql, domain, head.name, begun)
    if (after !== null) return { domain: walker.domain, database: head.name, after, sums }
    compare(walk, walker, head, sums)
    if (isSpent(walk, until) && head !== heads.at(-1)) {
      // Every key is behind the empty one: the next database from its beginning.
      const next = heads[heads.indexOf(head) + 1] as NamedHead
      return { domain: walker.domain, database: next.name, after: '', sums: noSums(next.seq) }
    }
  }
  return undefined
}

function isPassedOver({ verifiedSeq, seq, unsettled }: Head, mode: Mode): boolean {
  return mode === 'incremental' && verifiedSeq === seq && !unsettled
}

/** By the heads; one that has rotted may say anything. */
function rowsIn(domains: { heads: NamedHead[] }[], mode: Mode): number {
  let rows = 0
  for (const { heads } of domains)
    for (const head of heads) if (!isPassedOver(head, mode)) rows += Math.max(0, Number(head.keys))
  return Math.min(rows, Number.MAX_SAFE_INTEGER)
}

/** `after` is null when the database was read to its end. */
async function walkDatabase(
  sql: Sql,
  { walker, instanceId, walk, until }: DomainWalk,
  database: string,
  begun: { after: string | null; sums: Sums },
): Promise<{ after: string | null; sums: Sums }> {
  let { after, sums } = begun
  for (;;) {
    const chunk = await walker.verifyChunk(sql, instanceId, database, { after, limit: CHUNK, ms: WORK_MS })
    sums = add(sums, chunk)
    count(walk, walker, database, chunk)
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

function count(walk: Walk, walker: Walker, database: string, chunk: Chunk): void {
  const { digest, expired_not_visible: expired } = walk.checks
  const damaged = chunk.damagedKeys.length
  if (chunk.found && chunk.found.length > 0) walk.bad.push({ walker, database, found: chunk.found })
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
        ? `The ${walker.noun[0]} is on a page that cannot be read.`
        : `The ${walker.noun[0]} does not fit its digest; its key may be part of the damage.`
    walk.issues.push(issueOf(walker, chunk.damagedStates[at] ?? 'digest_mismatch', database, key, detail))
  }
  for (const ref of chunk.uncounted ?? []) {
    digest.checked += 1
    digest.failed += 1
    walk.issues.push(
      issueOf(
        walker,
        'digest_mismatch',
        database,
        ref,
        `${ref} does not fit its digest, or is not what was written last.`,
      ),
    )
  }
  for (const { type, ref, detail } of chunk.besides ?? [])
    walk.issues.push(issueOf(walker, type, database, ref, detail))
  walk.checks.cycle_chain.checked += chunk.chain?.checked ?? 0
  walk.checks.cycle_chain.failed += chunk.chain?.failed ?? 0
  walk.checks.tombstones_honoured.checked += chunk.tombstones ?? 0
  for (const ref of chunk.forgotten ?? []) {
    walk.checks.tombstones_honoured.failed += 1
    walk.issues.push(
      issueOf(walker, 'tombstone_ignored', database, ref, 'Its content was deleted before and is there again.'),
    )
  }
  if (chunk.expiredVisible > 0)
    walk.issues.push(
      issueOf(
        walker,
        'expired_visible',
        database,
        null,
        `${chunk.expiredVisible} expired ${walker.noun[1]} can still be read.`,
      ),
    )
}

/**
 * What was read of a database against its head. A row that vanished leaves no trace but here. Damaged rows are counted
 * as being there; whether they account for the whole difference shows in the set: without them it must lack exactly
 * their digests, unless one of their digests is what rotted, or cannot be read.
 */
function compare(walk: Walk, walker: Walker, head: NamedHead, sums: Sums): void {
  const found =
    head.state === 'headless'
      ? headless(walker, head, sums)
      : sums.seq === null
        ? undefined
        : against(walker, head, sums)
  if (found === undefined) {
    walk.isUnknown = true
    return
  }
  walk.checks.counters.checked += 1
  if (found.length > 0) walk.checks.counters.failed += 1
  walk.issues.push(...found)
  if (found.length === 0 && sums.damaged + sums.uncounted === 0)
    walk.good.push({
      walker,
      settled: { database: head.name, seq: head.seq, rows: sums.rows, bytes: sums.bytes, a: sums.a, b: sums.b },
    })
}

function headless(walker: Walker, { name }: NamedHead, sums: Sums): Issue[] {
  const detail = `${sums.rows + sums.damaged} ${walker.noun[1]} are in a database that does not exist.`
  return [issueOf(walker, 'surplus', name, null, detail)]
}

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

async function remember(pool: Pool, instanceId: string, { good, bad }: Walk): Promise<void> {
  // What cannot be written down, beside what is damaged least of all, is still told here.
  for (const { walker, database, found } of bad)
    await walker.quarantine?.(pool, { instanceId, database }, found).catch(() => {})
  for (const { walker, settled } of good) {
    try {
      await walker.settle(pool, instanceId, settled)
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
