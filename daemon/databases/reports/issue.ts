// What a walk found wrong, in words, and what repairs it.

import { type Sums, xor } from './sums.ts'
import type { Head, Walker } from './walker.ts'

export type NamedHead = Head & { name: string }

export interface Issue {
  severity: 'error' | 'warning'
  type: string
  domain: string
  database: string
  ref: string | null
  detail: string
  repair: string
}

/** What the sums of all rows of a database tell, beside its head. */
export function against(walker: Walker, head: NamedHead, sums: Sums): Issue[] {
  const [one, many] = walker.noun
  const found = (type: string, detail: string) => [issueOf(walker, type, head.name, null, detail)]
  const difference = BigInt(head.keys) - BigInt(sums.rows + sums.damaged)
  if (difference > 0n)
    return found('missing', `${difference} ${many} that were written are not there, or not to be seen.`)
  if (difference < 0n) return found('surplus', `${-difference} more ${many} are there than were written.`)
  if (BigInt(sums.versionMax) > BigInt(head.seq))
    return found('sequence', `An ${one} has a higher version than the database has given out.`)
  if (head.unsettled || sums.unreadable > 0) return []
  const isWhole = xor(head.a, sums.a) === sums.damagedA && xor(head.b, sums.b) === sums.damagedB
  if (!isWhole && sums.damaged > 0)
    return found(
      'set_mismatch',
      `The damaged ${many} do not account for the whole difference: digests among them rotted, or others were exchanged.`,
    )
  if (!isWhole)
    return found(
      'set_mismatch',
      `The ${many} are not the set that was written: one was exchanged as a whole, or the head rotted.`,
    )
  if (sums.damaged === 0 && head.bytes !== String(sums.bytes))
    return found('bytes', `The head counts ${head.bytes} bytes, the ${many} have ${sums.bytes}.`)
  return []
}

const REPAIRS: Record<string, string> = {
  digest_mismatch:
    'Write the entry again or delete it, without a version in If-Match. A backup has its last good version.',
  page_unreadable: 'The operator restores the page from a standby or a backup. Everything else is served meanwhile.',
  missing:
    'Compare with a backup or an export and write what is missing again; the operator restores the database’s head with it.',
  tombstone_ignored: 'Delete it again. Tell the operator: this is a fault of the program, or of a restore.',
  chain_break:
    'Compare with a backup: the operator restores the cycle that was rewritten. The others are served meanwhile.',
  boundary_open: 'Tell the operator at once: row-level security is off.',
  expired_visible: 'Tell the operator: this is a fault of the program.',
}

export function issueOf({ domain }: Walker, type: string, database: string, ref: string | null, detail: string): Issue {
  const repair = REPAIRS[type] ?? 'Compare with a backup or an export; the operator restores the database’s head.'
  return {
    severity: type === 'set_mismatch' || type === 'bytes' ? 'warning' : 'error',
    type,
    domain,
    database,
    ref,
    detail,
    repair,
  }
}
