// A walk over all rows, page by page: what the pages say together. Rules without React.

import type { KvConsistency } from '@loci/sdk/daemon.ts'

export type Mode = 'full' | 'incremental'
export type Issue = KvConsistency['issues'][number]

export interface Walk {
  mode: Mode
  /** running: more pages come. stopped: one could not be had; those before it stand. */
  is: 'running' | 'done' | 'stopped'
  /** What the server says of the whole walk, with its last page. */
  status: KvConsistency['status'] | undefined
  pages: number
  rows: number
  /** That the whole walk reads; undefined before its first page. */
  rowsTotal: number | undefined
  checks: readonly { name: string; checked: number; failed: number }[]
  issues: readonly Issue[]
  rootDigest: string | undefined
  startedAt: string | undefined
  /** Of the pages together: how long the server read. */
  tookMs: number
}

export const begunWalk = (mode: Mode): Walk => ({
  ...{ mode, is: 'running', status: undefined, pages: 0, rows: 0, checks: [], issues: [] },
  ...{ rowsTotal: undefined, rootDigest: undefined, startedAt: undefined, tookMs: 0 },
})

export function withPage(walk: Walk, page: KvConsistency): Walk {
  const before = new Map(walk.checks.map((check) => [check.name, check]))
  const checks = page.checks.map(({ name, checked, failed }) => ({
    name,
    checked: checked + (before.get(name)?.checked ?? 0),
    failed: failed + (before.get(name)?.failed ?? 0),
  }))
  return {
    mode: walk.mode,
    is: page.coverage.complete ? 'done' : 'running',
    // A page that is not the last one says `unknown`, because it does not know the others.
    status: page.coverage.complete ? page.status : undefined,
    pages: walk.pages + 1,
    rows: walk.rows + page.summary.rows,
    rowsTotal: page.coverage.rowsTotal,
    checks,
    issues: [...walk.issues, ...page.issues],
    rootDigest: page.rootDigest,
    startedAt: walk.startedAt ?? page.startedAt,
    tookMs: walk.tookMs + page.durationMs,
  }
}

/** How far it is, 0 to 1; undefined before its first page. Rows that ended meanwhile are missing from the sum. */
export function shareRead({ is, rows, rowsTotal }: Pick<Walk, 'is' | 'rows' | 'rowsTotal'>): number | undefined {
  if (is === 'done') return 1
  if (rowsTotal === undefined) return undefined
  return rowsTotal === 0 ? 1 : Math.min(1, rows / rowsTotal)
}

const CHECKS: Readonly<Record<string, string>> = {
  digest: 'Digests of every row',
  cycle_chain: 'Chain of cycles',
  counters: 'Counters equal the rows',
  expired_not_visible: 'Nothing expired is shown',
  tombstones_honoured: 'Nothing erased came back',
  namespace_boundary: 'Nothing of another instance',
}

export function checkWords(name: string): string {
  return CHECKS[name] ?? name.replaceAll('_', ' ')
}

/** A memory that is damaged can be erased here; for all else the operators have a backup. */
export function isErasable({ domain, ref }: Pick<Issue, 'domain' | 'ref'>): boolean {
  return domain === 'memory' && ref !== null && ref.startsWith('mem_')
}

/** In a sentence what was found; undefined where nothing was. */
export function foundIn({ issues }: Pick<Walk, 'issues'>): string | undefined {
  const damaged = issues.filter(({ severity }) => severity === 'error').length
  const others = issues.length - damaged
  if (issues.length === 0) return undefined
  const some = (count: number, one: string, many: string) => `${count === 1 ? `One ${one}` : `${count} ${many}`}`
  if (damaged === 0) return `${some(others, 'sum does', 'sums do')} not fit the rows.`
  return `${some(damaged, 'row does', 'rows do')} not fit ${damaged === 1 ? 'its digest' : 'their digests'}.`
}

export type Link = 'whole' | 'waiting' | 'damaged' | 'redacted'

export interface Cycle {
  seq: number
  prevHash: string | null
  hash: string
  redacted?: true
}

interface Verified {
  checkedThroughSeq: number | null
  entries: readonly { seq: number | null }[]
}

/** Oldest first: how each link of the chain stands. */
export function linksOf(
  newestFirst: readonly Cycle[],
  { checkedThroughSeq, entries }: Verified,
): { seq: number; link: Link }[] {
  const quarantined = new Set(entries.map(({ seq }) => seq))
  return newestFirst.toReversed().map(({ seq, redacted }) => ({
    seq,
    link: quarantined.has(seq)
      ? 'damaged'
      : redacted
        ? 'redacted'
        : checkedThroughSeq !== null && seq <= checkedThroughSeq
          ? 'whole'
          : 'waiting',
  }))
}

/** Checked here too: each names the hash of the one before it. Undefined: there are not two to compare. */
export function isLinked(newestFirst: readonly Cycle[]): boolean | undefined {
  const pairs = newestFirst.flatMap((later, at) => {
    const earlier = newestFirst[at + 1]
    return earlier && earlier.seq === later.seq - 1 ? [later.prevHash === earlier.hash] : []
  })
  return pairs.length === 0 ? undefined : pairs.every(Boolean)
}

/** How far a walk that is over has read the chain, and found it good; undefined where it has not. */
export function chainIn(walk: Walk | null): { through: number; at: string | undefined } | undefined {
  const chain = walk?.checks.find(({ name }) => name === 'cycle_chain')
  if (walk?.is !== 'done' || walk.mode !== 'full' || !chain || chain.checked === 0 || chain.failed > 0) return undefined
  return { through: chain.checked, at: walk.startedAt }
}
