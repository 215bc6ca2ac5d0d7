// What the daemon says of a database, held against the ledger: what it serves, what it names as damaged, what it
// reports.

import { listAll, path, type TestTenant } from '@loci/daemon/testing/tenant.ts'
import type { Ledger } from './rot-cell.ts'

export interface Survey {
  /** Served by the list or by GET with anything but what was written. */
  lies: string[]
  /** Keys that the list serves. */
  listed: Set<string>
  /** Keys that the list names as damaged. */
  damaged: Set<string | null>
  /** Issues of the consistency report in this database. */
  issues: Issue[]
  /** Entries that the report says are not there. */
  missing: number
  failures: string[]
}

export interface Issue {
  type: string
  database: string
  ref: string | null
  detail: string
}

/** The whole report of a tenant, followed by its cursor. */
export async function reportOf(
  tenant: TestTenant,
  token?: string,
): Promise<{ status: string; issues: Issue[]; rows: number; calls: number }> {
  const issues: Issue[] = []
  let rows = 0
  for (let cursor = '', calls = 1; ; calls += 1) {
    const answer = await tenant.call(`GET /v1/kv/consistency?mode=full${cursor}`, undefined, token ? { token } : {})
    if (answer.status !== 200) return { status: `${answer.status} ${answer.text}`, issues, rows, calls }
    const report = answer.json<{
      status: string
      issues: Issue[]
      summary: { rows: number }
      coverage: { nextCursor: string | null }
    }>()
    issues.push(...report.issues)
    rows += report.summary.rows
    if (report.coverage.nextCursor === null) return { status: report.status, issues, rows, calls }
    if (calls > 500) return { status: 'without an end', issues, rows, calls }
    cursor = `&cursor=${report.coverage.nextCursor}`
  }
}

/** `suspects`: keys that are asked for one by one as well. */
export async function survey(
  { tenant, db, entries }: Ledger,
  issues: Issue[],
  suspects: Iterable<string>,
): Promise<Survey> {
  const lies: string[] = []
  const failures: string[] = []
  const listed = new Set<string>()
  const damaged = new Set<string | null>()
  try {
    const list = await listAll(tenant, db, 'limit=500')
    for (const { key, value } of list.entries) {
      if (entries.get(key) !== JSON.stringify(value)) lies.push(`list ${db} ${key}`)
      if (listed.has(key)) lies.push(`list ${db} ${key} twice`)
      listed.add(key)
    }
    for (const { ref } of list.damaged ?? []) damaged.add(ref)
  } catch (error) {
    failures.push(`list ${db}: ${(error as Error).message.slice(0, 200)}`)
  }
  for (const key of suspects) {
    const answer = await tenant.call(`GET ${path(key)}`, undefined, { db })
    if (answer.status === 200 && entries.get(key) !== JSON.stringify(answer.json().value)) lies.push(`GET ${db} ${key}`)
    if (![200, 404, 500].includes(answer.status) || (answer.status === 500 && answer.error.code !== 'DATA_DAMAGED'))
      failures.push(`GET ${db} ${key}: ${answer.status} ${answer.text.slice(0, 200)}`)
  }
  const own = issues.filter(({ database }) => database === db)
  const missing = own
    .filter(({ type }) => type === 'missing')
    .reduce((sum, { detail }) => sum + Number.parseInt(detail, 10), 0)
  return { lies, failures, listed, damaged, issues: own, missing }
}
