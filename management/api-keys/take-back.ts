// What a key made ends with it: the keys it made, and those that they made, every token that one of them asked for, the
// partner credentials, and the invitations that are still open. Whoever stole a key has made more than one thing with
// it, and its owner cannot be expected to find them all. Who has accepted an invitation is a member, and stays: people
// do not leave with an old key.
//
// Locks: the rows of keys and grants first, then the cells, then the audit. Who makes something with a key holds its
// row too (requireStillKey), so nothing that a key is making at this moment slips through.

import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { appendEvent } from '../acts/events/store.ts'
import { endGrant } from '../oauth/grants.ts'
import { lockGrantsOf } from '../oauth/store.ts'
import { revokePartnerCredentialsOf } from '../tokens/partner-credentials/partner-credentials.ts'
import { hasCredentialsMadeBy } from '../tokens/partner-credentials/store.ts'
import { lockFeeds } from '../tokens/revocations/revocations.ts'
import { hasTokensOf, revokeTokensOf } from '../tokens/store.ts'
import { revokeEpoch } from '../tokens/tokens.ts'
import { deleteInvitationsOf, lockKeysMadeBy, revokeApiKeys } from './store.ts'

export interface Makers {
  organizationId: string
  keyIds: string[]
  /** A member who leaves: what the person asked for without a key ends too. */
  userId?: string
}

export interface TakenBack {
  apiKeys: number
  tokens: number
  partnerCredentials: number
  invitations: number
}

/** In a transaction that has the organization in use. The keys themselves are among what is taken back. */
export async function takeBack(sql: Sql, { organizationId, keyIds, userId }: Makers, act: Act): Promise<TakenBack> {
  const keys = await lockKeysMadeBy(sql, organizationId, keyIds)
  if (keys.includes(act.actor) && !keyIds.includes(act.actor))
    throw new ApiError(
      'INVALID_STATE',
      'The API key that you call with was made with this one and would end with it. Call with another key, or with ?made=keep, ' +
        'which leaves everything that the key made.',
    )
  // What the person allowed clients ends with the membership, or it would go on after the next invitation.
  const grants = userId === undefined ? [] : await lockGrantsOf(sql, organizationId, { userId })
  const now = new Date()
  const subs = userId === undefined ? keys : [...keys, userId]
  // Every cell waits for us meanwhile, so only for those who made something that cells know.
  const isKnownToCells =
    (await hasTokensOf(sql, organizationId, subs, now)) || (await hasCredentialsMadeBy(sql, organizationId, subs))
  if (userId !== undefined || isKnownToCells) await lockFeeds(sql, 'all')
  for (const grant of grants) await endGrant(sql, grant, 'not_a_member', act)
  const tokens = await revokeTokensOf(sql, organizationId, subs, now)
  for (const { sub, until } of tokens) await endTokensOf(sql, organizationId, sub, now, until, act)
  // A token of the person's that is being issued at this moment is older than this.
  if (userId !== undefined && !tokens.some(({ sub }) => sub === userId))
    await endTokensOf(sql, organizationId, userId, now, undefined, act)
  const partnerCredentials = await revokePartnerCredentialsOf(sql, organizationId, subs, act)
  const invitations = await deleteInvitationsOf(sql, organizationId, subs)
  for (const { id: subject, invitedBy } of invitations) {
    const detail = { made_by: invitedBy }
    await appendAudit(sql, { ...act, chain: organizationId, action: 'invitation.withdraw', subject, detail })
    await appendEvent(sql, { organizationId, type: 'invitation.withdrawn', subject, data: {} })
  }
  const revoked = await revokeApiKeys(sql, organizationId, keys)
  for (const { id, madeBy } of revoked.filter((key) => !keyIds.includes(key.id))) {
    const detail = { made_by: madeBy }
    await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.delete', subject: id, detail })
    await appendEvent(sql, { organizationId, type: 'api_key.deleted', subject: id, data: {} })
  }
  return {
    apiKeys: revoked.length,
    tokens: tokens.reduce((sum, { count }) => sum + count, 0),
    partnerCredentials,
    invitations: invitations.length,
  }
}

async function endTokensOf(
  sql: Sql,
  organizationId: string,
  sub: string,
  notBefore: Date,
  until: Date | undefined,
  act: Act,
): Promise<void> {
  const epoch = { kind: 'sub' as const, id: `${organizationId}/${sub}`, organizationId, cellId: null, notBefore, until }
  await revokeEpoch(sql, epoch, act.actor, notBefore, act.requestId)
}
