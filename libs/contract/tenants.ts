// Tenants of an organization.

import { z } from 'zod'
import { plan } from './billing.ts'
import { displayName, idOf, pageQuery, pathId, slug, timestamp } from './wire.ts'

export const tenant = z
  .object({
    id: idOf('ten'),
    organization_id: idOf('org'),
    name: z.string(),
    slug: z.string(),
    plan,
    status: z.enum(['active', 'past_due', 'suspended']),
    is_default: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Tenant' })

export const tenantList = z
  .object({ tenants: z.array(tenant), next_cursor: z.string().nullable() })
  .meta({ id: 'TenantList' })

export const tenantListQuery = pageQuery('ten')
export const tenantParams = z.object({ id: pathId })

export const tenantMake = z
  .object({
    name: displayName,
    slug: slug.optional(),
  })
  .meta({ id: 'TenantMake' })

export const tenantChange = z.object({ name: displayName }).meta({ id: 'TenantChange' })
