// Which failures of a read mean that what is stored can not be read, rather than that the store is away.

import { sqlState } from '@loci/postgres/errors.ts'

/**
 * XX: the server found a page, an index or a row that makes no sense. 58: the file system would not give it. Neither is healed by
 * trying again, and both may concern a single row. Looks at causes too: a write whose connection was given up wraps the reason.
 */
export function isUnreadable(error: unknown): boolean {
  for (let next = error; next instanceof Error; next = next.cause)
    if (/^(XX|58)/.test(sqlState(next) ?? '')) return !isEndOfServer(next)
  return false
}

/** A server that could not write its log ends with these codes too, and what it was committing may yet be there when it is back. */
function isEndOfServer(error: Error): boolean {
  return ['FATAL', 'PANIC'].includes((error as { severity?: string }).severity ?? '')
}
