import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import { slotConfig, slotConfigUpdate } from '@loci/contract/working-memory.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import { entryRefusal } from '../databases/quota.ts'
import { versionOf } from '../databases/versions.ts'
import { configDamaged, layersOf } from './commits.ts'
import { resolveConfig, warningsOf } from './config.ts'
import { SHARED } from './routes.ts'
import { readConfig, writeConfig } from './store.ts'

const CONFIG_BYTES_MAX = 64 * 1024

export function slotConfigRoutes({ access, pool }: { access: CapabilityAccess; pool: Pool }): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/config',
        access: access.operator('operate', 'working-memory'),
        summary: 'The configuration: what was put, over the service’s own, over the defaults.',
        answers: { 200: slotConfig },
        answerHeaders: { etag: 'The version of what was put, in quotes; "0" when nothing was.' },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => {
        const stored = await readConfig(pool, caller.instance.id, caller.database)
        if (!stored.configIntact) throw configDamaged()
        return reply(200, resolveConfig(layersOf(stored)).shown, { etag: `"${stored.version}"` })
      },
    ),

    route(
      {
        ...SHARED,
        method: 'PUT',
        path: '/v1/working-memory/config',
        access: access.operator('write', 'working-memory'),
        summary: 'Replace the configuration of the database by any JSON object; with If-Match only over that version.',
        body: slotConfig,
        answers: { 200: slotConfigUpdate },
        errors: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE'],
      },
      async ({ caller: { instance, database, actor }, body, headers, requestId }) => {
        const sent = JSON.stringify(body)
        if (Buffer.byteLength(sent) > CONFIG_BYTES_MAX)
          throw new ApiError('PAYLOAD_TOO_LARGE', `A configuration may have ${CONFIG_BYTES_MAX} bytes as JSON.`)
        const ifMatch = versionOf(headers['if-match'])
        const where = { instanceId: instance.id, databasesMax: instance.limits.databases, database }
        const { service } = await readConfig(pool, instance.id, database)
        const layers = layersOf({ service, sent })
        const warnings = warningsOf(layers)
        const version = await transaction(pool, async (sql) => {
          const written = await writeConfig(sql, where, { sent, ifMatch })
          const refused = entryRefusal(written.outcome, instance.limits.databases)
          if (refused) throw refused
          if (written.outcome === 'conflict')
            throw new ApiError('VERSION_CONFLICT', 'The configuration has another version than If-Match asked for.', {
              details: { currentVersion: written.version === 0 ? null : written.version },
            })
          const { capacity, policy } = resolveConfig(layers).used
          const detail = { database, version: written.version, capacity, policy, warnings: warnings.length }
          await appendAudit(sql, {
            ...{ actor, requestId, chain: instance.id, action: 'working_memory.configure', subject: database, detail },
          })
          return written.version
        })
        return { ok: true, config: resolveConfig(layers).shown, version, warnings }
      },
    ),
  ]
}
