import { type Route, reply, route } from '@loci/chassis/route.ts'
import { slotConfig, slotConfigInForce, slotConfigUpdate } from '@loci/contract/working-memory.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import { replaceConfig } from '../databases/config/act.ts'
import { layersOf, readConfig } from '../databases/config/store.ts'
import type { Quota } from '../databases/quota.ts'
import { configDamaged } from './commits.ts'
import { RULES, resolveConfig } from './config.ts'
import { SHARED } from './routes.ts'

const KIND = 'working-memory'

interface ConfigOptions {
  access: CapabilityAccess
  pool: Pool
  quota: Quota
}

export function slotConfigRoutes({ access, pool, quota }: ConfigOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/config',
        access: access.operator('operate', 'working-memory'),
        summary:
          'The configuration in force: what was put, over the service’s own, over the defaults. Unusable values are not in it; `warnings` names them.',
        answers: { 200: slotConfigInForce },
        answerHeaders: { etag: 'The version of what was put, in quotes; "0" when nothing was.' },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => {
        const { instance, database } = caller
        const stored = await readConfig(pool, { instanceId: instance.id, database, kind: KIND })
        if (!stored.configIntact) throw configDamaged()
        return reply(200, RULES.inForce(layersOf(stored)), { etag: `"${stored.version}"` })
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
      ({ caller, body, headers, requestId }) =>
        replaceConfig({ pool, quota }, caller, {
          ...{ kind: KIND, rules: RULES, body, ifMatch: headers['if-match'], requestId },
          action: 'working_memory.configure',
          detailOf(layers) {
            const { capacity, policy } = resolveConfig(layers)
            return { capacity, policy }
          },
        }),
    ),
  ]
}
