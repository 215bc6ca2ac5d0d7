// An organization owns tenants; people belong to it in a role. It is never without a default tenant, and never without
// an owner.

import { type Act, PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { isId, looksLikeId, newId } from '@loci/contract/ids.ts'
import type { Role } from '@loci/contract/roles.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { appendEvent } from '../acts/events/store.ts'
import { listKeysOf } from '../api-keys/store.ts'
import { takeBack } from '../api-keys/take-back.ts'
import { insertTenant, type Tenant } from '../tenants/store.ts'
import {
  deleteMember,
  ensureUser,
  findMember,
  findOrganization,
  findUser,
  insertMember,
  insertOrganization,
  listOrganizations,
  lockMemberAndOwners,
  lockOwned,
  type Member,
  type Organization,
  type OrganizationRow,
  type User,
  updateRole,
} from './store.ts'

export interface NewOrganization {
  id: string
  name: string
  tenant: Tenant
  owner: User
}

const DEFAULT_TENANT = 'default'

/** With its default tenant and its first owner. Leaves the organization in use. */
export async function makeOrganization(
  sql: Sql,
  { name, ownerEmail }: { name: string; ownerEmail: string },
  act: Act,
): Promise<NewOrganization> {
  const owner = await ensureUser(sql, newId('usr'), requireEmail(ownerEmail))
  return foundOrganization(sql, { name, owner }, act)
}

/** As makeOrganization, for a person who is known. */
export async function foundOrganization(
  sql: Sql,
  { name, owner }: { name: string; owner: User },
  act: Act,
): Promise<NewOrganization> {
  const id = newId('org')
  await insertOrganization(sql, { id, name: requireName(name) })
  await useOrganization(sql, id)
  await insertMember(sql, id, owner.id, 'owner')
  const tenant: Tenant = {
    id: newId('ten'),
    organizationId: id,
    name: DEFAULT_TENANT,
    slug: DEFAULT_TENANT,
    plan: 'free',
    status: 'active',
    isDefault: true,
  }
  await insertTenant(sql, tenant)
  // In both chains: the platform's, and the organization's own, which begins with it.
  const entry = { ...act, action: 'organization.make', subject: id, detail: { owner: owner.id } }
  await appendAudit(sql, { ...entry, chain: id })
  await appendAudit(sql, { ...entry, chain: PLATFORM_CHAIN })
  await appendEvent(sql, {
    organizationId: id,
    type: 'organization.created',
    subject: id,
    data: { tenant_id: tenant.id },
  })
  return { id, name, tenant, owner }
}

/** For a page: a form that is sent twice makes one. Who owns one already makes more through the API. */
export async function makeFirstOrganization(
  pool: Pool,
  { userId, name, requestId }: { userId: string; name: string; requestId: string },
): Promise<void> {
  await transaction(pool, async (sql) => {
    const owner = await requireUser(sql, userId)
    if ((await lockOwned(sql, userId)) === 0)
      await foundOrganization(sql, { name, owner }, { actor: userId, requestId })
  })
}

/** For commands, which take a name or an id. */
export async function findOneOrganization(sql: Sql, nameOrId: string): Promise<Organization | undefined> {
  const [found, another] = await listOrganizations(sql, nameOrId)
  if (another) throw new ApiError('INVALID_STATE', `Several organizations are called '${nameOrId}': give the id.`)
  return found
}

/** How many organizations one person may own. */
const OWNED_MAX = 5

/** Before the person becomes an owner of one more. Holds a lock on the person to the end of the transaction. */
export async function requireMayOwn(sql: Sql, userId: string): Promise<void> {
  const owned = await lockOwned(sql, userId)
  if (owned >= OWNED_MAX)
    throw new ApiError(
      'QUOTA_EXCEEDED',
      `A person can own at most ${OWNED_MAX} organizations and this one owns ${owned}. Make another member the owner of one first, or take a lesser role here.`,
      { details: { limit: OWNED_MAX, used: owned } },
    )
}

/** Of an id that a credential or an invitation gave: there is one. */
export async function requireOrganization(sql: Sql, id: string): Promise<OrganizationRow> {
  const organization = await findOrganization(sql, id)
  if (!organization) throw new Error(`organization ${id} is named by a credential and does not exist`)
  return organization
}

export async function requireUser(sql: Sql, id: string): Promise<User> {
  const user = await findUser(sql, id)
  if (!user) throw new Error(`user ${id} is named by a credential and does not exist`)
  return user
}

interface MemberName {
  organizationId: string
  userId: string
}

/** Ends what the person gave to others that may do more than this role. */
export type EndAccessBeyond = (
  sql: Sql,
  organizationId: string,
  of: { userId: string; role: Role },
  act: Act,
) => Promise<void>

/** In a transaction that has the organization in use. */
export async function changeRole(
  sql: Sql,
  of: MemberName,
  role: Role,
  act: Act,
  endAccessBeyond: EndAccessBeyond,
): Promise<Member> {
  const { organizationId, userId } = of
  const { role: before } = await lockMember(sql, of, role)
  if (role === 'owner' && before !== 'owner') await requireMayOwn(sql, userId)
  await updateRole(sql, organizationId, userId, role)
  await endAccessBeyond(sql, organizationId, { userId, role }, act)
  const detail = { before, role }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'member.change', subject: userId, detail })
  await appendEvent(sql, { organizationId, type: 'member.changed', subject: userId, data: { role } })
  return (await findMember(sql, organizationId, userId)) as Member
}

/** Their keys are deleted too: they would work again after the next invitation. */
export async function removeMember(sql: Sql, of: MemberName, act: Act): Promise<void> {
  const { organizationId, userId } = of
  const { role } = await lockMember(sql, of, undefined)
  await deleteMember(sql, organizationId, userId)
  const keyIds = await listKeysOf(sql, organizationId, userId)
  const taken = await takeBack(sql, { organizationId, keyIds, userId }, act)
  const { apiKeys: keys, tokens, partnerCredentials, invitations } = taken
  const detail = { role, keys, tokens, partner_credentials: partnerCredentials, invitations }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'member.remove', subject: userId, detail })
  await appendEvent(sql, { organizationId, type: 'member.removed', subject: userId, data: {} })
}

/** `next`: the role to come, undefined when the member is removed. */
async function lockMember(
  sql: Sql,
  { organizationId, userId }: MemberName,
  next: Role | undefined,
): Promise<{ role: Role }> {
  const locked = isId('usr', userId) ? await lockMemberAndOwners(sql, organizationId, userId) : []
  const found = locked.find((one) => one.userId === userId)
  if (!found)
    throw new ApiError('NOT_FOUND', 'There is no such member. GET /api/v1/organizations/{id}/members lists them.')
  const isLastOwner = found.role === 'owner' && !locked.some((one) => one.role === 'owner' && one.userId !== userId)
  if (isLastOwner && next !== 'owner')
    throw new ApiError(
      'INVALID_STATE',
      'This is the last owner of the organization: make another member an owner first.',
    )
  return found
}

export function requireName(name: string): string {
  if (name.trim() !== name || name.length < 1 || name.length > 100)
    throw new ApiError(
      'VALIDATION_ERROR',
      'A name has 1 to 100 characters and neither begins nor ends with white space.',
    )
  if (looksLikeId(name)) throw new ApiError('VALIDATION_ERROR', 'A name must not look like an id.')
  return name
}

/**
 * In lower case, as addresses are compared. ASCII alone: the Kelvin sign becomes the letter k in lower case, so one
 * person could pass for another.
 */
export function requireEmail(text: string): string {
  if (/[^\x21-\x7e]/.test(text))
    throw new ApiError('VALIDATION_ERROR', 'An e-mail address may have ASCII characters only.')
  if (text.length > 254 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+\.[^\s@\p{Cc}]+$/u.test(text))
    throw new ApiError('VALIDATION_ERROR', `'${text.slice(0, 100)}' is not an e-mail address.`)
  return text.toLowerCase()
}
