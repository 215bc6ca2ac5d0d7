// The first organization and those after it, and API keys for their members: what needs no credential but the right to
// read the settings of the program.

import { ApiError } from '@loci/chassis/api-error.ts'
import { STAFF_SCOPE } from '@loci/contract/api-keys.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { issueApiKey } from '../api-keys/api-keys.ts'
import { listApiKeys } from '../api-keys/store.ts'
import {
  findOneOrganization,
  makeOrganization,
  type NewOrganization,
  requireEmail,
  requireName,
} from '../organizations/organizations.ts'
import {
  findFirstOrganization,
  findMemberByEmail,
  listAllOrganizations,
  type Organization,
} from '../organizations/store.ts'
import { type Context, type Given, type Group, listOf } from './verb.ts'

export const BOOTSTRAP: Group = {
  summary:
    'make the first organization, its owner and an API key, once: bootstrap --owner-email ada@example.com [--organization Acme]',
  verbs: { '': { required: ['owner-email'], optional: ['organization'], run: bootstrap } },
}

export const ORGANIZATIONS: Group = {
  summary:
    'organizations: organizations add --name Acme --owner-email ada@example.com makes another one with its owner, organizations list',
  without: ['sealingKeys'],
  verbs: { add: { required: ['name', 'owner-email'], run: organizationsAdd }, list: { run: organizationsList } },
}

export const API_KEYS: Group = {
  summary:
    'keys of members: api-keys mint --org <name or id> --email a@b --name n [--scopes a,b|all] [--staff true], api-keys list --org …',
  verbs: {
    list: { required: ['org'], run: apiKeysList },
    mint: { required: ['org', 'email', 'name'], optional: ['scopes', 'staff'], run: apiKeysMint },
  },
}

async function bootstrap({ pool, sealingKeys, actor }: Context, given: Given): Promise<object> {
  const ownerEmail = emailOf('owner-email', given)
  return transaction(pool, async (sql) => {
    const first = await findFirstOrganization(sql)
    if (first)
      throw new ApiError(
        'INVALID_STATE',
        `There is the organization ${first.id} ('${first.name}') already, made ${first.createdAt.toISOString()}: nothing was made. ` +
          'organizations add makes another one, api-keys mint a key for a member.',
      )
    const made = await makeOrganization(sql, { name: given.organization ?? 'default', ownerEmail }, { actor })
    const request = { organizationId: made.id, userId: made.owner.id, name: 'bootstrap', scopes: [...SCOPES] }
    const grant = { ...request, tenantIds: null, expiresAt: null }
    const { key, secret } = await issueApiKey(sql, sealingKeys, grant, { actor })
    return { ...organizationJson(made), api_key_id: key.id, api_key: secret }
  })
}

async function organizationsAdd({ pool, actor }: Context, given: Given): Promise<object> {
  const wanted = { name: given.name as string, ownerEmail: emailOf('owner-email', given) }
  return transaction(pool, async (sql) => organizationJson(await makeOrganization(sql, wanted, { actor })))
}

async function apiKeysMint({ pool, sealingKeys, actor }: Context, given: Given): Promise<object> {
  const email = emailOf('email', given)
  const name = requireName(given.name as string)
  const scopes = scopesOf(given)
  return transaction(pool, async (sql) => {
    const { id: organizationId } = await requireOne(sql, given.org as string)
    await useOrganization(sql, organizationId)
    const member = await findMemberByEmail(sql, organizationId, email)
    if (!member)
      throw new ApiError(
        'NOT_FOUND',
        `${email} is no member of ${organizationId}, so the key would be refused: invite them first.`,
      )
    const grant = { organizationId, userId: member.userId, name, scopes, tenantIds: null, expiresAt: null }
    const { key, secret } = await issueApiKey(sql, sealingKeys, grant, { actor })
    return {
      id: key.id,
      api_key: secret,
      organization_id: organizationId,
      user_id: member.userId,
      role: member.role,
      name,
      scopes,
      created_at: key.createdAt.toISOString(),
    }
  })
}

const LIST_MAX = 1_000

async function organizationsList({ pool }: Context): Promise<object> {
  const organizations = await listAllOrganizations(pool, LIST_MAX)
  return {
    organizations: organizations.map(({ id, name, plan, createdAt }) => ({
      organization_id: id,
      name,
      plan,
      created_at: createdAt.toISOString(),
    })),
  }
}

/** Never a secret: of those there are only digests. */
async function apiKeysList({ pool }: Context, given: Given): Promise<object> {
  return transaction(pool, async (sql) => {
    const { id: organizationId } = await requireOne(sql, given.org as string)
    await useOrganization(sql, organizationId)
    const everyone = { userId: null, tenantIds: null }
    const keys = await listApiKeys(sql, organizationId, everyone, { before: null, limit: LIST_MAX })
    return {
      organization_id: organizationId,
      api_keys: keys.map((key) => ({
        id: key.id,
        name: key.name,
        user_id: key.userId,
        scopes: key.scopes,
        tenant_ids: key.tenantIds,
        created_at: key.createdAt.toISOString(),
        expires_at: key.expiresAt?.toISOString() ?? null,
        last_used_at: key.lastUsedAt?.toISOString() ?? null,
      })),
    }
  })
}

async function requireOne(sql: Sql, nameOrId: string): Promise<Organization> {
  const found = await findOneOrganization(sql, nameOrId)
  if (!found) throw new ApiError('NOT_FOUND', `There is no organization ${nameOrId}.`)
  return found
}

function organizationJson({ id, name, tenant, owner }: NewOrganization): object {
  return { organization_id: id, name, tenant_id: tenant.id, user_id: owner.id, owner_email: owner.email }
}

function emailOf(option: string, given: Given): string {
  try {
    return requireEmail(given[option] as string)
  } catch {
    throw new ApiError(
      'VALIDATION_ERROR',
      `--${option} is the address that the person signs in with, such as ada@example.com.`,
    )
  }
}

function scopesOf({ scopes: text = 'all', staff = 'false' }: Given): string[] {
  if (staff !== 'true' && staff !== 'false') throw new ApiError('VALIDATION_ERROR', '--staff is true or false.')
  const scopes: string[] = text === 'all' ? [...SCOPES] : listOf(text)
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (unknown !== undefined || scopes.length === 0)
    throw new ApiError('VALIDATION_ERROR', `--scopes is all, or some of ${SCOPES.join(', ')}.`)
  return staff === 'true' ? [...scopes, STAFF_SCOPE] : scopes
}
