// An invitation: open → accepted (once, by the person of the invited address) | withdrawn | replaced by a newer one for
// the same address | expired after seven days. None of the last four opens again. The token is shown once, to the
// inviter; its digest is stored.

import { createHash, randomBytes } from 'node:crypto'
import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import type { Role } from '@loci/contract/roles.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { useOrganization } from '../access/store.ts'
import { appendEvent } from '../acts/events/store.ts'
import { requireEmail, requireMayOwn, requireOrganization } from './organizations.ts'
import {
  deleteInvitation,
  findInvitationOwner,
  findMember,
  findMemberByEmail,
  type Invitation,
  insertMember,
  lockInvitation,
  type Member,
  markAccepted,
  putInvitation,
  type User,
} from './store.ts'

const LIFE_MS = 7 * 86_400_000

/** In a transaction that has the organization in use. */
export async function invite(
  sql: Sql,
  { organizationId, email: given, role }: { organizationId: string; email: string; role: Role },
  act: Act,
  now: Date = new Date(),
): Promise<{ invitation: Invitation; token: string }> {
  const email = requireEmail(given)
  if (await findMemberByEmail(sql, organizationId, email))
    throw new ApiError('INVALID_STATE', 'A member has this address already: change the role instead.')
  const token = randomBytes(32).toString('base64url')
  const invitation: Invitation = {
    id: newId('inv', now.getTime()),
    organizationId,
    email,
    role,
    invitedBy: act.actor,
    createdAt: now,
    expiresAt: new Date(now.getTime() + LIFE_MS),
  }
  await putInvitation(sql, invitation, digestOf(token))
  const { id: subject } = invitation
  await appendAudit(sql, { ...act, chain: organizationId, action: 'invitation.make', subject, detail: { role } })
  await appendEvent(sql, { organizationId, type: 'invitation.created', subject, data: { role } })
  return { invitation, token }
}

export async function withdraw(sql: Sql, organizationId: string, id: string, act: Act): Promise<void> {
  if (!isId('inv', id) || !(await deleteInvitation(sql, organizationId, id)))
    throw new ApiError(
      'NOT_FOUND',
      'There is no such open invitation: it was accepted or withdrawn, has expired, or never existed.',
    )
  await appendAudit(sql, { ...act, chain: organizationId, action: 'invitation.withdraw', subject: id, detail: {} })
  await appendEvent(sql, { organizationId, type: 'invitation.withdrawn', subject: id, data: {} })
}

/** Leaves the organization that was joined in use. */
export async function accept(
  sql: Sql,
  { token, user }: { token: string; user: User },
  act: Act,
): Promise<{ organizationId: string; name: string; role: Role }> {
  const found = await findInvitationOwner(sql, digestOf(token))
  if (found) await useOrganization(sql, found.organizationId)
  const invitation = found && (await lockInvitation(sql, found.organizationId, found.id))
  if (!invitation)
    throw new ApiError(
      'NOT_FOUND',
      'This invitation is not valid: it was used or withdrawn, or has expired. Ask for a new one.',
    )
  if (invitation.email !== user.email)
    throw new ApiError('FORBIDDEN', 'This invitation is for another address: sign in with the one that was invited.')
  const { organizationId, id } = invitation
  if (invitation.role === 'owner' && !(await findMember(sql, organizationId, user.id)))
    await requireMayOwn(sql, user.id)
  await markAccepted(sql, organizationId, id)
  await insertMember(sql, organizationId, user.id, invitation.role)
  // Someone who had become a member in the meantime keeps their role.
  const { role } = (await findMember(sql, organizationId, user.id)) as Member
  const { name } = await requireOrganization(sql, organizationId)
  const detail = { invitation_id: id, role }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'invitation.accept', subject: user.id, detail })
  await appendEvent(sql, { organizationId, type: 'member.joined', subject: user.id, data: { role } })
  return { organizationId, name, role }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
