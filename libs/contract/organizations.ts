// An organization: its members, their roles, and invitations.

import { z } from 'zod'
import { plan } from './billing.ts'
import { ROLES } from './roles.ts'
import { displayName, idOf, pageQuery, pathId, timestamp } from './wire.ts'

const role = z.enum(ROLES)

const organization = z
  .object({ id: idOf('org'), name: z.string(), plan, role, created_at: timestamp })
  .meta({ id: 'Organization' })

export const organizationMake = z.object({ name: displayName }).meta({ id: 'OrganizationMake' })

export const organizationMade = organization.extend({ default_tenant_id: idOf('ten') }).meta({ id: 'OrganizationMade' })

export const organizationList = z
  .object({ organizations: z.array(organization), next_cursor: z.string().nullable() })
  .meta({ id: 'OrganizationList' })

export const organizationParams = z.object({ id: pathId })

export const member = z
  .object({
    user_id: idOf('usr'),
    email: z.string(),
    name: z.string().nullable(),
    role,
    created_at: timestamp,
  })
  .meta({ id: 'Member' })

export const memberList = z
  .object({ members: z.array(member), next_cursor: z.string().nullable() })
  .meta({ id: 'MemberList' })

export const memberListQuery = pageQuery('usr')
export const memberParams = z.object({ id: pathId, user_id: pathId })
export const memberChange = z.strictObject({ role }).meta({ id: 'MemberChange' })

const invitation = z
  .object({
    id: idOf('inv'),
    email: z.string(),
    role,
    invited_by: z.string(),
    created_at: timestamp,
    expires_at: timestamp,
  })
  .meta({ id: 'Invitation' })

export const invitationMake = z.strictObject({ email: z.string().max(254), role }).meta({ id: 'InvitationMake' })

/** The token is in the fragment of the link: browsers do not send it, so no server can log it. */
export const invitationMade = invitation.extend({ token: z.string(), link: z.url() }).meta({ id: 'InvitationMade' })

export const invitationList = z
  .object({ invitations: z.array(invitation), next_cursor: z.string().nullable() })
  .meta({ id: 'InvitationList' })

export const invitationListQuery = pageQuery('inv')
export const invitationParams = z.object({ id: pathId, invitation_id: pathId })
export const invitationAccept = z.strictObject({ token: z.string().max(200) }).meta({ id: 'InvitationAccept' })

export const invitationAccepted = z
  .object({ organization_id: idOf('org'), name: z.string(), role })
  .meta({ id: 'InvitationAccepted' })
