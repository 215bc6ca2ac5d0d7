// Callers of management, many at once: what `management organizations add` and `api-keys mint` do, without a process
// for each.

import { SCOPES } from '@loci/contract/roles.ts'
import { issueApiKey } from '@loci/management/api-keys/api-keys.ts'
import { makeOrganization } from '@loci/management/organizations/organizations.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { runSql } from './sql.ts'
import type { World } from './world.ts'

export interface WorldCaller {
  /** Of the API key. */
  id: string
  apiKey: string
  organizationId: string
  /** The organization's default tenant. */
  tenantId: string
}

export interface WantedCallers {
  organizations: number
  /** API keys of each organization, all of its owner. */
  each: number
  name: string
}

/**
 * The callers of the first organization, then those of the second, and so on. They may ask as much as the largest plan
 * allows.
 */
export async function addCallers(
  world: Pick<World, 'postgres' | 'managementSettings'>,
  { organizations, each, name }: WantedCallers,
): Promise<WorldCaller[]> {
  const { LOCI_DATABASE_URL: url, LOCI_SEALING_KEYS: sealing } = world.managementSettings() as Record<string, string>
  const [id, key] = (sealing as string).split(':') as [string, string]
  const sealingKeys = [{ id, key: Buffer.from(key, 'base64') }]
  const pool = openPool({
    url: url as string,
    applicationName: 'loci-test',
    connectionsMax: 2,
    ...PATIENT,
    onError: () => {},
  })
  const callers: WorldCaller[] = []
  try {
    for (let number = 0; number < organizations; number += 1) {
      const wanted = { name: `${name}-${number}`, ownerEmail: `${name}-${number}@loci.example` }
      const made = await transaction(pool, async (sql) => {
        const organization = await makeOrganization(sql, wanted, { actor: 'test' })
        const request = { organizationId: organization.id, userId: organization.owner.id, scopes: [...SCOPES] }
        const keys: WorldCaller[] = []
        for (let n = 0; n < each; n += 1) {
          const grant = { ...request, name: `key ${n}`, tenantIds: null, expiresAt: null }
          const { key, secret } = await issueApiKey(sql, sealingKeys, grant, { actor: 'test' })
          keys.push({
            id: key.id,
            apiKey: secret,
            organizationId: organization.id,
            tenantId: organization.tenant.id,
          })
        }
        return keys
      })
      callers.push(...made)
    }
  } finally {
    await pool.close()
  }
  await runSql(
    world.postgres.adminUrl('loci_control'),
    `update loci.organizations set plan = 'enterprise' where id = any($1)`,
    [callers.map(({ organizationId }) => organizationId)],
  )
  return callers
}
