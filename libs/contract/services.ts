// Specification, "Management: service creation request", "creation response", "list query and response".

import { z } from 'zod'
import { plan } from './billing.ts'
import { SERVICE_TYPE_NAMES } from './operations.ts'
import { anyObject, queryInteger, queryOffset, slug, timestamp } from './wire.ts'

/** Not a pattern of the schema: those are read by programs without Unicode properties. */
const VISIBLE = /^(?=.*[^ ])[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,64}$/u

export const isRegionName = (text: string): boolean => VISIBLE.test(text)

export const regionName = z
  .string()
  .refine(isRegionName, 'must be 1 to 64 visible characters')
  .meta({ minLength: 1, maxLength: 64, examples: ['us-east-1'] })

const TYPES =
  '`memory`, `kv` (also `key-value`, `key_value`, `keyvalue`) or `graph`, in any case. `graph` has the routes of `memory` today; it has no relation routes yet.'

const serviceStatus = z.enum(['provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting', 'deleted'])

export const createServiceRequest = z
  .object({
    service_type: z
      .string()
      .min(1)
      .max(100)
      .meta({ description: TYPES, examples: [...SERVICE_TYPE_NAMES] }),
    name: z.string().min(1).max(100),
    slug: slug.optional(),
    plan: plan.default('free'),
    region: regionName.default('us-east-1'),
    config: anyObject.optional(),
    tenant_id: z.string().optional(),
  })
  .meta({ id: 'CreateServiceRequest' })

export type CreateServiceRequest = z.infer<typeof createServiceRequest>

export const createServiceResponse = z
  .object({
    service_id: z.string(),
    service_type: z.string(),
    name: z.string(),
    slug: z.string(),
    endpoint: z.url().optional(),
    status: z.literal('provisioning'),
    created_at: timestamp,
    estimated_ready_in: z.int(),
  })
  .meta({ id: 'CreateServiceResponse' })

export const listServicesQuery = z.object({
  tenant_id: z.string().optional(),
  service_type: z
    .string()
    .optional()
    .meta({ description: TYPES, examples: [...SERVICE_TYPE_NAMES] }),
  status: serviceStatus.optional(),
  q: z.string().min(1).max(100).optional().meta({
    description: 'Part of the name or the slug, in any case. The newest 5,000 services that fit the rest are searched.',
  }),
  limit: queryInteger({ min: 1, max: 100, fallback: 20 }),
  offset: queryOffset,
})

const listed = {
  id: z.string(),
  service_type_id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  slug: z.string(),
  endpoint: z.string().nullable(),
  plan,
  region: z.string(),
  status: serviceStatus,
  status_reason: z.string().nullable(),
  created_at: timestamp,
}

export const listServicesResponse = z
  .object({
    services: z.array(z.looseObject(listed)),
    pagination: z.object({
      total: z.int(),
      limit: z.int(),
      offset: z.int(),
      searched_all: z
        .boolean()
        .optional()
        .meta({ description: 'Of `q`. False: there are older services that were not searched.' }),
    }),
  })
  .meta({ id: 'ListServicesResponse' })

/** The list item with further fields. */
export const service = z
  .object({
    ...listed,
    config: anyObject,
    service_type: z.string(),
    cell: z.string().nullable(),
    operation_id: z.string().nullable(),
    subservices: z
      .array(
        z.object({
          name: z.string(),
          enabled: z.boolean(),
          since: timestamp,
          auto_revert_at: timestamp.nullable().meta({ description: 'When this is taken back by itself.' }),
        }),
      )
      .optional()
      .meta({
        description:
          'Of GET: the switches of its cell, as the cell has reported them. What is disabled answers 503 SUBSERVICE_DISABLED. Empty: not known.',
      }),
    updated_at: timestamp,
  })
  .meta({ id: 'Service' })

export const patchServiceRequest = z
  .strictObject({ name: z.string().min(1).max(100).optional(), plan: plan.optional(), config: anyObject.optional() })
  .meta({ id: 'PatchServiceRequest' })

export type PatchServiceRequest = z.infer<typeof patchServiceRequest>

/** The body of a command that needs none: an object, or nothing. */
export const noBody = z.object({}).optional()

/** The handler parses the bytes itself: in the specification's order other checks come before parsing. */
export const rawBody = z.unknown()

export const moveServiceRequest = z.object({ cell_id: z.string() }).meta({ id: 'MoveServiceRequest' })

export const serviceOperation = z
  .object({
    id: z.string(),
    service_id: z.string(),
    kind: z.enum(['provision', 'update', 'suspend', 'resume', 'move', 'delete']),
    status: z.enum(['pending', 'running', 'succeeded', 'failed', 'superseded']),
    percent: z.int().min(0).max(100),
    steps: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        started_at: timestamp.nullable(),
        completed_at: timestamp.nullable(),
        detail: z.string().nullable(),
      }),
    ),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Operation' })

export const operationQuery = z.object({
  wait: queryInteger({ min: 0, max: 30, fallback: 0 }).meta({
    description: 'Seconds to wait until the operation has ended.',
  }),
})
