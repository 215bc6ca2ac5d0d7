import { looksLikeId } from '@loci/contract/ids.ts'
import type { Role } from '@loci/contract/roles.ts'
import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS } from '../acts/locks/store.ts'
import type { PlanName } from '../plans.ts'

export interface User {
  id: string
  email: string
  name: string | null
}

export interface Member {
  userId: string
  email: string
  name: string | null
  role: Role
  createdAt: Date
}

export interface Invitation {
  id: string
  organizationId: string
  email: string
  role: Role
  invitedBy: string
  createdAt: Date
  expiresAt: Date
}

export interface OrganizationRow {
  id: string
  name: string
  plan: PlanName
  createdAt: Date
}

export async function findOrganization(sql: Sql, id: string): Promise<OrganizationRow | undefined> {
  const { rows } = await sql.query<OrganizationRow>({
    name: 'organizations_by_id',
    text: 'select id, name, plan, created_at as "createdAt" from loci.organizations where id = $1',
    values: [id],
  })
  return rows[0]
}

/** The oldest. Concurrent callers wait for each other, so that only one can find none. */
export async function findFirstOrganization(sql: Sql): Promise<OrganizationRow | undefined> {
  await sql.query({
    name: 'organizations_lock_first',
    text: `select pg_advisory_xact_lock(${ADVISORY_LOCKS.firstOrganization})`,
  })
  const { rows } = await sql.query<OrganizationRow>({
    name: 'organizations_first',
    text: 'select id, name, plan, created_at as "createdAt" from loci.organizations order by id limit 1',
  })
  return rows[0]
}

/** Newest first. */
export async function listAllOrganizations(sql: Sql, limit: number): Promise<OrganizationRow[]> {
  const { rows } = await sql.query<OrganizationRow>({
    name: 'organizations_all',
    text: 'select id, name, plan, created_at as "createdAt" from loci.organizations order by id desc limit $1',
    values: [limit],
  })
  return rows
}

/** Finds or creates the person of an address that has not signed in yet; a signed-in address is that person. */
export async function ensureUser(sql: Sql, id: string, email: string): Promise<User> {
  const { rows } = await sql.query<User>({
    name: 'users_ensure',
    text: `with known as (select id, email, name from loci.users where email = $2 order by issuer is null, created_at limit 1),
      made as (
        insert into loci.users (id, email) select $1, $2 where not exists (select from known)
        on conflict (email) where issuer is null do update set email = excluded.email returning id, email, name
      )
      select * from known union all select * from made`,
    values: [id, email],
  })
  return rows[0] as User
}

export async function findUser(sql: Sql, id: string): Promise<User | undefined> {
  const { rows } = await sql.query<User>({
    name: 'users_by_id',
    text: 'select id, email, name from loci.users where id = $1',
    values: [id],
  })
  return rows[0]
}

/** How many organizations the person owns. Its row stays locked: two foundings at once take turns. */
export async function lockOwned(sql: Sql, userId: string): Promise<number> {
  await sql.query({
    name: 'users_lock',
    text: 'select from loci.users where id = $1 for no key update',
    values: [userId],
  })
  const { rows } = await sql.query<{ owned: number }>({
    name: 'users_owned',
    text: `select count(*)::int as owned from loci.memberships_of($1) where role = 'owner'`,
    values: [userId],
  })
  return rows[0]?.owned ?? 0
}

/** Of the organization in use. An existing member keeps the role. */
export async function insertMember(sql: Sql, organizationId: string, userId: string, role: Role): Promise<void> {
  await sql.query({
    name: 'members_insert',
    text: `insert into loci.members (organization_id, user_id, role) values ($1, $2, $3) on conflict do nothing`,
    values: [organizationId, userId, role],
  })
}

const MEMBER = `m.user_id as "userId", u.email, u.name, m.role, m.created_at as "createdAt"`
const MEMBERS = 'loci.members m join loci.users u on u.id = m.user_id'

/** In the order of their ids. */
export async function listMembers(
  sql: Sql,
  organizationId: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<Member[]> {
  const { rows } = await sql.query<Member>({
    name: 'members_list',
    text: `select ${MEMBER} from ${MEMBERS} where m.organization_id = $1 and ($2::text is null or m.user_id > $2)
      order by m.user_id limit $3`,
    values: [organizationId, after, limit],
  })
  return rows
}

export async function findMember(sql: Sql, organizationId: string, userId: string): Promise<Member | undefined> {
  const { rows } = await sql.query<Member>({
    name: 'members_find',
    text: `select ${MEMBER} from ${MEMBERS} where m.organization_id = $1 and m.user_id = $2`,
    values: [organizationId, userId],
  })
  return rows[0]
}

export async function findMemberByEmail(sql: Sql, organizationId: string, email: string): Promise<Member | undefined> {
  const { rows } = await sql.query<Member>({
    name: 'members_by_email',
    text: `select ${MEMBER} from ${MEMBERS} where m.organization_id = $1 and u.email = $2 order by m.created_at limit 1`,
    values: [organizationId, email],
  })
  return rows[0]
}

/**
 * The member and every owner, locked to the end of the transaction: two owners who demote each other at the same moment
 * take turns, and the second one finds itself alone.
 */
export async function lockMemberAndOwners(
  sql: Sql,
  organizationId: string,
  userId: string,
): Promise<{ userId: string; role: Role }[]> {
  const { rows } = await sql.query<{ userId: string; role: Role }>({
    name: 'members_lock',
    text: `select user_id as "userId", role from loci.members where organization_id = $1 and (user_id = $2 or role = 'owner')
      order by user_id for update`,
    values: [organizationId, userId],
  })
  return rows
}

export async function updateRole(sql: Sql, organizationId: string, userId: string, role: Role): Promise<void> {
  await sql.query({
    name: 'members_role',
    text: 'update loci.members set role = $3 where organization_id = $1 and user_id = $2',
    values: [organizationId, userId, role],
  })
}

export async function deleteMember(sql: Sql, organizationId: string, userId: string): Promise<void> {
  await sql.query({
    name: 'members_delete',
    text: 'delete from loci.members where organization_id = $1 and user_id = $2',
    values: [organizationId, userId],
  })
}

/** In the place of any other that is open for this address; what has expired goes with it. */
export async function putInvitation(sql: Sql, invitation: Invitation, digest: string): Promise<void> {
  const { id, organizationId, email, role, invitedBy, createdAt, expiresAt } = invitation
  // Two at the same moment must not leave two: neither would see the other's row.
  await sql.query({
    name: 'invitations_lock',
    text: `select pg_advisory_xact_lock(hashtextextended($1, ${ADVISORY_LOCKS.invitation}))`,
    values: [`${organizationId} ${email}`],
  })
  await sql.query({
    name: 'invitations_clear',
    text: `delete from loci.invitations
      where organization_id = $1 and accepted_at is null and (email = $2 or expires_at < $3)`,
    values: [organizationId, email, createdAt],
  })
  await sql.query({
    name: 'invitations_insert',
    text: `insert into loci.invitations (id, organization_id, email, role, digest, invited_by, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [id, organizationId, email, role, digest, invitedBy, createdAt, expiresAt],
  })
}

const INVITATION = `id, organization_id as "organizationId", email, role, invited_by as "invitedBy", created_at as "createdAt",
  expires_at as "expiresAt"`
const OPEN = 'accepted_at is null and expires_at > now()'

/** Those that can still be accepted, newest first. */
export async function listInvitations(
  sql: Sql,
  organizationId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<Invitation[]> {
  const { rows } = await sql.query<Invitation>({
    name: 'invitations_list',
    text: `select ${INVITATION} from loci.invitations
      where organization_id = $1 and ${OPEN} and ($2::text is null or id < $2) order by id desc limit $3`,
    values: [organizationId, before, limit],
  })
  return rows
}

export async function deleteInvitation(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'invitations_delete',
    text: 'delete from loci.invitations where organization_id = $1 and id = $2 and accepted_at is null',
    values: [organizationId, id],
  })
  return rowCount === 1
}

/** Whose invitation it is; asked before an organization can be chosen, by what only the invited one knows. */
export async function findInvitationOwner(
  sql: Sql,
  digest: string,
): Promise<{ id: string; organizationId: string } | undefined> {
  const { rows } = await sql.query<{ id: string; organizationId: string }>({
    name: 'invitations_owner',
    text: 'select id, organization_id as "organizationId" from loci.invitation_of($1)',
    values: [digest],
  })
  return rows[0]
}

/** Undefined when it has been accepted, has expired or was withdrawn. Locked, so that it is accepted once. */
export async function lockInvitation(sql: Sql, organizationId: string, id: string): Promise<Invitation | undefined> {
  const { rows } = await sql.query<Invitation>({
    name: 'invitations_lock_one',
    text: `select ${INVITATION} from loci.invitations where organization_id = $1 and id = $2 and ${OPEN} for update`,
    values: [organizationId, id],
  })
  return rows[0]
}

export async function markAccepted(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.query({
    name: 'invitations_accepted',
    text: 'update loci.invitations set accepted_at = now() where organization_id = $1 and id = $2',
    values: [organizationId, id],
  })
}

export interface Organization {
  id: string
  name: string
}

export async function listOrganizations(sql: Sql, nameOrId: string): Promise<Organization[]> {
  const { rows } = await sql.query<Organization>({
    name: 'organizations_find',
    // What looks like an id is one, whatever somebody may have called theirs.
    text: `select id, name from loci.organizations where case when $2 then id = $1 else name = $1 end order by id limit 2`,
    values: [nameOrId, looksLikeId(nameOrId)],
  })
  return rows
}

export async function insertOrganization(sql: Sql, { id, name }: Organization): Promise<void> {
  LOCKS.own(sql, 'organization', id)
  await sql.query({
    name: 'organizations_insert',
    text: 'insert into loci.organizations (id, name) values ($1, $2)',
    values: [id, name],
  })
}
