import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import {
  invitationAccept,
  invitationAccepted,
  invitationList,
  invitationListQuery,
  invitationMade,
  invitationMake,
  invitationParams,
  memberChange,
  memberList,
  memberListQuery,
  memberParams,
  member as memberSchema,
  organizationList,
  organizationMade,
  organizationMake,
  organizationParams,
} from '@loci/contract/organizations.ts'
import type { Role } from '@loci/contract/roles.ts'
import { deleted } from '@loci/contract/wire.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { type Caller, type CallerAccess, requireScope } from '../access/caller.ts'
import {
  requireMayGive,
  requireOwnOrganization,
  requirePerson,
  requireWholeOrganization,
} from '../access/organization.ts'
import { readForCaller, requireStillKey } from '../access/own.ts'
import { useOrganization } from '../access/store.ts'
import { accept, invite, withdraw } from './invitations.ts'
import {
  changeRole,
  type EndAccessBeyond,
  foundOrganization,
  removeMember,
  requireMayOwn,
  requireOrganization,
  requireUser,
} from './organizations.ts'
import { type Invitation, listInvitations, listMembers, type Member, type OrganizationRow } from './store.ts'

interface OrganizationOptions {
  caller: CallerAccess
  act: RunAct<Caller>
  pool: Pool
  /** Where the console is that an invitation leads to. */
  publicUrl: string
  endAccessBeyond: EndAccessBeyond
}

export function organizationRoutes(options: OrganizationOptions): Route[] {
  return [...ownRoutes(options), ...memberRoutes(options), ...invitationRoutes(options)]
}

function ownRoutes({ caller: access, act, pool }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/organizations',
        access: access.person('read'),
        tag: 'organizations',
        summary: 'List the organizations of the caller.',
        details: 'For an API key its own, for a session every one.',
        answers: { 200: organizationList },
      },
      async ({ caller }) => {
        if (caller.organizations) {
          const organizations = caller.organizations.map(({ createdAt, ...one }) => ({ ...one, created_at: createdAt }))
          return { organizations, next_cursor: null }
        }
        const own = await requireOrganization(pool, caller.organizationId)
        return { organizations: [organizationJson(own, caller.role)], next_cursor: null }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/organizations',
        access: access.person('write'),
        tag: 'organizations',
        summary: 'Create an organization.',
        details: 'The person behind the caller owns it. An API key needs members:write, and stays in the one it has.',
        body: organizationMake,
        answers: { 201: organizationMade },
        errors: ['QUOTA_EXCEEDED'],
      },
      async (call) => {
        const { caller, body } = call
        const userId = requirePerson(caller)
        requireWholeOrganization(caller)
        // The person's role here does not matter; but a narrowed key must not act as the person elsewhere.
        if (caller.kind === 'key') requireScope(caller, 'members:write')
        return act(call, async (sql, by) => {
          const owner = await requireUser(sql, userId)
          await requireMayOwn(sql, userId)
          const { id, tenant } = await foundOrganization(sql, { name: body.name, owner }, by)
          const made = await requireOrganization(sql, id)
          // The answer is stored for the caller, in the caller's organization.
          await useOrganization(sql, caller.organizationId)
          return { status: 201, body: { ...organizationJson(made, 'owner'), default_tenant_id: tenant.id } }
        })
      },
    ),
  ]
}

function memberRoutes({ caller: access, act, pool, endAccessBeyond }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/organizations/{id}/members',
        // Every role has tenants:read, so all members see each other; a key that was narrowed to less does not.
        access: access.scope('tenants:read', 'read'),
        tag: 'organizations',
        summary: 'List the members of the organization with their roles.',
        params: organizationParams,
        query: memberListQuery,
        answers: { 200: memberList },
      },
      async ({ caller, params, query }) => {
        requireWhole(caller, params.id)
        const asked = { after: query.cursor ?? null, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) => listMembers(sql, caller.organizationId, asked))
        const { rows, next } = page(read, query.limit, ({ userId }) => userId)
        return { members: rows.map(memberJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'PATCH',
        path: '/api/v1/organizations/{id}/members/{user_id}',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary: 'Change the role of a member.',
        details: 'Their API keys follow at once.',
        params: memberParams,
        body: memberChange,
        answers: { 200: memberSchema },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'QUOTA_EXCEEDED'],
      },
      async (call) => {
        const { caller, params, body } = call
        const { organizationId } = requireWhole(caller, params.id)
        requireMayGive(caller, body.role)
        return act(call, async (sql, by) => {
          const member = await changeRole(
            sql,
            { organizationId, userId: params.user_id },
            body.role,
            by,
            endAccessBeyond,
          )
          return { status: 200, body: memberJson(member) }
        })
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/organizations/{id}/members/{user_id}',
        access: access.scope('members:write', 'write', 'alone'),
        tag: 'organizations',
        summary: 'Remove a member.',
        details: 'With it every API key, token and partner credential that the member made in the organization.',
        params: memberParams,
        answers: { 200: deleted },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
      },
      async (call) => {
        const { organizationId } = requireWhole(call.caller, call.params.id)
        return act(call, async (sql, by) => {
          await removeMember(sql, { organizationId, userId: call.params.user_id }, by)
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
  ]
}

function invitationRoutes({ caller: access, act, pool, publicUrl }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/organizations/{id}/invitations',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary: 'Invite a person by their e-mail address.',
        details: 'The link is shown once and is good for seven days; a second invitation replaces it.',
        params: organizationParams,
        body: invitationMake,
        answers: { 201: invitationMade },
        errors: ['INVALID_STATE', 'IDEMPOTENCY_REPLAY_WITHHELD'],
      },
      async (call) => {
        const { caller, params, body } = call
        const { organizationId } = requireWhole(caller, params.id)
        requireMayGive(caller, body.role)
        return act(call, async (sql, by) => {
          await requireStillKey(sql, caller)
          const { invitation, token } = await invite(sql, { organizationId, ...body }, by)
          const link = new URL(`/invitations#${token}`, publicUrl).href
          return {
            status: 201,
            body: { ...invitationJson(invitation), token, link },
            headers: { 'cache-control': 'no-store' },
            issued: invitation.id,
          }
        })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/organizations/{id}/invitations',
        access: access.scope('members:write', 'read'),
        tag: 'organizations',
        summary: 'List invitations that can still be accepted, newest first, without their links.',
        params: organizationParams,
        query: invitationListQuery,
        answers: { 200: invitationList },
      },
      async ({ caller, params, query }) => {
        requireWhole(caller, params.id)
        const asked = { before: query.cursor ?? null, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) => listInvitations(sql, caller.organizationId, asked))
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { invitations: rows.map(invitationJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/organizations/{id}/invitations/{invitation_id}',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary: 'Withdraw an invitation.',
        details: 'Its link stops working at once.',
        params: invitationParams,
        answers: { 200: deleted },
        errors: ['NOT_FOUND'],
      },
      async (call) => {
        const { organizationId } = requireWhole(call.caller, call.params.id)
        return act(call, async (sql, by) => {
          await withdraw(sql, organizationId, call.params.invitation_id, by)
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/invitations/accept',
        access: access.person('write'),
        tag: 'organizations',
        summary: 'Accept an invitation.',
        details: 'The person behind the caller, whose address must be the invited one, joins.',
        body: invitationAccept,
        answers: { 200: invitationAccepted },
        errors: ['NOT_FOUND', 'QUOTA_EXCEEDED'],
      },
      async (call) => {
        const { caller, body, requestId } = call
        const userId = requirePerson(caller)
        return act(call, async (sql) => {
          const user = await requireUser(sql, userId)
          // The audit of the joined organization names the person: it does not know the person's keys elsewhere.
          const by = { actor: userId, requestId }
          const { organizationId, name, role } = await accept(sql, { token: body.token, user }, by)
          await useOrganization(sql, caller.organizationId)
          return { status: 200, body: { organization_id: organizationId, name, role } }
        })
      },
    ),
  ]
}

function requireWhole(caller: Caller, id: string): Caller {
  requireOwnOrganization(caller, id)
  requireWholeOrganization(caller)
  return caller
}

function organizationJson({ id, name, plan, createdAt }: OrganizationRow, role: Role) {
  return { id, name, plan, role, created_at: createdAt.toISOString() }
}

function memberJson({ userId, email, name, role, createdAt }: Member) {
  return { user_id: userId, email, name, role, created_at: createdAt.toISOString() }
}

function invitationJson({ id, email, role, invitedBy, createdAt, expiresAt }: Invitation) {
  return {
    id,
    email,
    role,
    invited_by: invitedBy,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}
