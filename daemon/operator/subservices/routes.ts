import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { switchRequest, switchResponse, switchStatus } from '@loci/contract/admin.ts'
import { SUBSERVICE_NAMES, SUBSERVICES, type SwitchAction } from '@loci/contract/subservices.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Administrator } from '../../access/admin.ts'
import { applySwitch, listSwitches } from './store.ts'
import type { Switches } from './switches.ts'

interface SubserviceOptions {
  admin: Access<Administrator>
  pool: Pool
  switches: Switches
  /** The state of a sub-service as the probes show it. */
  state(name: string): string
}

export function subserviceRoutes({ admin, pool, switches, state }: SubserviceOptions): Route[] {
  return [
    ...(['enable', 'disable'] as const).map((action: SwitchAction) =>
      route(
        {
          method: 'POST',
          path: `/admin/services/${action}`,
          access: admin,
          tag: 'admin',
          summary: `${action === 'enable' ? 'Enable' : 'Disable'} sub-services in the whole cell.`,
          body: switchRequest,
          answers: { 200: switchResponse },
          errors: ['STORE_UNAVAILABLE'],
        },
        async ({ caller, body, requestId }) => {
          const { updates, failures } = await applySwitch(pool, {
            action,
            names: body.services ?? [body.service as string],
            actor: caller.name,
            reason: body.reason ?? null,
            autoRevertMs: body.auto_revert_ms ?? null,
            requestId,
            dryRun: body.dry_run ?? false,
          })
          // This replica at once, the others at their next poll.
          await listSwitches(pool).then(switches.accept, () => undefined)
          return {
            success: failures.length === 0,
            updates: await Promise.all(
              updates.map(async ({ service, previous, current, effectiveAt, auditId }) => ({
                service,
                previous: previous ? 'enabled' : 'disabled',
                current: current ? 'enabled' : 'disabled',
                changed: previous !== current,
                effective_at: effectiveAt.toISOString(),
                drained: current || body.dry_run ? true : await switches.drained(service, body.drain_timeout_ms ?? 0),
                audit_id: auditId,
              })),
            ),
            failed_services: failures,
          }
        },
      ),
    ),

    route(
      {
        method: 'GET',
        path: '/admin/services/status',
        access: admin,
        tag: 'admin',
        summary: 'Read the switches of the cell, and what this replica has seen of each sub-service.',
        answers: { 200: switchStatus },
        errors: ['STORE_UNAVAILABLE'],
      },
      async () => {
        switches.accept(await listSwitches(pool))
        return {
          services: SUBSERVICE_NAMES.map((name) => {
            const row = switches.row(name)
            const { inFlight, requests, errors, lastError } = switches.counts(name)
            return {
              name,
              enabled: row.enabled,
              required: SUBSERVICES[name]?.required,
              state: state(name),
              since: row.since.toISOString(),
              depends_on: SUBSERVICES[name]?.dependsOn,
              in_flight: inFlight,
              requests_total: requests,
              errors_total: errors,
              last_error: lastError && { code: lastError.code, at: lastError.at, request_id: lastError.requestId },
              changed_by: row.changedBy,
              auto_revert_at: row.autoRevertAt?.toISOString() ?? null,
            }
          }),
        }
      },
    ),
  ]
}
