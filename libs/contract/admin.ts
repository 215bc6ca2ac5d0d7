// Specification, "Daemon: administration". Bodies of the administration are snake_case.

import { z } from 'zod'
import { idOf, timestamp } from './wire.ts'

export const SWITCH_MS_MAX = 30 * 24 * 3_600_000

const options = {
  reason: z.string().max(500).optional(),
  drain_timeout_ms: z.int().min(0).max(8_000).optional(),
  auto_revert_ms: z.int().min(1).max(SWITCH_MS_MAX).optional(),
  dry_run: z.boolean().optional(),
}

const name = z.string().min(1).max(100)

/** `{services: […]}` or `{service: "…"}`: the specification's enable-service and disable-service request. */
export const switchRequest = z
  .object({ services: z.array(name).min(1).max(50).optional(), service: name.optional(), ...options })
  .refine((body) => body.services !== undefined || body.service !== undefined, {
    message: 'name at least one sub-service: {"services": ["advice"]}',
    path: ['services'],
  })
  .meta({ id: 'SwitchRequest' })

const switchState = z.enum(['enabled', 'disabled'])

export const switchResponse = z
  .object({
    success: z.boolean(),
    updates: z.array(
      z.object({
        service: z.string(),
        previous: switchState,
        current: switchState,
        changed: z.boolean(),
        effective_at: timestamp,
        drained: z.boolean(),
        audit_id: idOf('aud').nullable(),
      }),
    ),
    failed_services: z.array(
      z.object({ service: z.string(), code: z.string(), message: z.string(), dependents: z.array(z.string()) }),
    ),
  })
  .meta({ id: 'SwitchResponse' })

export const switchStatus = z
  .object({
    services: z.array(
      z.object({
        name: z.string(),
        enabled: z.boolean(),
        required: z.boolean(),
        state: z.string(),
        since: timestamp,
        depends_on: z.array(z.string()),
        in_flight: z.int(),
        requests_total: z.int(),
        errors_total: z.int(),
        last_error: z.object({ code: z.string(), at: timestamp, request_id: z.string() }).nullable(),
        changed_by: z.string().nullable(),
        auto_revert_at: timestamp.nullable(),
      }),
    ),
  })
  .meta({ id: 'SwitchStatus' })
