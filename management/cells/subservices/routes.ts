import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { cellParams, cellSwitchAnswer, cellSwitches, cellSwitchRequest } from '@loci/contract/cells.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../../access/caller.ts'
import { requireFreshSignIn } from '../../access/own.ts'
import { listCellSwitches } from '../../acts/switches/store.ts'
import { noSuchCell } from '../cells.ts'
import { findCellHealth } from '../store.ts'
import { switchJson, switchSubservice } from './subservices.ts'

interface CellSwitchOptions {
  caller: CallerAccess
  pool: Pool
  act: RunAct<Caller>
  publicUrl: string
}

export function cellSwitchRoutes({ caller: access, pool, act, publicUrl }: CellSwitchOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/cells/{id}/subservices',
        access: access.staff('read'),
        tag: 'cells',
        summary: 'Read the switches of a cell, as it has reported them, and what was asked of them.',
        params: cellParams,
        answers: { 200: cellSwitches },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to read the switches of the cell',
      },
      async ({ params: { id } }) => {
        if (!(await findCellHealth(pool, id))) throw noSuchCell()
        const switches = await listCellSwitches(pool, id)
        return {
          cell_id: id,
          reported_at: switches[0]?.reportedAt.toISOString() ?? null,
          subservices: switches.map(switchJson),
        }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/cells/{id}/subservices/switch',
        access: access.staff('write'),
        tag: 'cells',
        summary: 'Enable or disable a sub-service in a whole cell.',
        details:
          'The cell does it within seconds of reading its feed, unless its own administrator has switched later. A session needs a sign-in of the last 10 minutes.',
        params: cellParams,
        body: cellSwitchRequest,
        answers: { 200: cellSwitchAnswer },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'SUBSERVICE_REQUIRED', 'DEPENDENCY_DISABLED'],
        failureMessage: 'Failed to switch the sub-service',
      },
      (call) =>
        act(call, async (sql, { actor }) => {
          const { caller, body, requestId } = call
          requireFreshSignIn(caller, publicUrl)
          const asked = {
            ...{ name: body.service, enabled: body.enabled, reason: body.reason },
            autoRevertMs: body.auto_revert_ms ?? null,
            isDryRun: body.dry_run ?? false,
          }
          return { status: 200, body: await switchSubservice(sql, call.params.id, asked, { actor, requestId }) }
        }),
    ),
  ]
}
