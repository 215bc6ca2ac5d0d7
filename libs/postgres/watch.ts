// Asks the database at a steady beat whether it is there and writable, so that readiness can say what no request has met yet.

import type { Sql } from './pool.ts'

export interface Watch {
  stop(): void
}

/** `also` runs in the same beat after a good answer: what a replica must pick up within a second. */
export function watchDatabase({
  sql,
  everyMs,
  report,
  also,
  onError,
}: {
  sql: Sql
  everyMs: number
  report(problem: string | undefined): void
  also?(): Promise<void>
  /** What went wrong in full, for the log; once until it is well again. */
  onError?(error: Error): void
}): Watch {
  let stopped = false
  let isWell = true
  let timer: NodeJS.Timeout | undefined

  async function beat(): Promise<void> {
    try {
      const { rows } = await sql.query<{ readOnly: boolean }>({
        name: 'watch',
        text: `select current_setting('transaction_read_only') = 'on' as "readOnly"`,
      })
      await also?.()
      isWell = true
      report(rows[0]?.readOnly ? 'read-only: reads go on, writes do not' : undefined)
    } catch (error) {
      // A fixed phrase: what is reported is shown on open routes, and the driver's words name addresses and roles.
      report('does not answer')
      if (isWell) onError?.(error as Error)
      isWell = false
    }
    // Counted from the end of the last one: a slow database is not asked twice at once.
    if (!stopped) timer = setTimeout(() => void beat(), everyMs)
  }

  timer = setTimeout(() => void beat(), everyMs)
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** One round trip, for a health check that must really ask. */
export async function pingDatabase(sql: Sql): Promise<{ latencyMs: number }> {
  const startedAt = performance.now()
  await sql.query({ name: 'ping', text: 'select 1' })
  return { latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}
