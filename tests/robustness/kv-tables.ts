// What a cell's tables hold, with the eyes of the superuser.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'
import type { KeptLedger } from './kv-ledger.ts'
import { plainClient } from './plain-client.ts'

const RETRY_MS = 1_000
const RETRY_MS_MAX = 60_000

/** Every entry of the databases whose names begin with `name`, by `<instance> <database> <key>`. */
export async function storedEntries(postgres: Throwaway, name: string): Promise<Map<string, string>> {
  const rows = await runSql<{ id: string; value: string }>(
    postgres.adminUrl('loci_cell'),
    `select instance_id || ' ' || database || ' ' || key as id, value from loci.entries where starts_with(database, $1)`,
    [`${name}-`],
  )
  return new Map(rows.map(({ id, value }) => [id, value]))
}

/** The report of each tenant's own consistency, to its end. */
export async function consistencyOf(url: string, token: string): Promise<string> {
  const client = plainClient()
  try {
    const until = performance.now() + RETRY_MS_MAX
    for (let cursor = ''; ; ) {
      const outcome = await client.send(url, {
        method: 'GET',
        path: `/v1/kv/consistency?mode=full${cursor}`,
        headers: { 'x-loci-capability': token },
      })
      // As any client does: on a busy machine a statement may meet its time limit.
      const isPassing = outcome.kind === 'answer' && outcome.status === 503 && performance.now() < until
      if (isPassing) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      if (isPassing) continue
      if (outcome.kind !== 'answer' || outcome.status !== 200) return JSON.stringify(outcome)
      const { status, coverage, issues } = JSON.parse(outcome.body)
      if (issues.length > 0) return `${status}: ${JSON.stringify(issues[0])}`
      if (coverage.nextCursor === null) return status
      cursor = `&cursor=${coverage.nextCursor}`
    }
  } finally {
    client.close()
  }
}

export function figures({ acked, definite, ambiguous, resolved, replayed }: KeptLedger): string {
  return `${acked} acknowledged, ${definite} refused, ${ambiguous} of unknown outcome (${resolved} repeated until done), ${replayed} replays`
}
