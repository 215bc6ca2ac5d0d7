// What a person can choose from when a client asks.

import { isDatabaseName } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Operation } from '@loci/contract/operations.ts'
import type { Role } from '@loci/contract/roles.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Session } from '../access/session.ts'
import { useOrganization } from '../access/store.ts'
import { findService, listServices } from '../services/store.ts'
import { grantableOf, isResourceOf, isUsable } from './grants.ts'
import type { GrantRequest } from './requests.ts'

export interface Choice {
  organizationId: string
  organizationName: string
  role: Role
  serviceId: string
  serviceName: string
  ops: Operation[]
}

const ORGANIZATIONS_MAX = 20
const SERVICES_MAX = 100
const DATABASES_MAX = 16

/** The services of the person's organizations at the address that the client asked for. */
export async function listChoices(pool: Pool, session: Session, request: GrantRequest): Promise<Choice[]> {
  const { organizationId: only, resource } = request
  const named = /svc_[0-9a-z]{26}/.exec(resource)?.[0]
  const choices: Choice[] = []
  const asked = session.organizations.filter(({ id }) => only === null || id === only).slice(0, ORGANIZATIONS_MAX)
  for (const { id: organizationId, name: organizationName, role } of asked) {
    const services = await transaction(pool, async (sql) => {
      await useOrganization(sql, organizationId)
      if (named !== undefined) return [await findService(sql, organizationId, named)]
      const all = { tenantIds: undefined, serviceType: undefined, status: undefined }
      return listServices(sql, organizationId, all, { limit: SERVICES_MAX, offset: 0 })
    })
    for (const service of services) {
      if (!service || !isUsable(service) || !isResourceOf(resource, service)) continue
      const { id: serviceId, name: serviceName } = service
      const ops = grantableOf(role, service)
      choices.push({ organizationId, organizationName, role, serviceId, serviceName, ops })
    }
  }
  return choices
}

/** As the form names them. */
export function databasesOf(isAll: boolean, text: string): string[] {
  if (isAll) return ['*']
  const names = [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
  if (names.length === 0 || names.length > DATABASES_MAX || !names.every(isDatabaseName))
    throw new ApiError(
      'VALIDATION_ERROR',
      `Name 1 to ${DATABASES_MAX} databases, each of 1 to 64 of a-z, 0-9, _ and -, or choose all of them.`,
    )
  return names
}
