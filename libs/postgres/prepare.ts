// What a program does with its database before it serves: wait until it answers and has the schema that the code knows,
// then refuse to run on one that is not durable, not isolated, or newer than the code can serve.

import { setTimeout as sleep } from 'node:timers/promises'
import { auditDatabase } from './durability.ts'
import { explainDatabaseError, wrongDatabase } from './first-contact.ts'
import { schemaState } from './migrate.ts'
import type { Schema } from './migrations.ts'
import type { Sql } from './pool.ts'
import type { DatabaseProgram } from './roles.ts'
import { type CheckedKey, noteSealingKeys } from './sealing-checks.ts'

export interface PrepareOptions {
  sql: Sql
  program: DatabaseProgram
  schema: Schema
  sealingKeys: CheckedKey[]
  /** What else speaks against serving with these keys. */
  problems?: (sql: Sql, sealingKeys: CheckedKey[]) => Promise<string[]>
  signal: AbortSignal
  /** Called when the reason for waiting changes, and again every minute while it lasts; not at every try. */
  onWaiting(reason: string): void
  repeatMs?: number
}

export type Prepared =
  | { refused: string[] }
  | { refused: undefined; warnings: string[]; schemaVersion: number; serverVersion: string }

const RETRY_MS = 500

/** Waits as long as it takes: a database that is being restored or migrated is no reason to crash in a loop. */
export async function prepareDatabase({
  onWaiting,
  repeatMs = 60_000,
  signal,
  ...asked
}: PrepareOptions): Promise<Prepared | 'stopped'> {
  let told = ''
  let toldAt = 0
  for (;;) {
    const outcome = await attempt(asked)
    if (typeof outcome !== 'string') return outcome
    if (outcome !== told || performance.now() - toldAt >= repeatMs) {
      onWaiting(outcome)
      toldAt = performance.now()
    }
    told = outcome
    await sleep(RETRY_MS)
    if (signal.aborted) return 'stopped'
  }
}

async function attempt({
  sql,
  program,
  schema,
  sealingKeys,
  problems = async () => [],
}: Omit<PrepareOptions, 'signal' | 'onWaiting' | 'repeatMs'>): Promise<Prepared | string> {
  try {
    const wrong = await wrongDatabase(sql, program, 'LOCI_DATABASE_URL')
    if (wrong) return { refused: [wrong] }
    const found = await schemaState(sql, schema)
    if (found.state === 'incompatible') return { refused: [found.reason] }
    if (found.state === 'behind') return found.reason
    const audit = await auditDatabase(sql, program)
    if (audit.problems.length > 0) return { refused: audit.problems }
    const otherKeys = await noteSealingKeys(sql, sealingKeys)
    if (otherKeys.length > 0) return { refused: otherKeys }
    const more = await problems(sql, sealingKeys)
    if (more.length > 0) return { refused: more }
    return {
      refused: undefined,
      warnings: audit.warnings,
      schemaVersion: found.version,
      serverVersion: audit.facts.serverVersion,
    }
  } catch (error) {
    // A wrong password or an unknown role or database does not heal by waiting, but it does by the hand of an operator,
    // who reads this reason in the log and at /v1/lifecycle/status.
    return `the database cannot be used yet: ${explainDatabaseError(error, program, 'LOCI_DATABASE_URL')}`
  }
}
