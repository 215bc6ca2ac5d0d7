// Seed, "Management: service creation request", "creation response", "list query and response".

import { z } from 'zod'
import { plan } from './billing.ts'
import { anyObject, queryInteger, timestamp } from './wire.ts'

const serviceStatus = z.enum(['provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting', 'deleted'])

export const createServiceRequest = z
  .object({
    service_type: z.string(),
    name: z.string().min(1).max(100),
    slug: z
      .string()
      .regex(/^[a-z0-9-]+$/)
      .min(3)
      .max(63)
      .optional(),
    plan: plan.default('free'),
    region: z.string().default('us-east-1'),
    config: anyObject.optional(),
    tenant_id: z.string().optional(),
  })
  .meta({ id: 'CreateServiceRequest' })

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
  service_type: z.string().optional(),
  status: serviceStatus.optional(),
  limit: queryInteger({ min: 1, max: 100, fallback: 20 }),
  offset: queryInteger({ min: 0, max: 999_999_999, fallback: 0 }),
})

export const listServicesResponse = z
  .object({
    services: z.array(
      z.looseObject({
        id: z.string(),
        service_type_id: z.string(),
        tenant_id: z.string(),
        name: z.string(),
        slug: z.string(),
        endpoint: z.string().nullable(),
        plan,
        status: serviceStatus,
        created_at: timestamp,
      }),
    ),
    pagination: z.object({ total: z.int(), limit: z.int(), offset: z.int() }),
  })
  .meta({ id: 'ListServicesResponse' })
