// Quarantine: instances that a cell holds and management does not know. Staff decides about them.

import { z } from 'zod'
import { timestamp } from './wire.ts'

export const quarantineList = z
  .object({
    instances: z.array(
      z.object({
        service_id: z.string(),
        cell_id: z.string(),
        organization_id: z.string(),
        tenant_id: z.string(),
        service_type: z.string(),
        plan: z.string(),
        state: z.string(),
        generation: z.int(),
        first_seen_at: timestamp,
        last_seen_at: timestamp,
      }),
    ),
  })
  .meta({ id: 'QuarantineList' })

export const quarantinedPath = z.object({ cell_id: z.string().max(100), service_id: z.string().max(100) })

export const adoptedResponse = z.object({ adopted: z.literal(true) }).meta({ id: 'AdoptedResponse' })
