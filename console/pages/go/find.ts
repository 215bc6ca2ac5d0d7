// Looks for what an id names: through the databases of the services of the organization, one service at a time.

import type { Api } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { DEFAULT_DATABASE } from '../../frame/service.tsx'
import { inOrder, type Searched } from './places.ts'

const SERVICES_PAGE = 100
const DATABASES_MAX = 100
const TOGETHER = 4

/** Undefined: it is nowhere that was looked. */
export async function findIn(
  api: Api,
  is: 'memory' | 'cycle',
  id: string,
  last: string | undefined,
  signal: AbortSignal,
): Promise<Searched | undefined> {
  const { body } = await api.management.call('GET /api/v1/services', { query: { limit: SERVICES_PAGE }, signal })
  for (const { id: serviceId, slug } of inOrder(body.services, last)) {
    const databases = await databasesOf(api, serviceId, signal)
    for (let at = 0; at < databases.length; at += TOGETHER) {
      const some = databases.slice(at, at + TOGETHER)
      const found = await Promise.all(some.map((database) => isThere(api.daemon(serviceId, database), is, id, signal)))
      const database = some[found.indexOf(true)]
      if (database !== undefined) return { serviceId, slug, database }
    }
  }
  return undefined
}

/** The first one first: most have no other. */
async function databasesOf(api: Api, serviceId: string, signal: AbortSignal): Promise<string[]> {
  try {
    const { body } = await api.daemon(serviceId).call('GET /v1/databases', { query: { limit: DATABASES_MAX }, signal })
    return [DEFAULT_DATABASE, ...body.databases.map(({ name }) => name).filter((name) => name !== DEFAULT_DATABASE)]
  } catch (error) {
    // Only operators may list them.
    if (problemOf(error).kind === 'right') return [DEFAULT_DATABASE]
    throw error
  }
}

async function isThere(
  daemon: ReturnType<Api['daemon']>,
  is: 'memory' | 'cycle',
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (is === 'cycle') await daemon.call('GET /v1/cognitive/cycles/{id}', { path: { id }, signal })
    else await daemon.call('GET /v1/memory/records/{id}', { path: { id }, signal })
    return true
  } catch (error) {
    const { kind } = problemOf(error)
    // What is damaged is there.
    if (kind === 'damaged') return true
    if (kind === 'missing' || kind === 'right') return false
    throw error
  }
}
