// Ends what a session made: API keys, those of command lines that it approved among them, with all that they made; and
// approvals that no command line has fetched yet, and what it allowed clients of OAuth. Whoever stole a session has
// made something that outlives it.
//
// Locks: the approvals first, as their delivery does, then in each organization what take-back.ts locks.

import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../../access/store.ts'
import { deleteKeysOfSession } from '../../api-keys/api-keys.ts'
import { endGrantsOf } from '../../oauth/grants.ts'
import { denyLoginsOf, listOrganizationsOf } from './store.ts'

export interface Issued {
  apiKeys: number
  cliLogins: number
  tokens: number
  partnerCredentials: number
  invitations: number
  oauthGrants: number
}

/** The session has ended, or there was none. May be repeated: what is ended is not counted again. */
export async function revokeIssued(
  pool: Pool,
  session: { id: string; userId: string } | undefined,
  requestId: string,
): Promise<Issued> {
  const issued: Issued = { apiKeys: 0, cliLogins: 0, tokens: 0, partnerCredentials: 0, invitations: 0, oauthGrants: 0 }
  if (!session) return issued
  const { id: sessionId, userId: actor } = session
  issued.cliLogins = await transaction(pool, (sql) => denyLoginsOf(sql, sessionId))
  for (const organizationId of await listOrganizationsOf(pool, sessionId)) {
    const act = { actor, requestId }
    // A transaction of its own: the rows of keys come before the cells, and so do those of grants.
    issued.oauthGrants += await transaction(pool, async (sql) => {
      await useOrganization(sql, organizationId)
      return endGrantsOf(sql, organizationId, { sessionId }, 'signed_out', act)
    })
    const taken = await transaction(pool, async (sql) => {
      await useOrganization(sql, organizationId)
      return deleteKeysOfSession(sql, { organizationId, sessionId }, act)
    })
    issued.apiKeys += taken.apiKeys
    issued.tokens += taken.tokens
    issued.partnerCredentials += taken.partnerCredentials
    issued.invitations += taken.invitations
  }
  return issued
}
