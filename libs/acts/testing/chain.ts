// The verifier of audit chains of both programs. Written from the description in audit.ts, not with the code that makes
// the digests.

import { createHash } from 'node:crypto'

export interface ChainRow {
  chain: string
  id: string
  seq: number
  at: Date
  actor: string
  action: string
  subject: string
  outcome: string
  request_id: string | null
  detail: Record<string, unknown>
  digest: string
  prev_hash: string | null
  hash: string
}

/** What is wrong with a whole chain, from its first entry on. */
export function problemsOf(rows: ChainRow[]): string[] {
  return rows.flatMap((row, at) => {
    const { chain, id, actor, action, subject, outcome, request_id } = row
    const detail = Object.keys(row.detail)
      .sort()
      .map((key) => [key, row.detail[key]])
    const fields = [chain, id, row.at.toISOString(), actor, action, subject, outcome, request_id, detail]
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
    const previous = rows[at - 1]?.hash ?? null
    const linked = `${previous ?? ''}\x1f${at + 1}\x1f${digest}`
    const hash = createHash('sha256').update(linked).digest('hex')
    return [
      ...(Number(row.seq) === at + 1 ? [] : [`${id} has number ${row.seq}`]),
      ...(row.digest === digest ? [] : [`${id} was edited`]),
      ...(row.prev_hash === previous && row.hash === hash ? [] : [`${id} is not linked`]),
    ]
  })
}
