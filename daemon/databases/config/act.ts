// PUT of a configuration, the same for every kind: any object is taken, written with its entry of the audit, and
// answered with what is kept and a warning for each value that is not usable.

import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/capability-access.ts'
import { entryRefusal, type Quota } from '../quota.ts'
import { versionOf } from '../versions.ts'
import type { ConfigRules } from './rules.ts'
import { type ConfigKind, layersOf, readConfig, writeConfig } from './store.ts'

const CONFIG_BYTES_MAX = 64 * 1024

interface ConfigPut {
  kind: ConfigKind
  rules: ConfigRules
  body: object
  ifMatch: string | string[] | undefined
  /** As the audit names the act, and what it says of it beside the version. */
  action: string
  requestId: string
  detailOf(layers: unknown[]): object
  /** In the transaction, with the head of the database locked. */
  also?(sql: Sql): Promise<void>
}

export async function replaceConfig(
  { pool, quota }: { pool: Pool; quota: Quota },
  { instance, database, actor }: Pick<Caller, 'instance' | 'database' | 'actor'>,
  { kind, rules, body, ifMatch, action, requestId, detailOf, also }: ConfigPut,
) {
  const sent = JSON.stringify(body)
  if (Buffer.byteLength(sent) > CONFIG_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A configuration may have at most ${CONFIG_BYTES_MAX} bytes as JSON.`)
  const wanted = versionOf(ifMatch)
  // It takes no bytes of the plan, but its entry of the audit stays. Over its bytes too a schedule can be switched off.
  await quota.requireTraces(instance, pool)
  const where = { instanceId: instance.id, databasesMax: instance.limits.databases, database, kind }
  const { service } = await readConfig(pool, where)
  const layers = layersOf({ service, sent })
  const warnings = rules.warningsOf(layers)
  const version = await transaction(pool, async (sql) => {
    const written = await writeConfig(sql, where, { sent, ifMatch: wanted })
    const refused = entryRefusal(written.outcome, instance.limits.databases)
    if (refused) throw refused
    if (written.outcome === 'conflict')
      throw new ApiError('VERSION_CONFLICT', 'The configuration has another version than If-Match asked for.', {
        details: { currentVersion: written.version === 0 ? null : written.version },
      })
    await also?.(sql)
    const detail = { database, version: written.version, ...detailOf(layers), warnings: warnings.length }
    await appendAudit(sql, { actor, requestId, chain: instance.id, action, subject: database, detail })
    return written.version
  })
  return { ok: true as const, config: rules.kept(layers), version, warnings }
}
