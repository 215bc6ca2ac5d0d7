// The two clients of a page, by the session of the browser: management, and through it the daemon of a service. Typed
// by the operations of the API: `management.call('GET /api/v1/services', { query })`.

import { HEADER } from '@loci/contract/headers.ts'
import { type Client, connectDaemon, connectManagement } from '@loci/sdk/client.ts'
import type { DaemonOperations } from '@loci/sdk/daemon.ts'
import type { ManagementOperations } from '@loci/sdk/management.ts'
import { createContext, useContext } from 'react'
import { refreshed } from './refresh.ts'
import { sessionEnded } from './session.ts'

export interface Organization {
  id: string
  name: string
  /** owner, admin, member or viewer. */
  role: string
  /** What the role may do at management, and with the data of services. */
  scopes: readonly string[]
  ops: readonly string[]
}

/** Who is signed in. */
export interface Me {
  userId: string
  /** Of the platform. */
  isStaff: boolean
}

export interface Api {
  organization: Organization
  me: Me
  management: Client<ManagementOperations>
  daemon(serviceId: string, database?: string): Client<DaemonOperations>
}

/** One attempt: the cache asks again where that can help, and what changes something is asked again by the person. */
const PATIENCE = { attemptsMax: 1, attemptMs: 15_000, deadlineMs: 30_000 }

export function createApi(organization: Organization, me: Me): Api {
  const renew = async () => {
    const isBack = await refreshed()
    sessionEnded(!isBack)
    return isBack
  }
  const named = { [HEADER.organization]: organization.id }
  // Whoever signed in again in another tab is signed in here.
  const ask: typeof fetch = async (...given) => {
    const answer = await fetch(...given)
    if (answer.ok) sessionEnded(false)
    return answer
  }
  const common = { ...PATIENCE, renew, fetch: ask }
  const management = connectManagement({ ...common, url: location.origin, headers: () => named })
  return {
    organization,
    me,
    management,
    daemon(serviceId, database) {
      const url = `${location.origin}/api/v1/services/${serviceId}/proxy`
      const headers = { ...named, ...(database === undefined ? {} : { [HEADER.database]: database }) }
      return connectDaemon({ ...common, url, headers: () => headers })
    },
  }
}

export const ApiContext = createContext<Api | undefined>(undefined)

export function useApi(): Api {
  const api = useContext(ApiContext)
  if (!api) throw new Error('useApi() stands outside of the frame')
  return api
}

/** For a write that must not happen twice: made when it is begun, the same for every try of it. */
export function newIdempotencyKey(): string {
  return crypto.randomUUID()
}
