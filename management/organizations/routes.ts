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
import { deleted } from '@loci/contract/wire.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { type Caller, type CallerAccess, requireScope } from '../access/caller.ts'
import {
  requireMayGive,
  requireOwnOrganization,
  requirePerson,
  requireWholeOrganization,
} from '../access/organization.ts'
import type { Role } from '../access/roles.ts'
import { useOrganization } from '../access/store.ts'
import type { Idempotency } from '../acts/idempotency/idempotency.ts'
import { accept, invite, withdraw } from './invitations.ts'
import {
  changeRole,
  foundOrganization,
  removeMember,
  requireMayOwn,
  requireOrganization,
  requireUser,
} from './organizations.ts'
import { type Invitation, listInvitations, listMembers, type Member, type OrganizationRow } from './store.ts'

interface OrganizationOptions {
  caller: CallerAccess
  idempotency: Idempotency
  pool: Pool
  /** Where the console is that an invitation leads to. */
  publicUrl: string
}

const REPEATED = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const
const WITHHELD = [...REPEATED, 'IDEMPOTENCY_REPLAY_WITHHELD'] as const

export function organizationRoutes(options: OrganizationOptions): Route[] {
  return [...ownRoutes(options), ...memberRoutes(options), ...invitationRoutes(options)]
}

function ownRoutes({ caller: access, idempotency, pool }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/organizations',
        access: access.anyone('read'),
        tag: 'organizations',
        summary: 'The organizations that the caller may ask about: of an API key its one.',
        answers: { 200: organizationList },
      },
      async ({ caller }) => {
        const own = await requireOrganization(pool, caller.organizationId)
        return { organizations: [organizationJson(own, caller.role)], next_cursor: null }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/organizations',
        access: access.anyone('write'),
        tag: 'organizations',
        summary:
          'Make an organization; the person behind the caller owns it. An API key needs members:write, and stays in the one it has.',
        body: organizationMake,
        answers: { 201: organizationMade },
        errors: ['QUOTA_EXCEEDED', ...REPEATED],
      },
      async ({ caller, body, headers, requestId }) => {
        const userId = requirePerson(caller)
        requireWholeOrganization(caller)
        // Whatever role the person has here: but a key that was narrowed does not act as the person elsewhere.
        if (caller.kind === 'key') requireScope(caller, 'members:write')
        const repeat = { route: 'POST /api/v1/organizations', headers, request: body }
        return idempotency.once(caller, repeat, async (sql) => {
          const owner = await requireUser(sql, userId)
          await requireMayOwn(sql, userId)
          const act = { actor: caller.id, requestId }
          const { id, tenant } = await foundOrganization(sql, { name: body.name, owner }, act)
          const made = await requireOrganization(sql, id)
          // The answer is stored for the caller, whose organization is still the other one.
          await useOrganization(sql, caller.organizationId)
          return { status: 201, body: { ...organizationJson(made, 'owner'), default_tenant_id: tenant.id } }
        })
      },
    ),
  ]
}

function memberRoutes({ caller: access, idempotency, pool }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/organizations/{id}/members',
        // Every role has tenants:read: who works with me is no secret among members. A key that its maker narrowed to less is not told.
        access: access.scope('tenants:read', 'read'),
        tag: 'organizations',
        summary: 'Who belongs to the organization, and in which role.',
        params: organizationParams,
        query: memberListQuery,
        answers: { 200: memberList },
      },
      async ({ caller, params, query }) => {
        requireWhole(caller, params.id)
        const members = await transaction(
          pool,
          async (sql) => {
            await useOrganization(sql, caller.organizationId)
            const page = { after: query.cursor ?? null, limit: query.limit + 1 }
            return listMembers(sql, caller.organizationId, page)
          },
          { readOnly: true },
        )
        const page = members.slice(0, query.limit)
        const next = members.length > query.limit ? (page.at(-1) as Member).userId : null
        return { members: page.map(memberJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'PATCH',
        path: '/api/v1/organizations/{id}/members/{user_id}',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary: 'Give a member another role. Their API keys follow at once.',
        params: memberParams,
        body: memberChange,
        answers: { 200: memberSchema },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'QUOTA_EXCEEDED', ...REPEATED],
      },
      async ({ caller, params, body, headers, requestId }) => {
        const { organizationId } = requireWhole(caller, params.id)
        requireMayGive(caller, body.role)
        const userId = params.user_id
        const line = `PATCH /api/v1/organizations/${organizationId}/members/${userId}`
        return idempotency.once(caller, { route: line, headers, request: body }, async (sql) => {
          const act = { actor: caller.id, requestId }
          return { status: 200, body: memberJson(await changeRole(sql, { organizationId, userId }, body.role, act)) }
        })
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/organizations/{id}/members/{user_id}',
        access: access.scope('members:write', 'write', 'alone'),
        tag: 'organizations',
        summary:
          'Remove a member, and with it every API key, token and partner credential that the member made in the organization.',
        params: memberParams,
        answers: { 200: deleted },
        errors: ['NOT_FOUND', 'INVALID_STATE', ...REPEATED],
      },
      async ({ caller, params, headers, requestId }) => {
        const { organizationId } = requireWhole(caller, params.id)
        const userId = params.user_id
        const line = `DELETE /api/v1/organizations/${organizationId}/members/${userId}`
        return idempotency.once(caller, { route: line, headers, request: null }, async (sql) => {
          await removeMember(sql, { organizationId, userId }, { actor: caller.id, requestId })
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
  ]
}

function invitationRoutes({ caller: access, idempotency, pool, publicUrl }: OrganizationOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/organizations/{id}/invitations',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary:
          'Invite an address. The link is shown once and is good for seven days; a second invitation replaces it.',
        params: organizationParams,
        body: invitationMake,
        answers: { 201: invitationMade },
        errors: ['INVALID_STATE', ...WITHHELD],
      },
      async ({ caller, params, body, headers, requestId }) => {
        const { organizationId } = requireWhole(caller, params.id)
        requireMayGive(caller, body.role)
        const line = `POST /api/v1/organizations/${organizationId}/invitations`
        return idempotency.once(caller, { route: line, headers, request: body }, async (sql) => {
          const act = { actor: caller.id, requestId }
          const { invitation, token } = await invite(sql, { organizationId, ...body }, act)
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
        summary: 'Invitations that can still be accepted, newest first, without their links.',
        params: organizationParams,
        query: invitationListQuery,
        answers: { 200: invitationList },
      },
      async ({ caller, params, query }) => {
        requireWhole(caller, params.id)
        const invitations = await transaction(
          pool,
          async (sql) => {
            await useOrganization(sql, caller.organizationId)
            const page = { before: query.cursor ?? null, limit: query.limit + 1 }
            return listInvitations(sql, caller.organizationId, page)
          },
          { readOnly: true },
        )
        const page = invitations.slice(0, query.limit)
        const next = invitations.length > query.limit ? (page.at(-1) as Invitation).id : null
        return { invitations: page.map(invitationJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/organizations/{id}/invitations/{invitation_id}',
        access: access.scope('members:write', 'write'),
        tag: 'organizations',
        summary: 'Withdraw an invitation: its link stops working at once.',
        params: invitationParams,
        answers: { 200: deleted },
        errors: ['NOT_FOUND', ...REPEATED],
      },
      async ({ caller, params, headers, requestId }) => {
        const { organizationId } = requireWhole(caller, params.id)
        const id = params.invitation_id
        const line = `DELETE /api/v1/organizations/${organizationId}/invitations/${id}`
        return idempotency.once(caller, { route: line, headers, request: null }, async (sql) => {
          await withdraw(sql, organizationId, id, { actor: caller.id, requestId })
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/invitations/accept',
        access: access.anyone('write'),
        tag: 'organizations',
        summary: 'Accept an invitation: the person behind the caller, whose address must be the invited one, joins.',
        body: invitationAccept,
        answers: { 200: invitationAccepted },
        errors: ['NOT_FOUND', 'QUOTA_EXCEEDED', ...REPEATED],
      },
      async ({ caller, body, headers, requestId }) => {
        const userId = requirePerson(caller)
        const repeat = { route: 'POST /api/v1/invitations/accept', headers, request: body }
        return idempotency.once(caller, repeat, async (sql) => {
          const user = await requireUser(sql, userId)
          // Named in the record of the organization that is joined, which knows the person and not the keys they have elsewhere.
          const act = { actor: userId, requestId }
          const { organizationId, name, role } = await accept(sql, { token: body.token, user }, act)
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
