import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import {
  cognitiveConfig,
  cognitiveConfigInForce,
  cognitiveConfigUpdate,
  cognitiveHealth,
  cognitiveSettings,
} from '@loci/contract/cognitive.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { replaceConfig } from '../databases/config/act.ts'
import { layersOf, readConfig, settingsOf } from '../databases/config/store.ts'
import type { Quota } from '../databases/quota.ts'
import { cycleConfig, RULES } from './config.ts'
import { attemptsOf, backlogOf, loopOf } from './health.ts'
import { placeOf, SHARED } from './routes.ts'
import { readHead } from './store.ts'
import { setSchedule } from './upkeep/store.ts'

const KIND = 'cognitive'

interface ConfigOptions {
  access: CapabilityAccess
  pool: Pool
  quota: Quota
}

export function cycleConfigRoutes({ access, pool, quota }: ConfigOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/health',
        access: access.capability('cycles:read'),
        summary: 'Check whether cycles of the database run when they are due, and how attempts ended.',
        answers: { 200: cognitiveHealth },
      },
      async ({ caller }) => {
        const head = await readHead(pool, placeOf(caller))
        const loop = loopOf(head)
        const attempts = attemptsOf(head)
        return {
          status: loop.stalled || attempts.consecutiveFailures > 0 ? 'degraded' : 'ok',
          service: 'cognitive' as const,
          // Who disabled it disabled this route.
          enabled: true,
          loop,
          lastCycle: head.lastAt === null ? null : { seq: head.total, completedAt: head.lastAt.toISOString() },
          backlog: backlogOf(head),
          attempts,
        }
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/config',
        access: access.operator('operate', 'cognitive'),
        summary: 'Read the configuration in force.',
        details:
          'It is what was put, over the service’s own, over the defaults. Unusable values are not in it; `warnings` names them.',
        answers: { 200: cognitiveConfigInForce },
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
        path: '/v1/cognitive/settings',
        access: access.capability('cycles:read'),
        summary: 'Read the configuration in force with the default, the range and the schema of each known key.',
        answers: { 200: cognitiveSettings },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => settingsOf(RULES, await readIntact(caller)),
    ),

    route(
      {
        ...SHARED,
        method: 'PUT',
        path: '/v1/cognitive/config',
        access: access.operator('write', 'cognitive'),
        summary: 'Replace the configuration of the database by any JSON object.',
        details: 'With If-Match only over that version.',
        conditions: ['if-match'],
        body: cognitiveConfig,
        answers: { 200: cognitiveConfigUpdate },
        errors: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE'],
      },
      ({ caller, body, headers, requestId }) =>
        replaceConfig({ pool, quota }, caller, {
          ...{ kind: KIND, rules: RULES, body, ifMatch: headers['if-match'], requestId },
          action: 'cognitive.configure',
          detailOf: (layers) => ({ intervalMs: cycleConfig([], layers).run.intervalMs }),
          also: (sql) => setSchedule(sql, placeOf(caller)),
        }),
    ),
  ]

  async function readIntact(caller: Pick<Caller, 'instance' | 'database'>) {
    const stored = await readConfig(pool, { ...placeOf(caller), kind: KIND })
    if (!stored.configIntact)
      throw new ApiError('DATA_DAMAGED', 'The stored configuration is damaged. Put it again.', {
        details: { ref: 'config' },
      })
    return stored
  }
}
