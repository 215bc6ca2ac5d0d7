// What the answers of a damaged cell are held against: nothing lost, nothing made up, nothing healthy accused.

import type { Report } from '../world/report.ts'
import type { Ledger } from './rot-cell.ts'
import type { Survey } from './rot-survey.ts'

export interface Outcome {
  ledger: Ledger
  survey: Survey
}

export function isClean(outcomes: Outcome[]): boolean {
  return outcomes.every(
    ({ ledger, survey: { lies, failures, listed, damaged, issues } }) =>
      lies.length + failures.length + damaged.size + issues.length === 0 && listed.size === ledger.entries.size,
  )
}

export function issuesIn(outcomes: Outcome[]): number {
  return outcomes.reduce((sum, one) => sum + one.survey.issues.length, 0)
}

export interface Verdict {
  lost: number
  found: number
  lies: string[]
  failures: string[]
  /** Untouched entries that are not listed. */
  hidden: string[]
  /** Untouched entries that are called damaged. */
  accused: string[]
}

/**
 * `touched`: keys that may be damaged. Whatever is not served any more must be accounted for, one by one, by the
 * report.
 */
export function judge(outcomes: Outcome[], touched: Map<Ledger, Set<string>>): Verdict {
  const verdict = noVerdict()
  for (const { ledger, survey: found } of outcomes) {
    const mayBe = touched.get(ledger) ?? new Set()
    const lost = [...ledger.entries.keys()].filter((key) => !found.listed.has(key))
    const named = found.issues.filter(({ type }) => type === 'digest_mismatch' || type === 'page_unreadable')
    verdict.lost += lost.length
    verdict.found += Math.min(lost.length, named.length + found.missing)
    verdict.lies.push(...found.lies)
    verdict.failures.push(...found.failures)
    if (found.issues.length === 0 && lost.length > 0)
      verdict.failures.push(`${ledger.db}: ${lost.length} entries gone and no issue`)
    verdict.hidden.push(...lost.filter((key) => !mayBe.has(key)).map((key) => `${ledger.db} ${key}`))
    const untouched = (ref: string | null) => ref !== null && ledger.entries.has(ref) && !mayBe.has(ref)
    verdict.accused.push(
      ...[...named.map(({ ref }) => ref), ...found.damaged].filter(untouched).map((ref) => `${ledger.db} ${ref}`),
    )
    if (mayBe.size === 0 && found.issues.length > 0) verdict.accused.push(`${ledger.db}: ${found.issues[0]?.detail}`)
  }
  return verdict
}

export function noVerdict(): Verdict {
  return { lost: 0, found: 0, lies: [], failures: [], hidden: [], accused: [] }
}

export function isKept({ lost, found, lies, failures, hidden, accused }: Verdict): boolean {
  return lost === found && lies.length + failures.length + hidden.length + accused.length === 0
}

export function figures({ lost, found, lies, failures, hidden, accused }: Verdict): string {
  return `${found} of ${lost} damaged rows reported, ${lies.length} served as truth, ${hidden.length} healthy ones hidden, ${accused.length} false, ${failures.length} failures`
}

export function complain(report: Report, verdict: Verdict): void {
  for (const [what, list] of Object.entries(verdict))
    if (Array.isArray(list)) for (const line of list.slice(0, 5)) report.note(`${what}: ${line}`)
}
