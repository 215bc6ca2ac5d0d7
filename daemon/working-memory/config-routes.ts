import { type Route, reply, route } from '@loci/chassis/route.ts'
import { slotConfig, slotConfigInForce, slotConfigUpdate, slotSettings } from '@loci/contract/working-memory.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { replaceConfig } from '../databases/config/act.ts'
import { layersOf, readConfig, settingsOf } from '../databases/config/store.ts'
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
        summary: 'Read the configuration in force.',
        details:
          'It is what was put, over the service’s own, over the defaults. Unusable values are not in it; `warnings` names them.',
        answers: { 200: slotConfigInForce },
        answerHeaders: { etag: 'The version of what was put, in quotes; "0" when nothing was.' },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => {
        const stored = await readIntact(caller)
        return reply(200, RULES.inForce(layersOf(stored)), { etag: `"${stored.version}"` })
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/settings',
        access: access.capability('wm:read'),
        summary: 'Read the configuration in force with the default, the range and the schema of each known key.',
        answers: { 200: slotSettings },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => settingsOf(RULES, await readIntact(caller)),
    ),

    route(
      {
        ...SHARED,
        method: 'PUT',
        path: '/v1/working-memory/config',
        access: access.operator('write', 'working-memory'),
        summary: 'Replace the configuration of the database by any JSON object.',
        details: 'With If-Match only over that version.',
        conditions: ['if-match'],
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

  async function readIntact({ instance, database }: Pick<Caller, 'instance' | 'database'>) {
    const stored = await readConfig(pool, { instanceId: instance.id, database, kind: KIND })
    if (!stored.configIntact) throw configDamaged()
    return stored
  }
}
